/* SPDX-License-Identifier: Apache-2.0 */
#include "export/format/collect/kinds.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/rows/rows.h"

/* The order of units of one type. */
static const char *const unit_order[] = { "nanoseconds", "bytes", "count" };

static bool text_is(const struct op_collect *c, uint32_t string, const char *text)
{
	return otlp_text_is(op_strings_get(&c->strings, string), text);
}

bool op_collect_is_clock(const struct op_collect *c, const struct op_collect_kind *k)
{
	return k->period > 0 && text_is(c, k->unit, "count") &&
	       text_is(c, k->period_unit, "nanoseconds");
}

bool op_collect_is_weighed(const struct op_collect_kind *k)
{
	return k->unit != k->counted_unit;
}

bool op_collect_is_cpu(const struct op_collect *c, const struct op_collect_kind *k)
{
	return text_is(c, k->period_type, "cpu") &&
	       (op_collect_is_clock(c, k) || op_collect_is_weighed(k));
}

double op_collect_cpu_ns(const struct op_collect *c, const struct op_collect_stack *s)
{
	const struct op_collect_kind *k = &c->kinds.data[s->kind];

	return (double)s->value * (op_collect_is_clock(c, k) ? (double)k->period : 1);
}

static int64_t times(int64_t value, int64_t period)
{
	return (int64_t)((uint64_t)value * (uint64_t)period);
}

static void weigh(struct op_collect *c, struct op_collect_kind *k)
{
	uint32_t kind = (uint32_t)(k - c->kinds.data);
	struct op_collect_stack *s;

	op_vec_foreach(s, &c->stacks) {
		if (s->kind != kind)
			continue;
		s->value = times(s->value, k->period);
		s->guessed = times(s->guessed, k->period);
		s->approximate = times(s->approximate, k->period);
		s->lost *= (double)k->period;
	}
	k->type = k->period_type;
	k->unit = k->period_unit;
	k->period = 0;
}

/* Are the values events of the same type that the period counts? Then they can be summed
 * with any period. */
static bool counts_events(const struct op_collect_kind *k)
{
	return k->type == k->period_type && k->unit == k->period_unit;
}

/* Does @k, of a sample, belong to kind @e? If a count is neither of a clock nor of
 * events, samples with another period cannot be added to it. */
static bool is_of(const struct op_collect *c, const struct op_collect_kind *e,
		  const struct op_collect_kind *k)
{
	if (e->counted_type != k->type || e->counted_unit != k->unit ||
	    e->period_type != k->period_type || e->period_unit != k->period_unit)
		return false;
	if (op_collect_is_weighed(e))
		return op_collect_is_clock(c, k);
	return e->period == k->period || !text_is(c, k->unit, "count") ||
	       counts_events(k) ||
	       (op_collect_is_clock(c, k) && op_collect_is_clock(c, e));
}

int op_collect_find_kind(struct op_collect *c, const struct otlp_sample_view *v,
			 uint32_t *ret)
{
	struct op_collect_kind k = { .period = v->profile->period };
	struct op_collect_kind *e;
	int r = op_strings_add(&c->strings, v->type, &k.type);

	if (!r)
		r = op_strings_add(&c->strings, v->unit, &k.unit);
	if (!r)
		r = op_strings_add(&c->strings, v->period_type, &k.period_type);
	if (!r)
		r = op_strings_add(&c->strings, v->period_unit, &k.period_unit);
	if (r)
		return r;
	k.counted_type = k.type;
	k.counted_unit = k.unit;
	op_vec_foreach(e, &c->kinds) {
		if (!is_of(c, e, &k))
			continue;
		if (e->period != k.period && op_collect_is_clock(c, e))
			weigh(c, e);
		else if (e->period != k.period && counts_events(e))
			e->period = 0;
		*ret = (uint32_t)(e - c->kinds.data);
		return 0;
	}
	if (c->kinds.len == OP_COLLECT_KINDS_MAX)
		return -EFBIG;
	e = op_vec_push(&c->kinds);
	if (!e)
		return -ENOMEM;
	*e = k;
	*ret = (uint32_t)c->kinds.len - 1;
	return 0;
}

int64_t op_collect_kind_value(const struct op_collect *c, uint32_t kind,
			      const struct otlp_sample_view *v)
{
	return op_collect_is_weighed(&c->kinds.data[kind])
		       ? times(v->value, v->profile->period)
		       : v->value;
}

/* The position of a type among the rows of all kinds, or after them. */
static size_t type_place(const struct op_collect *c, uint32_t string)
{
	size_t len, at;
	const struct op_otlp_kind *rows = op_rows_otlp(&len);

	for (at = 0; at < len && !text_is(c, string, rows[at].type); at++)
		;
	return at;
}

static size_t unit_place(const struct op_collect *c, uint32_t string)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(unit_order) && !text_is(c, string, unit_order[i]);
	     i++)
		;
	return i;
}

static int compare_texts(const struct op_collect *c, uint32_t a, uint32_t b)
{
	struct otlp_text x = op_strings_get(&c->strings, a);
	struct otlp_text y = op_strings_get(&c->strings, b);
	int r = memcmp(x.data, y.data, OP_MIN(x.len, y.len));

	return r ? r : (x.len > y.len) - (x.len < y.len);
}

bool op_collect_kind_before(const struct op_collect *c, uint32_t a, uint32_t b)
{
	const struct op_collect_kind *x = &c->kinds.data[a], *y = &c->kinds.data[b];
	size_t p = type_place(c, x->counted_type);
	size_t q = type_place(c, y->counted_type);
	int r;

	if (p != q)
		return p < q;
	r = compare_texts(c, x->counted_type, y->counted_type);
	if (r)
		return r < 0;
	p = unit_place(c, x->counted_unit);
	q = unit_place(c, y->counted_unit);
	if (p != q)
		return p < q;
	r = compare_texts(c, x->counted_unit, y->counted_unit);
	return r ? r < 0 : a < b;
}

uint32_t op_collect_main_kind(const struct op_collect *c)
{
	uint32_t best = 0, i;

	for (i = 1; i < c->kinds.len; i++)
		if (op_collect_kind_before(c, i, best))
			best = i;
	return best;
}

static bool same_text(const struct op_collect *c, uint32_t string,
		      const struct op_collect *of, uint32_t other)
{
	struct otlp_text x = op_strings_get(&c->strings, string);
	struct otlp_text y = op_strings_get(&of->strings, other);

	return x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
}

int op_collect_same_kind(const struct op_collect *c, const struct op_collect *of,
			 uint32_t kind, uint32_t *ret)
{
	const struct op_collect_kind *k = &of->kinds.data[kind];
	const struct op_collect_kind *e;

	op_vec_foreach(e, &c->kinds) {
		if (same_text(c, e->counted_type, of, k->counted_type) &&
		    same_text(c, e->counted_unit, of, k->counted_unit)) {
			*ret = (uint32_t)(e - c->kinds.data);
			return 0;
		}
	}
	return -ENOENT;
}

static void follow(struct op_collect *c, const struct op_collect *of)
{
	struct op_collect_kind *k;
	uint32_t other;

	op_vec_foreach(k, &c->kinds) {
		if (!op_collect_is_clock(c, k) ||
		    op_collect_same_kind(of, c, (uint32_t)(k - c->kinds.data), &other))
			continue;
		if (of->kinds.data[other].period != k->period)
			weigh(c, k);
	}
}

void op_collect_match_kinds(struct op_collect *a, struct op_collect *b)
{
	follow(a, b);
	follow(b, a);
}
