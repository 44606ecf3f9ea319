/* SPDX-License-Identifier: Apache-2.0 */
/* Hash functions, and tables with open addressing and linear probing. */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/*
 * Multiply-and-fold hashing: two 64-bit words a step, folded from their 128-bit
 * product.
 */
static const uint64_t K0 = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t K1 = UINT64_C(0xbf58476d1ce4e5b9);

static inline uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t load(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

uint64_t op_hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
	const uint8_t *p = bytes;
	/* Both factors have a secret part. If an attacker could make a factor 0, the
	 * product would lose everything hashed before it. */
	const uint64_t secret = op_hash_u64(seed ^ K1) ^ K1;
	uint64_t h = fold(seed ^ K0, secret ^ len);
	size_t left = len;

	while (left >= 16) {
		h = fold(load(p, 8) ^ K0 ^ h, load(p + 8, 8) ^ secret);
		p += 16;
		left -= 16;
	}
	if (left) {
		size_t first = left < 8 ? left : 8;

		h = fold(load(p, first) ^ K0 ^ h, load(p + first, left - first) ^ secret);
	}
	return op_hash_u64(h);
}

void op_hash_fnv128a(const void *bytes, size_t len, uint8_t ret[16])
{
	/* Offset basis and prime of FNV for 128 bits. */
	unsigned __int128 h = (unsigned __int128)UINT64_C(0x6c62272e07bb0142) << 64 |
			      UINT64_C(0x62b821756295c58d);
	const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
	const uint8_t *p = bytes;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ p[i]) * prime;
	for (i = 0; i < 16; i++)
		ret[i] = (uint8_t)(h >> (120 - 8 * i));
}

uint64_t op_hash_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
		struct timespec ts = { 0 };

		(void)clock_gettime(CLOCK_MONOTONIC, &ts);
		seed = op_hash_u64((uint64_t)ts.tv_nsec ^ (uint64_t)(uintptr_t)&seed);
	}
	return seed;
}

uint64_t op_random_next(uint64_t *state)
{
	/* op_hash_u64() maps 0 to 0; adding K0 leads away from it. */
	*state = op_hash_u64(*state + K0);
	return *state;
}

static inline size_t home_of(const struct op_map64 *m, uint64_t key)
{
	return fold(key ^ m->seed, K0 ^ (m->seed >> 7)) & m->mask;
}

/* The slot of @key, or the free slot where it belongs. There is always a free slot. */
static size_t map64_slot(const struct op_map64 *m, uint64_t key)
{
	size_t i = home_of(m, key);

	while (m->used[i] && m->keys[i] != key)
		i = (i + 1) & m->mask;
	return i;
}

bool op_map64_get(const struct op_map64 *m, uint64_t key, uint64_t *ret)
{
	size_t i;

	if (!m->len)
		return false;
	i = map64_slot(m, key);
	if (!m->used[i])
		return false;
	*ret = m->values[i];
	return true;
}

static int map64_resize(struct op_map64 *m, size_t slots)
{
	struct op_map64 grown = {
		.seed = m->seed ? m->seed : op_hash_seed(),
		.mask = slots - 1,
		.len = m->len,
	};
	size_t i;

	grown.keys = malloc(slots * sizeof(*grown.keys));
	grown.values = malloc(slots * sizeof(*grown.values));
	grown.used = calloc(slots, 1);
	if (!grown.keys || !grown.values || !grown.used) {
		op_map64_clear(&grown);
		return -ENOMEM;
	}
	for (i = 0; m->used && i <= m->mask; i++) {
		size_t j;

		if (!m->used[i])
			continue;
		j = map64_slot(&grown, m->keys[i]);
		grown.keys[j] = m->keys[i];
		grown.values[j] = m->values[i];
		grown.used[j] = 1;
	}
	op_map64_clear(m);
	*m = grown;
	return 0;
}

int op_map64_put(struct op_map64 *m, uint64_t key, uint64_t value)
{
	size_t i = m->used ? map64_slot(m, key) : 0;

	if (m->used && m->used[i]) {
		m->values[i] = value;
		return 0;
	}
	if (!m->used || (m->len + 1) * 4 > (m->mask + 1) * 3) {
		int r = map64_resize(m, m->used ? (m->mask + 1) * 2 : 16);

		if (r < 0)
			return r;
		i = map64_slot(m, key);
	}
	m->used[i] = 1;
	m->keys[i] = key;
	m->values[i] = value;
	m->len++;
	return 0;
}

bool op_map64_remove(struct op_map64 *m, uint64_t key)
{
	size_t i;
	size_t j;

	if (!m->len)
		return false;
	i = map64_slot(m, key);
	if (!m->used[i])
		return false;
	m->len--;
	/* Close the gap: move back each follower whose home slot is not after it. */
	for (j = (i + 1) & m->mask; m->used[j]; j = (j + 1) & m->mask) {
		size_t home = home_of(m, m->keys[j]);

		if (((j - home) & m->mask) < ((j - i) & m->mask))
			continue;
		m->keys[i] = m->keys[j];
		m->values[i] = m->values[j];
		i = j;
	}
	m->used[i] = 0;
	return true;
}

bool op_map64_next(const struct op_map64 *m, size_t *at, uint64_t *ret)
{
	size_t i;

	while (m->used && *at <= m->mask) {
		i = (*at)++;
		if (m->used[i]) {
			*ret = m->values[i];
			return true;
		}
	}
	return false;
}

void op_map64_clear(struct op_map64 *m)
{
	free(m->keys);
	free(m->values);
	free(m->used);
	memset(m, 0, sizeof(*m));
}

size_t op_map64_bytes(const struct op_map64 *m)
{
	/* of a slot: key, value, used */
	return m->used ? (m->mask + 1) * (2 * sizeof(uint64_t) + 1) : 0;
}

uint32_t op_index_find(const struct op_index *x, uint32_t hash, const void *elements,
		       const void *key, op_index_equal_fn equal)
{
	size_t i;

	if (!x->len)
		return UINT32_MAX;
	for (i = hash & x->mask; x->slots[i].number; i = (i + 1) & x->mask)
		if (x->slots[i].hash == hash &&
		    equal(elements, x->slots[i].number - 1, key))
			return x->slots[i].number - 1;
	return UINT32_MAX;
}

static void index_insert(struct op_index *x, struct op_index_slot slot)
{
	size_t i = slot.hash & x->mask;

	while (x->slots[i].number)
		i = (i + 1) & x->mask;
	x->slots[i] = slot;
}

static int index_resize(struct op_index *x, size_t slots)
{
	struct op_index grown = { .mask = slots - 1, .len = x->len };
	size_t i;

	grown.slots = calloc(slots, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (i = 0; x->slots && i <= x->mask; i++)
		if (x->slots[i].number)
			index_insert(&grown, x->slots[i]);
	op_index_clear(x);
	*x = grown;
	return 0;
}

int op_index_add(struct op_index *x, uint32_t hash, uint32_t number)
{
	if (!x->slots || (x->len + 1) * 4 > (x->mask + 1) * 3) {
		int r = index_resize(x, x->slots ? (x->mask + 1) * 2 : 64);

		if (r < 0)
			return r;
	}
	index_insert(x, (struct op_index_slot){ .hash = hash, .number = number + 1 });
	x->len++;
	return 0;
}

void op_index_reset(struct op_index *x)
{
	if (x->len)
		memset(x->slots, 0, (x->mask + 1) * sizeof(*x->slots));
	x->len = 0;
}

void op_index_clear(struct op_index *x)
{
	free(x->slots);
	memset(x, 0, sizeof(*x));
}
