/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of sampled addresses that are in use, so that only their frees are reported. It
 * is a table of lines with eight slots, one cache line each; an address can be in one of
 * three lines. Counters in front of the table are small enough for the first-level cache.
 * If an address's counter is zero, the address is not in the table; nearly every free
 * takes this path. There is no lock: slots are taken and emptied by one atomic exchange,
 * and only one thread frees an address.
 */
#include "preload/heap/sampler.h"

enum {
	LINE_SLOTS = 8,
	/* 1 MiB; pages are allocated on first use. At most half of the slots are taken, so
	 * that an address finds one in its lines. */
	LINES = 16384,
	CHOICES = 3, /* of lines for an address */
	HASH_SHIFT = 16,
	COUNTERS = 8192,
};

static uintptr_t table[LINES][LINE_SLOTS] __attribute__((aligned(64)));
static uint16_t counter[COUNTERS] __attribute__((aligned(64)));
static uint32_t held;

static uint64_t mix(const void *p)
{
	uint64_t z = (uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15;

	return z ^ z >> 32;
}

static uint16_t *counter_of(uint64_t hash)
{
	return &counter[hash % COUNTERS];
}

static uintptr_t *line_of(uint64_t hash, int which)
{
	return table[(hash >> HASH_SHIFT * (which + 1)) % LINES];
}

/* Replace @from by @to in a line of @hash. Returns false if @from is not there. */
static bool change(uint64_t hash, uintptr_t from, uintptr_t to)
{
	int i;

	for (i = 0; i < CHOICES * LINE_SLOTS; i++) {
		uintptr_t *slot = &line_of(hash, i / LINE_SLOTS)[i % LINE_SLOTS];
		uintptr_t found = from;

		if (__atomic_load_n(slot, __ATOMIC_RELAXED) == from &&
		    __atomic_compare_exchange_n(slot, &found, to, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return true;
	}
	return false;
}

bool op_preload_addresses_add(void *p)
{
	uint64_t hash = mix(p);

	/* An address freed while nobody listened may still be there: do not add
	 * it twice. */
	if (__atomic_load_n(counter_of(hash), __ATOMIC_RELAXED))
		(void)op_preload_addresses_take(p);
	__atomic_add_fetch(counter_of(hash), 1, __ATOMIC_RELAXED);
	if (change(hash, 0, (uintptr_t)p)) {
		__atomic_store_n(&op_preload_free_gate.part.holds, 1, __ATOMIC_RELAXED);
		(void)__atomic_add_fetch(&held, 1, __ATOMIC_RELAXED);
		return true;
	}
	__atomic_sub_fetch(counter_of(hash), 1, __ATOMIC_RELAXED);
	return false;
}

bool op_preload_addresses_take(void *p)
{
	uint64_t hash = mix(p);

	if (op_likely(!__atomic_load_n(counter_of(hash), __ATOMIC_RELAXED)))
		return false;
	if (!change(hash, (uintptr_t)p, 0))
		return false;
	__atomic_sub_fetch(counter_of(hash), 1, __ATOMIC_RELAXED);
	(void)__atomic_sub_fetch(&held, 1, __ATOMIC_RELAXED);
	return true;
}

uint32_t op_preload_addresses_held(void)
{
	return __atomic_load_n(&held, __ATOMIC_RELAXED);
}

void op_preload_addresses_clear(void)
{
	int i;

	__atomic_store_n(&op_preload_free_gate.part.holds, 0, __ATOMIC_RELAXED);
	for (i = 0; i < LINES * LINE_SLOTS; i++) {
		uintptr_t *slot = &table[i / LINE_SLOTS][i % LINE_SLOTS];
		uintptr_t p = __atomic_load_n(slot, __ATOMIC_RELAXED);

		/* Remove each address in the usual way, so that the counters
		 * stay right. */
		if (p)
			(void)op_preload_addresses_take((void *)p);
	}
}
