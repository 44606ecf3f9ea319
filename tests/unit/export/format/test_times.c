/* SPDX-License-Identifier: Apache-2.0 */
/* When samples were: what is kept of it where there is too much, and that no value is lost. */
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "export/format/format.h"
#include "otelprof/export.h"
#include "request.h"

#include "test.h"

enum {
	STACKS = 50,
	SAMPLES = 40, /* of each stack */
	SECOND = 1000000000,
	PAGE_MAX = 16 << 20,
};

static struct op_collect *collection(void)
{
	struct op_collect *c = NULL;

	CHECK_OK(op_format_collect(op_format_get(OTELPROF_FORMAT_HTML), &c));
	CHECK(c->times);
	return c;
}

static void add(struct op_collect *c, struct rq *q)
{
	struct rq_buf request = rq_end(q);

	CHECK_OK(op_collect_add(c, request.data, request.len));
	free(request.data);
}

/* @stacks functions. Each has four samples at a time: in two threads, for two traces. */
static void add_many(struct op_collect *c, int stacks)
{
	char names[STACKS][16];
	struct rq q;
	uint32_t location, thread, stack, links[2];
	unsigned int n;
	int i;

	rq_begin(&q);
	for (i = 0; i < 2; i++)
		links[i] = rq_link(&q, 0xa0 + i);
	for (i = 0; i < stacks; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%d", i);
		location = rq_location(&q, 0, 0, 0, rq_function(&q, names[i], "", 0), 0,
				       0, 0);
		stack = rq_stack(&q, &location, 1);
		for (n = 0; n < SAMPLES; n++) {
			q.next_time_ns =
				RQ_TIME_NS + n / 4 * 4 * (uint64_t)SECOND / SAMPLES;
			q.link = links[n % 2];
			thread = rq_int_attribute(&q, "thread.id", 100 + n % 4 / 2);
			rq_sample(&q, stack, &thread, 1, 1);
		}
	}
	q.link = 0;
	rq_process(&q, 100, "web", NULL);
	add(c, &q);
}

/* The sum of the entries is that of the stacks; each is of a thread and trace that there is. */
static void check_sums(const struct op_collect *c)
{
	const struct op_times *t = c->times;
	const struct op_times_entry *e;
	const struct op_collect_stack *s;
	int64_t times = 0, stacks = 0;

	op_vec_foreach(e, &t->entries) {
		CHECK(e->stack < c->stacks.len);
		CHECK(e->thread < t->threads.len);
		CHECK(e->trace < t->traces.len);
		times += e->value;
	}
	op_vec_foreach(s, &c->stacks)
		stacks += s->value * RQ_PERIOD_NS;
	CHECK_INT(times, stacks);
}

static void test_all_is_told_apart(void)
{
	struct op_collect *c = collection();

	add_many(c, STACKS);
	CHECK_INT(c->times->entries.len, STACKS * SAMPLES);
	CHECK_INT(c->times->threads.len, 1 + 2);
	CHECK_INT(c->times->traces.len, 1 + 2);
	CHECK(!c->times->threads_lost && !c->times->traces_lost && !c->times->full);
	check_sums(c);
	(void)op_collect_free(c);
}

/* First bins are doubled, then traces go, then threads; never a value. */
static void test_less_is_told_apart(void)
{
	static const struct {
		size_t max;
		bool traces_lost;
		bool threads_lost;
	} steps[] = { { STACKS * 36, true, false }, { STACKS * 2, true, true } };
	struct op_collect *c;
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		c = collection();
		c->times->max = steps[i].max;
		add_many(c, STACKS);
		CHECK(c->times->entries.len <= steps[i].max);
		CHECK(!c->times->full);
		CHECK_INT(c->times->traces_lost, steps[i].traces_lost);
		CHECK_INT(c->times->threads_lost, steps[i].threads_lost);
		check_sums(c);
		(void)op_collect_free(c);
	}
}

static void test_more_stacks_than_entries(void)
{
	struct op_collect *c = collection();

	c->times->max = STACKS / 2;
	add_many(c, STACKS);
	CHECK(c->times->full);
	CHECK_INT(c->times->entries.len, 0);
	CHECK_INT(c->stacks.len, STACKS);
	(void)op_collect_free(c);
}

/* A time of which the window knows nothing is put at the window's end. */
static void test_a_time_outside_of_the_window(void)
{
	struct op_collect *c = collection();
	const struct op_times_entry *e;
	uint32_t location;
	struct rq q;

	rq_begin(&q);
	location = rq_location(&q, 0, 0, 0, rq_function(&q, "f", "", 0), 0, 0, 0);
	q.next_time_ns = UINT64_MAX - 100000;
	rq_sample(&q, rq_stack(&q, &location, 1), NULL, 0, 1);
	q.next_time_ns = 1;
	rq_sample(&q, rq_stack(&q, &location, 1), NULL, 0, 1);
	rq_process(&q, 100, "web", NULL);
	add(c, &q);
	op_vec_foreach(e, &c->times->entries) {
		CHECK(e->tick >= RQ_TIME_NS >> c->times->shift);
		CHECK(e->tick <= (RQ_TIME_NS + RQ_WINDOW_NS) >> c->times->shift);
	}
	CHECK_INT(c->times->entries.len, 2);
	(void)op_collect_free(c);
}

/* Of every other stack nothing stays. */
static void test_stacks_get_other_numbers(void)
{
	struct op_collect *c = collection();
	uint32_t numbers[STACKS];
	uint32_t i;

	add_many(c, STACKS);
	CHECK_INT(c->times->stacks_len, STACKS);
	for (i = 0; i < STACKS; i++) {
		numbers[i] = i % 2 ? UINT32_MAX : i / 2;
		if (!(i % 2))
			c->stacks.data[i / 2] = c->stacks.data[i];
	}
	c->stacks.len = STACKS / 2;
	op_times_renumber(c->times, numbers, c->stacks.len);
	CHECK_INT(c->times->stacks_len, STACKS / 2);
	check_sums(c);
	(void)op_collect_free(c);
}

/* Times of stacks that were changed since are left out of the page. */
static void test_times_of_other_stacks(void)
{
	static const char none[] = "id=\"moments\">null<";
	char path[] = "/tmp/test-times-XXXXXX";
	struct op_collect *c = collection();
	char *text = NULL;
	int fd = mkstemp(path), i;

	CHECK(fd >= 0 && !unlink(path));
	add_many(c, STACKS);
	for (i = 0; i < 2; i++) {
		CHECK(lseek(fd, 0, SEEK_SET) == 0 && !ftruncate(fd, 0));
		CHECK_OK(op_format_get(OTELPROF_FORMAT_HTML)->write(c, fd));
		CHECK_OK(op_read_fd(fd, PAGE_MAX, &text));
		CHECK_INT(strstr(text, none) != NULL, i);
		free(text);
		c->stacks.len--;
	}
	CHECK(!close(fd));
	(void)op_collect_free(c);
}

static void test_windows_are_joined(void)
{
	static const struct op_times_window windows[] = {
		{ 9 * (uint64_t)SECOND, 10 * (uint64_t)SECOND },
		{ 1 * (uint64_t)SECOND, 2 * (uint64_t)SECOND },
		{ 2 * (uint64_t)SECOND, 4 * (uint64_t)SECOND },
		{ 1 * (uint64_t)SECOND, 3 * (uint64_t)SECOND },
	};
	struct op_collect *c = collection();
	struct op_times_window *w;
	size_t i;

	for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		w = op_vec_push(&c->times->windows);
		CHECK(w);
		*w = windows[i];
	}
	op_times_join_windows(c->times);
	CHECK_INT(c->times->windows.len, 2);
	CHECK_INT(c->times->windows.data[0].end_ns, 4 * (int64_t)SECOND);
	CHECK_INT(c->times->windows.data[1].start_ns, 9 * (int64_t)SECOND);
	(void)op_collect_free(c);
}

TEST_MAIN({ "all_is_told_apart", test_all_is_told_apart },
	  { "less_is_told_apart", test_less_is_told_apart },
	  { "more_stacks_than_entries", test_more_stacks_than_entries },
	  { "a_time_outside_of_the_window", test_a_time_outside_of_the_window },
	  { "stacks_get_other_numbers", test_stacks_get_other_numbers },
	  { "times_of_other_stacks", test_times_of_other_stacks },
	  { "windows_are_joined", test_windows_are_joined })
