/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory profile of Go's runtime: a list of buckets, one for each allocating stack
 * and size, with the number of sampled allocations (runtime/mprof.go). The list grows
 * only at its front. Its form is the same in Go 1.21 to 1.26. Since 1.27 it has no sums
 * of bytes. The process writes to it meanwhile, and may be hostile.
 *
 * Allocations of one cycle of the garbage collector are fully known only at the end of
 * the next cycle, because frees are found late. So a bucket has published numbers, and
 * those of three cycles that are not published. The numbers of the current cycle are
 * added to the published ones at some time in it, all at once.
 */
#ifndef OP_RUNTIME_GO_BUCKETS_H
#define OP_RUNTIME_GO_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/vec.h"
#include "runtime/readahead.h"

enum {
	OP_GO_PROFILE_BUCKETS_MAX = 65536, /* buckets that are read of one process */
	/* frames of a stack: Go itself records no more */
	OP_GO_PCS_MAX = 1024,
};

/* Addresses in a process of Go 1.minor; 0: not found. */
struct op_go_buckets_at {
	uint64_t list;	/* runtime.mbuckets */
	uint64_t rate;	/* runtime.MemProfileRate */
	uint64_t cycle; /* runtime.mProfCycle */
	uint32_t minor;
};

struct op_go_sums {
	uint64_t allocs;
	uint64_t frees;
};

struct op_go_bucket {
	uint64_t next; /* address; 0: it is the last */
	uint64_t size; /* bytes of each of its allocations */
	struct op_go_sums published;
	struct op_go_sums due;	 /* of the current cycle: published in it */
	struct op_go_sums later; /* of the next two */
	size_t pcs_len;
	uint64_t pcs[OP_GO_PCS_MAX]; /* return addresses, innermost first */
};

/* The result of runtime.MemProfile() for a bucket. */
struct op_go_entry {
	uint64_t address;
	uint64_t size;
	struct op_go_sums sums;
	struct op_go_sums later; /* numbers that it does not report yet */
};

struct op_go_profile {
	uint64_t rate; /* mean distance of samples, bytes; 1: there is no sampling */
	bool cut;      /* there are more than OP_GO_PROFILE_BUCKETS_MAX */
	OP_VEC(struct op_go_entry) entries;
	struct op_go_bucket bucket; /* scratch memory */
};

/*
 * Read the bucket of Go 1.@minor at @address. @cycle: the number of the current one.
 * Returns 0; -EBADMSG if it is not a bucket of the memory profile; -EAGAIN if it was
 * being changed; -errno.
 */
int op_go_bucket_read(const struct op_memory *memory, uint64_t address, uint32_t minor,
		      uint32_t cycle, struct op_go_bucket *ret);
/* Begin to read a process's buckets from @of by @a->memory. If a read returned -EAGAIN,
 * returns -ETIMEDOUT. */
void op_go_buckets_readahead(struct op_readahead *a, const struct op_memory *of);
/*
 * Read the profile of one moment into @p, which is all zero before its first use.
 * Returns 0; -ENOENT: the process keeps none; -EAGAIN: it was being changed; -EBADMSG:
 * it is not a profile; -ENOMEM; -errno.
 */
int op_go_profile_read(const struct op_memory *memory, const struct op_go_buckets_at *at,
		       struct op_go_profile *p);
void op_go_profile_deinit(struct op_go_profile *p);

#endif
