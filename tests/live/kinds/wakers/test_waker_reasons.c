/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the threads slept that others wake, where the two are in different system calls or in
 * none: a thread that ends wakes the one that joins it; a signal ends a wait for a futex; a
 * page fault wakes who serves it (userfaultfd(2)), and is woken by that one.
 *
 * And threads that are woken before they sleep have not slept.
 */
#include <errno.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "kind_profile.h"
#include "test.h"

enum {
	ROUNDS = 40,
	WAIT_NS = 2000000,
	PAGE = 4096,
	RACES = 1500,
	RUN_NS = 1000000, /* a thread computes so long between two sleeps */
};

enum place {
	THREAD_ENDS,
	SIGNAL_ENDS,
	FAULT_WAKES,
	GIVES_PAGE,
	PLACES,
};

static const char ENDS[] = "test-ends"; /* a thread */
static const char *const PLACE_NAME[PLACES] = { ENDS, "sends_signal", "faults_here",
						"gives_page" };
static const char *const REASON[PLACES] = { "futex", "futex", "sleep", "page_fault" };

/* ---- the child ---- */

static void pause_ns(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	(void)nanosleep(&t, NULL);
}

/* The kernel wakes the one that joins, when nothing of this is on the stack any more. */
static void *thread_that_ends(void *unused)
{
	(void)prctl(PR_SET_NAME, ENDS);
	pause_ns(WAIT_NS);
	return unused;
}

static void join_threads(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		CHECK_OK(pthread_create(&thread, NULL, thread_that_ends, NULL));
		CHECK_OK(pthread_join(thread, NULL));
	}
}

static pid_t waiter;

static void on_signal(int signal)
{
}

static void *wait_for_signals(void *unused)
{
	uint32_t word = 0;
	int i;

	__atomic_store_n(&waiter, gettid(), __ATOMIC_RELEASE);
	for (i = 0; i < ROUNDS; i++)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return unused;
}

static PLACE void sends_signal(void)
{
	(void)syscall(SYS_tgkill, getpid(), waiter, SIGUSR1);
	STAYS("signal");
}

static void send_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal }; /* no SA_RESTART */
	pthread_t thread;
	int i;

	waiter = 0;
	(void)sigaction(SIGUSR1, &action, NULL);
	CHECK_OK(pthread_create(&thread, NULL, wait_for_signals, NULL));
	while (!__atomic_load_n(&waiter, __ATOMIC_ACQUIRE))
		pause_ns(WAIT_NS);
	for (i = 0; i < ROUNDS; i++) {
		pause_ns(WAIT_NS);
		sends_signal();
	}
	while (pthread_tryjoin_np(thread, NULL)) { /* it was not asleep yet, once */
		pause_ns(WAIT_NS);
		sends_signal();
	}
}

static int faults = -1;
static char *page;

static PLACE void gives_page(void)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, PAGE } };

	(void)ioctl(faults, UFFDIO_ZEROPAGE, &zero);
	STAYS("gives");
}

static void *serve_faults(void *unused)
{
	struct uffd_msg m;
	int i;

	for (i = 0; i < ROUNDS && read(faults, &m, sizeof(m)) == sizeof(m); i++) {
		pause_ns(WAIT_NS);
		gives_page();
	}
	return unused;
}

static bool open_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	range.range = (struct uffdio_range){ (uintptr_t)page, PAGE };
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return page != MAP_FAILED && faults >= 0 && !ioctl(faults, UFFDIO_API, &api) &&
	       !ioctl(faults, UFFDIO_REGISTER, &range);
}

static PLACE void faults_here(void)
{
	(void)*(volatile char *)page;
	STAYS("faults");
}

static int64_t fault(void)
{
	pthread_t thread;
	int i;

	if (faults < 0 && !open_faults())
		return errno ? errno : ENOSYS;
	CHECK_OK(pthread_create(&thread, NULL, serve_faults, NULL));
	for (i = 0; i < ROUNDS; i++) {
		(void)madvise(page, PAGE, MADV_DONTNEED);
		pause_ns(WAIT_NS); /* the other one sleeps */
		faults_here();
	}
	CHECK_OK(pthread_join(thread, NULL));
	return 0;
}

/* ---- of the child: who is woken at the moment when it goes to sleep ---- */

static uint32_t word;

static PLACE void wakes_at_once(void)
{
	(void)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	STAYS("at once");
}

/* And before others, who would be what one waits for. */
static void run_on(int cpu)
{
	struct sched_param first = { .sched_priority = 1 };
	cpu_set_t set;

	(void)sched_setscheduler(0, SCHED_FIFO, &first);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void run_for(int64_t ns)
{
	int64_t end = kind_clock_ns(CLOCK_MONOTONIC) + ns;

	while (kind_clock_ns(CLOCK_MONOTONIC) < end)
		continue;
}

static void *waits_and_computes(void *ret_ns)
{
	int64_t *ns = ret_ns;
	int64_t begin;
	uint32_t i;

	run_on(0);
	for (i = 1; i <= RACES; i++) {
		begin = kind_clock_ns(CLOCK_MONOTONIC);
		__atomic_store_n(&word, i, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == i)
			(void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i, NULL, NULL,
				      0);
		*ns += kind_clock_ns(CLOCK_MONOTONIC) - begin;
		run_for(RUN_NS);
	}
	return NULL;
}

/* Wakes the other one as it goes to sleep, some ns earlier or later each time. */
static int64_t race(void)
{
	pthread_t thread;
	int64_t ns = 0;
	uint32_t i;

	word = 0;
	CHECK_OK(pthread_create(&thread, NULL, waits_and_computes, &ns));
	run_on(1);
	for (i = 1; i <= RACES; i++) {
		pause_ns(RUN_NS / 2);
		while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) != i)
			continue;
		run_for(i * 7 % 2000);
		__atomic_store_n(&word, 0, __ATOMIC_SEQ_CST);
		wakes_at_once();
	}
	CHECK_OK(pthread_join(thread, NULL));
	return ns;
}

struct answer {
	int64_t error; /* there are no page faults to serve: errno */
	int64_t raced_ns;
};

static void serve(int from, int to)
{
	struct answer a;
	char go;

	while (read(from, &go, 1) == 1) {
		a = (struct answer){ 0 };
		if (go == 'r') {
			a.raced_ns = race();
		} else {
			join_threads();
			send_signals();
			a.error = fault();
		}
		(void)!write(to, &a, sizeof(a));
	}
}

/* ---- the profile ---- */

struct got {
	int64_t ns[PLACES];
	int64_t wrong_ns[PLACES]; /* of another reason */
	int64_t at_once_ns;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	bool ends = kind_says(profile, s, "thread.name", ENDS);
	struct got *got = profile->data;
	int p;

	if (kind_frame(s, "wakes_at_once") >= 0)
		got->at_once_ns += s->value;
	for (p = 0; p < PLACES; p++) {
		/* a C library without symbols has no name for where a thread begins */
		if (ends != (p == THREAD_ENDS) ||
		    (!ends && kind_frame(s, PLACE_NAME[p]) < 0))
			continue;
		if (kind_says(profile, s, "off_cpu.reason", REASON[p]))
			got->ns[p] += s->value;
		else
			got->wrong_ns[p] += s->value;
	}
}

static struct got measure(char go, struct answer *ret)
{
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = kind_child_start(serve);
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_WAKERS;
	p = kind_start(&config, c.pid, &profile);
	kind_child_ask(p, &c, &go, 1, ret, sizeof(*ret)); /* its tables are made */
	got = (struct got){ 0 };
	kind_child_ask(p, &c, &go, 1, ret, sizeof(*ret));
	kind_close(p);
	kind_child_end(&c);
	return got;
}

static void test_reasons(void)
{
	static const int64_t least = (int64_t)ROUNDS * WAIT_NS / 2;
	struct answer a;
	struct got got = measure('p', &a);
	int p;

	for (p = 0; p < PLACES; p++)
		printf("  %s: %lld ns are %s, %lld are not\n", PLACE_NAME[p],
		       (long long)got.ns[p], REASON[p], (long long)got.wrong_ns[p]);
	if (a.error)
		printf("  no userfaultfd(2) here: %s\n", strerror((int)a.error));
	for (p = 0; p < (a.error ? FAULT_WAKES : PLACES); p++) {
		CHECK_INT(got.wrong_ns[p], 0);
		CHECK(got.ns[p] >= least);
	}
}

/* What it computed is no sleep. */
static void test_races(void)
{
	struct answer a;
	struct got got;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP("two threads have to run at once");
	got = measure('r', &a);
	printf("  %lld ns of sleep in %lld ns by the clock\n", (long long)got.at_once_ns,
	       (long long)a.raced_ns);
	CHECK(got.at_once_ns <= a.raced_ns);
}

TEST_MAIN({ "reasons", test_reasons }, { "races", test_races })
