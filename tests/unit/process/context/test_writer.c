/* SPDX-License-Identifier: Apache-2.0 */
/* The process context of children: they have none, and publish their own. */
#include <otelprof/context.h>

#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum {
	NO_ROOT = 77, /* a child's exit status */
};

/* How many pages this process has that readers would take for a process context. */
static int contexts(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");
	int n = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "OTEL_CTX") != NULL;
	CHECK(fclose(f) == 0);
	return n;
}

static void publish(void)
{
	static const struct otelprof_context_attribute attribute = { "service.name",
								     "test" };
	struct otelprof_process_context process = OTELPROF_PROCESS_CONTEXT_INIT;

	process.attributes = &attribute;
	process.attributes_len = 1;
	CHECK_OK(otelprof_context_publish(&process));
}

/* Wait for a child, which ends with 0 if all held. */
static void check_child(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* In a child: it has nothing of its parent's, and can publish, again, and take it back. */
static void live_alone(void)
{
	CHECK_INT(contexts(), 0);
	publish();
	CHECK_INT(contexts(), 1);
	publish();
	CHECK_INT(contexts(), 1);
	otelprof_context_unpublish();
	CHECK_INT(contexts(), 0);
}

static void test_child(void)
{
	pid_t pid;

	publish();
	CHECK_INT(contexts(), 1);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		live_alone();
		_exit(0);
	}
	check_child(pid);
	CHECK_INT(contexts(), 1);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		otelprof_context_unpublish(); /* of what it does not have */
		_exit(0);
	}
	check_child(pid);
	otelprof_context_unpublish();
	CHECK_INT(contexts(), 0);
}

/* A process, the first of its PID namespace, whose child is the first of another one. */
static void be_first(void)
{
	pid_t pid;

	CHECK_INT(getpid(), 1);
	publish();
	CHECK(unshare(CLONE_NEWPID) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_INT(getpid(), 1);
		publish();
		otelprof_context_unpublish();
		_exit(0);
	}
	check_child(pid);
	_exit(0);
}

/* In a child, whose children are of another namespace from here on. */
static void begin_namespace(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID) < 0)
		_exit(NO_ROOT);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		be_first();
	check_child(pid);
	_exit(0);
}

static void test_child_of_the_same_number(void)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		begin_namespace();
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_ROOT)
		SKIP("a PID namespace needs root");
	CHECK_INT(WEXITSTATUS(status), 0);
}

TEST_MAIN({ "child", test_child }, { "same_number", test_child_of_the_same_number })
