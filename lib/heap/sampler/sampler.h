/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libotelprof-heap.so: stands before an allocator (LD_PRELOAD, or linked), takes samples of what
 * is allocated, and tells of them by two static probes (USDT):
 *
 *   otel_memory:alloc(address, size, weight)   a sampled allocation, after it was made
 *   otel_memory:free(address)                  of a sampled allocation, before it is freed
 *
 * `weight` is how many allocated bytes the sample stands for. While nobody listens to a probe,
 * which its semaphore tells, a call costs a load and a branch more. The library calls nothing
 * but the dynamic linker, getpid(2) and getauxval(3), and takes no lock.
 *
 *   malloc.c      the entry points of C
 *   operators.c   those of C++
 *   next.c        the allocator behind
 *   sample.c      which allocations are sampled, and their weight
 *   addresses.c   the sampled ones that live
 *   probe.c       the probes
 */
#ifndef OP_HEAP_SAMPLER_H
#define OP_HEAP_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define op_likely(x)   __builtin_expect(!!(x), 1)
#define op_unlikely(x) __builtin_expect(!!(x), 0)

/* ---- probe.c ---- */

/*
 * The semaphores: the kernel counts listeners there. Beside that of `free` stands whether the
 * table of addresses may hold any, so that one load of 32 bits asks for both.
 */
struct op_heap_gate {
	uint16_t listeners;
	uint16_t holds;
};
extern volatile uint16_t op_heap_alloc_listeners;
extern union op_heap_free_gate {
	struct op_heap_gate part;
	uint32_t both;
} op_heap_free_gate;

void op_heap_tell_alloc(void *p, uint64_t size, uint64_t weight);
void op_heap_tell_free(void *p);

/* ---- sample.c ---- */

struct op_heap_thread {
	int64_t left;	 /* bytes until the next sampled one */
	uint64_t random; /* 0: the thread is new */
	uint64_t made;	 /* allocations that were looked at */
	int32_t pid;	 /* whose random numbers these are */
};
extern __thread struct op_heap_thread op_heap_thread
	__attribute__((tls_model("initial-exec")));

/* The mean distance of sampled bytes, and how it is set. */
#define OP_HEAP_INTERVAL_DEFAULT UINT64_C(524288)
#define OP_HEAP_INTERVAL_ENV	 "OTELPROF_HEAP_INTERVAL"
void op_heap_set_interval(uint64_t bytes);

/* The countdown of @size bytes is over: returns the weight of a sample of them, or 0 where the
 * thread had none to count by. */
uint64_t op_heap_sample(uint64_t size);
uint64_t op_heap_weight(uint64_t size, uint64_t interval);

/* ---- addresses.c ---- */

/* Add @p; false where there is no room. */
bool op_heap_addresses_add(void *p);
/* Take @p away; false where it is not there. */
bool op_heap_addresses_take(void *p);
void op_heap_addresses_clear(void);

/* ---- malloc.c ---- */

/* @p of @size bytes was allocated, and somebody listens. */
void op_heap_made(void *p, size_t size);
/* @p is about to be freed, and the gate of `free` is not zero. */
void op_heap_unmade(void *p);

/* Somebody listens to what is allocated. */
static inline bool op_heap_heard(void)
{
	return op_unlikely(op_heap_alloc_listeners);
}

static inline bool op_heap_free_heard(void)
{
	return op_unlikely(__atomic_load_n(&op_heap_free_gate.both, __ATOMIC_RELAXED));
}

/* ---- next.c ---- */

/* The functions of the allocator behind; each is there from the first call on. */
struct op_heap_next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
};
extern struct op_heap_next op_heap_next;

/* The next function @name of the others; looked for once. NULL: there is none. */
void *op_heap_find(void **place, const char *name);

#define OP_HEAP_EXPORT __attribute__((visibility("default")))

#endif
