/* SPDX-License-Identifier: Apache-2.0 */
/* The kind probes, places that a user names: docs/kinds/probes.md. lib/probe loads and
 * attaches its programs. */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "probes.object.h"

const struct op_kind op_kind_probes = {
	.event = OP_EVENT_PROBES,
	.object = &op_probes_object,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.slots = 3, /* a task, another that preempted it, and an interrupt */
	.details_by_number = true,
};
