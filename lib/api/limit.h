/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A limit of memory: of the maps in the kernel and of what the parts of a handle keep in user
 * memory, as one number. It is compared with the limit every quarter of a second. Near the
 * limit, slabs that hold nothing are given back, then names are given up, then unwind tables
 * that no sample needed lately, then processes that were not used lately. Each is found again
 * when it is next needed. Between two looks the arena, which grows fastest, grows no further
 * than to the limit; and what takes much user memory asks before.
 */
#ifndef OP_API_LIMIT_H
#define OP_API_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct otelprof;

/* The interval in which use is measured. */
#define OP_LIMIT_CHECK_NS UINT64_C(250000000)

struct op_limit {
	uint64_t checked_ns; /* time of the last look; 0: there was none */
	uint64_t next_ns;    /* nothing is given up before */
	uint32_t stuck;	     /* looks in a row at which giving up did not suffice */
	uint64_t told_ns;    /* when the log last had a line about it */
	/* what was given up until that line */
	uint64_t told_names;
	uint64_t told_tables;
	uint64_t told_processes;
	uint64_t over; /* looks at which it was above the limit */
};

/* Bytes that are used. The lock is held. */
uint64_t op_limit_used(struct otelprof *p);
/* May @bytes more be taken, without going near the limit or, where they are @needed, up to it? If
 * not, indices of names that were not used lately are given up for them. @handle is a struct
 * otelprof. The lock is held. */
bool op_limit_may_take(void *handle, uint64_t bytes, bool needed);
/* Give up what is above the limit, if there is one. The lock is held. */
void op_limit_keep(struct otelprof *p);

#endif
