/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of functions that samples are in: a row for each line, with the kind, the
 * function, the line, the value of samples that have it on their stack, and the part of
 * that value that is charged to the line. A sample is charged to the innermost frame of
 * the first class that it has: a program's own code, then libraries, then the C library
 * and the kernel.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "export/format/collect/classes.h"
#include "export/format/html_parts.h"

enum {
	ROWS_MAX = 1 << 20,
	LINES_MAX = 8, /* lines of one function */
};

struct row {
	uint32_t kind;
	uint32_t function;
	uint32_t line;
	uint32_t seen; /* the last stack that it was on, + 1: recursion counts once */
	int64_t total;
	int64_t charged;
};

struct rows {
	struct html *h;
	OP_VEC(struct row) all;
	struct op_index index;
	bool full;
};

static bool row_equal(const void *elements, uint32_t i, const void *key)
{
	const struct rows *rows = elements;
	const struct row *a = &rows->all.data[i], *b = key;

	return a->function == b->function && a->line == b->line && a->kind == b->kind;
}

/* Returns NULL, with *@ret 0 if there are too many. */
static int find_row(struct rows *rows, const struct row *key, struct row **ret)
{
	uint32_t hash =
		(uint32_t)op_hash_u64(((uint64_t)key->function << 32 | key->line) ^
				      rows->h->c->seed ^ key->kind);
	uint32_t i = op_index_find(&rows->index, hash, rows, key, row_equal);

	*ret = NULL;
	if (i == UINT32_MAX) {
		if (rows->all.len >= ROWS_MAX)
			return 0;
		*ret = op_vec_push(&rows->all);
		if (!*ret)
			return -ENOMEM;
		**ret = *key;
		return op_index_add(&rows->index, hash, (uint32_t)rows->all.len - 1);
	}
	*ret = &rows->all.data[i];
	return 0;
}

/* One frame of stack @s. The first frame of the class @charged gets the charge. */
static int add_frame(struct rows *rows, const struct op_collect_stack *s,
		     const struct op_collect_line *line, uint8_t *charged)
{
	uint32_t number = (uint32_t)(s - rows->h->c->stacks.data) + 1;
	struct row key = { s->kind, line->function, line->line, 0, 0, 0 }, *row;
	bool mine = rows->h->classes[line->function] == *charged;
	int r;

	if (mine)
		*charged = UINT8_MAX;
	if (!line->line)
		return 0;
	r = find_row(rows, &key, &row);
	if (r || !row)
		return r;
	if (row->seen != number)
		row->total = op_collect_sum(row->total, s->value);
	row->seen = number;
	if (mine)
		row->charged = op_collect_sum(row->charged, s->value);
	return 0;
}

/* The class whose innermost frame a stack is charged to. */
static uint8_t class_of(const struct html *h, const struct op_collect_stack *s)
{
	const struct op_collect_location *l;
	uint8_t first = OP_CLASS_NONE, class;
	uint32_t i, j;

	for (i = 0; i < s->locations_len; i++) {
		l = &h->c->locations.data[h->c->location_numbers.data[s->locations + i]];
		for (j = 0; j < l->lines_len; j++) {
			class = h->classes[h->c->lines.data[l->lines + j].function];
			first = class < first ? class : first;
		}
	}
	return first;
}

static int add_stack(struct rows *rows, const struct op_collect_stack *s)
{
	const struct op_collect *c = rows->h->c;
	const struct op_collect_location *l;
	uint8_t charged = class_of(rows->h, s);
	uint32_t i, j;
	int r = 0;

	for (i = 0; !r && i < s->locations_len; i++) {
		l = &c->locations.data[c->location_numbers.data[s->locations + i]];
		for (j = 0; !r && j < l->lines_len; j++)
			r = add_frame(rows, s, &c->lines.data[l->lines + j], &charged);
	}
	return r;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->charged != y->charged)
		return x->charged > y->charged ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void put_rows(struct rows *rows)
{
	struct op_strbuf *out = &rows->h->out;
	const struct row *row, *first = rows->all.data;
	const char *sep = "";

	op_strbuf_puts(out, ",\"lines\":[");
	op_vec_foreach(row, &rows->all) {
		if (row->kind != first->kind || row->function != first->function)
			first = row;
		if (row - first >= LINES_MAX)
			continue;
		op_strbuf_printf(out, "%s%u,%u,%u,%" PRId64 ",%" PRId64, sep, row->kind,
				 row->function, row->line, row->total, row->charged);
		sep = ",";
	}
	op_strbuf_puts(out, "]");
}

int op_html_put_lines(struct html *h)
{
	struct rows rows = { .h = h };
	const struct op_collect_stack *s;
	int r = 0;

	op_vec_foreach(s, &h->c->stacks) {
		r = add_stack(&rows, s);
		if (r)
			break;
	}
	if (rows.all.len)
		qsort(rows.all.data, rows.all.len, sizeof(*rows.all.data), compare_rows);
	if (!r)
		put_rows(&rows);
	op_vec_clear(&rows.all);
	op_index_clear(&rows.index);
	return r;
}
