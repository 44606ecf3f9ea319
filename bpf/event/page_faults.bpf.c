/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Page faults: perf's software events of minor and of major faults, each of which is a
 * sample. The kernel emits them where it counts a fault for getrusage(2), so the counts
 * are equal. The context is that of the faulting code: user code, or the kernel at the
 * buffer of a system call.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/event.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

static __always_inline int op_fault(struct bpf_perf_event_data *ctx, bool whole)
{
	struct op_slot *slot = op_event_begin(OP_EVENT_PAGE_FAULTS, true);

	return slot ? op_event_perf(ctx, slot, whole) : 0;
}

SEC("perf_event")
int op_page_faults(struct bpf_perf_event_data *ctx)
{
	return op_fault(ctx, false);
}

SEC("perf_event")
int op_page_faults_whole(struct bpf_perf_event_data *ctx)
{
	return op_fault(ctx, true);
}
