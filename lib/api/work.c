/* SPDX-License-Identifier: Apache-2.0 */
/* Processes the records that wait in the ring. */
#include <errno.h>

#include "api/handle.h"

enum {
	DRAIN_POLLS_MAX = 1024, /* polls until nothing is left */
};

int op_handle_poll(struct otelprof *p, struct op_capture_work *ret)
{
	struct op_capture_work work = { 0 };
	int r = op_capture_poll(p->capture, p->processes, p->sampler, p->window, 0,
				&work);

	op_heap_poll(p->heap);
	if (work.kernel_symbols)
		op_kernel_symbols_stale(p->kernel);
	p->records += work.records;
	p->dropped[OP_DROP_RECORD] += work.dropped_record;
	p->dropped[OP_DROP_WINDOW] += work.dropped_window;
	p->dropped[OP_DROP_MEMORY] += work.dropped_memory;
	*ret = work;
	return r;
}

int op_handle_drain(struct otelprof *p)
{
	int i;

	for (i = 0; i < DRAIN_POLLS_MAX; i++) {
		struct op_capture_work work;
		int r = op_handle_poll(p, &work);

		if (r < 0 && r != -EINTR)
			return r;
		if (work.idle)
			break;
	}
	return 0;
}
