/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that wait for a table that is not made yet: a queue for each process, which take
 * turns, so that what one process brings does not keep another one waiting. Records are
 * copied. No process takes more than half of the room that the others leave.
 */
#ifndef OP_SAMPLE_POSTPONED_H
#define OP_SAMPLE_POSTPONED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
	OP_POSTPONED_BYTES_MAX = 2 << 20, /* 13 KiB a record at most */
};

struct op_postponed_record;
TAILQ_HEAD(op_postponed_list, op_postponed_record);

/* A process with records that wait. */
struct op_waiter {
	TAILQ_ENTRY(op_waiter) link;
	struct op_postponed_list records;
	size_t bytes;
	uint32_t pid;
};
TAILQ_HEAD(op_waiter_list, op_waiter);

struct op_postponed {
	struct op_waiter_list waiters; /* whose turn is next first */
	size_t bytes;
	size_t len; /* waiters */
};

void op_postponed_init(struct op_postponed *q);
void op_postponed_deinit(struct op_postponed *q);

/* Keep a copy of a record of process @pid. 0; -ENOBUFS: its share is used up; -ENOMEM. */
int op_postponed_add(struct op_postponed *q, uint32_t pid, uint64_t time_ns,
		     const void *record, size_t len);
bool op_postponed_has(const struct op_postponed *q, uint32_t pid);
/* When the oldest record that waits was made; 0: none waits. */
uint64_t op_postponed_oldest_ns(const struct op_postponed *q);

/* The process whose turn it is, or NULL. */
struct op_waiter *op_postponed_turn(struct op_postponed *q);
/* Its oldest record; valid until it is dropped. */
const void *op_waiter_record(const struct op_waiter *w, size_t *ret_len);
/* Drop its oldest record. Returns false where that was the last one, and @w is gone. */
bool op_waiter_drop(struct op_postponed *q, struct op_waiter *w);
/* The next one's turn comes. */
void op_waiter_yield(struct op_postponed *q, struct op_waiter *w);

#endif
