/* SPDX-License-Identifier: Apache-2.0 */
/* Calls from several threads: who waits holds nobody up; the worker of threads = 1; and what calls
 * refuse. */
#include <errno.h>
#include <otelprof/otelprof.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"
#include "test.h"

enum {
	RATE_HZ = 199,
	LONG_MS = 600000, /* longer than a test may take */
	RETRY_MS = 20000,
	FLUSH_MS = 2000,
	WORK_MS = 200, /* of a child: some 40 samples */
};

/* Of process @pid alone; without one of nobody, so that there is nothing to do. */
static struct otelprof *make(uint32_t threads, pid_t pid)
{
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_PID,
				      .number = (uint64_t)pid };
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_config config;
	struct otelprof *p = NULL;
	int r;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	config.threads = threads;
	r = otelprof_init(&config, &why, &p);
	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", why.message);
	if (r < 0)
		TEST_FAIL("%s", why.message);
	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	return p;
}

struct waiter {
	struct otelprof *p;
	bool end;
	bool ended;
	int result;
	uint64_t waited_ms;
};

static bool has_ended(const struct waiter *w)
{
	return __atomic_load_n(&w->ended, __ATOMIC_ACQUIRE);
}

static void poll_work(struct otelprof *p, pid_t pid)
{
	uint64_t until = child_cpu_ms(pid) + WORK_MS;

	while (child_cpu_ms(pid) < until)
		CHECK_OK(otelprof_poll(p, 50));
}

static void *wait_long(void *arg)
{
	struct waiter *w = arg;

	/* what others do on this machine may let it return early, with a 1 */
	do {
		w->result = otelprof_poll(w->p, LONG_MS);
	} while (w->result >= 0 && !__atomic_load_n(&w->end, __ATOMIC_ACQUIRE));
	__atomic_store_n(&w->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static void check_wakeup(uint32_t threads)
{
	struct otelprof *p = make(threads, 0);
	struct waiter w = { .p = p };
	struct pollfd fd = { .events = POLLIN };
	struct otelprof_stats s;
	pthread_t thread;
	int i;

	CHECK_OK(otelprof_start(p));
	CHECK_INT(pthread_create(&thread, NULL, wait_long, &w), 0);
	(void)poll(NULL, 0, 300);
	/* Statistics while the other thread waits. */
	for (i = 0; i < 100; i++) {
		otelprof_stats_init(&s, sizeof(s));
		CHECK_OK(otelprof_get_stats(p, &s));
	}
	CHECK(!has_ended(&w));
	__atomic_store_n(&w.end, true, __ATOMIC_RELEASE);
	CHECK_OK(otelprof_wakeup(p));
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_OK(w.result);
	/* Before a poll, the next one returns; and the descriptor tells. */
	fd.fd = otelprof_get_fd(p);
	CHECK(fd.fd > 2);
	CHECK_OK(otelprof_wakeup(p));
	CHECK_INT(poll(&fd, 1, LONG_MS), 1);
	CHECK_OK(otelprof_poll(p, LONG_MS));
	otelprof_free(p);
}

static void test_wakeup_and_statistics_while_another_thread_waits(void)
{
	check_wakeup(0);
}

static void test_the_same_with_a_worker(void)
{
	check_wakeup(1);
}

/* Nobody polls, and the samples come in all the same. */
static void test_a_worker_does_the_work(void)
{
	pid_t pid = child_spin(NULL);
	struct otelprof *p = make(1, pid);
	struct otelprof_stats s;
	uint64_t until = now_ms() + LONG_MS;

	CHECK_OK(otelprof_start(p));
	CHECK_INT(otelprof_start(p), -EALREADY);
	do {
		(void)poll(NULL, 0, 50);
		otelprof_stats_init(&s, sizeof(s));
		CHECK_OK(otelprof_get_stats(p, &s));
		/* taken out of the ring into the window, where pending samples stand, too */
	} while (s.stacks_complete < 100 && now_ms() < until);
	CHECK(s.stacks_complete >= 100);
	CHECK(otelprof_export(p) > 20);
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_start(p));
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	otelprof_stats_init(&s, sizeof(s));
	CHECK_OK(otelprof_get_stats(p, &s));
	CHECK_INT(s.samples_pending, 0);
	CHECK_INT(s.samples_taken,
		  s.samples_exported + s.samples_filtered + s.samples_dropped);
	otelprof_free(p);
	child_end(pid);
}

struct called {
	struct otelprof *p;
	struct otelprof *freed;
	int result;
	unsigned int calls;
};

static int call_back(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct called *c = userdata;

	c->calls++;
	c->result = otelprof_stop(c->p);
	c->freed = otelprof_free(c->p);
	return 0;
}

static void test_a_callback_that_calls_back_gets_an_error(void)
{
	pid_t pid = child_spin(NULL);
	struct otelprof *p = make(0, pid);
	struct called called = { .p = p };
	struct otelprof_callback_config callback;

	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = call_back;
	callback.userdata = &called;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(otelprof_start(p));
	poll_work(p, pid);
	CHECK(otelprof_export(p) > 0);
	CHECK(called.calls > 0);
	CHECK_INT(called.result, -EDEADLK);
	CHECK(called.freed == p); /* not freed: it is in use */
	CHECK_OK(otelprof_stop(p));
	otelprof_free(p);
	child_end(pid);
}

static void *flush_long(void *arg)
{
	struct waiter *w = arg;
	uint64_t start = now_ms();

	w->result = otelprof_flush(w->p, FLUSH_MS);
	w->waited_ms = now_ms() - start;
	__atomic_store_n(&w->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* To a port where nobody listens. */
static void add_exporter_to_nobody(struct otelprof *p)
{
	struct otelprof_otlp_config config;

	otelprof_otlp_config_init(&config, sizeof(config));
	config.endpoint = "http://127.0.0.1:1";
	config.retry_initial_ms = RETRY_MS;
	config.retry_max_ms = RETRY_MS;
	CHECK_OK(otelprof_exporter_otlp(p, &config));
}

/* A flush that waits for a server leaves other threads the handle. */
static void test_a_flush_lets_others_call(void)
{
	pid_t pid = child_spin(NULL);
	struct otelprof *p = make(0, pid);
	struct waiter w = { .p = p };
	struct otelprof_stats s;
	pthread_t thread;
	int calls;

	add_exporter_to_nobody(p);
	CHECK_OK(otelprof_start(p));
	poll_work(p, pid);
	CHECK(otelprof_export(p) > 0);
	CHECK_INT(pthread_create(&thread, NULL, flush_long, &w), 0);
	/* one that waited would end with the flush */
	for (calls = 0; !has_ended(&w); calls++) {
		otelprof_stats_init(&s, sizeof(s));
		CHECK_OK(otelprof_get_stats(p, &s));
		(void)poll(NULL, 0, 1);
	}
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(w.result, -ETIMEDOUT);
	CHECK(w.waited_ms >= FLUSH_MS);
	printf("  %d calls beside a flush\n", calls);
	CHECK(calls > 2);
	child_end(pid);
	otelprof_free(p);
}

/* A log that calls back with the handle that it is of. */
struct talker {
	struct otelprof *p; /* NULL: not yet */
	unsigned int lines;
	unsigned int others; /* calls that were not refused */
	bool speaks;
};

static void talk_back(void *userdata, int level, const char *message)
{
	struct talker *t = userdata;
	struct otelprof_stats s;

	if (!t->p || t->speaks)
		return;
	t->speaks = true;
	t->lines++;
	otelprof_stats_init(&s, sizeof(s));
	t->others += otelprof_get_stats(t->p, &s) != -EDEADLK;
	t->others += otelprof_free(t->p) != t->p;
	t->speaks = false;
}

/* Returns the lines of the log in the call that frees. */
static unsigned int free_with_a_talker(pid_t pid)
{
	struct talker talker = { 0 };
	struct otelprof_config config;
	struct otelprof *p = NULL;
	struct otelprof_rule rule;
	unsigned int before;
	uint64_t number;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	config.log = talk_back;
	config.log_userdata = &talker;
	config.log_level = OTELPROF_LOG_DEBUG;
	CHECK_OK(otelprof_init(&config, NULL, &p));
	otelprof_rule_init(&rule, sizeof(rule));
	rule.kind = OTELPROF_MATCH_PID;
	rule.number = (uint64_t)pid;
	CHECK_OK(otelprof_add_rule(p, &rule, &number));
	talker.p = p;
	add_exporter_to_nobody(p);
	CHECK_OK(otelprof_start(p));
	poll_work(p, pid);
	CHECK_OK(otelprof_stop(p));
	CHECK(otelprof_export(p) > 0);
	/* it is tried, and what is to be said of that waits for the next call */
	(void)poll(NULL, 0, 300);
	before = talker.lines;
	CHECK(!otelprof_free(p));
	CHECK_INT(talker.others, 0);
	return talker.lines - before;
}

static void test_a_log_that_calls_back(void)
{
	pid_t pid = child_spin(NULL);
	struct otelprof *p = make(0, 0); /* or it skips */
	unsigned int lines = 0;
	int i;

	otelprof_free(p);
	/* on a busy machine the try may come later */
	for (i = 0; i < 20 && !lines; i++)
		lines = free_with_a_talker(pid);
	CHECK(lines);
	child_end(pid);
}

/* In a process that may have as many more descriptors; does it work? */
static bool works_with(unsigned int descriptors)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof *p = NULL;
	struct rlimit limit;
	int next = dup(0); /* all below are open */
	int r;

	CHECK(next > 0);
	CHECK_OK(close(next));
	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = (rlim_t)next + descriptors;
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	r = otelprof_init(NULL, &why, &p);
	if (r == 0)
		r = otelprof_start(p);
	otelprof_free(p);
	limit.rlim_cur = limit.rlim_max;
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	if (r < 0 && r != -EMFILE)
		TEST_FAIL("with %u descriptors: %d: %s", descriptors, r, why.message);
	CHECK_INT(dup(0), next); /* none of them is left open */
	CHECK_OK(close(next));
	return r == 0;
}

/* The reason is said to be that, and nothing stays open. */
static void test_few_descriptors(void)
{
	struct otelprof *p = make(0, 0); /* or it skips */
	unsigned int n = 0;

	otelprof_free(p);
	while (!works_with(n))
		n += 4;
	printf("  %u descriptors are enough\n", n);
	CHECK(n > 20);
}

/* A later version may give them a meaning. */
static void test_reserved_fields_must_be_zero(void)
{
	struct otelprof_otlp_config otlp;
	struct otelprof_file_config file;
	struct otelprof *p = make(0, 0);

	otelprof_otlp_config_init(&otlp, sizeof(otlp));
	otlp.endpoint = "http://127.0.0.1:1";
	otlp.reserved0 = 1;
	CHECK_INT(otelprof_exporter_otlp(p, &otlp), -E2BIG);
	otelprof_file_config_init(&file, sizeof(file));
	file.path = "/dev/null";
	file.reserved0 = 1;
	CHECK_INT(otelprof_exporter_file(p, &file), -E2BIG);
	file.reserved0 = 0;
	CHECK_INT(otelprof_exporter_file(p, &file), 1);
	otelprof_free(p);
}

/* The reason is in the argument, and in no other's. */
static void test_init_gives_the_reason(void)
{
	struct otelprof_error_info first = { .size = sizeof(first) };
	struct otelprof_error_info second = { .size = sizeof(second) };
	struct otelprof_config config;
	struct otelprof *p = NULL;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = 5000;
	CHECK_INT(otelprof_init(&config, &first, &p), -EINVAL);
	otelprof_config_init(&config, sizeof(config));
	config.max_frames = 1;
	CHECK_INT(otelprof_init(&config, &second, &p), -EINVAL);
	CHECK_INT(otelprof_init(&config, NULL, &p), -EINVAL);
	CHECK(!p);
	CHECK_INT(first.code, -EINVAL);
	CHECK(strstr(first.message, "sample_rate_hz is 5000"));
	CHECK_INT(second.code, -EINVAL);
	CHECK(strstr(second.message, "max_frames is 1 "));
}

TEST_MAIN({ "init_gives_the_reason", test_init_gives_the_reason },
	  { "wakeup_and_statistics_while_another_thread_waits",
	    test_wakeup_and_statistics_while_another_thread_waits },
	  { "the_same_with_a_worker", test_the_same_with_a_worker },
	  { "a_worker_does_the_work", test_a_worker_does_the_work },
	  { "a_callback_that_calls_back_gets_an_error",
	    test_a_callback_that_calls_back_gets_an_error },
	  { "a_flush_lets_others_call", test_a_flush_lets_others_call },
	  { "a_log_that_calls_back", test_a_log_that_calls_back },
	  { "few_descriptors", test_few_descriptors },
	  { "reserved_fields_must_be_zero", test_reserved_fields_must_be_zero })
