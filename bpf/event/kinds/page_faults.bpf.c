/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Page faults: perf's software events of minor and of major faults. Each is a sample.
 * The kernel emits them where it counts a fault for getrusage(2), so the counts are
 * equal. The context is that of the faulting code: user code, or the kernel at the
 * buffer of a system call. The value is the number of pages by which the process's
 * memory has grown.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/event.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

enum {
	OP_GROWN_PROCESSES = 8192,
	/* Pages. A value older than one that another CPU has reported meanwhile is not
	 * a shrinking. */
	OP_GROWN_SLACK = 128,
};

struct op_seen {
	__s64 pages;
	__u32 pid;
	__u32 unused;
};

/* The address of a process's memory -> its size at the last fault in it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OP_GROWN_PROCESSES);
	__type(key, __u64);
	__type(value, struct op_seen);
} op_grown SEC(".maps");

/* The pages of the memory, by the kernel's counters. A CPU adds to them in steps of
 * some tens of pages. Before 6.2 a thread adds to them after 64 faults. */
static __always_inline __s64 op_pages(const struct mm_struct *mm)
{
	const struct mm_struct___old *old = (const void *)mm;

	if (bpf_core_field_exists(mm->rss_stat[0].count))
		return BPF_CORE_READ(mm, rss_stat[MM_FILEPAGES].count) +
		       BPF_CORE_READ(mm, rss_stat[MM_ANONPAGES].count) +
		       BPF_CORE_READ(mm, rss_stat[MM_SHMEMPAGES].count);
	if (bpf_core_field_exists(old->rss_stat.count[0].counter))
		return BPF_CORE_READ(old, rss_stat.count[MM_FILEPAGES].counter) +
		       BPF_CORE_READ(old, rss_stat.count[MM_ANONPAGES].counter) +
		       BPF_CORE_READ(old, rss_stat.count[MM_SHMEMPAGES].counter);
	return 0;
}

/* The number of pages by which the memory of process @pid, the current one, has grown
 * since the last fault in it. */
static __always_inline __u64 op_growth(__u32 pid)
{
	__u64 mm = (__u64)OP_CURRENT(op_current_task(), mm);
	struct op_seen now = { .pid = pid };
	struct op_seen *seen = bpf_map_lookup_elem(&op_grown, &mm);
	__s64 before;

	now.pages = op_pages((const struct mm_struct *)mm);
	if (!seen || seen->pid != pid) {
		(void)bpf_map_update_elem(&op_grown, &mm, &now, BPF_ANY);
		return 0;
	}
	before = seen->pages;
	if (now.pages > before || now.pages < before - OP_GROWN_SLACK)
		seen->pages = now.pages;
	return now.pages > before ? (__u64)(now.pages - before) : 0;
}

static __always_inline int op_fault(struct bpf_perf_event_data *ctx, bool whole)
{
	struct op_slot *slot = op_event_begin(OP_EVENT_PAGE_FAULTS, true);

	if (!slot)
		return 0;
	slot->record.value = op_growth(slot->record.pid);
	return op_event_perf(ctx, slot, whole);
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
