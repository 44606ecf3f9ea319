/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report as one JSON object; docs/report.md describes it. Within one version
 * keys may be added, but no key changes its meaning. */
#include <inttypes.h>
#include <string.h>

#include "recording/read/print.h"
#include "recording/read/quality.h"
#include "recording/write/form.h"

enum {
	VERSION = 2,
	NAME_BYTES = 65536,
};

struct json {
	const struct report *r;
	FILE *f;
	bool first;
	char *buf;
};

/* @key begins with ", " if it is not the first. */
static void put_text(FILE *f, const char *key, const char *text)
{
	size_t comma = key[0] == ',' ? strlen(", ") : 0;

	(void)fprintf(f, "%s\"%s\": ", comma ? ", " : "", key + comma);
	print_json_string(f, text, strlen(text));
}

/* A string of the collection. */
static void put_of(const struct json *j, const char *key, uint32_t string)
{
	put_text(j->f, key, view_text(j->r->v->c, string, j->buf, NAME_BYTES));
}

static void write_head(const struct json *j)
{
	const struct view *v = j->r->v;
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];
	size_t i;

	(void)fprintf(j->f,
		      "{\n  \"schema\": \"otelprof.report\",\n  \"version\": %d,\n"
		      "  \"files\": [",
		      VERSION);
	for (i = 0; i < j->r->files_len; i++) {
		(void)fputs(i ? ", " : "", j->f);
		print_json_string(j->f, j->r->files[i], strlen(j->r->files[i]));
	}
	(void)fputs("],\n  \"kind\": { ", j->f);
	put_of(j, "type", k->type);
	put_of(j, ", unit", k->unit);
	put_of(j, ", period_type", k->period_type);
	put_of(j, ", period_unit", k->period_unit);
	(void)fprintf(j->f, ", \"period\": %" PRId64 " },\n  ", k->period);
	put_text(j->f, "measures", view_what(v, j->buf, NAME_BYTES));
	(void)fprintf(j->f,
		      ",\n  \"start_unix_ns\": %" PRIu64 ",\n  \"duration_s\": %.3f,\n"
		      "  \"total\": %" PRId64 ",\n  ",
		      v->c->start_ns, report_duration(j->r), v->total);
	put_text(j->f, "total_text", view_value(v, v->total, j->buf, NAME_BYTES));
	(void)fprintf(j->f, ",\n  \"processes\": %zu,\n  ", v->processes);
	put_text(j->f, "by", view_by_name(v->request.by));
}

static void write_row(const struct json *j, const struct view_row *row)
{
	const struct view *v = j->r->v;
	const struct op_collect_function *fn;

	(void)fputs("{ ", j->f);
	put_text(j->f, "name", view_row_name(v, row, j->buf, NAME_BYTES));
	(void)fprintf(j->f,
		      ", \"self\": %" PRId64 ", \"total\": %" PRId64
		      ", \"self_percent\": %.2f, \"total_percent\": %.2f",
		      row->self, row->total, view_percent(v, row->self),
		      view_percent(v, row->total));
	if (v->request.by == VIEW_BY_FUNCTION) {
		fn = &v->c->functions.data[row->label];
		put_of(j, ", module", fn->module);
		put_of(j, ", type", fn->type);
		put_of(j, ", file", fn->file);
		(void)fprintf(j->f, ", \"line\": %u", row->line);
	}
	(void)fputs(" }", j->f);
}

static void write_named(const struct json *j, uint32_t function, uint32_t line)
{
	const struct op_collect_function *fn = &j->r->v->c->functions.data[function];

	put_text(j->f, "name", view_label_name(j->r->v, function, j->buf, NAME_BYTES));
	put_of(j, ", module", fn->module);
	put_of(j, ", type", fn->type);
	put_of(j, ", file", fn->file);
	(void)fprintf(j->f, ", \"line\": %u", line);
}

static void write_place(const struct json *j, uint32_t function, uint32_t line,
			int64_t value)
{
	write_named(j, function, line);
	(void)fprintf(j->f, ", \"total\": %" PRId64 ", \"total_percent\": %.2f", value,
		      view_percent(j->r->v, value));
}

/* Waits that have not ended, in threads, or bytes in use. */
static void write_stands(const struct json *j, const struct answer *a)
{
	bool memory = a->about == ABOUT_MEMORY;
	size_t i;

	if (!a->stands_len)
		return;
	(void)fprintf(j->f, ",\n  \"%s\": [", memory ? "still_in_use" : "still_waiting");
	for (i = 0; i < a->stands_len; i++) {
		const struct answer_row *row = &a->stands[i];

		(void)fputs(i ? ",\n    { " : "\n    { ", j->f);
		write_named(j, row->function, row->line);
		(void)fprintf(j->f, ", \"%s\": %" PRId64, memory ? "bytes" : "threads",
			      row->value);
		if (!memory)
			(void)fprintf(j->f, ", \"all_the_time\": %s",
				      row->whole == row->value ? "true" : "false");
		if (row->wait != WAIT_NONE)
			put_text(j->f, ", waits_for", op_wait_name(row->wait));
		(void)fputs(" }", j->f);
	}
	(void)fputs("\n  ]", j->f);
}

static void write_own(const struct json *j, const struct answer *a)
{
	size_t i;

	(void)fputs(",\n  \"your_code\": [", j->f);
	for (i = 0; i < a->rows_len; i++) {
		const struct answer_row *row = &a->rows[i];

		(void)fputs(i ? ",\n    { " : "\n    { ", j->f);
		write_place(j, row->function, row->line, row->value);
		if (row->error > 0)
			(void)fprintf(j->f, ", \"error_points\": %.2f", row->error);
		if (row->samples)
			(void)fprintf(j->f, ", \"samples\": %" PRIu64, row->samples);
		if (row->wait != WAIT_NONE)
			put_text(j->f, ", waits_for", op_wait_name(row->wait));
		if (answer_row_is_idle(row))
			(void)fputs(", \"idle\": true", j->f);
		if (row->in != ANSWER_NO_FUNCTION)
			put_text(j->f, ", mostly_in",
				 view_label_name(j->r->v, row->in, j->buf, NAME_BYTES));
		(void)fputs(" }", j->f);
	}
	(void)fprintf(j->f, "%s]", a->rows_len ? "\n  " : "");
}

void report_json_answer(const struct answer *a, unsigned int cpus, FILE *f)
{
	const struct report report = { .v = a->v };
	char text[ANSWER_SENTENCE_BYTES], buf[NAME_BYTES];
	const struct json j = { &report, f, true, buf };

	put_text(f, "answer", answer_sentence(a, cpus, text));
	write_own(&j, a);
	write_stands(&j, a);
}

static void write_path(const struct json *j, const struct answer *a)
{
	size_t i;

	(void)fputs(",\n  \"hottest_path\": [", j->f);
	for (i = 0; i < a->path_len; i++) {
		const struct answer_step *step = &a->path[i];

		(void)fputs(i ? ",\n    { " : "\n    { ", j->f);
		if (step->label & VIEW_PROCESS) {
			put_text(j->f, "name",
				 view_label_name(j->r->v, step->label, j->buf,
						 NAME_BYTES));
			(void)fprintf(j->f,
				      ", \"type\": \"program\", \"total\": %" PRId64
				      ", \"total_percent\": %.2f",
				      step->value, view_percent(j->r->v, step->value));
		} else {
			write_place(j, step->label, step->line, step->value);
		}
		(void)fputs(" }", j->f);
	}
	(void)fprintf(j->f, "%s]", a->path_len ? "\n  " : "");
}

static void write_answer(const struct json *j)
{
	char kinds[REPORT_KINDS_BYTES];
	struct answer buf;
	const struct answer *a = report_answer(j->r, &buf);

	(void)fputs(",\n  ", j->f);
	put_text(j->f, "other_kinds", report_other_kinds(j->r->v, kinds));
	if (!a)
		return;
	(void)fputs(",\n  ", j->f);
	report_json_answer(a, 0, j->f);
	write_path(j, a);
}

static void write_rows(const struct json *j)
{
	size_t n = report_rows(j->r), i;

	(void)fputs(",\n  \"rows\": [", j->f);
	for (i = 0; i < n; i++) {
		(void)fputs(i ? ",\n    " : "\n    ", j->f);
		write_row(j, &j->r->v->rows.data[i]);
	}
	(void)fprintf(j->f, "%s],\n  \"rows_known\": %zu", n ? "\n  " : "",
		      j->r->v->rows.len);
	write_answer(j);
}

/* The number of frames between a node and the root. */
static unsigned int depth_of(const struct view *v, const struct tree_node *n)
{
	unsigned int depth = 0;

	for (; n->parent; n = &v->tree.nodes.data[n->parent])
		depth++;
	return depth;
}

static void write_node(void *data, const struct tree_node *n)
{
	struct json *j = data;
	const struct view *v = j->r->v;

	(void)fprintf(j->f, "%s\n    { \"depth\": %u, ", j->first ? "" : ",",
		      depth_of(v, n));
	j->first = false;
	put_text(j->f, "name", view_label_name(v, n->label, j->buf, NAME_BYTES));
	(void)fprintf(j->f,
		      ", \"self\": %" PRId64 ", \"total\": %" PRId64
		      ", \"total_percent\": %.2f }",
		      n->self, n->total, view_percent(v, n->total));
}

static void write_sums(const struct json *j, const char *key, const struct sums *s)
{
	const char *words;
	size_t i;

	(void)fprintf(j->f, ",\n    \"%s\": [", key);
	for (i = 0; i < s->items.len && i < j->r->limit; i++) {
		(void)fprintf(j->f, "%s { ", i ? "," : "");
		put_of(j, "name", (uint32_t)s->items.data[i].key);
		(void)fprintf(j->f, ", \"value\": %" PRId64, s->items.data[i].value);
		words = quality_words(j->buf, strlen(j->buf));
		if (words) {
			put_text(j->f, ", why", words);
		}
		(void)fputs(" }", j->f);
	}
	(void)fputs(" ]", j->f);
}

static void write_quality(const struct json *j)
{
	const struct view *v = j->r->v;

	(void)fprintf(j->f,
		      ",\n  \"quality\": {\n    \"whole_stacks_percent\": %.2f,\n"
		      "    \"guessed_stacks_percent\": %.2f,\n"
		      "    \"named_frames_percent\": %.2f,\n"
		      "    \"lost_samples_percent\": %.6g",
		      view_whole_percent(v), view_guessed_percent(v),
		      view_named_percent(v), view_lost_percent(v));
	write_sums(j, "end_early", &v->endings);
	write_sums(j, "without_symbols", &v->unnamed);
	(void)fputs("\n  }\n}\n", j->f);
}

static void report_json(const struct report *r, FILE *f)
{
	char buf[NAME_BYTES];
	struct json j = { r, f, true, buf };

	write_head(&j);
	if (r->show_rows)
		write_rows(&j);
	if (r->v->also.items.len)
		write_sums(&j, "also_fit", &r->v->also);
	if (r->show_tree) {
		(void)fputs(",\n  \"tree\": [", f);
		report_tree(r, r->tree_limit ? r->tree_limit : r->limit, write_node, &j);
		(void)fputs("\n  ]", f);
	}
	write_quality(&j);
}

static void put_shares(FILE *f, const char *key, const double share[DIFF_SIDES])
{
	(void)fprintf(f, ", \"%s_before\": %.4f, \"%s_after\": %.4f", key, share[0], key,
		      share[1]);
}

static void put_values(FILE *f, const char *key, const int64_t value[DIFF_SIDES])
{
	(void)fprintf(f, ", \"%s_before\": %" PRId64 ", \"%s_after\": %" PRId64, key,
		      value[0], key, value[1]);
}

static void put_string(FILE *f, const struct view *v, const char *key, uint32_t string)
{
	size_t len;
	const char *text = op_collect_text(v->c, string, &len);

	(void)fprintf(f, "\"%s\": ", key);
	print_json_string(f, text, len);
}

static void put_recording(FILE *f, const struct diff *d, int side, const char *key)
{
	const struct view *v = &d->views[side];

	(void)fprintf(f, "  \"%s\": { \"file\": ", key);
	print_json_string(f, d->files[side], strlen(d->files[side]));
	(void)fprintf(f, ", \"total\": %" PRId64 ", ", v->total);
	put_string(f, v, "unit", v->c->kinds.data[v->kind].unit);
	(void)fprintf(f, " },\n");
}

static void diff_json(const struct diff *d, FILE *f)
{
	const struct view *v = &d->views[0];
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];
	const struct change *c;
	size_t n = diff_rows(d), i;

	(void)fprintf(f, "{\n  \"schema\": \"otelprof.diff\",\n  \"version\": 1,\n");
	put_recording(f, d, 0, "before");
	put_recording(f, d, 1, "after");
	(void)fprintf(f, "  \"kind\": { ");
	put_string(f, v, "type", k->counted_type);
	(void)fprintf(f, ", ");
	put_string(f, v, "unit", k->counted_unit);
	(void)fprintf(f, " },\n  \"by\": \"%s\",\n  \"changes\": [",
		      view_by_name(d->views[0].request.by));
	for (i = 0; i < n; i++) {
		c = &d->changes[i];
		(void)fprintf(f, "%s\n    { \"name\": ", i ? "," : "");
		print_json_string(f, c->name, strlen(c->name));
		(void)fprintf(f, ", \"module\": ");
		print_json_string(f, c->module, strlen(c->module));
		if (v->request.by == VIEW_BY_FUNCTION) {
			(void)fprintf(f, ", \"file\": ");
			print_json_string(f, c->file.data, c->file.len);
			(void)fprintf(f, ", \"line\": %u", c->start_line);
		}
		put_shares(f, "self_percent", c->self);
		put_shares(f, "total_percent", c->total);
		put_values(f, "self", c->self_value);
		put_values(f, "total", c->total_value);
		(void)fprintf(f, " }");
	}
	(void)fprintf(f, "%s],\n  \"changes_known\": %zu\n}\n", n ? "\n  " : "", d->len);
}

const struct op_form op_form_json = {
	.name = "json",
	.report = report_json,
	.diff = diff_json,
};
