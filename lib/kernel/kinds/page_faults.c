/* SPDX-License-Identifier: Apache-2.0 */
/* The kind page_faults, minor and major faults: docs/kinds/page_faults.md. */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "page_faults.object.h"

/* Values of op_record.detail, and the numbers of the perf events. */
enum {
	MINOR = 0,
	MAJOR = 1,
	TYPES = 2,
};

static const char *const TYPE[TYPES] = { [MINOR] = "minor", [MAJOR] = "major" };

static void fault_event(uint32_t i, const struct op_kind_options *options,
			struct perf_event_attr *ret)
{
	(void)options;
	ret->type = PERF_TYPE_SOFTWARE;
	ret->config = i == MAJOR ? PERF_COUNT_SW_PAGE_FAULTS_MAJ
				 : PERF_COUNT_SW_PAGE_FAULTS_MIN;
	ret->sample_period = 1;
}

const struct op_kind op_kind_page_faults = {
	.event = OP_EVENT_PAGE_FAULTS,
	.object = &op_page_faults_object,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.slots = 1,
	.perf_events = TYPES,
	.perf_event = fault_event,
	.begun = { "op_grown" },
	.detail_key = "system.paging.fault.type",
	.details = TYPE,
	.details_len = TYPES,
};
