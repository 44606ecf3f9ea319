/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler's arithmetic and its table, without a kernel. What is expected comes from libm, and
 * from the variance of a sum of weights: an allocation of size S is sampled with q = 1 - exp(-S/R)
 * and its weight is S/q, so the variance of its share is S^2 (1 - q) / q.
 */
#include <math.h>
#include <pthread.h>

#include "op_user_types.h"
#include "preload/heap/sampler.h"
#include "test.h"

/* of the probes, which nobody hears here */
volatile uint16_t op_preload_alloc_listeners;
union op_preload_free_gate op_preload_free_gate;

static void test_weights(void)
{
	static const uint64_t size[] = { 1,	  16,	    100,      4096,
					 10000,	  524287,   524288,   1000000,
					 1 << 22, 20971520, 20971521, 1ull << 40 };
	size_t i;

	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		double want = (double)size[i] / -expm1(-(double)size[i] / 524288);
		double got = (double)op_preload_weight(size[i], 524288);

		if (fabs(got - want) > 0.5 + want * 1e-12)
			TEST_FAIL("the weight of %llu is %.1f, not %.1f",
				  (unsigned long long)size[i], got, want);
	}
}

/* Sums of many allocations of @size, in units of their standard deviation. */
static void check_sum(uint64_t size, uint64_t interval, uint64_t n)
{
	struct op_preload_thread *t = &op_preload_thread;
	double q = -expm1(-(double)size / (double)interval);
	double deviation = (double)size * sqrt((double)n * (1 - q) / q);
	double sum = 0;
	double off;
	uint64_t i;

	op_preload_set_interval(interval);
	*t = (struct op_preload_thread){ 0 }; /* no countdown of another interval */
	for (i = 0; i < n; i++) {
		if (t->random && (t->left -= (int64_t)size) >= 0)
			continue;
		sum += (double)op_preload_sample(size);
	}
	off = (sum - (double)(n * size)) / deviation;
	printf("  %llu of %llu bytes, interval %llu: %+.2f standard deviations\n",
	       (unsigned long long)n, (unsigned long long)size,
	       (unsigned long long)interval, off);
	if (fabs(off) > 6)
		TEST_FAIL("the sum is off by %.1f standard deviations", off);
}

static void test_sums(void)
{
	check_sum(16, 524288, 100000000);
	check_sum(100, 4096, 20000000);
	check_sum(4096, 4096, 5000000);
	check_sum(524288, 524288, 2000000);
	check_sum(100000, 4096, 100000);
}

/* Numbers of a million addresses as an allocator gives them: all are found again, once. */
static void test_addresses(void)
{
	enum {
		KEPT = 20000
	};
	uintptr_t i;
	size_t refused = 0;

	for (i = 1; i <= KEPT; i++)
		refused += !op_preload_addresses_add((void *)(i * 4112));
	CHECK(refused < KEPT / 1000);
	CHECK(op_preload_free_gate.part.holds);
	for (i = 1; i <= KEPT; i++)
		CHECK(!op_preload_addresses_take((void *)(i * 4112 + 16)));
	for (i = 1; i <= KEPT; i++)
		refused -= !op_preload_addresses_take((void *)(i * 4112));
	CHECK_INT(refused, 0);
	for (i = 1; i <= KEPT; i++)
		CHECK(!op_preload_addresses_take((void *)(i * 4112)));
	/* one that is added twice stands there once */
	CHECK(op_preload_addresses_add((void *)4096));
	CHECK(op_preload_addresses_add((void *)4096));
	CHECK(op_preload_addresses_take((void *)4096));
	CHECK(!op_preload_addresses_take((void *)4096));
	/* full: it says so */
	for (refused = 0, i = 1; i <= 100000; i++)
		refused += !op_preload_addresses_add((void *)(i * 4112));
	CHECK(refused >= 100000 - 32768);
	op_preload_addresses_clear();
	for (i = 1; i <= 100000; i++)
		CHECK(!op_preload_addresses_take((void *)(i * 4112)));
	CHECK(!op_preload_free_gate.part.holds);
}

static void *add_and_take(void *arg)
{
	uintptr_t base = (uintptr_t)arg << 40;
	uintptr_t i;
	uintptr_t k;

	for (k = 0; k < 200; k++) {
		for (i = 1; i <= 1000; i++)
			if (!op_preload_addresses_add((void *)(base + i * 48)))
				return (void *)"not added";
		for (i = 1; i <= 1000; i++)
			if (!op_preload_addresses_take((void *)(base + i * 48)))
				return (void *)"not there";
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t thread[4];
	uintptr_t i;
	void *wrong;

	for (i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&thread[i], NULL, add_and_take, (void *)(i + 1)),
			  0);
	for (i = 0; i < 4; i++) {
		CHECK_INT(pthread_join(thread[i], &wrong), 0);
		if (wrong)
			TEST_FAIL("%s", (const char *)wrong);
	}
}

/* A size and a weight in one word. */
static void test_values(void)
{
	uint64_t size;

	for (size = 1; size < 1 << 19; size++)
		CHECK_INT(op_heap_size(op_heap_value(size, 12345)), size);
	for (; size < OP_HEAP_BYTES_MAX / 2; size += size / 7) {
		uint64_t got = op_heap_size(op_heap_value(size, size));

		CHECK(got <= size && (double)(size - got) < (double)size * 4e-6);
		CHECK_INT(op_heap_value(size, size) & OP_HEAP_BYTES_MAX, size);
	}
	/* what a process makes up is capped, and no size is none */
	CHECK_INT(op_heap_value(UINT64_MAX, UINT64_MAX) & OP_HEAP_BYTES_MAX,
		  OP_HEAP_BYTES_MAX);
	CHECK(op_heap_size(op_heap_value(UINT64_MAX, 0)) <= OP_HEAP_BYTES_MAX);
	CHECK_INT(op_heap_size(op_heap_value(0, 0)), 1);
}

static int asked; /* calls of dlsym(3) */

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

void *__wrap_dlsym(void *handle, const char *name)
{
	asked++;
	return __real_dlsym(handle, name);
}

/* The dynamic linker, whose lock and tables are slow, is asked once, whatever it says. */
static void test_asks_once(void)
{
	void *missing = NULL;
	void *there = NULL;
	int i;

	asked = 0;
	for (i = 0; i < 3; i++) {
		CHECK(!op_preload_find(&missing, "op_no_such_function"));
		CHECK(op_preload_find(&there, "posix_memalign"));
	}
	CHECK_INT(asked, 2);
}

TEST_MAIN({ "weights", test_weights }, { "sums", test_sums },
	  { "addresses", test_addresses }, { "threads", test_threads },
	  { "values", test_values }, { "asks_once", test_asks_once })
