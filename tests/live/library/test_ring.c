/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profiler that gets no CPU for a while, amid processes that it does not know: their samples
 * bring copies of their stacks, which fill the ring. Copies give way then, and no sample is lost;
 * and no process has its stack copied with each sample, for as long as it is not known.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <otelprof/otelprof.h>

#include "child.h"
#include "drops.h"
#include "test.h"

enum {
	RATE_HZ = 499,
	CHILDREN = 8, /* each may have COPIES of its stack */
	COPIES = 64,  /* at once */
	COPIES_A_SECOND = 10,
	PAD_BYTES = 32 * 1024,
	RING_BYTES = 1024 * 1024, /* 85 copies */
	RING_BYTES_LARGE = 32 << 20,
	SAMPLES_MIN = RATE_HZ / 5, /* a quarter of what the children run */
	POLLS_MAX = 1000,
	WORK_MS = 1000, /* of CPU time, of all children */
	WORK_ALONE_MS = 2000,
};

#define COMM "op-ring-test"

static uint64_t no_room;
static uint64_t no_copy;
static uint64_t no_mapping;

static void on_error(void *userdata, const char *name, const char *sentence,
		     uint64_t count)
{
	if (!strcmp(name, "native_no_room"))
		no_room = count;
	if (!strcmp(name, "native_no_copy"))
		no_copy = count;
	if (!strcmp(name, "native_no_mapping"))
		no_mapping = count;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	CHECK_OK(clock_gettime(CLOCK_MONOTONIC, &t));
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Wait until they have used so much CPU time in all, and end them. */
static void end_children(const pid_t *children, int len, uint64_t ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t used_ms = 0;
	int i;

	while (used_ms < ms) {
		(void)nanosleep(&pause, NULL);
		for (used_ms = 0, i = 0; i < len; i++)
			used_ms += child_cpu_ms(children[i]);
	}
	for (i = 0; i < len; i++)
		child_end(children[i]);
}

/* Programs that are new to the profiler, each with more stack than a copy takes: the environment
 * lies above it. */
static void run_children(const char *program, int len, uint64_t ms)
{
	pid_t children[CHILDREN];
	char pad[PAD_BYTES];
	int i;

	memset(pad, 'x', sizeof(pad) - 1);
	pad[sizeof(pad) - 1] = '\0';
	CHECK_OK(setenv("PAD", pad, 1));
	for (i = 0; i < len; i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (children[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)execl(program, program, "-c", "while :; do :; done", NULL);
			_exit(127);
		}
	}
	end_children(children, len, ms);
}

/* The children alone: what else runs here is not known. */
static void sample_only(struct otelprof *p, const char *comm)
{
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_COMM,
				      .text = comm };

	CHECK_OK(otelprof_set_rules(p, &rule, 1));
}

/* Profile @children that work for @ms in all, and take no sample out of a ring of @ring_bytes
 * meanwhile. Returns how many samples of them there were; *@ret_ns: how long it took. */
static uint64_t profile(uint32_t ring_bytes, int children, uint64_t ms, uint64_t *ret_ns)
{
	struct otelprof_config config;
	struct otelprof_stats st;
	struct otelprof *p = NULL;
	char folder[] = "/tmp/otelprof-ring-XXXXXX", program[64];
	uint64_t began_ns;
	int i;

	no_room = no_copy = 0;
	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	config.ring_bytes = ring_bytes;
	CHECK_OK(otelprof_init(&config, NULL, &p));
	CHECK(mkdtemp(folder));
	(void)snprintf(program, sizeof(program), "%s/" COMM, folder);
	CHECK_OK(symlink("/bin/sh", program));
	sample_only(p, COMM);
	CHECK_OK(otelprof_start(p));
	began_ns = now_ns();
	run_children(program, children, ms);
	*ret_ns = now_ns() - began_ns;
	CHECK_OK(unlink(program));
	CHECK_OK(rmdir(folder));
	CHECK_OK(otelprof_stop(p));
	for (i = 0; i < POLLS_MAX && otelprof_poll(p, 0) > 0; i++)
		;
	CHECK_OK(otelprof_unwind_errors(p, on_error, NULL));
	otelprof_stats_init(&st, sizeof(st));
	CHECK_OK(otelprof_get_stats(p, &st));
	printf("taken %llu of it, lost in the ring %llu, without room for a copy %llu, "
	       "beyond its copies %llu\n",
	       (unsigned long long)(st.samples_taken - st.samples_filtered),
	       (unsigned long long)drops_of(p, "ring"), (unsigned long long)no_room,
	       (unsigned long long)no_copy);
	CHECK_INT(drops_of(p, "ring"), 0);
	otelprof_free(p);
	return st.samples_taken - st.samples_filtered;
}

static void test_copies_give_way(void)
{
	uint64_t took_ns;

	CHECK(profile(RING_BYTES, CHILDREN, WORK_MS, &took_ns) >= SAMPLES_MIN);
	CHECK(no_room > 0); /* else nothing was tried */
}

#ifdef __x86_64__
/* Wait for a byte, move code to where no event tells of it, and run it. The stack is larger than a
 * copy. */
static void run_moved(int go)
{
	/* mov %rdi,%rcx; 1: dec %rcx; jnz 1b; ret */
	static const unsigned char code[] = { 0x48, 0x89, 0xf9, 0x48, 0xff,
					      0xc9, 0x75, 0xfb, 0xc3 };
	const int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	volatile char pad[PAD_BYTES];
	unsigned char *at = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *to =
		mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, COMM);
	pad[0] = pad[PAD_BYTES - 1] = 0;
	if (at == MAP_FAILED || to == MAP_FAILED || read(go, &byte, 1) != 1)
		_exit(1);
	memcpy(at, code, sizeof(code));
	at = mremap(at, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, to + 65536);
	if (at == MAP_FAILED)
		_exit(1);
	((void (*)(long))(void *)at)(LONG_MAX);
	_exit(pad[0]);
}

/* The same for processes that are known, but whose code is in no known mapping. */
static void test_copies_without_a_mapping_give_way(void)
{
	struct otelprof_config config;
	struct otelprof *p = NULL;
	pid_t children[CHILDREN];
	int go[2];
	int i;

	no_mapping = 0;
	CHECK_OK(pipe(go));
	for (i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (!children[i])
			run_moved(go[0]);
	}
	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	config.ring_bytes = RING_BYTES;
	CHECK_OK(otelprof_init(&config, NULL, &p));
	sample_only(p, COMM);
	CHECK_OK(otelprof_start(p));
	for (i = 0; i < 20; i++)
		CHECK_OK(otelprof_poll(p, 50));
	CHECK_INT(write(go[1], "12345678", CHILDREN), CHILDREN);
	end_children(children, CHILDREN, WORK_MS);
	CHECK_OK(otelprof_stop(p));
	for (i = 0; i < POLLS_MAX && otelprof_poll(p, 0) > 0; i++)
		;
	CHECK_OK(otelprof_unwind_errors(p, on_error, NULL));
	printf("in no mapping %llu, lost in the ring %llu\n",
	       (unsigned long long)no_mapping, (unsigned long long)drops_of(p, "ring"));
	CHECK(no_mapping >= SAMPLES_MIN); /* else nothing was tried */
	CHECK_INT(drops_of(p, "ring"), 0);
	otelprof_free(p);
	(void)close(go[0]);
	(void)close(go[1]);
}
#else
static void test_copies_without_a_mapping_give_way(void)
{
	SKIP("x86-64 only");
}
#endif

/* A process that is not known, as one beyond max_processes, has some copies and then few: each
 * is 13 KiB and wakes the reader. */
static void test_copies_are_limited(void)
{
	uint64_t took_ns;
	uint64_t taken;
	uint64_t most;
	cpu_set_t one;

	/* they are counted on each CPU */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK_OK(sched_setaffinity(0, sizeof(one), &one));
	taken = profile(RING_BYTES_LARGE, 1, WORK_ALONE_MS, &took_ns);
	most = COPIES + COPIES_A_SECOND * (took_ns / 1000000000 + 1);

	CHECK_INT(no_room, 0);
	CHECK(taken > most + SAMPLES_MIN); /* else nothing was tried */
	CHECK(taken - no_copy <= most);
}

TEST_MAIN({ "copies_give_way", test_copies_give_way },
	  { "without_a_mapping", test_copies_without_a_mapping_give_way },
	  { "copies_are_limited", test_copies_are_limited })
