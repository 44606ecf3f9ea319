/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/go/layout.h"

#include <stddef.h>

#include "base/macros.h"
#include "runtime/go/go.h"

/* 1.23 added syscallbp, 1.25 removed sched.ret; the others moved what is behind. */
static const struct op_go_layout LAYOUTS[] = {
	{ .first = 18,
	  .sched_lr = 96,
	  .sched_bp = 104,
	  .syscall_sp = 112,
	  .status = 144,
	  .goid = 152,
	  .wait_reason = 176,
	  .start_pc = 312 },
	{ .first = 21,
	  .sched_lr = 96,
	  .sched_bp = 104,
	  .syscall_sp = 112,
	  .status = 144,
	  .goid = 152,
	  .wait_reason = 176,
	  .start_pc = 296 },
	{ .first = 23,
	  .sched_lr = 96,
	  .sched_bp = 104,
	  .syscall_sp = 112,
	  .syscall_bp = 128,
	  .status = 152,
	  .goid = 160,
	  .wait_reason = 184,
	  .start_pc = 304 },
	{ .first = 25,
	  .sched_lr = 88,
	  .sched_bp = 96,
	  .syscall_sp = 104,
	  .syscall_bp = 120,
	  .status = 144,
	  .goid = 152,
	  .wait_reason = 176,
	  .start_pc = 296 },
	{ .first = 26,
	  .sched_lr = 88,
	  .sched_bp = 96,
	  .syscall_sp = 104,
	  .syscall_bp = 120,
	  .status = 144,
	  .goid = 152,
	  .wait_reason = 176,
	  .start_pc = 304 },
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
