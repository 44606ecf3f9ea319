/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes rules by executable and environment mean: of children of this test, and
 * the entries that the kernel would get. */
#include "parts/rules/matches.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "patient.h"
#include "process/target/target.h"
#include "test.h"

#define SECOND_NS UINT64_C(1000000000)

struct kernel {
	struct op_map64 says[OP_RULE_KINDS]; /* pid -> the number of the latest rule */
	uint64_t published;
	size_t room; /* 0: any */
	bool acts;   /* it changes its table by itself, at fork and exec */
};

static int publish(void *ctx, const struct op_rule_key *key,
		   const struct op_rule_decision *says, bool fresh)
{
	struct kernel *k = ctx;
	uint64_t word;
	bool there = op_map64_get(&k->says[key->kind], key->word[0], &word);

	CHECK(k->acts || there != fresh);
	k->published++;
	if (fresh && k->room && k->says[key->kind].len == k->room)
		return -E2BIG;
	CHECK_INT(op_map64_put(&k->says[key->kind], key->word[0],
			       says->verdict >> OP_RULE_SHIFT),
		  0);
	return 0;
}

static void unpublish(void *ctx, const struct op_rule_key *key, bool known)
{
	struct kernel *k = ctx;

	CHECK(known || k->published);
	(void)op_map64_remove(&k->says[key->kind], key->word[0]);
}

/* What the kernel does at fork and exec. */
static void copy_entry(struct kernel *k, uint32_t kind, pid_t parent, pid_t child)
{
	uint64_t word;

	k->acts = true;
	if (op_map64_get(&k->says[kind], (uint64_t)parent, &word))
		CHECK_INT(op_map64_put(&k->says[kind], (uint64_t)child, word), 0);
}

static void remove_entry(struct kernel *k, uint32_t kind, pid_t pid)
{
	k->acts = true;
	CHECK(op_map64_remove(&k->says[kind], (uint64_t)pid));
}

static struct op_target *target;

static struct op_matches *begin(struct kernel *k)
{
	struct op_matches *p = NULL;

	memset(k, 0, sizeof(*k));
	CHECK_INT(op_target_new("/proc", &target), 0);
	be_patient(target);
	CHECK_INT(op_matches_new(&(struct op_matches_config){ .target = target,
							      .procfs_root = "/proc",
							      .publish = publish,
							      .unpublish = unpublish,
							      .ctx = k },
				 &p),
		  0);
	return p;
}

static void end(struct op_matches *p, struct kernel *k)
{
	int i;

	(void)op_matches_free(p);
	target = op_target_free(target);
	for (i = 0; i < OP_RULE_KINDS; i++)
		op_map64_clear(&k->says[i]);
}

static void rule(struct op_matches *p, uint32_t kind, const char *text, uint64_t number)
{
	const struct op_rule_decision says = { .verdict = number << OP_RULE_SHIFT |
							  OP_VERDICT_KEEP };

	CHECK_INT(op_matches_set(p, kind, text, &says), 0);
}

static void work(struct op_matches *p, uint64_t now_ns, uint64_t limit_ns)
{
	struct op_allowance a =
		op_allowance_within(NULL, op_clock_monotonic_ns() + limit_ns);

	op_matches_work(p, now_ns, &a);
}

/* Look until nothing waits. */
static void settle(struct op_matches *p)
{
	uint64_t now = op_clock_monotonic_ns();
	int i;

	for (i = 0; i < 10000 && op_matches_next_ns(p); i++) {
		now = now > op_matches_next_ns(p) ? now : op_matches_next_ns(p);
		work(p, now, SECOND_NS);
		(void)usleep(200); /* a child that has just executed goes on */
	}
	CHECK_INT(op_matches_next_ns(p), 0);
}

/* The rule that means the process, or 0. */
static uint64_t of(const struct kernel *k, uint32_t kind, pid_t pid)
{
	uint64_t number = 0;

	(void)op_map64_get(&k->says[kind], (uint64_t)pid, &number);
	return number;
}

/* A child that sleeps; with @program it has executed that. */
static pid_t child(const char *program, const char *variable)
{
	char *argv[] = { (char *)program, (char *)"60", NULL };
	char *envp[] = { (char *)variable, (char *)"OTHER=1", NULL };
	int ready[2];
	pid_t pid;
	char c;

	CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		(void)alarm(60);
		if (program)
			(void)execve(program, argv, envp);
		(void)!write(ready[1], "x", 1);
		(void)pause();
		_exit(1);
	}
	(void)close(ready[1]);
	/* its end: executed. A byte: it runs on as it is. */
	CHECK_INT(read(ready[0], &c, 1), program ? 0 : 1);
	(void)close(ready[0]);
	return pid;
}

static void finish(pid_t pid)
{
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
}

/* The path of the file behind a name, as the kernel tells it. */
static const char *sleep_path(void)
{
	static char path[PATH_MAX];

	CHECK(realpath("/bin/sleep", path));
	return path;
}

static void own_path(char *ret)
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);

	CHECK(n > 0);
	ret[n] = 0;
}

static void test_processes_that_are_there_are_found(void)
{
	struct kernel k;
	struct op_matches *p = begin(&k);
	pid_t pid = child(sleep_path(), "MARK=blue");
	struct op_match_stats s;
	char own[PATH_MAX];

	own_path(own);
	rule(p, OP_RULE_EXECUTABLE, sleep_path(), 1);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 1);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, getpid()), 0);
	rule(p, OP_RULE_ENVIRONMENT, "MARK=blue", 2);
	rule(p, OP_RULE_ENVIRONMENT, "MARK=red", 3);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 2);
	rule(p, OP_RULE_ENVIRONMENT, "MARK", 4);
	rule(p, OP_RULE_EXECUTABLE, own, 5);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 4);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, getpid()), 5);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 1);
	op_matches_get_stats(p, &s);
	CHECK_INT(s.matched,
		  k.says[OP_RULE_EXECUTABLE].len + k.says[OP_RULE_ENVIRONMENT].len);
	/* each rule ends for itself */
	op_matches_unset(p, OP_RULE_ENVIRONMENT, "MARK");
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 2);
	op_matches_unset(p, OP_RULE_EXECUTABLE, own);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, getpid()), 0);
	op_matches_unset(p, OP_RULE_ENVIRONMENT, "MARK=blue");
	op_matches_unset(p, OP_RULE_EXECUTABLE, sleep_path());
	op_matches_get_stats(p, &s);
	CHECK_INT(s.matched, 0);
	CHECK_INT(s.refused, 0);
	finish(pid);
	end(p, &k);
}

static void test_fork_inherits_and_exec_changes(void)
{
	struct kernel k;
	struct op_matches *p = begin(&k);
	pid_t early;
	pid_t pid;
	char own[PATH_MAX];

	own_path(own);
	rule(p, OP_RULE_EXECUTABLE, own, 1);
	rule(p, OP_RULE_EXECUTABLE, sleep_path(), 2);
	rule(p, OP_RULE_ENVIRONMENT, "MARK", 3);
	settle(p);
	early = child(NULL, NULL);
	op_matches_on_fork(p, (uint32_t)early, (uint32_t)getpid());
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, early), 1);
	CHECK_INT(op_matches_next_ns(p), 0);
	pid = child(sleep_path(), "MARK=");
	op_matches_on_fork(p, (uint32_t)pid, (uint32_t)getpid());
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 1);
	op_matches_on_exec(p, (uint32_t)pid);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 0);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 2);
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 3);
	/* of a parent that executed and was not looked at, a child is asked for too */
	op_matches_on_exec(p, (uint32_t)getpid());
	op_matches_on_fork(p, (uint32_t)early, (uint32_t)getpid());
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, early), 0);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, early), 1);
	op_matches_on_exit(p, (uint32_t)pid);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 0);
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 0);
	finish(early);
	finish(pid);
	end(p, &k);
}

/* Ends and execs that were not heard of. */
static void test_lost_events_are_repaired(void)
{
	struct kernel k;
	struct op_matches *p = begin(&k);
	pid_t pid = child(sleep_path(), "MARK=1");
	pid_t later;

	rule(p, OP_RULE_EXECUTABLE, sleep_path(), 1);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 1);
	finish(pid);
	later = child(sleep_path(), "MARK=1");
	op_matches_on_lost(p);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 0);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, later), 1);
	/* one that is gone when it is looked at */
	op_matches_on_exec(p, (uint32_t)later);
	finish(later);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, later), 0);
	end(p, &k);
}

/* A rule ends after the kernel has copied an entry, and before the fork is heard of. */
static void test_what_the_kernel_copied_ends_with_the_rule(void)
{
	struct kernel k;
	struct op_matches *p = begin(&k);
	pid_t pid = child(NULL, NULL);
	char own[PATH_MAX];
	int others;

	own_path(own);
	for (others = 0; others < 2; others++) {
		if (others)
			rule(p, OP_RULE_EXECUTABLE, "/other", 9);
		rule(p, OP_RULE_EXECUTABLE, own, 1);
		settle(p);
		CHECK_INT(of(&k, OP_RULE_EXECUTABLE, getpid()), 1);
		op_matches_on_exit(p, (uint32_t)pid); /* of which no more is known */
		copy_entry(&k, OP_RULE_EXECUTABLE, getpid(), pid);
		op_matches_unset(p, OP_RULE_EXECUTABLE, own);
		CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 1);
		op_matches_on_fork(p, (uint32_t)pid, (uint32_t)getpid());
		CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 0);
	}
	/* and that fork is never heard of */
	rule(p, OP_RULE_EXECUTABLE, own, 1);
	settle(p);
	op_matches_on_exit(p, (uint32_t)pid);
	copy_entry(&k, OP_RULE_EXECUTABLE, getpid(), pid);
	op_matches_unset(p, OP_RULE_EXECUTABLE, own);
	op_matches_on_lost(p);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 0);
	finish(pid);
	end(p, &k);
}

/* An exec that was not heard of has removed the entry. */
static void test_what_the_kernel_removed_comes_back(void)
{
	struct kernel k;
	struct op_matches *p = begin(&k);
	pid_t pid = child(sleep_path(), "MARK=1");

	rule(p, OP_RULE_EXECUTABLE, sleep_path(), 1);
	settle(p);
	remove_entry(&k, OP_RULE_EXECUTABLE, pid);
	op_matches_on_lost(p);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 1);
	finish(pid);
	end(p, &k);
}

/* Where the environment of a process begins, in its memory. */
static off_t environ_at(pid_t pid)
{
	char text[4096] = { 0 };
	char path[64];
	char *at;
	int fd;
	int i;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	(void)close(fd);
	at = strrchr(text, ')');
	/* the 50th of its fields; that was the second one */
	for (i = 2; at && i < 50; i++)
		at = strchr(at + 1, ' ');
	CHECK(at);
	return (off_t)strtoull(at, NULL, 10);
}

static void overwrite_environ(pid_t pid)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(pwrite(fd, "title", 5, environ_at(pid)), 5);
	(void)close(fd);
}

static void test_an_overwritten_environment_ends_no_rule(void)
{
	struct kernel k;
	struct op_matches *p = begin(&k);
	pid_t pid = child(sleep_path(), "MARK=blue");

	rule(p, OP_RULE_ENVIRONMENT, "MARK=blue", 1);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 1);
	overwrite_environ(pid);
	op_matches_on_lost(p);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 1);
	/* another rule may come and go */
	rule(p, OP_RULE_ENVIRONMENT, "OTHER", 2);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 2);
	op_matches_unset(p, OP_RULE_ENVIRONMENT, "OTHER");
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 1);
	/* what it executes has the environment that stands there */
	op_matches_on_exec(p, (uint32_t)pid);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 0);
	finish(pid);
	end(p, &k);
}

/* There is no descriptor left for /proc. */
static void test_a_pass_that_cannot_begin_comes_later(void)
{
	struct kernel k;
	struct op_matches *p = begin(&k);
	pid_t pid = child(sleep_path(), "MARK=1");
	struct rlimit before;
	struct rlimit none;

	rule(p, OP_RULE_EXECUTABLE, sleep_path(), 1);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_max = before.rlim_max };
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
	work(p, op_clock_monotonic_ns(), SECOND_NS);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 0);
	settle(p);
	CHECK_INT(of(&k, OP_RULE_EXECUTABLE, pid), 1);
	finish(pid);
	end(p, &k);
}

static void test_limits_are_counted(void)
{
	struct kernel k;
	struct op_matches *p = begin(&k);
	pid_t pid = child(sleep_path(), "MARK=1");
	struct op_match_stats s;
	char text[PATH_MAX + 80];
	int i;

	/* globs that all mean it */
	for (i = 0; i <= OP_MATCH_PATTERNS; i++) {
		(void)snprintf(text, sizeof(text), "%.*s%s", i,
			       "*****************************"
			       "*****************************************",
			       sleep_path());
		rule(p, OP_RULE_EXECUTABLE, text, (uint64_t)i + 1);
	}
	settle(p);
	op_matches_get_stats(p, &s);
	CHECK(s.refused > 0);
	CHECK(of(&k, OP_RULE_EXECUTABLE, pid) > 0);
	/* no more room in the kernel */
	k.room = 1;
	rule(p, OP_RULE_ENVIRONMENT, "MARK", 100);
	rule(p, OP_RULE_ENVIRONMENT, "PATH", 101);
	settle(p);
	CHECK_INT(k.says[OP_RULE_ENVIRONMENT].len, 1);
	/* more wait than the queue holds: all are looked at */
	k.room = 0;
	for (i = 0; i < 2 * OP_MATCHES_QUEUE; i++)
		op_matches_on_exec(p, (uint32_t)(i + 1));
	settle(p);
	CHECK_INT(of(&k, OP_RULE_ENVIRONMENT, pid), 100);
	finish(pid);
	end(p, &k);
}

/* Without a rule nothing is read, and a rule that stays away costs nothing. */
static void test_without_rules_nothing_is_done(void)
{
	struct kernel k;
	struct op_matches *p = begin(&k);

	op_matches_on_fork(p, 1, 2);
	op_matches_on_exec(p, 1);
	op_matches_on_exit(p, 1);
	op_matches_on_lost(p);
	CHECK_INT(op_matches_next_ns(p), 0);
	work(p, op_clock_monotonic_ns(), SECOND_NS);
	CHECK_INT(k.published, 0);
	op_matches_unset(p, OP_RULE_EXECUTABLE, "/never");
	/* also where the last rule goes while processes are looked at */
	rule(p, OP_RULE_EXECUTABLE, "/never", 1);
	work(p, op_clock_monotonic_ns(), 1);
	CHECK(op_matches_next_ns(p) > 0);
	op_matches_unset(p, OP_RULE_EXECUTABLE, "/never");
	work(p, op_clock_monotonic_ns(), 1);
	CHECK_INT(op_matches_next_ns(p), 0);
	end(p, &k);
}

TEST_MAIN({ "processes_that_are_there_are_found",
	    test_processes_that_are_there_are_found },
	  { "fork_inherits_and_exec_changes", test_fork_inherits_and_exec_changes },
	  { "lost_events_are_repaired", test_lost_events_are_repaired },
	  { "what_the_kernel_copied_ends_with_the_rule",
	    test_what_the_kernel_copied_ends_with_the_rule },
	  { "what_the_kernel_removed_comes_back",
	    test_what_the_kernel_removed_comes_back },
	  { "an_overwritten_environment_ends_no_rule",
	    test_an_overwritten_environment_ends_no_rule },
	  { "a_pass_that_cannot_begin_comes_later",
	    test_a_pass_that_cannot_begin_comes_later },
	  { "limits_are_counted", test_limits_are_counted },
	  { "without_rules_nothing_is_done", test_without_rules_nothing_is_done })
