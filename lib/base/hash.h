/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash functions and tables. Keys come from other processes, so tables that an outsider
 * can fill use a random seed (op_hash_seed()).
 *
 * struct op_map64 maps uint64_t keys to uint64_t values by open addressing; any key is
 * allowed. struct op_index finds the number of an element by its content; the elements
 * themselves are in the caller's array.
 */
#ifndef OP_BASE_HASH_H
#define OP_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A well-mixed 64-bit hash of @len bytes. With a random @seed an attacker cannot choose
 * bytes that collide. */
uint64_t op_hash_bytes(const void *bytes, size_t len, uint64_t seed);

/*
 * FNV-1a of 128 bits, most significant byte first, for ids that other tools compute too.
 */
void op_hash_fnv128a(const void *bytes, size_t len, uint8_t ret[16]);

/* A well-mixed hash of one number. */
static inline uint64_t op_hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	return x;
}

/* A random seed, drawn by this process. */
uint64_t op_hash_seed(void);
/* The next number of a well-mixed sequence with state *@state. The first state
 * (op_hash_seed()) determines all numbers, so they are not suitable for secrets. */
uint64_t op_random_next(uint64_t *state);

/* A map. Its keys are mixed with a random number of its own, so that an outsider cannot
 * choose keys that collide. */
struct op_map64 {
	uint64_t seed;
	uint64_t *keys;
	uint64_t *values;
	uint8_t *used;
	size_t len;
	size_t mask; /* slots - 1, or 0 if there are none */
};

/* Returns true and sets *@ret if the map has @key. */
bool op_map64_get(const struct op_map64 *m, uint64_t key, uint64_t *ret);
/* Add or replace; replacing needs no memory. Returns 0 or -ENOMEM. */
int op_map64_put(struct op_map64 *m, uint64_t key, uint64_t value);
/* Returns true if the map had @key. */
bool op_map64_remove(struct op_map64 *m, uint64_t key);
/* Iterate over the values in any order. @at is 0 at first. Returns false after the last
 * one. */
bool op_map64_next(const struct op_map64 *m, size_t *at, uint64_t *ret);
/* Empty it and release its memory. */
void op_map64_clear(struct op_map64 *m);
/* Bytes of its slots. */
size_t op_map64_bytes(const struct op_map64 *m);

struct op_index_slot {
	uint32_t hash;
	uint32_t number; /* number of the element + 1; 0: the slot is free */
};

struct op_index {
	struct op_index_slot *slots;
	size_t len;
	size_t mask;
};

/* Does element number @i of @elements equal @key? */
typedef bool (*op_index_equal_fn)(const void *elements, uint32_t i, const void *key);

/* The number of the element equal to @key, or UINT32_MAX. @hash is the hash of @key. */
uint32_t op_index_find(const struct op_index *x, uint32_t hash, const void *elements,
		       const void *key, op_index_equal_fn equal);
/* Add element @number under @hash; it must not be there yet. Returns 0 or -ENOMEM. */
int op_index_add(struct op_index *x, uint32_t hash, uint32_t number);
/* Forget all elements, keep the memory. */
void op_index_reset(struct op_index *x);
/* Forget all elements and release the memory. */
void op_index_clear(struct op_index *x);

#endif
