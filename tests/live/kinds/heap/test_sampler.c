/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler's arithmetic and its table, without a kernel. What is expected comes from libm, and
 * from the variance of a sum of weights: an allocation of size S is sampled with q = 1 - exp(-S/R)
 * and its weight is S/q, so the variance of its share is S^2 (1 - q) / q.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
	/* as many as are meant to be there find a place, but for one in a thousand */
	for (refused = 0, i = 1; i <= OP_PRELOAD_ADDRESSES_MAX; i++)
		refused += !op_preload_addresses_add((void *)(i * 4112));
	CHECK(refused <= OP_PRELOAD_ADDRESSES_MAX / 1000);
	CHECK_INT(op_preload_addresses_held(), OP_PRELOAD_ADDRESSES_MAX - refused);
	/* full: it says so */
	for (refused = 0; i <= 400000; i++)
		refused += !op_preload_addresses_add((void *)(i * 4112));
	CHECK(refused >= 400000 - OP_PRELOAD_ADDRESSES_MAX * 2);
	op_preload_addresses_clear();
	for (i = 1; i <= 400000; i++)
		CHECK(!op_preload_addresses_take((void *)(i * 4112)));
	CHECK_INT(op_preload_addresses_held(), 0);
	CHECK(!op_preload_free_gate.part.holds);
}

/* What is in use, far beyond the room of the sampler's table and of a table like the kernel's: all
 * that was allocated, and a half of it when each second one is freed. */
static void check_in_use(uint64_t n, uint64_t size, uint64_t interval)
{
	struct op_preload_thread *t = &op_preload_thread;
	static uint64_t weight[OP_PRELOAD_ADDRESSES_MAX * 64];
	double all = 0;
	double half = 0;
	uint64_t i;

	op_preload_set_interval(interval);
	*t = (struct op_preload_thread){ 0 };
	memset(weight, 0, sizeof(weight));
	for (i = 1; i <= n; i++) {
		if (t->random && (t->left -= (int64_t)size) >= 0)
			continue;
		weight[i] = op_preload_sample(size);
		if (weight[i] && !op_preload_addresses_add((void *)(i * 4112)))
			weight[i] = 0;
	}
	CHECK(op_preload_addresses_held() <= OP_PRELOAD_ADDRESSES_MAX);
	for (i = 1; i <= n; i++) {
		all += (double)weight[i];
		if (weight[i] && i % 2)
			CHECK(op_preload_addresses_take((void *)(i * 4112)));
		else
			half += (double)weight[i];
	}
	printf("  %llu of %llu bytes, interval %llu: %u addresses, %.4f and %.4f of them\n",
	       (unsigned long long)n, (unsigned long long)size,
	       (unsigned long long)interval, op_preload_addresses_held() * 2,
	       all / (double)(n * size), half / (double)(n * size) * 2);
	/* a sample stands for half of what there is in 2,048 at most: 2 %, and 3 % of a half */
	CHECK(fabs(all / (double)(n * size) - 1) < 0.12);
	CHECK(fabs(half / (double)(n * size) * 2 - 1) < 0.18);
	op_preload_addresses_clear();
}

static void test_in_use(void)
{
	check_in_use(20000, 16384, 4096);
	check_in_use(60000, 16384, 4096);
	check_in_use(4000000, 16384, 4096);
	check_in_use(4000000, 100, 64);
}

/* The kernel's part: samples of two weights, which come by turns. */
static void check_threshold(uint32_t n, uint64_t small, uint64_t large)
{
	struct op_heap_use use = { 0 };
	double told[2] = { 0 };
	uint64_t weight[2] = { small, large };
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint64_t threshold = op_heap_threshold(&use, OP_HEAP_LIVE_A_PROCESS);
		uint64_t w = weight[i % 2];

		if (!threshold)
			op_heap_use_see(&use, w);
		if (w < threshold && drand48() * (double)threshold >= (double)w)
			continue;
		use.held++;
		told[i % 2] += (double)(w < threshold ? threshold : w);
	}
	printf("  %u samples of %llu and %llu: %u held, %.4f and %.4f of the bytes\n", n,
	       (unsigned long long)small, (unsigned long long)large, use.held,
	       told[0] / n * 2 / (double)small, told[1] / n * 2 / (double)large);
	CHECK(use.held < OP_HEAP_LIVE_A_PROCESS ||
	      small < large / OP_HEAP_LIVE_A_PROCESS);
	CHECK(fabs(told[0] / n * 2 / (double)small - 1) < 0.25);
	CHECK(fabs(told[1] / n * 2 / (double)large - 1) < 0.18);
}

static void test_thresholds(void)
{
	uint32_t i;
	uint32_t last = 0;

	for (i = 0; i <= 2 * OP_HEAP_LIVE_A_PROCESS; i++) {
		uint32_t now = op_heap_doublings(i, OP_HEAP_LIVE_A_PROCESS);

		CHECK(now == last || now == last + 1);
		CHECK(i >= OP_HEAP_LIVE_A_PROCESS / 2 || !now);
		last = now;
	}
	CHECK(last > 36);
	check_threshold(10000, 524288, 600000);
	check_threshold(100000, 524288, 600000);
	check_threshold(10000000, 524288, 600000);
	check_threshold(100000, 4096, 40000);
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
	  { "addresses", test_addresses }, { "in_use", test_in_use },
	  { "thresholds", test_thresholds }, { "threads", test_threads },
	  { "values", test_values }, { "asks_once", test_asks_once })
