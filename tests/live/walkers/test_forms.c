/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every form of the walker gives the same stacks: of a child that spins below a known chain
 * of calls, shallow and deep.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <otelprof/otelprof.h>

#include "child.h"
#include "test.h"

enum {
	SHALLOW = 30,
	DEEP = 900,
	WORK_MS = 300, /* of CPU time: 60 samples */
	SAMPLES_MIN = 20,
};

#define PLAIN __attribute__((noinline, no_sanitize("address", "undefined")))

static volatile int keep;

/* Of a recursion that is no tail call, at any optimization. */
static PLAIN int known_link(int left)
{
	if (left) {
		keep = known_link(left - 1);
		return keep + left;
	}
	while (keep != -1)
		keep = left;
	return left;
}

static pid_t spin(int links)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(known_link(links - 1));
	}
	return pid;
}

static struct otelprof *make(uint64_t flags, pid_t pid, const char *folded)
{
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_PID,
				      .number = (uint64_t)pid };
	struct otelprof_file_config file;
	struct otelprof_config config;
	struct otelprof *p = NULL;
	int r;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = 199;
	config.flags = flags;
	r = otelprof_init(&config, NULL, &p);
	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", otelprof_strerror(r));
	CHECK_OK(r);
	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	otelprof_file_config_init(&file, sizeof(file));
	file.path = folded;
	file.format = OTELPROF_FORMAT_FOLDED;
	CHECK_OK(otelprof_exporter_file(p, &file));
	return p;
}

static int links_of(const char *line)
{
	int n = 0;

	for (; (line = strstr(line, "known_link")); line++)
		n++;
	return n;
}

/* All samples of @folded have @links links below main's part of the stack. */
static void check_folded(const char *folded, int links)
{
	FILE *f = fopen(folded, "re");
	char *line = NULL;
	size_t size = 0;
	long samples = 0;

	CHECK(f);
	while (getline(&line, &size, f) > 0) {
		CHECK(!strstr(line, "[truncated]") && !strstr(line, "[unwind error"));
		CHECK(strstr(line, "main;"));
		CHECK_INT(links_of(line), links);
		samples += strtol(strrchr(line, ' ') + 1, NULL, 10);
	}
	free(line);
	CHECK_OK(fclose(f));
	CHECK(samples >= SAMPLES_MIN);
}

static void check(uint64_t flags, int links)
{
	char folded[] = "/tmp/otelprof-forms-XXXXXX";
	int fd = mkstemp(folded);
	pid_t pid = spin(links);
	struct otelprof *p = make(flags, pid, folded);
	uint64_t until;

	CHECK_OK(otelprof_start(p));
	for (until = child_cpu_ms(pid) + WORK_MS; child_cpu_ms(pid) < until;)
		CHECK_OK(otelprof_poll(p, 50));
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_export(p));
	CHECK_OK(otelprof_flush(p, 5000));
	otelprof_free(p);
	child_end(pid);
	check_folded(folded, links);
	CHECK_OK(unlink(folded));
	(void)close(fd);
}

static void test_what_the_kernel_has(void)
{
	check(0, SHALLOW);
	check(0, DEEP);
}

static void test_without_bpf_loop(void)
{
	check(OTELPROF_NO_BPF_LOOP, SHALLOW);
	check(OTELPROF_NO_BPF_LOOP, DEEP);
}

static void test_without_tail_calls(void)
{
	check(OTELPROF_NO_TAIL_CALLS, SHALLOW);
	check(OTELPROF_NO_TAIL_CALLS, DEEP);
}

TEST_MAIN({ "default", test_what_the_kernel_has },
	  { "no_bpf_loop", test_without_bpf_loop },
	  { "no_tail_calls", test_without_tail_calls })
