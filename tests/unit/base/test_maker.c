/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child is not the process that made an object, even with the same pid. */
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "test.h"

/* Run @fn in a child. Returns its exit status. */
static int in_child(int (*fn)(struct op_maker *), struct op_maker *m)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(fn(m));
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int is_here(struct op_maker *m)
{
	return op_maker_is_here(m);
}

static void test_a_fork_is_another(void)
{
	struct op_maker m;

	op_maker_begin(&m);
	CHECK(op_maker_is_here(&m));
	CHECK_INT(in_child(is_here, &m), 0);
	CHECK(op_maker_is_here(&m));
	op_maker_end(&m);
	CHECK(!op_maker_is_here(&m));
}

/* The first process of a PID namespace in that of another. */
static int first_again(struct op_maker *m)
{
	return getpid() == m->pid && !op_maker_is_here(m) ? 0 : 1;
}

static int first(struct op_maker *m)
{
	op_maker_begin(m);
	return unshare(CLONE_NEWPID) < 0 ? 1 : in_child(first_again, m);
}

static int in_namespaces(struct op_maker *m)
{
	return unshare(CLONE_NEWPID) < 0 ? 77 : in_child(first, m);
}

static void test_a_fork_of_the_same_pid(void)
{
	struct op_maker m;
	int status = in_child(in_namespaces, &m);

	if (status == 77)
		SKIP("no PID namespace can be made");
	CHECK_INT(status, 0);
}

TEST_MAIN({ "a_fork_is_another", test_a_fork_is_another },
	  { "a_fork_of_the_same_pid", test_a_fork_of_the_same_pid })
