/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A limit of memory: BPF maps and the user memory of the parts of a handle, as one
 * number. It is checked every quarter of a second. Near the limit the library frees empty
 * slabs, then evicts names, then unwind tables that no sample needed lately, then
 * processes that were not used lately. Each is read again when it is needed. Between two
 * checks the arena, which grows fastest, grows at most to the limit, and whoever needs
 * much user memory asks before.
 */
#ifndef OP_API_LIMIT_H
#define OP_API_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct otelprof;

/* The interval in which use is measured. */
#define OP_LIMIT_CHECK_NS UINT64_C(250000000)

struct op_limit {
	uint64_t checked_ns; /* time of the last check; 0: none */
	uint64_t next_ns;    /* the next eviction is not earlier */
	uint32_t stuck;	     /* checks in a row in which evicting did not suffice */
	uint64_t told_ns;    /* time of the last log line about it */
	/* evicted until that line */
	uint64_t told_names;
	uint64_t told_tables;
	uint64_t told_processes;
	uint64_t over; /* checks that found more than the limit */
};

/* Bytes in use. The lock is held. */
uint64_t op_limit_used(struct otelprof *p);
/* May @bytes more be used without coming near the limit or, if they are @needed, up to
 * it? If not, indices of names that were not used lately are evicted for them. @handle is
 * a struct otelprof. The lock is held. */
bool op_limit_may_take(void *handle, uint64_t bytes, bool needed);
/* Free what is above the limit, if there is one. The lock is held. */
void op_limit_keep(struct otelprof *p);

#endif
