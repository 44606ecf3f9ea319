/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/php/layout.h"

#include <stddef.h>

#include "base/macros.h"

static const struct op_php_layout rows[] = {
	{ 0x0703, 488, 144, 60, 64, 128, 136, 0, 0, 0, 0 },
	{ 0x0704, 488, 152, 60, 64, 136, 144, 0, 0, 0, 0 },
	{ 0x0800, 488, 160, 68, 72, 144, 152, 0, 0, 0, 0 },
	{ 0x0801, 488, 160, 68, 72, 144, 152, 0, 0, 0, 0 },
	{ 0x0802, 488, 168, 80, 88, 152, 160, 1680, 64, 168, 288 },
	{ 0x0803, 488, 160, 76, 80, 144, 152, 0, 0, 0, 0 },
	{ 0x0804, 488, 184, 96, 104, 168, 176, 1752, 64, 168, 296 },
	{ 0x0805, 512, 184, 96, 104, 168, 176, 0, 0, 0, 0 },
};

const struct op_php_layout *op_runtime_php_layout(uint16_t version)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(rows); i++)
		if (rows[i].version == version)
			return &rows[i];
	return NULL;
}
