/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples a view is of. */
#include <stdlib.h>
#include <string.h>

#include "recording/tree/view.h"

bool view_passes(const struct view *v, enum view_filter f,
		 const struct op_collect_stack *s)
{
	const struct op_collect_process *p = &v->c->processes.data[s->process];
	const char *wanted = v->request.filters[f], *id;
	size_t len;

	if (!wanted)
		return true;
	switch (f) {
	case VIEW_FILTER_PID:
		return p->pid == strtoll(wanted, NULL, 10);
	case VIEW_FILTER_PROGRAM:
		return view_text_is(v->c, p->name, wanted);
	case VIEW_FILTER_THREAD:
		return view_text_is(v->c, s->thread_name, wanted);
	default:
		id = op_collect_text(v->c, p->container_id, &len);
		return len && len >= strlen(wanted) &&
		       memcmp(id, wanted, strlen(wanted)) == 0;
	}
}

bool view_wants(const struct view *v, const struct op_collect_stack *s)
{
	int f;

	if (s->kind != v->kind)
		return false;
	for (f = 0; f < VIEW_FILTERS; f++) {
		if (!view_passes(v, (enum view_filter)f, s))
			return false;
	}
	return true;
}
