/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profiler that gets no CPU for a while, amid processes that it does not know: their samples
 * bring copies of their stacks, which fill the ring. Copies give way then, and no sample is lost.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <otelprof/otelprof.h>

#include "drops.h"
#include "test.h"

enum {
	RATE_HZ = 499,
	CHILDREN = 8, /* each may have 64 copies of its stack */
	PAD_BYTES = 32 * 1024,
	RING_BYTES = 1024 * 1024,  /* 85 copies */
	SAMPLES_MIN = RATE_HZ / 5, /* a quarter of what the children run */
	POLLS_MAX = 1000,
};

#define COMM  "op-ring-test"
#define COUNT "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done"

static uint64_t no_room;

static void on_error(void *userdata, const char *name, const char *sentence,
		     uint64_t count)
{
	if (!strcmp(name, "native_no_room"))
		no_room = count;
}

/* Programs that are new to the profiler, each with more stack than a copy takes: the environment
 * lies above it. They count, so that they take the same CPU time on every machine. */
static void run_children(const char *program)
{
	pid_t children[CHILDREN];
	char pad[PAD_BYTES];
	int i;

	memset(pad, 'x', sizeof(pad) - 1);
	pad[sizeof(pad) - 1] = '\0';
	CHECK_OK(setenv("PAD", pad, 1));
	for (i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (children[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)execl(program, program, "-c", COUNT, NULL);
			_exit(127);
		}
	}
	for (i = 0; i < CHILDREN; i++)
		CHECK_INT(waitpid(children[i], NULL, 0), children[i]);
}

/* The children alone: what else runs here is not known. */
static void set_filter(struct otelprof *p, const char *comm)
{
	struct otelprof_filter_rule rule = { .size = sizeof(rule),
					     .kind = OTELPROF_FILTER_COMM,
					     .text = comm };
	struct otelprof_filter filter;

	otelprof_filter_init(&filter, sizeof(filter));
	filter.rules = &rule;
	filter.rules_len = 1;
	CHECK_OK(otelprof_set_filter(p, &filter));
}

static void test_copies_give_way(void)
{
	struct otelprof_config config;
	struct otelprof_stats st;
	struct otelprof *p = NULL;
	char folder[] = "/tmp/otelprof-ring-XXXXXX", program[64];
	int i;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	config.ring_bytes = RING_BYTES;
	CHECK_OK(otelprof_init(&config, NULL, &p));
	CHECK(mkdtemp(folder));
	(void)snprintf(program, sizeof(program), "%s/" COMM, folder);
	CHECK_OK(symlink("/bin/sh", program));
	set_filter(p, COMM);
	CHECK_OK(otelprof_start(p));
	run_children(program);
	CHECK_OK(unlink(program));
	CHECK_OK(rmdir(folder));
	CHECK_OK(otelprof_stop(p));
	for (i = 0; i < POLLS_MAX && otelprof_poll(p, 0) > 0; i++)
		;
	CHECK_OK(otelprof_unwind_errors(p, on_error, NULL));
	otelprof_stats_init(&st, sizeof(st));
	CHECK_OK(otelprof_get_stats(p, &st));
	printf("taken %llu of it, lost in the ring %llu, without room for a copy %llu\n",
	       (unsigned long long)(st.samples_taken - st.samples_filtered),
	       (unsigned long long)drops_of(p, "ring"), (unsigned long long)no_room);
	CHECK(st.samples_taken - st.samples_filtered >= SAMPLES_MIN);
	CHECK_INT(drops_of(p, "ring"), 0);
	CHECK(no_room > 0); /* else nothing was tried */
	otelprof_free(p);
}

TEST_MAIN({ "copies_give_way", test_copies_give_way })
