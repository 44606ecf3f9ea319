/* SPDX-License-Identifier: Apache-2.0 */
/* By which file stacks end early: a child spins in a library that no walk can leave. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <otelprof/otelprof.h>

#include "lost.h"
#include "test.h"

enum {
	RATE_HZ = 499,
	WANTED = 50, /* stacks */
	POLLS_MAX = 400,
	POLL_MS = 50,
};

struct seen {
	uint64_t lost; /* in the library */
	uint64_t others;
	uint64_t first; /* of the first row's file */
	uint64_t rows;
};

#if defined(__x86_64__)
static pid_t spin(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			lost();
	}
	return pid;
}

static void look(void *userdata, const struct otelprof_unwind_file *row)
{
	struct seen *seen = userdata;

	printf("  %llu of %llu  %s: %s\n", (unsigned long long)row->count,
	       (unsigned long long)row->file_count, row->file ? row->file : "-",
	       row->reason ? row->reason : "-");
	if (!seen->rows++)
		seen->first = row->file_count;
	CHECK(row->count && row->file_count >= row->count);
	CHECK(row->file_count <= seen->first || !row->file);
	if (row->file && strstr(row->file, "liblost.so"))
		seen->lost += row->count;
	else
		seen->others += row->count;
}

static struct otelprof *make(pid_t pid)
{
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_PID,
				      .action = OTELPROF_RULE_INCLUDE,
				      .number = (uint64_t)pid };
	struct otelprof_config config;
	struct otelprof *p = NULL;
	int r;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	r = otelprof_init(&config, NULL, &p);
	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", otelprof_strerror(r));
	CHECK_OK(r);
	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	return p;
}
#endif

static void test_the_library_is_named(void)
{
#if defined(__x86_64__)
	struct otelprof_stats stats;
	struct seen seen = { 0 };
	pid_t pid = spin();
	struct otelprof *p = make(pid);
	int i;

	otelprof_stats_init(&stats, sizeof(stats));
	CHECK_INT(otelprof_unwind_files(NULL, look, &seen), -EINVAL);
	CHECK_INT(otelprof_unwind_files(p, NULL, NULL), -EINVAL);
	CHECK_OK(otelprof_unwind_files(p, look, &seen));
	CHECK_INT(seen.rows, 0);
	CHECK_OK(otelprof_start(p));
	for (i = 0; i < POLLS_MAX && stats.stacks_broken < WANTED; i++) {
		CHECK_OK(otelprof_poll(p, POLL_MS));
		CHECK_OK(otelprof_get_stats(p, &stats));
	}
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_get_stats(p, &stats));
	CHECK_OK(otelprof_unwind_files(p, look, &seen));
	CHECK(seen.lost >= WANTED / 2);
	CHECK(seen.rows <= 4);
	CHECK(seen.others * 20 <= seen.lost);
	/* the kernel's counters and ours are of the same stacks */
	CHECK_INT(seen.lost + seen.others, stats.stacks_broken + stats.stacks_truncated +
						   stats.stacks_without_table);
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	otelprof_free(p);
#else
	SKIP("the library is of x86-64");
#endif
}

TEST_MAIN({ "named", test_the_library_is_named })
