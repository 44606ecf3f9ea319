/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "test.h"

static void test_map64_against_a_plain_array(void)
{
	enum {
		KEYS = 512,
		STEPS = 200000
	};
	static uint64_t truth[KEYS];
	static bool present[KEYS];
	struct op_map64 m = { 0 };
	uint32_t x = 1;
	uint64_t sum = 0;
	uint64_t value;
	size_t len = 0;
	size_t at;
	int i;

	for (i = 0; i < STEPS; i++) {
		uint64_t key;
		uint64_t got;

		x = x * 1664525u + 1013904223u;
		key = (x >> 8) % KEYS;
		if ((x >> 28) < 9) {
			CHECK_OK(op_map64_put(&m, key << 40, (uint64_t)i));
			len += !present[key];
			truth[key] = (uint64_t)i;
			present[key] = true;
		} else {
			CHECK(op_map64_remove(&m, key << 40) == present[key]);
			len -= present[key];
			present[key] = false;
		}
		key = (x >> 4) % KEYS;
		CHECK(op_map64_get(&m, key << 40, &got) == present[key]);
		if (present[key])
			CHECK_INT(got, truth[key]);
		CHECK_INT(m.len, len);
	}
	for (i = 0; i < KEYS; i++)
		sum += present[i] ? truth[i] : 0;
	for (at = 0; op_map64_next(&m, &at, &value); len--)
		sum -= value;
	CHECK_INT(len, 0);
	CHECK_INT(sum, 0);
	op_map64_clear(&m);
	at = 0;
	CHECK(!op_map64_next(&m, &at, &value));
	CHECK(!op_map64_get(&m, 1, &(uint64_t){ 0 }));
}

/* Who replaces a value relies on it that this cannot fail. */
static void test_map64_replaces_in_place(void)
{
	struct op_map64 m = { 0 };
	uint64_t *values;
	uint64_t got;
	uint64_t key;

	/* until one more would not fit */
	for (key = 0; !m.len || (m.len + 1) * 4 <= (m.mask + 1) * 3; key++)
		CHECK_OK(op_map64_put(&m, key, key));
	values = m.values;
	CHECK_OK(op_map64_put(&m, 0, 7));
	CHECK(m.values == values);
	CHECK_INT(m.len, key);
	CHECK(op_map64_get(&m, 0, &got));
	CHECK_INT(got, 7);
	op_map64_clear(&m);
}

/* Keys that one map has in one place are not so in another: nobody outside can know them. */
static void test_map64_has_a_seed(void)
{
	enum {
		SLOTS = 1 << 14,
		NEAR = 64
	};
	struct op_map64 known = { 0 };
	struct op_map64 m = { 0 };
	size_t far = 0;
	size_t at;
	int i;

	for (i = 0; i < SLOTS / 2; i++)
		CHECK_OK(op_map64_put(&known, (uint64_t)i << 20, 0));
	for (i = 0; i < SLOTS / 2; i++)
		CHECK_OK(op_map64_put(&m, UINT64_MAX - (uint64_t)i, 0));
	CHECK_INT(known.mask, m.mask);
	CHECK(known.seed && m.seed && known.seed != m.seed);
	/* Those next to each other in the one ... */
	op_map64_clear(&m);
	for (at = 0, i = 0; at <= known.mask && i < NEAR; at++) {
		if (!known.used[at])
			continue;
		CHECK_OK(op_map64_put(&m, known.keys[at], 1));
		i++;
	}
	CHECK_INT(i, NEAR);
	/* ... are all over the other. */
	for (at = 0; at <= m.mask; at++)
		far += m.used[at] && (at > m.mask / 4);
	CHECK(far > (size_t)i / 4);
	op_map64_clear(&known);
	op_map64_clear(&m);
}

/* With a fixed factor such a block takes away all before it, whatever the seed. */
static void test_bytes_cannot_be_made_to_meet(void)
{
	uint64_t block[8] = { 1, 2, 3, UINT64_C(0xbf58476d1ce4e5b9), 5, 6, 7, 8 };
	uint64_t other[8];

	memcpy(other, block, sizeof(block));
	other[0] = 99;
	CHECK(op_hash_bytes(block, sizeof(block), 42) !=
	      op_hash_bytes(other, sizeof(other), 42));
	CHECK(op_hash_bytes(block, sizeof(block), 42) !=
	      op_hash_bytes(block, sizeof(block), 43));
}

static bool equal_int(const void *elements, uint32_t i, const void *key)
{
	return ((const int *)elements)[i] == *(const int *)key;
}

static void test_index_finds_by_content(void)
{
	enum {
		N = 10000
	};
	static int elements[N];
	struct op_index x = { 0 };
	int i;

	for (i = 0; i < N; i++) {
		uint32_t hash = (uint32_t)op_hash_bytes(&i, sizeof(i), 7) & 0xff;

		/* 256 hashes for 10,000 elements: only the content tells them apart. */
		CHECK_INT(op_index_find(&x, hash, elements, &i, equal_int), UINT32_MAX);
		elements[i] = i;
		CHECK_OK(op_index_add(&x, hash, (uint32_t)i));
	}
	for (i = 0; i < N; i += 97) {
		uint32_t hash = (uint32_t)op_hash_bytes(&i, sizeof(i), 7) & 0xff;

		CHECK_INT(op_index_find(&x, hash, elements, &i, equal_int), i);
	}
	op_index_reset(&x);
	i = 5;
	CHECK_INT(op_index_find(&x, (uint32_t)op_hash_bytes(&i, sizeof(i), 7) & 0xff,
				elements, &i, equal_int),
		  UINT32_MAX);
	op_index_clear(&x);
}

static void test_bytes_of_every_length_differ(void)
{
	static const char bytes[64] = { 0 };
	uint64_t seen[64];
	size_t i;
	size_t j;

	for (i = 0; i < 64; i++) {
		seen[i] = op_hash_bytes(bytes, i, 0);
		for (j = 0; j < i; j++)
			CHECK(seen[i] != seen[j]);
	}
}

static void test_fnv128a(void)
{
	/* test vectors of draft-eastlake-fnv, appendix C */
	static const uint8_t empty[16] = {
		0x6c, 0x62, 0x27, 0x2e, 0x07, 0xbb, 0x01, 0x42,
		0x62, 0xb8, 0x21, 0x75, 0x62, 0x95, 0xc5, 0x8d
	};
	static const uint8_t a[16] = { 0xd2, 0x28, 0xcb, 0x69, 0x6f, 0x1a, 0x8c, 0xaf,
				       0x78, 0x91, 0x2b, 0x70, 0x4e, 0x4a, 0x89, 0x64 };
	uint8_t h[16];

	op_hash_fnv128a("", 0, h);
	CHECK(memcmp(h, empty, sizeof(h)) == 0);
	op_hash_fnv128a("a", 1, h);
	CHECK(memcmp(h, a, sizeof(h)) == 0);
}

TEST_MAIN({ "seed", test_map64_has_a_seed },
	  { "meet", test_bytes_cannot_be_made_to_meet }, { "fnv128a", test_fnv128a },
	  { "map64_against_a_plain_array", test_map64_against_a_plain_array },
	  { "map64_replaces_in_place", test_map64_replaces_in_place },
	  { "index_finds_by_content", test_index_finds_by_content },
	  { "bytes_of_every_length_differ", test_bytes_of_every_length_differ })
