/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are reported once, and again where they could not be opened. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "process/image/new_files.h"
#include "process/target/open.h"
#include "process/target/target.h"
#include "patient.h"
#include "test.h"

struct world {
	struct op_executables x;
	struct op_executable *e; /* which some process maps all the time */
	struct op_executable_place place;
};

/* A process that has ended. */
static uint32_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	return (uint32_t)pid;
}

static void begin(struct world *w, const char *path, uint32_t pid)
{
	*w = (struct world){ .place = { .pid = pid, .start = 4096, .end = 8192 } };
	op_executables_init(&w->x);
	CHECK_OK(op_target_new("/proc", &w->x.target));
	be_patient(w->x.target);
	CHECK_OK(op_executable_get(&w->x, &(struct op_file_key){ 0, 7, 1234, 0 }, path,
				   &w->e));
	op_new_files_ask(&w->x, true);
}

static void end(struct world *w)
{
	op_new_files_ask(&w->x, false);
	op_executable_put(&w->x, w->e);
	op_executables_deinit(&w->x);
	op_target_free(w->x.target);
}

/* Note the file. If it is reported then, try to open it; returns the error, or 0 if it
 * was not reported. */
static int report(struct world *w)
{
	struct op_new_file n;
	struct op_opened opened;
	int r;

	op_new_files_note(&w->x, w->e, &w->place);
	if (!op_new_files_take(&w->x, &n))
		return 0;
	CHECK(n.exe == w->e);
	r = op_new_files_open(&w->x, &n, &opened);
	CHECK(r < 0);
	op_executable_put(&w->x, n.exe);
	return r;
}

/* That a process has ended says nothing about its file. */
static void test_its_process_has_ended(void)
{
	struct world w;
	int i;

	begin(&w, "/no/such/file", dead_pid());
	for (i = 0; i <= OP_NEW_FILES_TRIES; i++)
		CHECK_INT(report(&w), -ENOENT);
	/* it is given up, until somebody asks anew */
	CHECK_INT(report(&w), 0);
	op_new_files_ask(&w.x, true);
	CHECK_INT(report(&w), -ENOENT);
	CHECK_INT(report(&w), -ENOENT);
	end(&w);
}

/* Without time for other processes it is tried as often as it takes. */
static void test_no_time(void)
{
	struct world w;
	int i;

	begin(&w, "/no/such/file", dead_pid());
	for (i = 0; i <= 2 * OP_NEW_FILES_TRIES; i++) {
		w.x.target->may_wait_ns = 0;
		w.x.target->filled_ns = op_clock_monotonic_ns();
		CHECK_INT(report(&w), -EBUSY);
	}
	end(&w);
}

TEST_MAIN({ "ended", test_its_process_has_ended }, { "no_time", test_no_time })
