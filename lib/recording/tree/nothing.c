/* SPDX-License-Identifier: Apache-2.0 */
/* Names the condition that lets no sample pass, by reading again without some of them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/read/say.h"
#include "recording/tree/missing.h"
#include "recording/tree/recording.h"
#include "recording/tree/view.h"

/* The conditions on samples' own data, as the user typed them. */
static void put_conditions(FILE *out, const struct filter *f)
{
	const char *separator = " with ";
	size_t i;

	for (i = 0; i < f->labels_len; i++, separator = " and ")
		(void)fprintf(out, "%s%s", separator, f->labels[i]);
	if (f->cgroup) {
		(void)fprintf(out, "%scontrol group %s", separator, f->cgroup);
		separator = " and ";
	}
	if (f->trace)
		(void)fprintf(out, "%strace %s", separator, f->trace);
	separator = f->trace ? " and " : separator;
	if (f->span)
		(void)fprintf(out, "%sspan %s", separator, f->span);
	if (f->from.given || f->to.given)
		(void)fputs(" in the time that is asked for", out);
}

static int say_conditions(const struct filter *f, const char *what)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return fail("out of memory");
	put_conditions(out, f);
	(void)fclose(out);
	return fail("%s has no samples%s", what, text ? text : "");
}

int missing_say(const struct filter *f, char *const *paths, size_t len)
{
	const char *what = len == 1 ? recording_title(paths[0]) : "what was recorded";
	struct recording_request request = { .detail = OP_COLLECT_LOCATIONS };
	struct view_request wanted = { .kind = f->kind };
	struct filter less = *f;
	struct recording rec = { 0 };
	struct view v = { 0 };
	size_t i;
	int r;

	for (i = 0; i < len; i++)
		if (strcmp(paths[i], "-") == 0)
			return fail("%s has no samples that all conditions let pass",
				    what);
	less.kind = NULL;
	for (i = 0; i < FILTER_OWNERS; i++) {
		wanted.filters[i] = f->owners[i];
		less.owners[i] = NULL;
	}
	for (i = 0; i < FILTER_FRAMES; i++)
		less.frames[i] = NULL;
	if (memcmp(&less, f, sizeof(less)) == 0)
		return say_conditions(f, what);
	request.filter = &less;
	r = recording_load(paths, len, &request, &rec);
	if (!r)
		r = view_make_or_say(rec.c, &wanted, what, &v);
	if (!r)
		r = fail("%s has no stacks that --focus and --ignore let pass", what);
	view_clear(&v);
	recording_clear(&rec);
	return r;
}

int recording_load(char *const *paths, size_t len,
		   const struct recording_request *request, struct recording *ret)
{
	int r = recording_collect(paths, len, request, ret);

	return !r && request->filter && !ret->c->stacks.len
		       ? missing_say(request->filter, paths, len)
		       : r;
}
