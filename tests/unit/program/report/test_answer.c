/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of recordings whose stacks are known: what is charged to which place, and why. */
#include "recording/tree/answer/answer.h"

#include "base/rows/rows.h"
#include "export/format/collect/collect.h"
#include "recording/read/kind_word.h"
#include "request.h"
#include "test.h"

struct made {
	struct op_collect *c;
	struct view v;
	struct answer a;
};

static void make(struct made *m, struct rq_buf *b, const char *kind)
{
	struct view_request request = { .kind = kind };

	if (!m->c)
		CHECK_OK(op_collect_new(OP_COLLECT_LOCATIONS, &m->c));
	CHECK_OK(op_collect_add(m->c, b->data, b->len));
	free(b->data);
	CHECK_OK(view_make(m->c, &request, &m->v));
	CHECK_OK(answer_make(&m->v, &m->a));
}

static void clear(struct made *m)
{
	view_clear(&m->v);
	m->c = op_collect_free(m->c);
}

static void check_row(const struct made *m, size_t i, const char *name, uint32_t line,
		      int64_t value)
{
	char buf[256];

	CHECK(i < m->a.rows_len);
	CHECK_STR(view_label_name(&m->v, m->a.rows[i].function, buf, sizeof(buf)), name);
	CHECK_INT(m->a.rows[i].line, line);
	CHECK_INT(m->a.rows[i].value, value);
}

static const char *in_of(const struct made *m, size_t i, char *buf, size_t size)
{
	return m->a.rows[i].in == ANSWER_NO_FUNCTION
		       ? ""
		       : view_label_name(&m->v, m->a.rows[i].in, buf, size);
}

/*
 * A Python service, leaf first: 60 times PyDict_Next < dumps (json) < view (shop.py:14), 30 times
 * memcpy < view (shop.py:20), 10 times write < loop (a package's server.py:5) with no own frame.
 * All are called by <module> (shop.py:40) through the interpreter.
 */
static struct rq_buf python(void)
{
	struct rq q;
	uint32_t cpython, native, kernel, lib, libc, l[8];

	rq_begin(&q);
	cpython = rq_string_attribute(&q, "profile.frame.type", "cpython");
	native = rq_string_attribute(&q, "profile.frame.type", "native");
	kernel = rq_string_attribute(&q, "profile.frame.type", "kernel");
	lib = rq_mapping(&q, "libpython3.11.so.1.0", "aa");
	libc = rq_mapping(&q, "libc.so.6", "bb");
#define F(name, file) rq_function(&q, name, file, 1)
	l[0] = rq_location(&q, native, lib, 1, F("PyDict_Next", ""), 0, 0, 0);
	l[1] = rq_location(&q, cpython, 0, 0, F("dumps", "/usr/lib/python3.11/json/a.py"),
			   9, 0, 0);
	l[2] = rq_location(&q, cpython, 0, 0, F("view", "/srv/shop.py"), 14, 0, 0);
	l[3] = rq_location(&q, cpython, 0, 0, F("view", "/srv/shop.py"), 20, 0, 0);
	l[4] = rq_location(&q, native, libc, 2, F("memcpy", ""), 0, 0, 0);
	l[5] = rq_location(&q, cpython, 0, 0,
			   F("loop", "/usr/lib/python3/dist-packages/g/server.py"), 5, 0,
			   0);
	l[6] = rq_location(&q, kernel, 0, 3, F("ksys_write", ""), 0, 0, 0);
	l[7] = rq_location(&q, cpython, 0, 0, F("<module>", "/srv/shop.py"), 40, 0, 0);
#undef F
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l[0], l[1], l[2], l[0], l[7] }, 5), NULL,
		  0, 60);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l[4], l[3], l[0], l[7] }, 4), NULL, 0,
		  30);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ l[6], l[5] }, 2), NULL, 0, 10);
	rq_process(&q, 100, "python3", NULL);
	return rq_end(&q);
}

/* The interpreter, standard and C libraries are charged to the line that calls them. */
static void test_own_code_is_charged(void)
{
	struct made m = { 0 };
	struct rq_buf b = python();
	char buf[ANSWER_SENTENCE_BYTES], place[256];

	make(&m, &b, NULL);
	check_row(&m, 0, "view", 14, 90);
	CHECK_STR(in_of(&m, 0, buf, sizeof(buf)), "dumps");
	CHECK_STR(view_place_of(&m.v, m.a.rows[0].function, m.a.rows[0].line, place,
				sizeof(place)),
		  "/srv/shop.py:14");
	check_row(&m, 1, "loop", 5, 10);
	CHECK_INT(m.a.rows[1].of, OP_CLASS_LIBRARY);
	CHECK_INT(m.a.rows_len, 2);
	CHECK_INT(m.a.rows[0].samples, 90);
	/* 1.96 times the root of 0.9 * 0.1 / 100, in points; Wilson's is a little wider */
	CHECK(m.a.rows[0].error > 5.5 && m.a.rows[0].error < 6.5);
	m.a.cpus = 2.02;
	CHECK(strstr(answer_sentence(&m.a, 2, buf), "Used 2.00 of 2 CPUs"));
	clear(&m);
}

/* Shares along the path are those of the path, and fall; the interpreter does not part it. */
static void test_path_has_its_own_shares(void)
{
	struct made m = { 0 };
	struct rq_buf b = python();
	char buf[256];

	make(&m, &b, NULL);
	CHECK_INT(m.a.path_len, 3);
	CHECK_STR(view_label_name(&m.v, m.a.path[1].label, buf, sizeof(buf)), "<module>");
	CHECK_INT(m.a.path[1].value, 90);
	CHECK_INT(m.a.path[1].line, 40);
	CHECK_STR(view_label_name(&m.v, m.a.path[2].label, buf, sizeof(buf)), "view");
	CHECK_INT(m.a.path[2].value, 90);
	CHECK_INT(m.a.path[2].line, 14);
	clear(&m);
}

/* A stub without a name is charged to who calls it; a program without symbols is own code still. */
static void test_code_without_a_name(void)
{
	struct made m = { 0 };
	struct rq q;
	struct rq_buf b;
	uint32_t native, file, named, stub, libc;

	rq_begin(&q);
	native = rq_string_attribute(&q, "profile.frame.type", "native");
	file = rq_mapping(&q, "pool", "aa");
	libc = rq_mapping(&q, "libc.so.6", "bb");
	stub = rq_location(&q, native, file, 1, rq_function(&q, "pool+0x1020", "", 0), 0,
			   0, 0);
	named = rq_location(&q, native, file, 2, rq_function(&q, "take", "pool.c", 0), 34,
			    0, 0);
	libc = rq_location(&q, native, libc, 3, rq_function(&q, "memcpy", "", 0), 0, 0,
			   0);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ stub, named }, 2), NULL, 0, 60);
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ libc, stub }, 2), NULL, 0, 40);
	rq_process(&q, 100, "pool", NULL);
	b = rq_end(&q);
	make(&m, &b, NULL);
	CHECK_INT(m.a.rows_len, 2);
	check_row(&m, 0, "take", 34, 60);
	check_row(&m, 1, "pool+0x1020", 0, 40);
	clear(&m);
}

/* Threads of a C program that wait, leaf first; the reason is an attribute of the sample. */
static struct rq_buf waits(bool with_kernel)
{
	static const struct {
		const char *leaf; /* of the kernel */
		const char *libc;
		const char *own;
		const char *reason;
		unsigned int count;
	} of[] = {
		{ "futex_do_wait", "pthread_mutex_lock", "locked", "futex", 50 },
		{ "futex_do_wait", "pthread_cond_wait", "idle", "futex", 20 },
		{ "io_schedule", "fsync", "save", "io", 15 },
		{ "exit_to_user_mode_loop", "memcpy", "busy", "preempted", 10 },
		{ "do_nanosleep", "clock_nanosleep", "tcp_pause", "sleep", 3 },
		{ "do_poll", "__res_context_send", "PQ_look_up", "sleep", 2 },
	};
	struct rq q;
	uint32_t native, kernel, libc, l[4], reason;
	size_t i, n;

	rq_begin(&q);
	native = rq_string_attribute(&q, "profile.frame.type", "native");
	kernel = rq_string_attribute(&q, "profile.frame.type", "kernel");
	libc = rq_mapping(&q, "libc.so.6", "bb");
	q.type = "off_cpu";
	q.unit = "nanoseconds";
	q.value = 1000000;
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		n = 0;
		if (with_kernel) {
			l[n++] = rq_location(&q, kernel, 0, 1,
					     rq_function(&q, "__schedule", "", 0), 0, 0,
					     0);
			l[n++] = rq_location(&q, kernel, 0, 2,
					     rq_function(&q, of[i].leaf, "", 0), 0, 0, 0);
		}
		l[n++] = rq_location(&q, native, libc, 3,
				     rq_function(&q, of[i].libc, "", 0), 0, 0, 0);
		l[n++] = rq_location(&q, native, 0, 4,
				     rq_function(&q, of[i].own, "a.c", 0),
				     (uint32_t)i + 1, 0, 0);
		reason = rq_string_attribute(&q, "off_cpu.reason", of[i].reason);
		rq_sample(&q, rq_stack(&q, l, n), &reason, 1, of[i].count);
	}
	rq_process(&q, 100, "web", NULL);
	return rq_end(&q);
}

static void test_waits_have_a_reason(void)
{
	static const enum op_wait with[] = { WAIT_LOCK, WAIT_CONDITION, WAIT_DISK,
					     WAIT_CPU,	WAIT_SLEEP,	WAIT_NAME };
	struct made m = { 0 };
	struct rq_buf b = waits(true);
	char buf[256], text[ANSWER_SENTENCE_BYTES];
	size_t i;

	make(&m, &b, NULL);
	CHECK_INT(m.a.rows_len, 6);
	check_row(&m, 0, "locked", 1, 50000000);
	for (i = 0; i < 6; i++)
		CHECK_INT(m.a.rows[i].wait, with[i]);
	/* The function of the C library that is waited in, and none of what interrupts. */
	CHECK_STR(in_of(&m, 0, buf, sizeof(buf)), "pthread_mutex_lock");
	CHECK_STR(in_of(&m, 3, buf, sizeof(buf)), "");
	CHECK(strstr(answer_sentence(&m.a, 0, text),
		     ": 50% for a lock, 20% for another thread, 15% for disk."));
	clear(&m);
}

/* Without the kernel's part the recorded reason tells. */
static void test_reasons_tell_where_frames_do_not(void)
{
	static const enum op_wait with[] = { WAIT_LOCK, WAIT_CONDITION, WAIT_DISK,
					     WAIT_CPU,	WAIT_SLEEP,	WAIT_OTHER };
	struct made m = { 0 };
	struct rq_buf b = waits(false);
	size_t i;

	make(&m, &b, NULL);
	CHECK_INT(m.a.rows_len, 6);
	for (i = 0; i < 6; i++)
		CHECK_INT(m.a.rows[i].wait, with[i]);
	clear(&m);
}

/*
 * Two threads of one process within a second: 101 ended a wait of 900 ms, 102 one of 10 ms. At the
 * end both wait for a lock, in hold() and in stuck().
 */
static void add_two_threads(struct rq *q, uint64_t others)
{
	uint32_t native = rq_string_attribute(q, "profile.frame.type", "native");
	uint32_t reason = rq_string_attribute(q, "off_cpu.reason", "futex");
	uint32_t state = rq_string_attribute(q, "thread.state", "sleeping");
	uint32_t thread[] = { rq_int_attribute(q, "thread.id", 101),
			      rq_int_attribute(q, "thread.id", 102) };
	uint32_t l[3];

	l[0] = rq_location(q, native, 0, 1, rq_function(q, "hold", "a.c", 0), 1, 0, 0);
	l[1] = rq_location(q, native, 0, 2, rq_function(q, "stuck", "a.c", 0), 2, 0, 0);
	l[2] = rq_location(q, native, rq_mapping(q, "libc.so.6", "bb"), 3,
			   rq_function(q, "pthread_mutex_lock", "", 0), 0, 0, 0);
	q->type = "off_cpu";
	q->unit = "nanoseconds";
	q->value = 10000000;
	rq_sample(q, rq_stack(q, (uint32_t[]){ l[2], l[0] }, 2),
		  (uint32_t[]){ thread[0], reason }, 2, 90);
	if (others)
		rq_sample(q, rq_stack(q, (uint32_t[]){ l[2], l[0] }, 2),
			  (uint32_t[]){ thread[1], reason }, 2, others);
	rq_process(q, 100, "web", NULL);
	q->type = "threads";
	q->unit = "count";
	q->value = 1;
	rq_sample(q, rq_stack(q, (uint32_t[]){ l[2], l[0] }, 2),
		  (uint32_t[]){ thread[0], state }, 2, 1);
	rq_sample(q, rq_stack(q, (uint32_t[]){ l[2], l[1] }, 2),
		  (uint32_t[]){ thread[1], state }, 2, 1);
	rq_process(q, 100, "web", NULL);
}

/* The wait of a thread that has not ended is in no value; it is shown beside them. */
static void test_waits_that_have_no_end(void)
{
	char buf[256], text[ANSWER_SENTENCE_BYTES];
	struct made m = { 0 };
	struct rq q;
	struct rq_buf b;

	rq_begin(&q);
	add_two_threads(&q, 1);
	b = rq_end(&q);
	make(&m, &b, NULL);
	check_row(&m, 0, "hold", 1, 910000000);
	CHECK_INT(m.a.threads.standing, 1);
	CHECK_INT(m.a.stands_len, 1);
	CHECK_STR(view_label_name(&m.v, m.a.stands[0].function, buf, sizeof(buf)),
		  "stuck");
	CHECK_INT(m.a.stands[0].wait, WAIT_LOCK);
	CHECK_INT(m.a.stands[0].value, 1);
	/* It comes first: it may wait for ever. Not all of its time is known. */
	CHECK_INT(m.a.stands_first, 1);
	CHECK_STR(answer_stands_words(&m.a, &m.a.stands[0]), "still at the end");
	CHECK(strstr(answer_sentence(&m.a, 0, text), "1 thread still waited at the end"));
	clear(&m);
}

/* The same if that wait is in a value, up to the end of the recording. */
static void test_a_wait_that_ended_with_the_recording(void)
{
	struct made m = { 0 };
	struct rq q;
	struct rq_buf b;

	rq_begin(&q);
	add_two_threads(&q, 0);
	q.type = "off_cpu";
	q.unit = "nanoseconds";
	q.value = 900000000;
	q.timed = true;
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ 3, 2 }, 2),
		  (uint32_t[]){ rq_int_attribute(&q, "thread.id", 102) }, 1, 1);
	rq_process(&q, 100, "web", NULL);
	b = rq_end(&q);
	make(&m, &b, NULL);
	CHECK_INT(m.a.threads.standing, 1);
	CHECK_INT(m.a.stands_first, 1);
	CHECK_INT(m.a.threads.waited, 2);
	CHECK_STR(answer_stands_words(&m.a, &m.a.stands[0]), "still at the end");
	clear(&m);
}

/* Of waits for locks the number is known: one of 900 ms may be the one at the end, 90 that are a third
 * of the time are not. */
static void test_one_wait_or_many(void)
{
	static const unsigned int waits[] = { 1, 90 };
	uint32_t id;
	struct made m = { 0 };
	struct rq q;
	struct rq_buf b;
	size_t i;

	for (i = 0; i < 2; i++) {
		rq_begin(&q);
		add_two_threads(&q, 0);
		id = rq_int_attribute(&q, "thread.id", 102);
		q.type = "delay";
		q.unit = "nanoseconds";
		q.value = 900000000 / waits[i] / (1 + 2 * i);
		rq_sample(&q, rq_stack(&q, (uint32_t[]){ 3, 2 }, 2), &id, 1, waits[i]);
		rq_process(&q, 100, "web", NULL);
		q.type = "contentions";
		q.unit = "count";
		q.value = 1;
		rq_sample(&q, rq_stack(&q, (uint32_t[]){ 3, 2 }, 2), &id, 1, waits[i]);
		rq_process(&q, 100, "web", NULL);
		b = rq_end(&q);
		make(&m, &b, "delay");
		CHECK_INT(m.a.threads.standing, i == 0);
		clear(&m);
	}
}

/* Where also the CPUs were sampled, a thread that did nothing stood from the beginning on. */
static void test_a_wait_that_is_all(void)
{
	struct made m = { 0 };
	struct rq q;
	struct rq_buf b;

	rq_begin(&q);
	add_two_threads(&q, 0);
	q.type = q.unit = NULL;
	rq_sample(&q, rq_stack(&q, (uint32_t[]){ 1 }, 1), NULL, 0, 1);
	rq_process(&q, 100, "web", NULL);
	b = rq_end(&q);
	make(&m, &b, "off_cpu");
	CHECK_INT(m.a.stands_first, 1);
	CHECK_INT(m.a.stands[0].whole, 1);
	CHECK_STR(answer_stands_words(&m.a, &m.a.stands[0]),
		  "from the beginning to the end");
	clear(&m);
}

/*
 * Within a second 10 threads wait for events, and one for 200 ms of disk and 700 ms of events: it has work.
 * Its waits come first. Without them the idle threads are all there is.
 */
static void test_idle_threads_come_last(void)
{
	uint32_t native, kernel, poll, save, loop, reason, id, i, with;
	char text[ANSWER_SENTENCE_BYTES];
	struct made m = { 0 };
	struct rq_buf b;
	struct rq q;

	for (with = 0; with < 2; with++) {
		rq_begin(&q);
		native = rq_string_attribute(&q, "profile.frame.type", "native");
		kernel = rq_string_attribute(&q, "profile.frame.type", "kernel");
		reason = rq_string_attribute(&q, "off_cpu.reason", "sleep");
		q.type = "off_cpu";
		q.unit = "nanoseconds";
		q.value = 100000000;
		poll = rq_location(&q, kernel, 0, 1, rq_function(&q, "ep_poll", "", 0), 0,
				   0, 0);
		save = rq_location(&q, kernel, 0, 2,
				   rq_function(&q, "io_schedule", "", 0), 0, 0, 0);
		loop = rq_location(&q, native, 0, 3, rq_function(&q, "serve", "a.c", 0),
				   1, 0, 0);
		for (i = 0; i < 10; i++) {
			id = rq_int_attribute(&q, "thread.id", 101 + i);
			rq_sample(&q, rq_stack(&q, (uint32_t[]){ poll, loop }, 2),
				  (uint32_t[]){ id, reason }, 2, 10);
		}
		id = rq_int_attribute(&q, "thread.id", 200);
		loop = rq_location(&q, native, 0, 4, rq_function(&q, "book", "a.c", 0), 2,
				   0, 0);
		rq_sample(&q, rq_stack(&q, (uint32_t[]){ poll, loop }, 2),
			  (uint32_t[]){ id, reason }, 2, with ? 7 : 10);
		if (with)
			rq_sample(&q, rq_stack(&q, (uint32_t[]){ save, loop }, 2),
				  (uint32_t[]){ id, reason }, 2, 2);
		rq_process(&q, 100, "web", NULL);
		b = rq_end(&q);
		make(&m, &b, NULL);
		CHECK_INT(m.a.threads.idle, with ? 10 : 0);
		check_row(&m, 0, with ? "book" : "serve", with ? 2 : 1,
			  with ? 700000000 : INT64_C(10000000000));
		check_row(&m, with ? 2 : 0, "serve", 1, INT64_C(10000000000));
		CHECK_INT(answer_row_is_idle(&m.a.rows[with ? 2 : 0]), with);
		CHECK(strstr(
			answer_sentence(&m.a, 0, text),
			with ? "10 of 11 threads were idle. The other waited 100% of "
			       "its time: 78% for events (poll), 22% for disk."
			     : "11 threads waited 100% of their time: 100% for"));
		clear(&m);
	}
}

/* One word for each kind, and the same word finds it. */
static void test_kinds_have_words(void)
{
	static const struct {
		const char *type, *unit, *word;
	} of[] = {
		{ "contentions", "count", "locks/count" },
		{ "delay", "nanoseconds", "locks" },
		{ "off_cpu", "nanoseconds", "off_cpu" },
		{ "alloc_space", "bytes", "heap" },
		{ "inuse_space", "bytes", "heap/inuse" },
		{ "block_io", "bytes", "block_io/bytes" },
		{ "block_io", "nanoseconds", "block_io" },
	};
	char word[KIND_WORD_BYTES];
	struct made m = { 0 };
	struct rq_buf b;
	uint32_t kind;
	size_t i;

	CHECK_OK(op_collect_new(OP_COLLECT_LOCATIONS, &m.c));
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		b = rq_of_type(of[i].type, of[i].unit, 1000);
		CHECK_OK(op_collect_add(m.c, b.data, b.len));
		free(b.data);
	}
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		CHECK_STR(kind_word(m.c, (uint32_t)i, word), of[i].word);
		CHECK_OK(kind_by_word(m.c, of[i].word, &kind));
		CHECK_INT(kind, i);
	}
	CHECK_INT(kind_by_word(m.c, "cpu", &kind), -ENOENT);
	/* also by types, and types and units */
	CHECK_OK(kind_by_word(m.c, "contentions", &kind));
	CHECK_INT(kind, 0);
	CHECK_OK(kind_by_word(m.c, "cpu,block_io/nanoseconds", &kind));
	CHECK_INT(kind, 6);
	clear(&m);
}

/* Every word of --kinds means the samples that OTLP has of it, and of no other kind. */
static void test_words_fit_samples(void)
{
	const struct op_otlp_kind *k;
	const struct op_word *word;
	size_t len, i;

	for (k = op_rows_otlp(&len), i = 0; i < len; i++, k++) {
		struct kind_names n = {
			.type = { k->type, strlen(k->type) },
			.unit = { k->unit, strlen(k->unit) },
			.period_type = { k->period_type,
					 k->period_type ? strlen(k->period_type) : 0 },
			.of_kernel = k->event == OP_EVENT_KERNEL_LOCKS,
		};

		for (word = op_word_kinds; word->name; word++)
			CHECK_INT(kind_fits(word->name, &n),
				  word->value >> k->event & 1 ||
					  (k->event == OP_EVENT_HEAP_LIVE &&
					   word->value >> OP_EVENT_HEAP & 1));
		CHECK(kind_fits("none,,", &n) == false);
	}
}

/* The time of waits is shown, not their number. */
static void test_locks_are_shown_as_time(void)
{
	struct made m = { 0 };
	struct rq_buf b = rq_of_type("contentions", "count", 1);
	char word[KIND_WORD_BYTES];

	CHECK_OK(op_collect_new(OP_COLLECT_LOCATIONS, &m.c));
	CHECK_OK(op_collect_add(m.c, b.data, b.len));
	free(b.data);
	b = rq_of_type("delay", "nanoseconds", 1000);
	make(&m, &b, NULL);
	CHECK_STR(kind_word(m.c, m.v.kind, word), "locks");
	clear(&m);
}

/* Java's collector and compiler run in threads of their own, below no method. */
static void test_work_of_the_runtime(void)
{
	struct made m = { 0 };
	struct rq q;
	struct rq_buf b;
	uint32_t native, jvm, lib, gc, jit, own;
	char text[ANSWER_SENTENCE_BYTES];

	rq_begin(&q);
	native = rq_string_attribute(&q, "profile.frame.type", "native");
	jvm = rq_string_attribute(&q, "profile.frame.type", "jvm");
	lib = rq_mapping(&q, "/usr/lib/jvm/lib/server/libjvm.so", "aa");
	gc = rq_location(&q, native, lib, 1, rq_function(&q, "GangWorker::loop()", "", 0),
			 0, 0, 0);
	jit = rq_location(&q, native, lib, 2,
			  rq_function(&q, "CompileBroker::compiler_thread_loop()", "", 0),
			  0, 0, 0);
	own = rq_location(&q, jvm, 0, 0, rq_function(&q, "Shop.prices", "Shop.java", 0),
			  13, 0, 0);
	rq_sample(&q, rq_stack(&q, &gc, 1), NULL, 0, 70);
	rq_sample(&q, rq_stack(&q, &jit, 1), NULL, 0, 10);
	rq_sample(&q, rq_stack(&q, &own, 1), NULL, 0, 20);
	rq_process(&q, 100, "java", NULL);
	b = rq_end(&q);
	make(&m, &b, NULL);
	CHECK_INT(m.a.services[SERVICE_GC], 70);
	CHECK_INT(m.a.services[SERVICE_JIT], 10);
	CHECK_INT(m.a.services[SERVICE_NONE], 20);
	check_row(&m, 0, "Shop.prices", 13, 20);
	CHECK(strstr(
		answer_sentence(&m.a, 0, text),
		"70% of that went to the garbage collector, 10% to the JIT compiler."));
	clear(&m);
}

/* What is kept has rows of its own beside where most is allocated. */
static void test_memory_that_stays(void)
{
	struct made m = { 0 };
	struct rq_buf b = rq_of_type("inuse_space", "bytes", 1 << 20);
	char text[ANSWER_SENTENCE_BYTES];

	CHECK_OK(op_collect_new(OP_COLLECT_LOCATIONS, &m.c));
	CHECK_OK(op_collect_add(m.c, b.data, b.len));
	free(b.data);
	b = rq_of_type("alloc_space", "bytes", 64 << 20);
	make(&m, &b, "heap");
	CHECK_INT(m.a.stands_len, 2);
	CHECK_INT(m.a.stands[0].value + m.a.stands[1].value, m.a.in_use);
	CHECK(m.a.in_use > 0 && m.a.in_use * 64 == m.v.total);
	CHECK(strstr(answer_sentence(&m.a, 0, text), " still in use at the end."));
	clear(&m);
}

TEST_MAIN({ "own_code_is_charged", test_own_code_is_charged },
	  { "path_has_its_own_shares", test_path_has_its_own_shares },
	  { "code_without_a_name", test_code_without_a_name },
	  { "waits_have_a_reason", test_waits_have_a_reason },
	  { "reasons_tell_where_frames_do_not", test_reasons_tell_where_frames_do_not },
	  { "work_of_the_runtime", test_work_of_the_runtime },
	  { "memory_that_stays", test_memory_that_stays },
	  { "waits_that_have_no_end", test_waits_that_have_no_end },
	  { "a_wait_that_ended_with_the_recording",
	    test_a_wait_that_ended_with_the_recording },
	  { "one_wait_or_many", test_one_wait_or_many },
	  { "a_wait_that_is_all", test_a_wait_that_is_all },
	  { "idle_threads_come_last", test_idle_threads_come_last },
	  { "kinds_have_words", test_kinds_have_words },
	  { "words_fit_samples", test_words_fit_samples },
	  { "locks_are_shown_as_time", test_locks_are_shown_as_time })
