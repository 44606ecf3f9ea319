/* SPDX-License-Identifier: Apache-2.0 */
#include "process/resource/identity.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/resource/environment.h"
#include "process/target/target.h"
#include "patient.h"
#include "test.h"

static void test_stat(void)
{
	static const char stat[] =
		"7 (a) S (b)) R 1 7 7 0 -1 4194304 100 0 0 0 1 2 3 4 20 0 1 0 4242 1 2 "
		"18446744073709551615 94000 94500 140000 0";
	struct op_stat st = { .start_ns = 5 };

	CHECK_OK(op_stat_of(stat, sizeof(stat) - 1, 100, &st));
	CHECK_INT(st.start_ns, 42420000000);
	CHECK_INT(st.end_code, 94500);
	CHECK_INT(st.start_stack, 140000);
	/* cut behind the start: the rest is not told */
	CHECK_OK(op_stat_of(stat, (size_t)(strstr(stat, "4242 ") + 4 - stat), 100, &st));
	CHECK_INT(st.start_ns, 42420000000);
	CHECK_INT(st.end_code, 0);
	CHECK_INT(st.start_stack, 0);
	CHECK_INT(op_stat_of(stat, 20, 100, &st), -EBADMSG);
	CHECK_INT(op_stat_of("7 (a) R 1", 9, 100, &st), -EBADMSG);
	CHECK_INT(op_stat_of("", 0, 100, &st), -EBADMSG);
	CHECK_INT(st.start_ns, 42420000000);
}

/* A child with an environment, arguments and a time of birth that are known. */
static void test_live_child(void)
{
	char *const argv[] = { (char *)"sleep", (char *)"30", (char *)"30", NULL };
	char *const envp[] = { (char *)"A=b", (char *)"OTEL_SERVICE_NAME=sleeper", NULL };
	_cleanup_free_ char *command = NULL;
	_cleanup_free_ char *exe = NULL;
	struct timespec boot;
	_cleanup_(op_target_freep) struct op_target *target = NULL;
	struct op_status status;
	struct op_stat st;
	uint64_t before;
	int tries;
	pid_t pid;

	CHECK_OK(op_target_new("/proc", &target));
	be_patient(target);
	CHECK(clock_gettime(CLOCK_BOOTTIME, &boot) == 0);
	before = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execve("/bin/sleep", argv, envp);
		_exit(127);
	}
	for (tries = 0; tries < 1000; tries++) {
		_cleanup_free_ char *environ = NULL;
		ssize_t len = op_environ_read(target, (uint32_t)pid, &environ);

		if (len == sizeof("A=b") + sizeof("OTEL_SERVICE_NAME=sleeper") &&
		    memcmp(environ, "A=b", 4) == 0)
			break;
		(void)usleep(1000);
	}
	CHECK(tries < 1000);
	CHECK_INT(op_command_line_read(target, (uint32_t)pid, &command), 11);
	CHECK(memcmp(command,
		     "sleep\0"
		     "30\0"
		     "30",
		     11) == 0);
	CHECK_OK(op_exe_path_read("/proc", (uint32_t)pid, &exe));
	CHECK(strcmp(strrchr(exe, '/'), "/sleep") == 0 || strstr(exe, "coreutils"));
	CHECK_OK(op_stat_read("/proc", (uint32_t)pid, &st));
	CHECK(st.start_ns + 20000000 >= before &&
	      st.start_ns < before + UINT64_C(5000000000));
	CHECK(st.end_code > 4096);
	CHECK_INT(op_namespace_pid_read("/proc", (uint32_t)pid), pid);
	CHECK_OK(op_status_read("/proc", (uint32_t)pid, &status));
	CHECK_INT(status.namespace_pid, pid);
	CHECK(status.user_known);
	CHECK_INT(status.user, getuid());
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void test_gone_process(void)
{
	_cleanup_(op_target_freep) struct op_target *target = NULL;
	char *text = NULL;
	struct op_status status;
	struct op_stat st;

	CHECK_OK(op_target_new("/proc", &target));
	be_patient(target);
	CHECK_INT(op_environ_read(target, 0x7fffffff, &text), -ENOENT);
	CHECK_INT(op_exe_path_read("/proc", 0x7fffffff, &text), -ENOENT);
	CHECK_INT(op_stat_read("/proc", 0x7fffffff, &st), -ENOENT);
	CHECK_INT(op_command_line_read(target, 0x7fffffff, &text), -ENOENT);
	CHECK_INT(op_namespace_pid_read("/proc", 0x7fffffff), 0x7fffffff);
	CHECK_INT(op_status_read("/proc", 0x7fffffff, &status), -ENOENT);
	CHECK(!status.user_known);
	CHECK(!text);
}

/* A file of more than one piece, up to its limit. */
static void test_long_files(void)
{
	char dir[] = "/tmp/op-identity-XXXXXX";
	char path[64];
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char *cut = NULL;
	FILE *f;
	int i;

	CHECK(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/1", dir);
	CHECK(mkdir(path, 0755) == 0);
	(void)snprintf(path, sizeof(path), "%s/1/long", dir);
	f = fopen(path, "we");
	CHECK(f);
	for (i = 0; i < 5000; i++)
		(void)fprintf(f, "%04d", i);
	CHECK(fclose(f) == 0);
	CHECK_INT(op_procfs_read(dir, 1, "long", 1 << 20, &text), 20000);
	CHECK(memcmp(text + 19996, "4999", 5) == 0);
	CHECK_INT(op_procfs_read(dir, 1, "long", 6000, &cut), 6000);
	CHECK(memcmp(cut + 5996, "1499", 5) == 0);
	CHECK(unlink(path) == 0);
	*strrchr(path, '/') = 0;
	CHECK(rmdir(path) == 0 && rmdir(dir) == 0);
}

TEST_MAIN({ "stat", test_stat }, { "live", test_live_child },
	  { "gone", test_gone_process }, { "long_files", test_long_files })
