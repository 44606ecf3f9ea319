/* SPDX-License-Identifier: Apache-2.0 */
/* What is opened of another process is what was mapped, or nothing. */
#include "process/target/open.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/io.h"
#include "patient.h"
#include "process/target/remote.h"
#include "process/target/target.h"
#include "tools.h"

enum {
	PAGE = 4096,
};

static struct op_target *target;

static void *map_file(const char *path, void *at)
{
	int fd = op_open(path, O_RDONLY);
	void *p;

	CHECK(fd >= 0);
	p = mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd,
		 0);
	CHECK(p != MAP_FAILED);
	(void)close(fd);
	return p;
}

static struct op_mapped_file mapped_file(const char *path, const void *at)
{
	struct stat st;

	CHECK_OK(stat(path, &st));
	return (struct op_mapped_file){ .start = (uintptr_t)at,
					.end = (uintptr_t)at + PAGE,
					.dev_major = major(st.st_dev),
					.dev_minor = minor(st.st_dev),
					.inode = st.st_ino,
					.path = path };
}

static void check_content(int fd, const char *want)
{
	char text[16] = "";

	CHECK(op_pread_full(fd, text, sizeof(text) - 1, 0) == (ssize_t)strlen(want));
	CHECK_STR(text, want);
	(void)close(fd);
}

/* Where the first file was mapped another one is by now: its content would pass for that of
 * the first, for every process. */
static void test_swapped_mapping(void)
{
	const char *first = strdup(tools_path("first"));
	const char *second = strdup(tools_path("second"));
	struct op_mapped_file f;
	struct op_opened opened;
	void *at;

	tools_write_bytes("first", "first", 5);
	tools_write_bytes("second", "second", 6);
	at = map_file(first, NULL);
	f = mapped_file(first, at);
	CHECK_OK(op_target_open_mapped(target, (uint32_t)getpid(), &f, &opened));
	check_content(opened.fd, "first");
	CHECK_INT(opened.size, 5);
	(void)map_file(second, at);
	CHECK_OK(op_target_open_mapped(target, (uint32_t)getpid(), &f, &opened));
	check_content(opened.fd, "first");
	/* With its path taken too it is nowhere. */
	CHECK_OK(rename(second, first));
	CHECK_INT(op_target_open_mapped(target, (uint32_t)getpid(), &f, &opened),
		  -ESTALE);
	CHECK_OK(munmap(at, PAGE));
	free((char *)(uintptr_t)first);
	free((char *)(uintptr_t)second);
}

/* A handle leads to its file, wherever that is by now, and never to another. */
static void test_handle(void)
{
	const char *path = strdup(tools_path("handled"));
	uint32_t pid = (uint32_t)getpid();
	struct op_mapped_file f;
	struct op_opened opened;
	struct op_opened seen;
	void *at;

	tools_write_bytes("handled", "first", 5);
	at = map_file(path, NULL);
	f = mapped_file(path, at);
	CHECK_OK(op_target_open_mapped(target, pid, &f, &opened));
	check_content(opened.fd, "first");
	if (!opened.handle.bytes)
		SKIP("the folder is not on the disk of the root");
	if (op_target_stat_handle(target, &opened.handle, &seen) == -EPERM)
		SKIP("no CAP_DAC_READ_SEARCH");
	CHECK_OK(munmap(at, PAGE));
	CHECK_OK(rename(path, tools_path("elsewhere")));
	tools_write_bytes("handled", "second", 6);
	CHECK_OK(op_target_stat_handle(target, &opened.handle, &seen));
	CHECK_INT(seen.inode, f.inode);
	CHECK_INT(seen.size, 5);
	CHECK_INT(seen.mtime_ns, opened.mtime_ns);
	CHECK(seen.mapped && !seen.served && seen.fd < 0);
	tools_write_bytes("elsewhere", "longer", 6);
	CHECK_OK(op_target_stat_handle(target, &opened.handle, &seen));
	CHECK_INT(seen.size, 6);
	CHECK_OK(unlink(tools_path("elsewhere")));
	CHECK_INT(op_target_stat_handle(target, &opened.handle, &seen), -ESTALE);
	free((char *)(uintptr_t)path);
}

static void test_not_a_file(void)
{
	struct op_mapped_file f = { .start = PAGE, .end = 2 * PAGE };
	struct op_opened opened;

	CHECK_OK(mkfifo(tools_path("pipe"), 0600));
	f.path = tools_path("pipe");
	/* what was mapped is not at its path any more, or never was on this side */
	CHECK_INT(op_target_open_mapped(target, (uint32_t)getpid(), &f, &opened),
		  -ESTALE);
	CHECK_INT(op_target_open_own(target, (uint32_t)getpid(), f.path, &opened),
		  -ENOEXEC);
	CHECK_OK(unlink(f.path));
	CHECK_OK(symlink("/etc/passwd", f.path));
	CHECK_INT(op_target_open_own(target, (uint32_t)getpid(), f.path, &opened),
		  -ELOOP);
	CHECK_OK(unlink(f.path));
	CHECK_INT(op_target_open_own(target, (uint32_t)getpid(), f.path, &opened),
		  -ENOENT);
}

static pid_t start_as(uid_t uid)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		CHECK_OK(setresuid(uid, uid, uid));
		(void)execl("/bin/sleep", "sleep", "60", NULL);
		_exit(127);
	}
	CHECK_OK(usleep(100000));
	return pid;
}

static void end(pid_t pid)
{
	CHECK_OK(kill(pid, SIGKILL));
	CHECK(waitpid(pid, NULL, 0) == pid);
}

/* A perf map in /tmp may be anybody's. */
static void test_owner(void)
{
	const char *path = tools_path("owned");
	struct op_opened opened;
	pid_t pid;

	if (geteuid() != 0)
		return;
	tools_write_bytes("owned", "map", 3);
	pid = start_as(1001);
	CHECK_OK(chown(path, 1001, 0));
	CHECK_OK(op_target_open_own(target, (uint32_t)pid, path, &opened));
	check_content(opened.fd, "map");
	CHECK_OK(chown(path, 1002, 0));
	CHECK_INT(op_target_open_own(target, (uint32_t)pid, path, &opened), -EPERM);
	CHECK_OK(chown(path, 0, 0));
	CHECK_OK(op_target_open_own(target, (uint32_t)pid, path, &opened));
	(void)close(opened.fd);
	end(pid);
}

/* A debug file in a process's root may be anybody's, too, and a link may lead to it. */
static void test_debug_owner(void)
{
	const uint32_t pid = (uint32_t)getpid();
	const char *path = strdup(tools_path("prog.debug"));
	struct op_opened opened;

	if (geteuid() != 0) {
		free((char *)(uintptr_t)path);
		return;
	}
	tools_write_bytes("prog.debug", "debug", 5);
	CHECK_OK(chown(path, 1001, 0));
	CHECK_OK(op_target_open_of_owner(target, pid, path, 1001, &opened));
	check_content(opened.fd, "debug");
	CHECK_INT(op_target_open_of_owner(target, pid, path, 1002, &opened), -EPERM);
	CHECK_INT(op_target_open_of_owner(target, pid, path, 0, &opened), -EPERM);
	CHECK_OK(chown(path, 0, 0));
	CHECK_OK(op_target_open_of_owner(target, pid, path, 1002, &opened));
	(void)close(opened.fd);
	CHECK_OK(chown(path, 1001, 0));
	(void)unlink(tools_path("link.debug"));
	CHECK_OK(symlink(path, tools_path("link.debug")));
	CHECK_INT(op_target_open_of_owner(target, pid, tools_path("link.debug"), 1002,
					  &opened),
		  -EPERM);
	free((char *)(uintptr_t)path);
}

/* Another process with the number is not the one that was meant. */
static void test_successor(void)
{
	static char secret[] = "successor";
	struct op_remote m;
	char buf[sizeof(secret)] = "";

	op_remote_init(&m, target, getpid());
	m.born_ns = 1; /* just after the start of the machine: this process is younger */
	CHECK_INT(op_memory_read(&m.memory, (uintptr_t)secret, buf, sizeof(buf)), -ESRCH);
	CHECK_STR(buf, "");
	op_remote_init(&m, target, getpid());
	CHECK_OK(op_memory_read(&m.memory, (uintptr_t)secret, buf, sizeof(buf)));
	CHECK_STR(buf, secret);
	CHECK(m.start_ticks);
	/* As if the number had been given away after that. */
	memset(buf, 0, sizeof(buf));
	m.start_ticks--;
	CHECK_INT(op_memory_read(&m.memory, (uintptr_t)secret, buf, sizeof(buf)), -ESRCH);
	CHECK_STR(buf, "");
}

static void test_no_task_outlives(void)
{
	struct op_target *t = NULL;
	struct op_remote m;
	siginfo_t info;
	char c = 'x';
	char d;

	CHECK_OK(op_target_new("/proc", &t));
	be_patient(t);
	op_remote_init(&m, t, getpid());
	CHECK_OK(op_memory_read(&m.memory, (uintptr_t)&c, &d, 1));
	CHECK(d == 'x' && !t->tasks.direct);
	op_target_free(t);
	CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) < 0 ||
	      info.si_pid == 0);
}

static void init(void)
{
	if (!target)
		CHECK_OK(op_target_new("/proc", &target));
	be_patient(target);
}

static void swapped(void)
{
	init();
	test_swapped_mapping();
}

static void not_a_file(void)
{
	init();
	test_not_a_file();
}

static void handle(void)
{
	init();
	test_handle();
}

static void owner(void)
{
	init();
	test_owner();
}

static void debug_owner(void)
{
	init();
	test_debug_owner();
}

static void successor(void)
{
	init();
	test_successor();
	target = op_target_free(target);
}

TEST_MAIN({ "swapped_mapping", swapped }, { "handle", handle },
	  { "not_a_file", not_a_file }, { "owner", owner },
	  { "debug_owner", debug_owner }, { "successor", successor },
	  { "no_task_outlives", test_no_task_outlives })
