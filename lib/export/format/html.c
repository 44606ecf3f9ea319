/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a flame graph as one page: page/page.html with the data in it as JSON, twice if
 * two recordings are compared. Names come from other processes, so nothing in the data
 * may end the script element or be read as markup: every '<', '>' and '&' is escaped, and
 * the page shows names only as text.
 *
 * For each kind and process the stacks are a tree in preorder (enum list). The times of
 * samples, which only some uses of the page want, are an element of their own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/foreign/text.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "export/format/collect/classes.h"
#include "export/format/collect/kinds.h"
#include "export/format/collect/waits.h"
#include "export/format/html.h"
#include "export/format/html_parts.h"
#include "export/format/ops.h"
#include "otelprof/export.h"
#include "otelprof/version.h"

static const char profile_marker[] = "@PROFILE@";
static const char before_marker[] = "@BEFORE@";
static const char times_marker[] = "@TIMES@";

static void put_string(struct op_strbuf *out, const char *text, size_t len)
{
	const char *s = text, *end = text + len, *c;
	char shown[OP_TEXT_CHAR_BYTES];

	op_strbuf_add(out, "\"", 1);
	while (s < end) {
		s += op_text_show_char(s, (size_t)(end - s), shown);
		for (c = shown; *c; c++) {
			if (strchr("\"\\<>&'`", *c))
				op_strbuf_printf(out, "\\u%04x", (unsigned char)*c);
			else
				op_strbuf_add(out, c, 1);
		}
	}
	op_strbuf_add(out, "\"", 1);
}

static void put_strings(struct html *h)
{
	const char *text;
	size_t len;
	uint32_t i;

	op_strbuf_puts(&h->out, "\"strings\":[");
	for (i = 0; i < h->c->strings.places.len; i++) {
		text = op_collect_text(h->c, i, &len);
		if (i)
			op_strbuf_add(&h->out, ",", 1);
		put_string(&h->out, text, len);
	}
	op_strbuf_puts(&h->out, "]");
}

/* For each kind, the per cent of stacks with a guessed frame, or the per cent of lost
 * samples. */
static void put_shares(struct html *h, const char *key, bool lost)
{
	const struct op_collect *c = h->c;
	const struct op_collect_stack *s;
	size_t i;

	op_strbuf_printf(&h->out, ",\"%s\":[", key);
	for (i = 0; i < c->kinds.len; i++) {
		double part = 0;
		double all = 0;

		op_vec_foreach(s, &c->stacks) {
			if (s->kind != i)
				continue;
			part += lost ? s->lost : (double)s->guessed;
			all += (double)s->value + (lost ? s->lost : 0);
		}
		op_strbuf_printf(&h->out, "%s%.4g", i ? "," : "",
				 all > 0 ? 100 * part / all : 0.0);
	}
	op_strbuf_puts(&h->out, "]");
}

static void put_wait_names(struct html *h)
{
	enum op_wait w;

	op_strbuf_puts(&h->out, ",\"waits\":[");
	for (w = WAIT_NONE; w < WAITS; w++)
		op_strbuf_printf(&h->out, "%s\"%s\"", w ? "," : "", op_wait_name(w));
	op_strbuf_puts(&h->out, "]");
}

static void put_tables(struct html *h)
{
	const struct op_collect *c = h->c;
	const struct op_collect_function *f;
	const struct op_collect_process *p;
	const struct op_collect_kind *k;

	op_strbuf_puts(&h->out, ",\"functions\":[");
	op_vec_foreach(f, &c->functions)
		op_strbuf_printf(&h->out, "%s[%u,%u,%u,%u,%u,%u]",
				 f == c->functions.data ? "" : ",", f->name, f->file,
				 f->start_line, f->type, f->module,
				 h->classes[f - c->functions.data]);
	op_strbuf_puts(&h->out, "],\"processes\":[");
	op_vec_foreach(p, &c->processes)
		op_strbuf_printf(&h->out, "%s[%" PRId64 ",%u,%u,%u,%u]",
				 p == c->processes.data ? "" : ",", p->pid, p->name,
				 p->path, p->container_id, p->service_name);
	op_strbuf_puts(&h->out, "],\"kinds\":[");
	op_vec_foreach(k, &c->kinds)
		op_strbuf_printf(&h->out, "%s[%u,%u,%u,%u,%" PRId64 "]",
				 k == c->kinds.data ? "" : ",", k->type, k->unit,
				 k->period_type, k->period_unit, k->period);
	op_strbuf_printf(&h->out, "],\"main_kind\":%u", op_collect_main_kind(c));
	op_strbuf_printf(&h->out, ",\"start_ms\":%" PRIu64 ",\"duration_ms\":%" PRIu64,
			 c->start_ns / 1000000, (c->end_ns - c->start_ns) / 1000000);
	put_wait_names(h);
	put_shares(h, "guessed", false);
	put_shares(h, "lost", true);
	op_strbuf_printf(&h->out, ",\"host\":%u,\"hosts_differ\":%s", c->host,
			 c->hosts_differ ? "true" : "false");
	op_strbuf_puts(&h->out, ",\"command\":");
	put_string(&h->out, c->command ?: "", c->command ? strlen(c->command) : 0);
	op_strbuf_printf(&h->out, ",\"none_lost\":%s", c->none_lost ? "true" : "false");
	op_strbuf_puts(&h->out, ",\"version\":\"" OTELPROF_VERSION "\"");
}

static int compare_paths(const void *a, const void *b)
{
	const struct html_path *x = a, *y = b;
	size_t n = OP_MIN(x->len, y->len), i;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	for (i = 0; i < n; i++) {
		if (x->pool[x->first + i] != y->pool[y->first + i])
			return x->pool[x->first + i] < y->pool[y->first + i] ? -1 : 1;
	}
	return x->len < y->len ? -1 : x->len > y->len;
}

static int make_paths(struct html *h)
{
	_cleanup_free_ uint32_t *data = NULL;
	struct op_collect_path path = { 0 };
	const struct op_collect_stack *s;
	struct html_path *p;
	int r;

	op_vec_foreach(s, &h->c->stacks) {
		r = op_collect_path(h->c, s, &path);
		data = path.data;
		if (r || op_vec_reserve(&h->pool, path.len + 1))
			return -ENOMEM;
		p = op_vec_push(&h->paths);
		if (!p)
			return -ENOMEM;
		*p = (struct html_path){ .first = h->pool.len,
					 .len = path.len,
					 .value = s->value,
					 .stack = (uint32_t)(s - h->c->stacks.data),
					 .kind = s->kind,
					 .process = s->process };
		if (path.len)
			memcpy(h->pool.data + h->pool.len, path.data,
			       path.len * sizeof(*path.data));
		h->pool.len += path.len;
	}
	op_vec_foreach(p, &h->paths)
		p->pool = h->pool.data;
	if (h->paths.len)
		qsort(h->paths.data, h->paths.len, sizeof(*h->paths.data), compare_paths);
	return 0;
}

static size_t common_prefix(const struct html_path *x, const struct html_path *y)
{
	size_t n = OP_MIN(x->len, y->len), i;

	for (i = 0; i < n && x->pool[x->first + i] == y->pool[y->first + i]; i++)
		;
	return i;
}

/* Give each path the number of its last node within its tree. */
static void number_nodes(struct html *h, const struct html_path *p,
			 const struct html_path *end)
{
	const struct html_path *last = NULL;
	int64_t node = -1;

	for (; p < end; last = p++) {
		node += (int64_t)(p->len - (last ? common_prefix(last, p) : 0));
		h->place_of[p->stack] = (struct html_place){ h->trees, node };
	}
	h->trees++;
}

/* A list of a tree. The paths are sorted, so new nodes begin where a path differs from
 * the one before. Equal paths are adjacent. */
enum list {
	LIST_FUNCTIONS, /* of each node */
	LIST_NODES,	/* of each path: how many nodes begin with it, */
	LIST_DEPTHS,	/* and the depth of the first one */
	LIST_VALUES,	/* values of the last one; other nodes have none of their own */
	LIST_WAITS, /* of kinds of waits: what its threads wait for, a place in "waits" */
	LISTS,
};

static bool is_of_waits(const struct html *h, uint32_t kind)
{
	static const char *const types[] = { "off_cpu", "delay", "contentions", "wall" };
	struct otlp_text type =
		op_strings_get(&h->c->strings, h->c->kinds.data[kind].counted_type);
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(types); i++)
		if (otlp_text_is(type, types[i]))
			return true;
	return false;
}

/* Idle threads have the numbers from WAITS on. */
static int64_t wait_of(const struct html *h, const struct html_path *p)
{
	const struct op_collect_stack *s = &h->c->stacks.data[p->stack];

	return (int64_t)op_wait_of(h->c, h->classes, s) +
	       (op_idle_has(&h->idle[p->kind], s) ? WAITS : 0);
}

static void put_list(struct html *h, const struct html_path *p,
		     const struct html_path *end, enum list what)
{
	static const char names[] = "fndsw";
	const struct html_path *last = NULL, *most;
	const char *sep = "";
	int64_t value;
	size_t first, i;

	op_strbuf_printf(&h->out, ",\"%c\":[", names[what]);
	for (; p < end; last = p++) {
		value = p->value;
		most = p;
		for (; p + 1 < end && compare_paths(p, p + 1) == 0; p++) {
			value = op_collect_sum(value, p[1].value);
			most = p[1].value > most->value ? p + 1 : most;
		}
		if (!p->len)
			continue;
		first = last ? common_prefix(last, p) : 0;
		if (what == LIST_FUNCTIONS) {
			for (i = first; i < p->len; i++, sep = ",")
				op_strbuf_printf(&h->out, "%s%u", sep,
						 p->pool[p->first + i]);
			continue;
		}
		op_strbuf_printf(&h->out, "%s%" PRId64, sep,
				 what == LIST_NODES    ? (int64_t)(p->len - first)
				 : what == LIST_DEPTHS ? (int64_t)first
				 : what == LIST_VALUES ? value
						       : wait_of(h, most));
		sep = ",";
	}
	op_strbuf_puts(&h->out, "]");
}

/* The value of samples without frames belongs to the tree itself. */
static int64_t own_value(const struct html_path *p, const struct html_path *end)
{
	int64_t sum = 0;

	for (; p < end && !p->len; p++)
		sum = op_collect_sum(sum, p->value);
	return sum;
}

/* Threads that were in a lock when they were examined: each node and its value. */
static void put_locked(struct html *h, const struct html_path *p,
		       const struct html_path *end)
{
	const struct op_collect *c = h->c;
	const char *sep = "";

	if (!otlp_text_is(op_strings_get(&c->strings, c->kinds.data[p->kind].type),
			  "threads"))
		return;
	op_strbuf_puts(&h->out, ",\"locked\":[");
	for (; p < end; p++) {
		if (!op_wait_may_deadlock(
			    op_wait_of(c, h->classes, &c->stacks.data[p->stack])))
			continue;
		op_strbuf_printf(&h->out, "%s%" PRId64 ",%" PRId64, sep,
				 h->place_of[p->stack].node, p->value);
		sep = ",";
	}
	op_strbuf_puts(&h->out, "]");
}

static void put_trees(struct html *h)
{
	const struct html_path *p = h->paths.data;
	const struct html_path *end = p ? p + h->paths.len : NULL, *next;
	const char *sep = "";
	enum list what;

	op_strbuf_puts(&h->out, ",\"trees\":[");
	for (; p < end; p = next) {
		for (next = p;
		     next < end && next->kind == p->kind && next->process == p->process;
		     next++)
			;
		number_nodes(h, p, next);
		op_strbuf_printf(&h->out, "%s{\"k\":%u,\"p\":%u,\"o\":%" PRId64, sep,
				 p->kind, p->process, own_value(p, next));
		for (what = LIST_FUNCTIONS; what < LISTS; what++)
			if (what != LIST_WAITS || is_of_waits(h, p->kind))
				put_list(h, p, next, what);
		put_locked(h, p, next);
		op_strbuf_puts(&h->out, "}");
		sep = ",\n";
	}
	op_strbuf_puts(&h->out, "]}");
}

/* Write the page up to @marker, which is left out. */
static int put_page_until(struct op_strbuf *out, const char **page, const char *marker)
{
	const char *end = (const char *)op_html_page + op_html_page_len;
	const char *at = memmem(*page, (size_t)(end - *page), marker, strlen(marker));

	if (!at)
		return -EINVAL;
	op_strbuf_add(out, *page, (size_t)(at - *page));
	*page = at + strlen(marker);
	return 0;
}

static void html_clear(struct html *h)
{
	size_t i;

	op_vec_clear(&h->pool);
	op_vec_clear(&h->paths);
	for (i = 0; h->idle && i < h->c->kinds.len; i++)
		op_idle_clear(&h->idle[i]);
	free(h->idle);
	free(h->classes);
	free(h->place_of);
}

static int classify(struct html *h)
{
	size_t functions = h->c->functions.len;
	int r = 0;
	uint32_t i;

	h->classes = calloc(functions + 1, sizeof(*h->classes));
	h->place_of = calloc(h->c->stacks.len + 1, sizeof(*h->place_of));
	h->idle = calloc(h->c->kinds.len + 1, sizeof(*h->idle));
	if (!h->classes || !h->place_of || !h->idle)
		return -ENOMEM;
	for (i = 0; i < functions; i++)
		h->classes[i] = (uint8_t)op_frame_class_of(h->c, i);
	for (i = 0; !r && i < h->c->kinds.len; i++)
		r = op_idle_find(h->c, h->classes, i, NULL, NULL, &h->idle[i]);
	return r;
}

/* Write @c as JSON; null if it is NULL. *@h is filled for put_times(). */
static int put_profile(struct op_strbuf *out, const struct op_collect *c, struct html *h)
{
	int r;

	*h = (struct html){ .c = c, .out = *out };
	if (!c) {
		op_strbuf_puts(out, "null");
		return 0;
	}
	r = make_paths(h);
	if (!r)
		r = classify(h);
	if (!r) {
		op_strbuf_puts(&h->out, "{");
		put_strings(h);
		put_tables(h);
		r = op_html_put_lines(h);
	}
	if (!r)
		put_trees(h);
	*out = h->out;
	return r;
}

/* The times of one recording. Two recordings are not compared by time. Writes nothing
 * if stacks of the times are gone from the collection. */
static int put_times(struct op_strbuf *out, struct html *h, bool wanted)
{
	int r;

	if (!wanted || !h->c->times || h->c->times->stacks_len != h->c->stacks.len) {
		op_strbuf_puts(out, "null");
		return 0;
	}
	h->out = *out;
	r = op_html_put_times(h);
	*out = h->out;
	return r;
}

int op_html_compare(const struct op_collect *before, const struct op_collect *after,
		    int fd)
{
	const char *page = (const char *)op_html_page;
	const char *end = page + op_html_page_len;
	struct html now = { 0 }, then = { 0 };
	struct op_strbuf out = { 0 };
	int r = put_page_until(&out, &page, profile_marker);

	if (!r)
		r = put_profile(&out, after, &now);
	if (!r)
		r = put_page_until(&out, &page, before_marker);
	if (!r)
		r = put_profile(&out, before, &then);
	if (!r)
		r = put_page_until(&out, &page, times_marker);
	if (!r)
		r = put_times(&out, &now, !before);
	op_strbuf_add(&out, page, (size_t)(end - page));
	if (!r)
		r = out.failed ? -ENOMEM : op_write_full(fd, out.data, out.len);
	op_strbuf_deinit(&out);
	html_clear(&now);
	html_clear(&then);
	return r;
}

static int html_write(const struct op_collect *c, int fd)
{
	return op_html_compare(NULL, c, fd);
}

const struct op_format op_format_html = {
	.format = OTELPROF_FORMAT_HTML,
	.detail = OP_COLLECT_LINES,
	.timed = true,
	.write = html_write,
};
