/* SPDX-License-Identifier: Apache-2.0 */
/* The kind probes, places that a user names: docs/kinds/probes.md. lib/probe loads and
 * attaches its programs. */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "probes.object.h"

static const struct op_otlp_kind ROWS[] = {
	{ OP_EVENT_PROBES, OP_OTLP_TIMES, "events", "count", OP_OTLP_PERIOD_ONE, "events",
	  "count" },
};

const struct op_kind op_kind_probes = {
	.event = OP_EVENT_PROBES,
	.name = "probes",
	.says = "a probe",
	.object = &op_probes_object,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.slots = 3, /* a task, another that preempted it, and an interrupt */
	.rows = ROWS,
	.rows_len = OP_ARRAY_SIZE(ROWS),
	.details_by_number = true,
};
