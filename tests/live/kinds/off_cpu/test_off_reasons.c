/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why threads were off the CPUs, and for how long at least. A child waits in places of one
 * reason each: its samples must tell that reason, and none but those of the least length.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kind_profile.h"

enum {
	TIMES = 60,
	ROUNDS = 20,
	SAMPLES = 20000,
	PAGE = 4096,
	FILE_PAGES = 256,
	WAIT_NS = 2000000,
	SHORT_NS = 500000,
	LONG_NS = 5000000,
	LEAST_NS = 2000000,
};

enum place {
	IN_SLEEP,
	IN_FUTEX,
	IN_IO,
	IN_FAULT,
	IN_VFORK,
	IN_STOP,
	IN_YIELD,
	IN_SHORT,
	IN_LONG,
	PLACES,
};

static const char *const PLACE_NAME[PLACES] = { "waits_asleep",	  "waits_for_futex",
						"waits_for_disk", "waits_for_page",
						"waits_for_exec", "waits_stopped",
						"gives_way",	  "waits_short",
						"waits_long" };

/* What a child says of the place that it was asked for. */
struct said {
	int32_t error;	  /* it cannot be there: errno */
	int32_t times;	  /* that it waited */
	int32_t of_least; /* of those, so many of LEAST_NS and more by the clock */
};

/* ---- the child ---- */

static void pause_ns(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	(void)nanosleep(&t, NULL);
}

static PLACE int waits_asleep(void)
{
	pause_ns(WAIT_NS);
	STAYS("asleep");
	return 0;
}

static PLACE int waits_short(void)
{
	pause_ns(SHORT_NS);
	STAYS("short");
	return 0;
}

static PLACE int waits_long(void)
{
	pause_ns(LONG_NS);
	STAYS("long");
	return 0;
}

static PLACE int waits_for_futex(void)
{
	struct timespec t = { .tv_nsec = WAIT_NS };
	uint32_t word = 0;

	(void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
	STAYS("futex");
	return 0;
}

/* A file that the page cache has no part in. */
static int open_file(void)
{
	char path[] = "off-cpu-file-XXXXXX";
	char page[PAGE] = { 1 };
	int fd = mkostemp(path, O_CLOEXEC);
	int direct;
	int i;

	CHECK(fd >= 0);
	for (i = 0; i < FILE_PAGES; i++)
		CHECK_INT(write(fd, page, PAGE), PAGE);
	CHECK_OK(fsync(fd));
	direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	CHECK_OK(close(fd));
	CHECK_OK(unlink(path));
	return direct;
}

static PLACE int waits_for_disk(void)
{
	static int fd = -1;
	static char *page;
	static int at;

	if (!page) {
		fd = open_file();
		page = aligned_alloc(PAGE, PAGE);
	}
	if (fd < 0 || pread(fd, page, PAGE, (off_t)(at++ % FILE_PAGES) * PAGE) != PAGE)
		return EOPNOTSUPP;
	STAYS("disk");
	return 0;
}

static int faults = -1;

static void *give_pages(void *page)
{
	struct uffd_msg m;

	while (read(faults, &m, sizeof(m)) == sizeof(m)) {
		struct uffdio_zeropage zero = { .range = { (uintptr_t)page, PAGE } };

		pause_ns(WAIT_NS);
		(void)ioctl(faults, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

static char *open_faults(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	struct uffdio_register range = { .range = { (uintptr_t)page, PAGE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;

	CHECK(page != MAP_FAILED);
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
	    ioctl(faults, UFFDIO_REGISTER, &range))
		return NULL;
	CHECK_OK(pthread_create(&thread, NULL, give_pages, page));
	return page;
}

static PLACE int waits_for_page(void)
{
	static char *page;

	if (!page)
		page = open_faults();
	if (!page)
		return EOPNOTSUPP;
	(void)madvise(page, PAGE, MADV_DONTNEED);
	(void)*(volatile char *)page;
	STAYS("page");
	return 0;
}

static int pause_of_child(void *arg)
{
	pause_ns(WAIT_NS);
	return arg != NULL;
}

/* A wait that no signal ends: until a child, which has a stack of its own, lets this memory
 * go, as after vfork(2). */
static PLACE int waits_for_exec(void)
{
	static char stack[16 * PAGE];
	pid_t pid = clone(pause_of_child, stack + sizeof(stack),
			  CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

	STAYS("exec");
	return pid > 0 ? 0 : errno;
}

static PLACE int waits_stopped(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* again, because a signal that comes before the stop is lost */
		do
			pause_ns(WAIT_NS);
		while (getppid() == parent && kill(parent, SIGCONT) == 0);
		_exit(0);
	}
	(void)raise(SIGSTOP);
	STAYS("stopped");
	CHECK_OK(kill(pid, SIGKILL));
	return 0;
}

static volatile bool yields;

static void *yield_too(void *arg)
{
	while (yields)
		(void)sched_yield();
	return arg;
}

static void run_on_first_cpu(bool only)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < (only ? 1 : CPU_SETSIZE); i++)
		CPU_SET(i, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static PLACE void gives_way(void)
{
	int64_t end = kind_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;

	while (kind_clock_ns(CLOCK_MONOTONIC) < end)
		(void)sched_yield();
	STAYS("way");
}

/* Two threads on one CPU that both could run. */
static int yield_in_turn(void)
{
	pthread_t thread;

	yields = true;
	run_on_first_cpu(true);
	CHECK_OK(pthread_create(&thread, NULL, yield_too, NULL));
	gives_way();
	yields = false;
	run_on_first_cpu(false);
	CHECK_OK(pthread_join(thread, NULL));
	return 0;
}

static void serve(int from, int to)
{
	static int (*const wait[PLACES])(void) = {
		waits_asleep,	waits_for_futex, waits_for_disk,
		waits_for_page, waits_for_exec,	 waits_stopped,
		yield_in_turn,	waits_short,	 waits_long,
	};
	char place;

	(void)prctl(PR_SET_TIMERSLACK, 1);
	while (read(from, &place, 1) == 1) {
		struct said said = { 0 };
		int i;

		for (i = 0; i < TIMES && !said.error; i++) {
			int64_t begin = kind_clock_ns(CLOCK_MONOTONIC);

			said.error = wait[(int)place]();
			while (waitpid(-1, NULL, 0) > 0)
				continue; /* what that made, not in its place */
			said.times++;
			if (kind_clock_ns(CLOCK_MONOTONIC) - begin >= LEAST_NS)
				said.of_least++;
		}
		(void)!write(to, &said, sizeof(said));
	}
}

/* ---- the profile ---- */

enum reason {
	SLEEP,
	FUTEX,
	IO,
	PAGE_FAULT,
	UNINTERRUPTIBLE,
	STOPPED,
	PREEMPTED,
	REASONS,
};

static const char *const REASON_NAME[REASONS] = {
	"sleep", "futex", "io", "page_fault", "uninterruptible", "stopped", "preempted"
};

struct got {
	int64_t count[PLACES];
	int64_t ns[PLACES][REASONS];
	int64_t least_ns;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	const struct otlp_range values = s->sample->values;
	const int64_t *of = profile->profiles->values.data + values.first;
	struct got *got = profile->data;
	int reason = 0;
	uint32_t i;
	int place;

	CHECK(kind_is(s, "off_cpu", "nanoseconds"));
	while (reason < REASONS &&
	       !kind_says(profile, s, "off_cpu.reason", REASON_NAME[reason]))
		reason++;
	CHECK(reason < REASONS);
	for (i = 0; i < values.len; i++)
		if (of[i] < got->least_ns)
			got->least_ns = of[i];
	for (place = 0; place < PLACES; place++) {
		if (kind_frame(s, PLACE_NAME[place]) < 0)
			continue;
		got->count[place] += (int64_t)s->count;
		got->ns[place][reason] += s->value;
	}
}

static struct said ask(struct otelprof *p, const struct kind_child *c, enum place place)
{
	struct said said;
	char what = (char)place;

	kind_child_ask(p, c, &what, 1, &said, sizeof(said));
	return said;
}

static struct otelprof *begin(struct kind_child *c, struct kind_profile *profile,
			      uint64_t least_ns)
{
	struct got *got = profile->data;
	struct otelprof_config config;

	got->least_ns = INT64_MAX;
	*c = kind_child_start(serve);
	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_OFF_CPU;
	config.off_cpu_samples = SAMPLES;
	config.off_cpu_min_ns = least_ns;
	return kind_start(&config, c->pid, profile);
}

/* Time in @place is of that @reason, or the thread lost the CPU on the way. */
static void check_reason(const struct got *got, enum place place, enum reason reason)
{
	int64_t ns = got->ns[place][reason];
	int64_t all = 0;
	int r;

	for (r = 0; r < REASONS; r++)
		all += got->ns[place][r];
	printf("  %s: %lld ns of %lld are %s\n", PLACE_NAME[place], (long long)ns,
	       (long long)all, REASON_NAME[reason]);
	CHECK(ns > 0);
	if (reason != PREEMPTED)
		all -= got->ns[place][PREEMPTED];
	/* some microseconds of a read are waits for a lock of the file system */
	CHECK(ns <= all && (all - ns) * 20 <= all);
}

static void test_reasons(void)
{
	static const enum reason want[] = { SLEEP,	FUTEX,		 IO,
					    PAGE_FAULT, UNINTERRUPTIBLE, STOPPED,
					    PREEMPTED };
	struct kind_child c;
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = begin(&c, &profile, 0);
	struct said said[PLACES];
	int place;

	for (place = IN_SLEEP; place <= IN_YIELD; place++)
		said[place] = ask(p, &c, (enum place)place);
	(void)kind_close(p);
	kind_child_end(&c);
	for (place = IN_SLEEP; place <= IN_YIELD; place++) {
		if (said[place].error)
			printf("  %s: not here: %s\n", PLACE_NAME[place],
			       strerror(said[place].error));
		else
			check_reason(&got, (enum place)place, want[place]);
	}
	/* these need nothing that a machine may lack */
	CHECK(!said[IN_SLEEP].error && !said[IN_FUTEX].error && !said[IN_VFORK].error &&
	      !said[IN_STOP].error && !said[IN_YIELD].error);
}

static void test_least(void)
{
	struct kind_child c;
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = begin(&c, &profile, LEAST_NS);
	struct said lasting = ask(p, &c, IN_LONG);
	struct said brief = { 0 };
	int i;

	/* until a busy machine lets one be brief */
	for (i = 0; i < ROUNDS && brief.of_least == brief.times; i++) {
		struct said some = ask(p, &c, IN_SHORT);

		brief.times += some.times;
		brief.of_least += some.of_least;
	}
	(void)kind_close(p); /* the sum closes, other programs may lose some */
	kind_child_end(&c);
	printf("  %lld of %d short ones, %d of that length by the clock; %lld of %d long\n",
	       (long long)got.count[IN_SHORT], brief.times, brief.of_least,
	       (long long)got.count[IN_LONG], lasting.times);
	CHECK_INT(lasting.of_least, TIMES);
	CHECK(got.least_ns >= LEAST_NS);
	CHECK(got.count[IN_SHORT] <= brief.of_least);
	/* of a burst of the whole machine a part is taken */
	CHECK(got.count[IN_LONG] >= TIMES * 9 / 10);
	CHECK(brief.of_least < brief.times); /* or nothing was shown */
}

TEST_MAIN({ "reasons", test_reasons }, { "least", test_least })
