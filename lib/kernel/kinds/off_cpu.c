/* SPDX-License-Identifier: Apache-2.0 */
/* The kind off_cpu, time off the CPU: docs/kinds/off_cpu.md. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "kernel/kinds/off.h"

#include "off_cpu.object.h"

const char *const op_kind_off_reasons[OP_REASONS] = {
	[OP_REASON_SLEEP] = "sleep",
	[OP_REASON_UNINTERRUPTIBLE] = "uninterruptible",
	[OP_REASON_PREEMPTED] = "preempted",
	[OP_REASON_FUTEX] = "futex",
	[OP_REASON_IO] = "io",
	[OP_REASON_PAGE_FAULT] = "page_fault",
	[OP_REASON_STOPPED] = "stopped",
};

/* The entry program runs in the interrupt that the other program requests. */
static const struct op_kind_hook HOOKS[] = {
	{ OP_KIND_INTERRUPT, NULL },
	{ "sched_switch", "op_off_switched", .loses = true },
	{ .tracepoint = "sched_waking", .program = "op_off_cpu_woken", .wakers = true },
};

bool op_kind_notes_threads(const struct op_kind *kind)
{
	return kind->begun[0] && strcmp(kind->begun[0], OP_KIND_OFF_BEGUN) == 0;
}

int op_kind_kicks_size(struct bpf_object *object, const struct op_kind_sizes *sizes)
{
	struct bpf_map *kicks;
	char name[32];
	int r = 0;
	int i;

	for (i = 0; r == 0 && i < OP_KICK_RINGS; i++) {
		(void)snprintf(name, sizeof(name), "op_kicks_%d", i);
		kicks = bpf_object__find_map_by_name(object, name);
		r = kicks ? bpf_map__set_max_entries(kicks, sizes->kick_bytes) : -ENOENT;
	}
	return r;
}

int op_kind_threads_size(struct bpf_object *object, const struct op_kind_sizes *sizes)
{
	struct bpf_map *threads = bpf_object__find_map_by_name(object, OP_KIND_OFF_BEGUN);

	return threads ? bpf_map__set_max_entries(threads, sizes->threads) : -ENOENT;
}

int op_kind_off_size(struct bpf_object *object, const struct op_kind_sizes *sizes)
{
	int r = op_kind_threads_size(object, sizes);

	return r < 0 ? r : op_kind_kicks_size(object, sizes);
}

const struct op_kind op_kind_off_cpu = {
	.event = OP_EVENT_OFF_CPU,
	.object = &op_off_cpu_object,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.slots = 1,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.size = op_kind_off_size,
	.kicks = true,
	.begun = { OP_KIND_OFF_BEGUN },
	.detail_key = "off_cpu.reason",
	.details = op_kind_off_reasons,
	.details_len = OP_REASONS,
	.kernel_from = "__schedule",
};
