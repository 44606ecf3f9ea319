/* SPDX-License-Identifier: Apache-2.0 */
/* The kind cpu, time on the CPUs: the clock of each CPU ticks at the configured rate. */
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "cpu.object.h"

const struct op_kind op_kind_cpu = {
	.event = OP_EVENT_CPU,
	.object = &op_cpu_object,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.slots = 1,
	.perf_events = 1,
	.perf_event = op_kind_clock,
	.ticks = true,
	.with = UINT64_C(1) << OP_EVENT_IDLE,
};
