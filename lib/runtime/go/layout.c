/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/go/layout.h"

#include <stddef.h>

#include "base/macros.h"
#include "runtime/go/go.h"

/* In the order of the struct's members. 1.23 added syscallbp, 1.25 removed sched.ret,
 * and the others moved the members behind. */
static const struct op_go_layout LAYOUTS[] = {
	{ 18, 96, 104, 112, 0, 144, 152, 176, 312 },
	{ 21, 96, 104, 112, 0, 144, 152, 176, 296 },
	{ 23, 96, 104, 112, 128, 152, 160, 184, 304 },
	{ 25, 88, 96, 104, 120, 144, 152, 176, 296 },
	{ 26, 88, 96, 104, 120, 144, 152, 176, 304 },
};

const struct op_go_layout *op_go_layout(uint32_t minor)
{
	size_t i = OP_ARRAY_SIZE(LAYOUTS);

	if (minor < LAYOUTS[0].first || minor >= OP_GO_MINOR_UNKNOWN)
		return NULL;
	while (LAYOUTS[--i].first > minor)
		;
	return &LAYOUTS[i];
}
