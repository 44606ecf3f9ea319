/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches and detaches all that takes samples: it is attached while the profiler runs
 * and is not paused. */
#include "api/handle.h"
#include "base/log.h"

int op_handle_switch_probes(struct otelprof *p, bool running)
{
	int heap = op_heap_switch(p->heap, running && p->kinds & OTELPROF_KIND_HEAP);
	int r = op_probes_switch(p->probes, running && p->kinds & OTELPROF_KIND_PROBES);

	return r < 0 ? r : heap;
}

int op_handle_start_sampling(struct otelprof *p)
{
	int r = op_capture_start(p->capture);

	if (r == 0)
		r = op_handle_switch_probes(p, true);
	if (r < 0)
		op_handle_stop_sampling(p);
	return r;
}

int op_handle_resume_sampling(struct otelprof *p)
{
	int r = op_capture_start(p->capture);

	if (r < 0) {
		op_handle_stop_sampling(p);
		return r;
	}
	if (op_handle_switch_probes(p, true) < 0)
		op_log(&p->log, OP_LOG_WARNING, "%s; sampling goes on without it",
		       p->log.message);
	return 0;
}

void op_handle_stop_sampling(struct otelprof *p)
{
	(void)op_handle_switch_probes(p, false);
	op_capture_stop(p->capture);
}
