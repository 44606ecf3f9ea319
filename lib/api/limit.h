/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A limit of memory: BPF maps and the user memory of the parts of a handle, as one
 * number. It is checked every quarter of a second. Near the limit the library frees
 * empty slabs, then evicts names, then unwind tables that no sample needed lately, then
 * processes that were not used lately. Each is read again when it is needed. Between
 * two checks the arena, which grows fastest, grows at most to the limit. Whoever needs
 * much user memory asks first.
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
	uint64_t next_ns;    /* no eviction before this time */
	uint32_t stuck;	     /* checks in a row after which the use was still too high */
	uint64_t told_ns;    /* time of the last log line about evictions */
	/* evicted when that line was written */
	uint64_t told_names;
	uint64_t told_tables;
	uint64_t told_processes;
	uint64_t over; /* checks that found more than the limit */
};

/* Bytes in use. The lock is held. */
uint64_t op_limit_used(struct otelprof *p);
/* May @bytes more be used without coming near the limit? @needed: up to the limit. If
 * not, the library evicts indices of names that were not used lately. @handle is a
 * struct otelprof. The lock is held. */
bool op_limit_may_take(void *handle, uint64_t bytes, bool needed);
/* Free memory until the use is below the limit, if there is one. The lock is held. */
void op_limit_keep(struct otelprof *p);

#endif
