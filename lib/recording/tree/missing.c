/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the condition of a request that matches nothing, by leaving out others. */
#include "recording/tree/missing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/read/kind_word.h"
#include "recording/read/print.h"
#include "recording/read/say.h"
#include "recording/tree/function_name.h"
#include "recording/tree/view.h"

enum {
	KINDS_SHOWN = 12,
	NAME_COLUMNS = 60,
	ASKED_COLUMNS = 100,
	NAME_BYTES = 1024,
	SHORT_ID = 12,
	ALL_FILTERS = (1 << VIEW_FILTERS) - 1,
};

/* The names of filters in a sentence, and as options. */
static const struct {
	const char *what;
	const char *option;
} filters[VIEW_FILTERS] = {
	[VIEW_FILTER_PID] = { "process", "-p" },
	[VIEW_FILTER_PROGRAM] = { "program", "--program" },
	[VIEW_FILTER_THREAD] = { "thread", "--thread" },
	[VIEW_FILTER_CONTAINER] = { "container", "--container" },
};

static void put_name(FILE *f, const char *name, int columns)
{
	(void)fputc('"', f);
	print_name(f, name, -columns);
	(void)fputc('"', f);
}

/* The value that a filter wants. */
static void put_asked(FILE *out, const struct view *v, enum view_filter f)
{
	(void)fprintf(out, "%s ", filters[f].what);
	if (f == VIEW_FILTER_PID)
		(void)fputs(v->request.filters[f], out);
	else
		put_name(out, v->request.filters[f], ASKED_COLUMNS);
}

/* Does @v match any sample without the filters of the set @without? */
static bool finds(const struct view *v, unsigned int without)
{
	const struct op_collect_stack *s;
	struct view other = *v;
	uint32_t function;
	unsigned int f;

	for (f = 0; f < VIEW_FILTERS; f++)
		if (without & 1U << f)
			other.request.filters[f] = NULL;
	op_vec_foreach(s, &v->c->stacks) {
		if (view_wants(&other, s))
			return !other.request.function ||
			       function_name_find(&other, &function, NULL) == 0;
	}
	return false;
}

/* Does a sample of the kind pass this filter alone? */
static bool passes_alone(const struct view *v, enum view_filter f)
{
	const struct op_collect_stack *s;

	op_vec_foreach(s, &v->c->stacks) {
		if (s->kind == v->kind && view_passes(v, f, s))
			return true;
	}
	return false;
}

/* The property by which a filter chooses: a string of the collection, or the number of
 * a process. */
static uint32_t label_of(const struct view *v, enum view_filter f,
			 const struct op_collect_stack *s)
{
	const struct op_collect_process *p = &v->c->processes.data[s->process];

	return f == VIEW_FILTER_PID	  ? s->process
	       : f == VIEW_FILTER_PROGRAM ? p->name
	       : f == VIEW_FILTER_THREAD  ? s->thread_name
	       : p->container_id	  ? p->container_id
					  : p->container_name;
}

static void put_label(FILE *f, const struct view *v, enum view_filter of, uint32_t label)
{
	const struct op_collect_process *p;
	char name[NAME_BYTES];

	if (of == VIEW_FILTER_PID) {
		p = &v->c->processes.data[label];
		view_text(v->c, p->name, name, sizeof(name));
		(void)fprintf(f, "%" PRId64 " (", p->pid);
		print_name(f, name, -NAME_COLUMNS);
		(void)fputc(')', f);
		return;
	}
	view_text(v->c, label, name, sizeof(name));
	if (of == VIEW_FILTER_CONTAINER && strlen(name) > SHORT_ID)
		name[SHORT_ID] = 0;
	put_name(f, name, NAME_COLUMNS);
}

/* End a sentence with similar names, or with the largest ones. */
static void put_near(FILE *f, const struct view *v, enum view_filter of,
		     const struct suggestions *n)
{
	bool near = n->nearest_len;
	const struct suggestion *names = near ? n->nearest : n->largest;
	size_t len = near ? n->nearest_len : n->largest_len, i;

	(void)fputs(near  ? "; did you mean "
		    : len ? "; most samples are in "
			  : ", nor of any other",
		    f);
	for (i = 0; i < len; i++) {
		(void)fputs(i ? ", " : "", f);
		put_label(f, v, of, names[i].label);
	}
	if (near)
		(void)fputc('?', f);
	else if (n->names > len)
		(void)fprintf(f, ", and there %s %zu more",
			      n->names - len == 1 ? "is" : "are", n->names - len);
}

static void say_filter(FILE *out, const struct view *v, enum view_filter f,
		       const char *what)
{
	struct suggestions n = { .wanted = v->request.filters[f] };
	const struct op_collect_stack *s;
	char other[SUGGESTION_BYTES];
	struct sums sums = { 0 };
	const struct sum *sum;

	op_vec_foreach(s, &v->c->stacks) {
		if (s->kind == v->kind && (f == VIEW_FILTER_PID || label_of(v, f, s)))
			(void)sums_add(&sums, label_of(v, f, s), s->value);
	}
	op_vec_foreach(sum, &sums.items) {
		/* Numbers of processes are never similar. */
		*other = 0;
		if (f != VIEW_FILTER_PID)
			view_text(v->c, (uint32_t)sum->key, other, sizeof(other));
		suggestions_add(&n, (uint32_t)sum->key, other, sum->value);
	}
	(void)fprintf(out, "%s has no samples of ", what);
	put_asked(out, v, f);
	put_near(out, v, f, &n);
	sums_clear(&sums);
}

static void say_function(FILE *out, const struct view *v, const char *what)
{
	_cleanup_free_ int64_t *weights = NULL;
	struct suggestions n = { .wanted = v->request.function };
	char name[SUGGESTION_BYTES];
	size_t i;

	weights = calloc(v->c->strings.places.len + 1, sizeof(*weights));
	if (!weights || function_name_weigh(v, weights))
		return;
	for (i = 1; i < v->c->strings.places.len; i++) {
		if (weights[i])
			suggestions_add(&n, (uint32_t)i,
					view_text(v->c, (uint32_t)i, name, sizeof(name)),
					weights[i]);
	}
	(void)fprintf(out, "%s has no samples of a function ", what);
	put_name(out, n.wanted, ASKED_COLUMNS);
	/* Functions are strings, as programs are. */
	put_near(out, v, VIEW_FILTER_PROGRAM, &n);
}

static void say_kind(FILE *out, const struct view *v, const char *what)
{
	char name[NAME_BYTES];
	size_t i;

	(void)fprintf(out, "%s has no samples of kind ", what);
	put_name(out, v->request.kind ? v->request.kind : "", ASKED_COLUMNS);
	for (i = 0; i < v->c->kinds.len && i < KINDS_SHOWN; i++) {
		(void)fputs(i ? ", " : "; it has ", out);
		put_name(out, kind_word(v->c, (uint32_t)i, name), NAME_COLUMNS);
	}
	if (i < v->c->kinds.len)
		(void)fprintf(out, " and %zu more", v->c->kinds.len - i);
}

/* Each condition matches something, but not all together. */
static void say_together(FILE *out, const struct view *v, const char *what)
{
	const char *separator = "";
	unsigned int f;

	(void)fprintf(out, "%s has no samples of ", what);
	for (f = 0; f < VIEW_FILTERS; f++) {
		if (!v->request.filters[f])
			continue;
		(void)fputs(separator, out);
		put_asked(out, v, f);
		separator = " and ";
	}
	if (v->request.function) {
		(void)fprintf(out, "%sfunction ", separator);
		put_name(out, v->request.function, ASKED_COLUMNS);
	}
	(void)fputs(" together", out);
	for (f = 0, separator = "; there are some without "; f < VIEW_FILTERS; f++) {
		if (!v->request.filters[f] || !finds(v, 1U << f))
			continue;
		(void)fprintf(out, "%s%s", separator, filters[f].option);
		separator = " or ";
	}
}

/* Does the wanted process run another program? */
static bool say_other_program(FILE *out, const struct view *v, const char *what)
{
	const char *pid = v->request.filters[VIEW_FILTER_PID];
	const char *program = v->request.filters[VIEW_FILTER_PROGRAM];
	const struct op_collect_process *p;
	char name[NAME_BYTES];

	if (!pid || !program)
		return false;
	op_vec_foreach(p, &v->c->processes) {
		if (p->pid != strtoll(pid, NULL, 10) ||
		    view_text_is(v->c, p->name, program))
			continue;
		(void)fprintf(out, "in %s process %" PRId64 " is ", what, p->pid);
		put_name(out, view_text(v->c, p->name, name, sizeof(name)), NAME_COLUMNS);
		(void)fputs(", not ", out);
		put_name(out, program, ASKED_COLUMNS);
		return true;
	}
	return false;
}

/* Another kind of samples may match. */
static void note_kinds(const struct view *v)
{
	struct view other = *v;
	char name[NAME_BYTES];
	size_t shown = 0;
	uint32_t i;

	for (i = 0; i < v->c->kinds.len && shown < KINDS_SHOWN; i++) {
		other.kind = i;
		if (i == v->kind || !finds(&other, 0))
			continue;
		note("with --kind=%s there are some", kind_word(v->c, i, name));
		shown++;
	}
}

/* Write the sentence about what is missing in @what. */
static void say(FILE *out, const struct view *v, const char *what)
{
	unsigned int f;

	if (!v->kind_found) {
		say_kind(out, v, what);
		return;
	}
	for (f = 0; f < VIEW_FILTERS; f++) {
		if (v->request.filters[f] && !passes_alone(v, f)) {
			say_filter(out, v, f, what);
			return;
		}
	}
	if (v->request.function && !finds(v, ALL_FILTERS))
		say_function(out, v, what);
	else if (!say_other_program(out, v, what))
		say_together(out, v, what);
}

void missing_note_kinds(const struct op_collect *c)
{
	char word[KIND_WORD_BYTES];
	uint32_t i;

	for (i = 0; i < c->kinds.len; i++)
		note("there are samples of %s", kind_word(c, i, word));
}

int view_make_or_say(const struct op_collect *c, const struct view_request *request,
		     const char *what, struct view *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = view_make(c, request, ret);
	size_t size;
	FILE *out;

	if (!r)
		return 0;
	if (r != -ENOENT)
		return fail("out of memory");
	if (!c->stacks.len)
		return fail("%s has no samples", what);
	out = open_memstream(&text, &size);
	if (!out)
		return fail("out of memory");
	say(out, ret, what);
	if (fclose(out) == 0)
		(void)fail("%s", text);
	if (ret->kind_found)
		note_kinds(ret);
	return STATUS_FAILED;
}
