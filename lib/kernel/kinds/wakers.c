/* SPDX-License-Identifier: Apache-2.0 */
/* The kind wakers, who ends the sleeps of threads: docs/kinds/wakers.md. */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kernel/kinds/off.h"

#include "wakers.object.h"

/* The entry program runs in the thread that wakes. */
static const struct op_kind_hook HOOKS[] = {
	{ "sched_waking", NULL, .loses = true },
	{ "sched_switch", "op_wakers_left" },
};

const struct op_kind op_kind_wakers = {
	.event = OP_EVENT_WAKERS,
	.object = &op_wakers_object,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.slots = 2,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.size = op_kind_threads_size,
	.begun = { OP_KIND_OFF_BEGUN },
	.woken = true,
	.detail_key = "off_cpu.reason",
	.details = op_kind_off_reasons,
	.details_len = OP_REASONS,
	.kernel_after = "sched_waking",
};
