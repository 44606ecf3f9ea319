/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libotelprof-heap.so: interposes an allocator (by LD_PRELOAD, or linked), samples
 * allocations, and reports them by two static probes (USDT):
 *
 *   otel_memory:alloc(address, size, weight)   a sampled allocation, after it was made
 *   otel_memory:free(address)                  of a sampled allocation, before it is freed
 *
 * `weight` is how many allocated bytes the sample stands for. While nobody listens to a
 * probe, as its semaphore tells, a call costs one more load and branch. The library calls
 * only the dynamic linker, getpid(2) and getauxval(3), and takes no lock.
 *
 *   malloc.c      the entry points of C
 *   operators.c   those of C++
 *   next.c        the next allocator
 *   sample.c      which allocations are sampled, and their weight
 *   addresses.c   the sampled ones that are in use
 *   probe.c       the probes
 */
#ifndef OP_PRELOAD_HEAP_SAMPLER_H
#define OP_PRELOAD_HEAP_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define op_likely(x)   __builtin_expect(!!(x), 1)
#define op_unlikely(x) __builtin_expect(!!(x), 0)

/* ---- probe.c ---- */

/*
 * The semaphores, in which the kernel counts listeners. Next to the one of `free` is a
 * flag whether the table of addresses may contain any, so that one load of 32 bits reads
 * both.
 */
struct op_preload_gate {
	uint16_t listeners;
	uint16_t holds;
};
extern volatile uint16_t op_preload_alloc_listeners;
extern union op_preload_free_gate {
	struct op_preload_gate part;
	uint32_t both;
} op_preload_free_gate;

void op_preload_report_alloc(void *p, uint64_t size, uint64_t weight);
void op_preload_report_free(void *p);

/* ---- sample.c ---- */

struct op_preload_thread {
	int64_t left;	   /* bytes until the next sampled one */
	uint64_t random;   /* 0: the thread is new */
	uint64_t made;	   /* allocations that were examined */
	int32_t pid;	   /* process that seeded the random numbers */
	uint64_t interval; /* the mean with which `left` was drawn */
};
extern __thread struct op_preload_thread op_preload_thread
	__attribute__((tls_model("initial-exec")));

/* The mean distance of sampled bytes, and the variable that sets it. */
#define OP_HEAP_INTERVAL_DEFAULT UINT64_C(524288)
#define OP_HEAP_INTERVAL_ENV	 "OTELPROF_HEAP_INTERVAL"
void op_preload_set_interval(uint64_t bytes);

/* The countdown of bytes has ended within the allocation of @size bytes: returns the
 * weight of its sample. Returns 0 if the thread is new and had no countdown. */
uint64_t op_preload_sample(uint64_t size);
uint64_t op_preload_weight(uint64_t size, uint64_t interval);

/* ---- addresses.c ---- */

/* Add @p. Returns false if the table has no free slot for it. */
bool op_preload_addresses_add(void *p);
/* Number of addresses in the table, which should not exceed this. */
enum {
	OP_PRELOAD_ADDRESSES_MAX = 65536
};
uint32_t op_preload_addresses_held(void);
/* Remove @p. Returns false if it is not there. */
bool op_preload_addresses_take(void *p);
void op_preload_addresses_clear(void);

/* ---- malloc.c ---- */

/* @p of @size bytes was allocated while a profiler listens. */
void op_preload_made(void *p, size_t size);
/* @p is about to be freed, and the gate of `free` is not zero. */
void op_preload_unmade(void *p);

/* Does a profiler listen to allocations? */
static inline bool op_preload_heard(void)
{
	return op_unlikely(op_preload_alloc_listeners);
}

static inline bool op_preload_free_heard(void)
{
	return op_unlikely(__atomic_load_n(&op_preload_free_gate.both, __ATOMIC_RELAXED));
}

/* ---- next.c ---- */

/* The functions of the next allocator; each is valid from the first call on. */
struct op_preload_next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
};
extern struct op_preload_next op_preload_next;

/* Look up the next definition of @name, only once. NULL: there is none. */
void *op_preload_find(void **place, const char *name);

#define OP_HEAP_EXPORT __attribute__((visibility("default")))

#endif
