/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All kinds of events at once: a child works, sleeps, faults, waits for a lock, writes to
 * the disk, renames itself and lets child processes die. Each kind must have samples in
 * the function that caused them, and all samples must be accounted for.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <otelprof/otelprof.h>

#include "preload/heap/sampler.h"
#include "process/target/task/syscalls.h"

#include "kind_profile.h"
#include "test.h"

enum {
	ROUNDS = 30,
	WORK_NS = 5000000,
	SLEEP_NS = 2000000,
	PAGES = 200,
	PAGE = 4096,
	KINDS = 11,
	SWITCHES = 4,
	MAPPINGS_MORE = 2, /* the C library's */
};

#define KERNELS "anon_inode:" /* what maps a ring or a map of BPF */

static const struct {
	const char *type;
	const char *unit;
	const char *place;
} WANT[KINDS] = {
	{ "samples", "count", "works_here" },
	{ "page_faults", "count", "faults_here" },
	{ "off_cpu", "nanoseconds", "sleeps_here" },
	{ "delay", "nanoseconds", "locks_here" },
	{ "block_io", "count", "writes_here" },
	{ "signals", "count", "dies_here" },
	{ "wall", "nanoseconds", "sleeps_here" },
	{ "threads", "count", "waits_here" },
	{ "events", "count", "renames_here" },
	{ "alloc_space", "bytes", "allocates_here" },
	{ "off_cpu_wakers", "nanoseconds", "unlocks_here" },
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the child ---- */

static PLACE void works_here(void)
{
	int64_t until = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_NS;

	while (kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	STAYS("works");
}

static PLACE void sleeps_here(void)
{
	struct timespec t = { .tv_nsec = SLEEP_NS };

	(void)nanosleep(&t, NULL);
	STAYS("sleeps");
}

static PLACE void faults_here(void)
{
	volatile char *p = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	for (i = 0; i < PAGES; i++)
		p[i * PAGE] = 1;
	(void)munmap((void *)p, (size_t)PAGES * PAGE);
	STAYS("faults");
}

static PLACE void unlocks_here(void)
{
	(void)pthread_mutex_unlock(&lock);
	STAYS("unlocks");
}

static void *hold(void *arg)
{
	(void)pthread_mutex_lock(&lock);
	(void)!write(*(int *)arg, "h", 1);
	sleeps_here();
	unlocks_here();
	return NULL;
}

static PLACE void locks_here(void)
{
	int held[2];
	pthread_t t;
	char c;

	CHECK_OK(pipe2(held, O_CLOEXEC));
	CHECK_OK(pthread_create(&t, NULL, hold, &held[1]));
	(void)!read(held[0], &c, 1);
	(void)pthread_mutex_lock(&lock);
	(void)pthread_mutex_unlock(&lock);
	CHECK_OK(pthread_join(t, NULL));
	(void)close(held[0]);
	(void)close(held[1]);
	STAYS("locks");
}

/* With O_DIRECT the thread itself submits the request to the disk. */
static PLACE void writes_here(int fd, const void *page)
{
	CHECK_INT(pwrite(fd, page, PAGE, 0), PAGE);
	STAYS("writes");
}

static PLACE void dies_here(void)
{
	(void)raise(SIGKILL);
	STAYS("dies");
}

/* Hits the probe of allocations like a program that samples its own. */
static PLACE void allocates_here(void)
{
	op_preload_report_alloc((void *)4096, 100, 5000);
	op_preload_report_free((void *)4096);
	STAYS("allocates");
}

static PLACE void renames_here(void)
{
	(void)prctl(PR_SET_NAME, "op-kinds");
	STAYS("renames");
}

static PLACE void *waits_here(void *arg)
{
	for (;;)
		(void)pause();
	STAYS("waits");
	return arg;
}

static void one_round(int fd, const void *page)
{
	pid_t pid;

	works_here();
	sleeps_here();
	faults_here();
	locks_here();
	writes_here(fd, page);
	renames_here();
	allocates_here();
	pid = fork();
	if (pid == 0)
		dies_here();
	(void)waitpid(pid, NULL, 0);
}

/* The bytes that this process has sent to disks, as the kernel counts them (proc_pid_io(5)). */
static unsigned long long bytes_written(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	unsigned long long bytes = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "write_bytes: %llu", &bytes);
	if (f)
		(void)fclose(f);
	return bytes;
}

static void serve(int from, int to)
{
	unsigned long long before;
	char path[] = "kinds-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC | O_DIRECT);
	void *page = aligned_alloc(PAGE, PAGE);
	pthread_t thread;
	char go;
	int i;

	CHECK(fd >= 0 && page);
	(void)unlink(path);
	memset(page, 1, PAGE);
	CHECK_OK(pthread_create(&thread, NULL, waits_here, NULL));
	while (read(from, &go, 1) == 1) {
		before = bytes_written();
		for (i = 0; i < ROUNDS; i++)
			one_round(fd, page);
		printf("  the kernel counts %.2f writes\n",
		       (double)(bytes_written() - before) / PAGE);
		(void)fflush(stdout);
		(void)!write(to, &go, 1);
	}
}

/* ---- the profile ---- */

struct got {
	int64_t here[KINDS]; /* in the function that caused it */
	int64_t all[KINDS];  /* anywhere in the child and its children */
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	int k;

	for (k = 0; k < KINDS; k++) {
		if (!kind_is(s, WANT[k].type, WANT[k].unit))
			continue;
		got->all[k] += s->value;
		if (kind_frame(s, WANT[k].place) >= 0)
			got->here[k] += s->value;
	}
}

/* Where a walk finds all slots of its CPU taken, its sample is counted as dropped. */
static void check_all_or_dropped(int64_t got, int64_t want, uint64_t dropped)
{
	CHECK(got <= want);
	if (!dropped)
		CHECK_INT(got, want);
	CHECK(got + (int64_t)dropped >= want);
}

static void test_all_at_once(void)
{
	static const char *probe = "tracepoint:task_rename";
	struct otelprof_rule rule = { .size = sizeof(rule), .kind = OTELPROF_MATCH_TREE };
	struct kind_child c = kind_child_start(serve);
	struct got all = { 0 };
	const int64_t *got = all.here;
	struct kind_profile profile = { .fn = add_sample, .data = &all };
	struct otelprof_config config;
	struct otelprof *p;
	uint64_t dropped;
	char go = 'g';
	int k;
	int r;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = 499;
	config.ring_bytes = 16 << 20;
	config.kinds =
		OTELPROF_KIND_CPU | OTELPROF_KIND_PAGE_FAULTS | OTELPROF_KIND_OFF_CPU |
		OTELPROF_KIND_LOCKS | OTELPROF_KIND_BLOCK_IO | OTELPROF_KIND_SIGNALS |
		OTELPROF_KIND_WALL | OTELPROF_KIND_THREADS | OTELPROF_KIND_PROBES |
		OTELPROF_KIND_HEAP | OTELPROF_KIND_GOROUTINES | OTELPROF_KIND_WAKERS;
	p = kind_start(&config, c.pid, &profile);
	rule.number = (uint64_t)c.pid;
	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	CHECK_OK(otelprof_set_probes(p, &probe, 1));
	/* the tracepoints of this one came with Linux 5.19 */
	r = otelprof_set_kinds(p, config.kinds | OTELPROF_KIND_KERNEL_LOCKS);
	CHECK(r == 0 || r == -ENOENT);
	printf("  locks of the kernel: %s\n", r == 0 ? "there" : "not there, and said");
	kind_child_ask(p, &c, &go, 1, &go, 1);
	memset(&all, 0, sizeof(all));
	kind_child_ask(p, &c, &go, 1, &go, 1);
	dropped = kind_close(p); /* checks that the counters add up */
	kind_child_end(&c);
	for (k = 0; k < KINDS; k++)
		printf("  %s/%s in %s: %lld, anywhere: %lld\n", WANT[k].type,
		       WANT[k].unit, WANT[k].place, (long long)got[k],
		       (long long)all.all[k]);
	for (k = 0; k < KINDS; k++)
		CHECK(got[k] > 0);
	check_all_or_dropped(got[1], ROUNDS * PAGES, dropped);
	/* It sleeps in its own function, and in the thread that holds the lock. */
	CHECK(got[2] > (int64_t)ROUNDS * SLEEP_NS && got[6] > (int64_t)ROUNDS * SLEEP_NS);
	check_all_or_dropped(got[4], ROUNDS, dropped);
	check_all_or_dropped(got[5], ROUNDS, dropped);
	check_all_or_dropped(got[7], 1, dropped);
	check_all_or_dropped(got[8], ROUNDS, dropped);
}

/* Of kinds whose own tests do not look. */
static void test_loaded_while_on(void)
{
	kind_check_loaded(OTELPROF_KIND_LOCKS, "op_locks", "op_locks_switch");
	kind_check_loaded(OTELPROF_KIND_SIGNALS, "op_signals", NULL);
	kind_check_loaded(OTELPROF_KIND_THREADS, "op_threads", "op_threads_now");
	kind_check_loaded(OTELPROF_KIND_GOROUTINES, "op_goroutines", NULL);
}

/* Descriptors of programs, maps, links and events. The others are files of the processes that
 * the machine has. */
static int count_of_objects(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	char to[64];
	int n = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		ssize_t len = readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1);

		to[len > 0 ? len : 0] = '\0';
		n += strstr(to, "bpf") || strstr(to, "perf_event");
	}
	CHECK_OK(closedir(d));
	return n;
}

/* Those of which a line of /proc/self/maps has the text @of. */
static int count_of_mappings(const char *of)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t size = 0;
	int n = 0;

	CHECK(f);
	while (getline(&line, &size, f) > 0)
		n += strstr(line, of) != NULL;
	free(line);
	CHECK_OK(fclose(f));
	return n;
}

static void leave(struct kind_profile *profile, const struct otlp_sample_view *s)
{
}

/* Kinds are switched on and off, and nothing of them is left. Of this process alone: a runtime
 * that somebody starts meanwhile would load its walker. */
static void test_many_switches(void)
{
	static const char *const probes[] = { "tracepoint:task_rename",
					      "perf:context-switches" };
	const char *more = getenv("KINDS_SWITCHES");
	int switches = more ? atoi(more) : SWITCHES;
	uint64_t all =
		OTELPROF_KIND_CPU | OTELPROF_KIND_PAGE_FAULTS | OTELPROF_KIND_OFF_CPU |
		OTELPROF_KIND_LOCKS | OTELPROF_KIND_BLOCK_IO | OTELPROF_KIND_SIGNALS |
		OTELPROF_KIND_WALL | OTELPROF_KIND_THREADS | OTELPROF_KIND_PROBES |
		OTELPROF_KIND_HEAP | OTELPROF_KIND_GOROUTINES | OTELPROF_KIND_WAKERS;
	struct kind_profile profile = { .fn = leave };
	struct otelprof_config config;
	struct otelprof *p;
	int objects = 0;
	int mappings = 0;
	int kernels = 0;
	int i;

	otelprof_config_init(&config, sizeof(config));
	p = kind_start(&config, getpid(), &profile);
	for (i = 0; i < switches; i++) {
		CHECK_OK(otelprof_set_probes(p, probes, i & 1 ? 2 : 1));
		CHECK_OK(otelprof_set_kinds(p, all));
		CHECK_OK(otelprof_poll(p, 1));
		CHECK_OK(otelprof_set_probes(p, NULL, 0));
		CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_CPU));
		CHECK_OK(otelprof_poll(p, 1));
		if (i == 1) {
			objects = count_of_objects();
			mappings = count_of_mappings("");
			kernels = count_of_mappings(KERNELS);
		}
	}
	printf("  after %d switches %d objects, and %d after 2; %d mappings, and %d\n",
	       switches, count_of_objects(), objects, count_of_mappings(""), mappings);
	CHECK_INT(count_of_objects(), objects);
	CHECK_INT(count_of_mappings(KERNELS), kernels);
	/* A sanitizer maps its own as it likes. */
	if (!OP_SANITIZED)
		CHECK(count_of_mappings("") <= mappings + MAPPINGS_MORE);
	otelprof_free(p);
}

TEST_MAIN({ "all", test_all_at_once }, { "loaded", test_loaded_while_on },
	  { "switches", test_many_switches })
