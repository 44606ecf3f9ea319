/* SPDX-License-Identifier: Apache-2.0 */
#include "process/mappings/changes.h"

#include <string.h>

#include "base/macros.h"

static void remove_first(struct op_changes *c, size_t n)
{
	if (!n)
		return;
	c->list.len -= n;
	memmove(c->list.data, c->list.data + n, c->list.len * sizeof(*c->list.data));
}

/* Join the two oldest changes into one that covers both ranges and times. */
static void join_oldest(struct op_changes *c)
{
	const struct op_change a = c->list.data[0];
	struct op_change *b = &c->list.data[1];

	b->start = OP_MIN(a.start, b->start);
	b->end = OP_MAX(a.end, b->end);
	b->since_ns = OP_MIN(a.since_ns, b->since_ns);
	b->until_ns = OP_MAX(a.until_ns, b->until_ns);
	if (a.gone && b->gone)
		b->base = a.base ? a.base : b->base;
	else
		b->base = a.base == b->base ? a.base : 0;
	b->gone = a.gone && b->gone;
	b->counted = false;
	remove_first(c, 1);
}

void op_changes_add(struct op_changes *c, const struct op_change *change,
		    uint64_t over_ns, uint32_t published)
{
	struct op_change *slot;
	size_t over = 0;

	while (over < c->list.len && c->list.data[over].until_ns < over_ns &&
	       c->list.data[over].number <= published)
		over++;
	remove_first(c, over);
	if (c->list.len == OP_CHANGES_MAX)
		join_oldest(c);
	slot = op_vec_push(&c->list);
	if (!slot && c->list.len > 1) {
		join_oldest(c);
		slot = op_vec_push(&c->list);
	}
	if (!slot)
		return;
	*slot = *change;
	slot->number = c->number;
}

bool op_changes_has_gone(const struct op_changes *c, uint64_t start, uint64_t end,
			 bool file)
{
	const struct op_change *change;

	op_vec_foreach(change, &c->list)
		if (change->gone && change->start < end && change->end > start &&
		    (file || change->base))
			return true;
	return false;
}

bool op_changes_before(const struct op_changes *c, uint32_t number, uint64_t time_ns,
		       uint64_t addr, uint64_t base)
{
	size_t i;

	for (i = c->list.len; i-- && c->list.data[i].number > number;) {
		const struct op_change *change = &c->list.data[i];

		if (!change->gone && addr >= change->start && addr < change->end &&
		    change->since_ns <= time_ns && (!base || change->base != base))
			return true;
	}
	return false;
}

bool op_changes_after(const struct op_changes *c, uint64_t time_ns, uint64_t addr)
{
	size_t i;

	for (i = c->list.len; i--;) {
		const struct op_change *change = &c->list.data[i];

		if (!change->gone && addr >= change->start && addr < change->end &&
		    change->until_ns > time_ns)
			return true;
	}
	return false;
}

bool op_changes_any_after(const struct op_changes *c, uint64_t time_ns)
{
	const struct op_change *change;

	op_vec_foreach(change, &c->list)
		if (!change->gone && change->until_ns > time_ns)
			return true;
	return false;
}

void op_changes_were_before(struct op_changes *c, uint64_t time_ns)
{
	struct op_change *change;

	op_vec_foreach(change, &c->list)
		if (change->counted && change->since_ns <= time_ns &&
		    change->until_ns > time_ns)
			change->until_ns = time_ns;
}

void op_changes_forget_gone(struct op_changes *c)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < c->list.len; i++)
		if (!c->list.data[i].gone)
			c->list.data[kept++] = c->list.data[i];
	c->list.len = kept;
}

void op_changes_inherit(struct op_changes *to, const struct op_changes *from)
{
	size_t i;

	to->number = from->number;
	for (i = 0; i < from->list.len; i++) {
		struct op_change *slot = op_vec_push(&to->list);

		if (!slot)
			return;
		*slot = from->list.data[i];
	}
}

void op_changes_clear(struct op_changes *c)
{
	op_vec_clear(&c->list);
}
