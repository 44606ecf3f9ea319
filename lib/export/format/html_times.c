/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of the samples: for each tree the nodes, threads, bins, traces and values of its
 * samples, a list each; a list of equal numbers is one number, and nodes are written as
 * differences.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/macros.h"
#include "export/format/collect/kinds.h"
#include "export/format/html_parts.h"

enum {
	BINS_MAX = 1024, /* of the whole time */
};

struct entry {
	int64_t node;
	int64_t value;
	uint64_t tick;
	uint32_t tree;
	uint32_t thread;
	uint32_t trace;
	uint32_t kind;
};

struct times {
	struct html *h;
	OP_VEC(struct entry) entries;
	unsigned int shift; /* of a bin, in ns */
	uint64_t first;	    /* tick of bin 0 */
	uint64_t bins;
};

/* The width that gives an acceptable number of bins, from the first to the last of
 * samples and windows. */
static void choose_bins(struct times *t)
{
	const struct op_times *from = t->h->c->times;
	uint64_t first = UINT64_MAX, last = 0;
	const struct op_times_entry *e;
	const struct op_times_window *w;

	op_vec_foreach(e, &from->entries) {
		first = OP_MIN(first, e->tick << from->shift);
		last = OP_MAX(last, e->tick << from->shift);
	}
	op_vec_foreach(w, &from->windows) {
		first = OP_MIN(first, w->start_ns);
		last = OP_MAX(last, w->end_ns);
	}
	t->shift = from->shift;
	if (first > last)
		return;
	while ((last >> t->shift) - (first >> t->shift) >= BINS_MAX)
		t->shift++;
	t->first = first >> t->shift;
	t->bins = (last >> t->shift) - t->first + 1;
}

/* A clock's samples are counted, unless their periods differ. */
static int64_t shown_value(const struct op_collect *c, uint32_t kind, int64_t value)
{
	const struct op_collect_kind *k = &c->kinds.data[kind];

	return op_collect_is_clock(c, k) && !op_collect_is_weighed(k) ? value / k->period
								      : value;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->tree != y->tree)
		return x->tree < y->tree ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->trace < y->trace ? -1 : x->trace > y->trace;
}

static int make_entries(struct times *t)
{
	const struct op_collect *c = t->h->c;
	const struct op_times *from = c->times;
	const struct op_times_entry *e;
	struct entry *x, *last = NULL;
	size_t kept = 0;

	if (op_vec_reserve(&t->entries, from->entries.len + 1))
		return -ENOMEM;
	op_vec_foreach(e, &from->entries) {
		const struct html_place *place = &t->h->place_of[e->stack];
		uint32_t kind = c->stacks.data[e->stack].kind;

		t->entries.data[t->entries.len++] = (struct entry){
			.node = place->node,
			.value = shown_value(c, kind, e->value),
			.tick = (e->tick << from->shift >> t->shift) - t->first,
			.tree = place->tree,
			.thread = from->threads_lost ? OP_TIMES_NONE : e->thread,
			.trace = from->traces_lost ? OP_TIMES_NONE : e->trace,
			.kind = kind,
		};
	}
	if (t->entries.len)
		qsort(t->entries.data, t->entries.len, sizeof(*t->entries.data),
		      compare_entries);
	op_vec_foreach(x, &t->entries) {
		if (last && compare_entries(last, x) == 0) {
			last->value = op_collect_sum(last->value, x->value);
			continue;
		}
		last = &t->entries.data[kept++];
		*last = *x;
	}
	t->entries.len = kept;
	return 0;
}

static int64_t column(const struct entry *e, char what)
{
	switch (what) {
	case 'n':
		return e->node;
	case 't':
		return e->thread;
	case 'b':
		return (int64_t)e->tick;
	case 'x':
		return e->trace;
	default:
		return e->value;
	}
}

static void put_column(struct op_strbuf *out, const struct entry *from,
		       const struct entry *end, char what)
{
	const struct entry *e;
	int64_t before = 0;

	for (e = from; e < end && column(e, what) == column(from, what); e++)
		;
	op_strbuf_printf(out, ",\"%c\":", what);
	if (e == end && what != 'n') {
		op_strbuf_printf(out, "%" PRId64, column(from, what));
		return;
	}
	op_strbuf_puts(out, "[");
	for (e = from; e < end; e++) {
		op_strbuf_printf(out, "%s%" PRId64, e == from ? "" : ",",
				 column(e, what) - before);
		before = what == 'n' ? e->node : 0;
	}
	op_strbuf_puts(out, "]");
}

static void put_trees(struct times *t)
{
	static const char columns[] = "ntbxv";
	struct op_strbuf *out = &t->h->out;
	const struct entry *e = t->entries.data;
	const struct entry *end = e ? e + t->entries.len : NULL, *next;
	const char *what, *sep = "";

	op_strbuf_puts(out, ",\"trees\":[");
	for (; e < end; e = next) {
		for (next = e; next < end && next->tree == e->tree; next++)
			;
		op_strbuf_printf(out, "%s{\"tree\":%u,\"len\":%zu", sep, e->tree,
				 (size_t)(next - e));
		for (what = columns; *what; what++)
			put_column(out, e, next, *what);
		op_strbuf_puts(out, "}");
		sep = ",\n";
	}
	op_strbuf_puts(out, "]");
}

static void put_traces(struct op_strbuf *out, const struct op_times *from)
{
	const struct op_times_trace *x;
	size_t i;

	op_strbuf_puts(out, ",\"traces\":[");
	op_vec_foreach(x, &from->traces) {
		op_strbuf_puts(out, x == from->traces.data ? "\"" : ",\"");
		for (i = 0; i < sizeof(x->id); i++)
			op_strbuf_printf(out, "%02x", x->id[i]);
		op_strbuf_puts(out, "\"");
	}
	op_strbuf_puts(out, "]");
}

static void put_tables(struct times *t)
{
	struct op_times *from = t->h->c->times;
	struct op_strbuf *out = &t->h->out;
	const struct op_times_thread *x;
	const struct op_times_window *w;
	uint64_t first_ns = t->first << t->shift;
	size_t i;

	op_strbuf_printf(out, "{\"full\":%s,\"threads_lost\":%s,\"traces_lost\":%s",
			 from->full ? "true" : "false",
			 from->threads_lost ? "true" : "false",
			 from->traces_lost ? "true" : "false");
	op_strbuf_printf(out,
			 ",\"bin_ns\":%" PRIu64 ",\"bins\":%" PRIu64 ",\"windows\":[",
			 UINT64_C(1) << t->shift, t->bins);
	op_vec_foreach(w, &from->windows)
		op_strbuf_printf(out, "%s[%.3f,%.3f]", w == from->windows.data ? "" : ",",
				 (double)(w->start_ns - first_ns) / 1e6,
				 (double)(w->end_ns - first_ns) / 1e6);
	op_strbuf_puts(out, "],\"threads\":[");
	op_vec_foreach(x, &from->threads)
		op_strbuf_printf(out, "%s[%u,%" PRId64 ",%u]",
				 x == from->threads.data ? "" : ",", x->process, x->id,
				 x->name);
	op_strbuf_puts(out, "],\"summed\":[");
	for (i = 0; i < t->h->c->kinds.len; i++)
		op_strbuf_printf(out, "%s%d", i ? "," : "", from->summed[i]);
	op_strbuf_puts(out, "]");
	put_traces(out, from);
}

int op_html_put_times(struct html *h)
{
	struct times t = { .h = h };
	int r;

	op_times_join_windows(h->c->times);
	choose_bins(&t);
	r = make_entries(&t);
	if (!r) {
		put_tables(&t);
		put_trees(&t);
		op_strbuf_puts(&h->out, "}");
	}
	op_vec_clear(&t.entries);
	return r;
}
