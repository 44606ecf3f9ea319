/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a view. */
#include "recording/requests/filter.h"

#include "recording/tree/view.h"

bool view_passes(const struct view *v, enum view_filter f,
		 const struct op_collect_stack *s)
{
	const struct op_collect_process *p = &v->c->processes.data[s->process];
	const struct op_strings *strings = &v->c->strings;
	const struct filter_subject subject = {
		.pid = p->pid,
		.program = op_strings_get(strings, p->name),
		.thread = op_strings_get(strings, s->thread_name),
		.thread_id = s->thread_id,
		.container_id = op_strings_get(strings, p->container_id),
		.container_name = op_strings_get(strings, p->container_name),
	};
	const char *wanted = v->request.filters[f];

	return !wanted || filter_owner_is((enum filter_owner)f, wanted, &subject);
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
