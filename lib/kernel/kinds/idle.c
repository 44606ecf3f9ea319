/* SPDX-License-Identifier: Apache-2.0 */
/* The idle time of CPUs. It is on with the kind cpu if OTELPROF_IDLE is set, and its samples count
 * as those of cpu. */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "idle.object.h"

static const struct op_kind_hook HOOKS[] = {
	{ "sched_switch", "op_idle_switched" },
};

const struct op_kind op_kind_idle = {
	.event = OP_EVENT_IDLE,
	.object = &op_idle_object,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.slots = 1,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.begun = { "op_idle_cpus" },
	.at_borders = true,
	.snapshot = true, /* no walk */
	.kernel_from = "do_idle",
};
