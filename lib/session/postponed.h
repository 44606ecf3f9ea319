/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that wait for time to make a table or to load names: one queue for each
 * process. Processes take turns, so that the records of one do not delay those of
 * another. Records are copied. No process may use more than half of the bytes that the
 * others leave.
 */
#ifndef OP_SESSION_POSTPONED_H
#define OP_SESSION_POSTPONED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
	OP_POSTPONED_BYTES_MAX = 2 << 20, /* bytes of all records */
};

struct op_postponed_record;
TAILQ_HEAD(op_postponed_list, op_postponed_record);

/* A process with postponed records. */
struct op_waiter {
	TAILQ_ENTRY(op_waiter) link;
	struct op_postponed_list records;
	size_t bytes;
	uint32_t pid;
	bool lacks_table; /* later ones probably lack it, too */
};
TAILQ_HEAD(op_waiter_list, op_waiter);

struct op_postponed {
	struct op_waiter_list waiters; /* the next process is first */
	size_t bytes;
	size_t len; /* number of waiters */
};

void op_postponed_init(struct op_postponed *q);
void op_postponed_deinit(struct op_postponed *q);

/* Keep a copy of a record of process @pid. Returns 0; -ENOBUFS if its share is used up;
 * or -ENOMEM. */
int op_postponed_add(struct op_postponed *q, uint32_t pid, uint64_t time_ns,
		     const void *record, size_t len);
/* The records of process @pid, or NULL. */
struct op_waiter *op_postponed_find(const struct op_postponed *q, uint32_t pid);
/* Does a process wait for a table? */
bool op_postponed_lacks_table(const struct op_postponed *q);
/* The time of the oldest postponed record. 0: there is none. */
uint64_t op_postponed_oldest_ns(const struct op_postponed *q);

/* The next process, or NULL. */
struct op_waiter *op_postponed_turn(struct op_postponed *q);
/* The oldest record of @w, valid until it is dropped. */
const void *op_waiter_record(const struct op_waiter *w, size_t *ret_len);
/* Drop the oldest record of @w. Returns false if it was the last one, and frees @w
 * then. */
bool op_waiter_drop(struct op_postponed *q, struct op_waiter *w);
/* Put @w behind all others. */
void op_waiter_yield(struct op_postponed *q, struct op_waiter *w);

#endif
