/* SPDX-License-Identifier: Apache-2.0 */
#include "session/postponed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct op_postponed_record {
	TAILQ_ENTRY(op_postponed_record) link;
	uint64_t time_ns;
	size_t len;
	uint8_t bytes[];
};

void op_postponed_init(struct op_postponed *q)
{
	*q = (struct op_postponed){ 0 };
	TAILQ_INIT(&q->waiters);
}

void op_postponed_deinit(struct op_postponed *q)
{
	struct op_waiter *w;

	while ((w = TAILQ_FIRST(&q->waiters)))
		while (op_waiter_drop(q, w))
			continue;
}

struct op_waiter *op_postponed_find(const struct op_postponed *q, uint32_t pid)
{
	struct op_waiter *w;

	TAILQ_FOREACH(w, &q->waiters, link)
		if (w->pid == pid)
			return w;
	return NULL;
}

static struct op_waiter *find_or_add(struct op_postponed *q, uint32_t pid)
{
	struct op_waiter *w = op_postponed_find(q, pid);

	if (w)
		return w;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->pid = pid;
	TAILQ_INIT(&w->records);
	TAILQ_INSERT_TAIL(&q->waiters, w, link);
	q->len++;
	return w;
}

static void remove_waiter(struct op_postponed *q, struct op_waiter *w)
{
	TAILQ_REMOVE(&q->waiters, w, link);
	q->len--;
	free(w);
}

int op_postponed_add(struct op_postponed *q, uint32_t pid, uint64_t time_ns,
		     const void *record, size_t len)
{
	struct op_postponed_record *r;
	struct op_waiter *w = find_or_add(q, pid);
	size_t need = sizeof(*r) + len;

	if (!w)
		return -ENOMEM;
	r = w->bytes + need <= (OP_POSTPONED_BYTES_MAX - q->bytes) / 2 ? malloc(need)
								       : NULL;
	if (!r) {
		if (TAILQ_EMPTY(&w->records))
			remove_waiter(q, w);
		return -ENOBUFS;
	}
	r->time_ns = time_ns;
	r->len = len;
	memcpy(r->bytes, record, len);
	TAILQ_INSERT_TAIL(&w->records, r, link);
	w->bytes += need;
	q->bytes += need;
	return 0;
}

bool op_postponed_lacks_table(const struct op_postponed *q)
{
	const struct op_waiter *w;

	TAILQ_FOREACH(w, &q->waiters, link)
		if (w->lacks_table)
			return true;
	return false;
}

uint64_t op_postponed_oldest_ns(const struct op_postponed *q)
{
	const struct op_waiter *w;
	uint64_t oldest = 0;

	TAILQ_FOREACH(w, &q->waiters, link) {
		const struct op_postponed_record *r = TAILQ_FIRST(&w->records);

		if (!oldest || r->time_ns < oldest)
			oldest = r->time_ns;
	}
	return oldest;
}

struct op_waiter *op_postponed_turn(struct op_postponed *q)
{
	return TAILQ_FIRST(&q->waiters);
}

const void *op_waiter_record(const struct op_waiter *w, size_t *ret_len)
{
	const struct op_postponed_record *r = TAILQ_FIRST(&w->records);

	*ret_len = r->len;
	return r->bytes;
}

bool op_waiter_drop(struct op_postponed *q, struct op_waiter *w)
{
	struct op_postponed_record *r = TAILQ_FIRST(&w->records);

	TAILQ_REMOVE(&w->records, r, link);
	w->bytes -= sizeof(*r) + r->len;
	q->bytes -= sizeof(*r) + r->len;
	free(r);
	if (!TAILQ_EMPTY(&w->records))
		return true;
	remove_waiter(q, w);
	return false;
}

void op_waiter_yield(struct op_postponed *q, struct op_waiter *w)
{
	TAILQ_REMOVE(&q->waiters, w, link);
	TAILQ_INSERT_TAIL(&q->waiters, w, link);
}
