/* SPDX-License-Identifier: Apache-2.0 */
#include "base/minheap.h"

#include "test.h"

enum {
	KEYS = 16,
	VALUES = 8,
	STEPS = 100000
};

/* Check that the top of @h is the least of what it should hold. */
static void check_top(const struct op_minheap *h, uint32_t there[KEYS][VALUES])
{
	uint32_t i = 0;

	while (i < KEYS * VALUES && !there[i / VALUES][i % VALUES])
		i++;
	if (i == KEYS * VALUES) {
		CHECK_INT(h->len, 0);
		return;
	}
	CHECK(h->len);
	CHECK_INT(h->data[0].key, i / VALUES);
	CHECK_INT(h->data[0].value, i % VALUES);
}

static void test_against_a_table(void)
{
	static uint32_t there[KEYS][VALUES];
	struct op_minheap h = { 0 };
	uint32_t x = 1;
	size_t len = 0;
	int i;

	for (i = 0; i < STEPS; i++) {
		uint32_t key, value, what;

		x = x * 1664525u + 1013904223u;
		key = (x >> 8) % KEYS;
		value = (x >> 16) % VALUES;
		what = x >> 30;
		if (what < 2 && len < (size_t)(x >> 20) % 64) {
			CHECK_OK(op_minheap_add(&h, key, value));
			there[key][value]++;
			len++;
		} else if (len) {
			struct op_minheap_item top = h.data[0];

			there[top.key][top.value]--;
			if (what == 2) {
				op_minheap_change_top(&h, key);
				there[key][top.value]++;
			} else {
				op_minheap_remove_top(&h);
				len--;
			}
		}
		CHECK_INT(h.len, len);
		check_top(&h, there);
	}
	op_vec_clear(&h);
}

static void test_the_greatest_keys(void)
{
	struct op_minheap h = { 0 };

	CHECK_OK(op_minheap_add(&h, UINT64_MAX, 1));
	CHECK_OK(op_minheap_add(&h, UINT64_MAX, 0));
	CHECK_OK(op_minheap_add(&h, 0, UINT32_MAX));
	CHECK_INT(h.data[0].value, UINT32_MAX);
	op_minheap_change_top(&h, UINT64_MAX);
	CHECK_INT(h.data[0].value, 0);
	op_minheap_remove_top(&h);
	CHECK_INT(h.data[0].value, 1);
	op_minheap_remove_top(&h);
	CHECK_INT(h.data[0].value, UINT32_MAX);
	op_minheap_remove_top(&h);
	CHECK_INT(h.len, 0);
	op_vec_clear(&h);
}

TEST_MAIN({ "table", test_against_a_table }, { "greatest", test_the_greatest_keys })
