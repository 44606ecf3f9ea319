/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols in the order of a hostile file are sorted as the C library sorts them. */
#include "code/symbol/index.h"

#include "test.h"

enum {
	MANY = 20000,
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static int compare(const void *a, const void *b)
{
	const struct op_symbol_raw *x = a;
	const struct op_symbol_raw *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* The masks say how many different values there are. */
static void check_sorted(size_t len, uint32_t addr, uint32_t class, uint32_t name)
{
	struct op_symbol_raw *expected = calloc(len + 1, sizeof(*expected));
	struct op_symbol_raw *raw = calloc(len + 1, sizeof(*raw));
	uint32_t state = (uint32_t)len;
	size_t i;

	CHECK(raw && expected);
	for (i = 0; i < len; i++) {
		raw[i].addr = (next_random(&state) << 12) & addr;
		raw[i].class = next_random(&state) & class;
		raw[i].name = next_random(&state) & name;
		/* it goes with its symbol */
		raw[i].size = raw[i].addr ^ raw[i].class << 16 ^ raw[i].name << 8;
	}
	memcpy(expected, raw, len * sizeof(*raw));
	qsort(expected, len, sizeof(*expected), compare);
	op_symbol_sort(raw, len);
	CHECK_INT(memcmp(raw, expected, len * sizeof(*raw)), 0);
	free(expected);
	free(raw);
}

static void test_any_order(void)
{
	size_t len;

	for (len = 0; len < 100; len++)
		check_sorted(len, 0xff00f000, 3, 1);
	check_sorted(MANY, UINT32_MAX, 0x7f, UINT32_MAX);
}

/* All at few addresses, or all at one and of one name. */
static void test_many_equal(void)
{
	check_sorted(MANY, 0x11000, 0x60, 0xff);
	check_sorted(MANY, 0, 0, UINT32_MAX);
	check_sorted(MANY, 0, 3, 0);
	check_sorted(MANY, 0, 0, 0);
}

static void test_descending(void)
{
	static struct op_symbol_raw raw[MANY];
	size_t i;

	for (i = 0; i < MANY; i++)
		raw[i] = (struct op_symbol_raw){ .addr = (uint32_t)(MANY - i) << 6 };
	op_symbol_sort(raw, MANY);
	for (i = 0; i < MANY; i++)
		CHECK_INT(raw[i].addr, (i + 1) << 6);
}

TEST_MAIN({ "any_order", test_any_order }, { "many_equal", test_many_equal },
	  { "descending", test_descending })
