/* SPDX-License-Identifier: Apache-2.0 */
#include "process/identity.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test.h"

#define SERVICE(text, ret) op_service_name_of(text, sizeof(text), ret)

static void test_service_name(void)
{
	char name[OP_SERVICE_NAME_MAX] = "untouched";

	CHECK(SERVICE("A=b\0OTEL_SERVICE_NAME=shop\0C=d", name));
	CHECK_STR(name, "shop");
	CHECK(SERVICE("OTEL_RESOURCE_ATTRIBUTES=a=b,service.name=my%20cart,c=d", name));
	CHECK_STR(name, "my cart");
	/* the variable of its own has precedence, whatever the order */
	CHECK(SERVICE("OTEL_SERVICE_NAME=one\0OTEL_RESOURCE_ATTRIBUTES=service.name=two",
		      name));
	CHECK_STR(name, "one");
	CHECK(SERVICE("OTEL_RESOURCE_ATTRIBUTES=service.name=two\0OTEL_SERVICE_NAME=one",
		      name));
	CHECK_STR(name, "one");
	CHECK(SERVICE("OTEL_RESOURCE_ATTRIBUTES=x=1, service.name=%C3%A9", name));
	CHECK_STR(name, "\xc3\xa9");
}

static void test_no_service_name(void)
{
	char name[OP_SERVICE_NAME_MAX] = "untouched";

	CHECK(!SERVICE("", name));
	CHECK(!SERVICE("OTEL_SERVICE_NAME=\0X=y", name));
	CHECK(!SERVICE("XOTEL_SERVICE_NAME=no", name));
	CHECK(!SERVICE("OTEL_RESOURCE_ATTRIBUTES=my.service.name=no,service.namespace=no",
		       name));
	CHECK(!SERVICE("OTEL_RESOURCE_ATTRIBUTES=service.name=", name));
	CHECK(!SERVICE("OTEL_RESOURCE_ATTRIBUTES=service.name=a%00b", name));
	/* cut off by the limit of reading: not a whole value */
	CHECK(!op_service_name_of("OTEL_SERVICE_NAME=sho", 21, name));
	CHECK_STR(name, "untouched");
}

static void test_start_time_of_stat(void)
{
	static const char stat[] =
		"7 (a) S (b)) R 1 7 7 0 -1 4194304 100 0 0 0 1 2 3 4 20 0 1 0 4242 1 2";
	uint64_t ns = 5;

	CHECK_OK(op_start_time_of(stat, sizeof(stat) - 1, 100, &ns));
	CHECK_INT(ns, 42420000000);
	CHECK_INT(op_start_time_of(stat, 20, 100, &ns), -EBADMSG);
	CHECK_INT(op_start_time_of("7 (a) R 1", 9, 100, &ns), -EBADMSG);
	CHECK_INT(op_start_time_of("", 0, 100, &ns), -EBADMSG);
	CHECK_INT(ns, 42420000000);
}

/* A child with an environment, arguments and a time of birth that are known. */
static void test_live_child(void)
{
	char *const argv[] = { (char *)"sleep", (char *)"30", (char *)"30", NULL };
	char *const envp[] = { (char *)"A=b", (char *)"OTEL_SERVICE_NAME=sleeper", NULL };
	_cleanup_free_ char *command = NULL;
	_cleanup_free_ char *exe = NULL;
	char name[OP_SERVICE_NAME_MAX] = "";
	struct timespec boot;
	uint64_t before;
	uint64_t start;
	int tries;
	pid_t pid;

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
		if (op_service_name_read("/proc", (uint32_t)pid, name))
			break;
		(void)usleep(1000);
	}
	CHECK_STR(name, "sleeper");
	CHECK_INT(op_command_line_read("/proc", (uint32_t)pid, &command), 11);
	CHECK(memcmp(command,
		     "sleep\0"
		     "30\0"
		     "30",
		     11) == 0);
	CHECK_OK(op_exe_path_read("/proc", (uint32_t)pid, &exe));
	CHECK(strcmp(strrchr(exe, '/'), "/sleep") == 0 || strstr(exe, "coreutils"));
	CHECK_OK(op_start_time_read("/proc", (uint32_t)pid, &start));
	CHECK(start + 20000000 >= before && start < before + UINT64_C(5000000000));
	CHECK_INT(op_namespace_pid_read("/proc", (uint32_t)pid), pid);
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void test_gone_process(void)
{
	char name[OP_SERVICE_NAME_MAX];
	char *text = NULL;
	uint64_t start;

	CHECK(!op_service_name_read("/proc", 0x7fffffff, name));
	CHECK_INT(op_exe_path_read("/proc", 0x7fffffff, &text), -ENOENT);
	CHECK_INT(op_start_time_read("/proc", 0x7fffffff, &start), -ENOENT);
	CHECK_INT(op_command_line_read("/proc", 0x7fffffff, &text), -ENOENT);
	CHECK_INT(op_namespace_pid_read("/proc", 0x7fffffff), 0x7fffffff);
	CHECK(!text);
}

TEST_MAIN({ "service", test_service_name }, { "no_service", test_no_service_name },
	  { "stat", test_start_time_of_stat }, { "live", test_live_child },
	  { "gone", test_gone_process })
