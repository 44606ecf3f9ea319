/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of a host program. This process and its child are profiled, and a table
 * in memory replaces the kernel. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../process/world.h"
#include "api/handle.h"
#include "base/io.h"
#include "test.h"

enum {
	TEXT_BYTES = 4096,
};

/* What was told, as text, and what is kept of this program's own file. */
struct told {
	char processes[TEXT_BYTES];
	unsigned int executables;
	unsigned int own;
	uint64_t bytes;
	struct stat st;
	char build_id[65];
	int fd;
	uint32_t pid;
	int again; /* what a call of the library gave inside of a callback */
	struct otelprof *p;
};

static const char *value_of(const struct otelprof_process *process, const char *key)
{
	size_t i;

	for (i = 0; i < process->attributes_len; i++)
		if (strcmp(process->attributes[i].key, key) == 0)
			return process->attributes[i].value;
	return "-";
}

static void on_process(void *userdata, const struct otelprof_process *process)
{
	static const char *const changes[] = { "?", "came", "changed", "went" };
	struct told *told = userdata;
	size_t len = strlen(told->processes);

	CHECK_INT(process->size, sizeof(*process));
	CHECK(process->change <= OTELPROF_PROCESS_WENT);
	if (process->change == OTELPROF_PROCESS_WENT)
		CHECK_INT(process->attributes_len, 0);
	(void)snprintf(told->processes + len, TEXT_BYTES - len, "%s %s %s %s\n",
		       changes[process->change],
		       process->pid == (uint32_t)getpid() ? "self" : "child",
		       value_of(process, "process.executable.name"),
		       value_of(process, "service.name"));
}

static void on_executable(void *userdata, const struct otelprof_executable *e)
{
	struct told *told = userdata;
	char self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CHECK(n > 0);
	self[n] = 0;
	CHECK_INT(e->size, sizeof(*e));
	CHECK(e->build_id && e->go_build_id && strlen(e->htlhash) == 32);
	told->executables++;
	if (strcmp(e->path, self) != 0)
		return;
	told->own++;
	told->bytes = e->file_bytes;
	told->pid = e->pid;
	(void)snprintf(told->build_id, sizeof(told->build_id), "%s", e->build_id);
	CHECK_OK(fstat(e->fd, &told->st));
	told->fd = fcntl(e->fd, F_DUPFD_CLOEXEC, 3);
	told->again = otelprof_pause(told->p);
}

/* A handle whose processes are those of @w. */
static void handle_init(struct otelprof *p, struct world *w, struct told *told)
{
	struct otelprof_events events;

	memset(p, 0, sizeof(*p));
	memset(told, 0, sizeof(*told));
	p->maker.pid = getpid();
	p->processes = w->p;
	told->p = p;
	told->fd = -1;
	CHECK_OK(op_handle_init_waits(p));
	otelprof_events_init(&events, sizeof(events));
	events.userdata = told;
	events.executable = on_executable;
	events.process = on_process;
	CHECK_OK(otelprof_set_events(p, &events));
}

static void sample(struct world *w, uint32_t pid)
{
	const uint64_t words[] = { world_exact((const void *)known_function) };

	CHECK_OK(world_sample(w, pid, NULL, 0, words, 1, OP_END_COMPLETE));
}

static void next_window(struct world *w)
{
	op_window_reset(w->window);
	op_processes_window_end(w->p, false);
	op_sampler_window_end(w->sampler);
}

/* The time now, for an event: samples that follow are later. */
static uint64_t now(struct world *w)
{
	w->now_ns = OP_MAX(w->now_ns + 1, op_clock_monotonic_ns());
	return w->now_ns;
}

static void learn(struct world *w, uint32_t pid)
{
	CHECK_OK(world_sample(w, pid, NULL, 0, NULL, 0, OP_END_OFF));
	world_settle(w, 0);
}

static void handle_deinit(struct otelprof *p, struct world *w)
{
	world_deinit(w);
	/* with the lock, as otelprof_free() has it */
	(void)pthread_mutex_lock(&p->waits.lock);
	op_handle_deinit_waits(p, false);
}

static void test_an_executable_is_told_once_with_its_file(void)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	char bytes[2][4096];
	struct told told;
	struct otelprof p;
	struct world w;
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(known_function(1) == 3);
	world_init(&w, NULL);
	handle_init(&p, &w, &told);
	/* the lock is held while the library works */
	CHECK_OK(op_handle_enter(&p, &held));
	learn(&w, (uint32_t)getpid());
	sample(&w, (uint32_t)getpid());
	CHECK_INT(told.own, 1);
	CHECK_INT(told.pid, getpid());
	CHECK_OK(fstat(fd, &st));
	CHECK_INT(told.bytes, st.st_size);
	CHECK(told.st.st_ino == st.st_ino && told.st.st_dev == st.st_dev);
	/* a duplicate lives on, and reads the file */
	CHECK(told.fd > 2);
	CHECK_INT(pread(told.fd, bytes[0], 4096, 0), 4096);
	CHECK_INT(pread(fd, bytes[1], 4096, 0), 4096);
	CHECK(memcmp(bytes[0], bytes[1], 4096) == 0);
	CHECK_INT(told.again, -EDEADLK);
	next_window(&w);
	sample(&w, (uint32_t)getpid());
	CHECK_INT(told.own, 1);
	CHECK_OK(close(told.fd));
	CHECK_OK(close(fd));
	op_handle_leavep(&held);
	held = NULL;
	handle_deinit(&p, &w);
}

/* Make a child that waits, and runs sleep(1) when it is told to. */
static pid_t make_child(int *ret_go)
{
	int go[2];
	pid_t pid;
	char c;

	CHECK_OK(pipe(go));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		(void)close(go[1]);
		if (read(go[0], &c, 1) == 1)
			(void)execlp("sleep", "sleep", "100", (char *)NULL);
		_exit(1);
	}
	CHECK_OK(close(go[0]));
	*ret_go = go[1];
	return pid;
}

static void wait_for_program(pid_t pid, const char *name)
{
	char path[64];
	char comm[64];
	int i;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	for (i = 0; i < 1000; i++) {
		FILE *f = fopen(path, "re");

		CHECK(f && fgets(comm, sizeof(comm), f));
		(void)fclose(f);
		if (strncmp(comm, name, strlen(name)) == 0)
			return;
		(void)usleep(10000);
	}
	TEST_FAIL("the child does not run %s", name);
}

static void test_a_process_comes_changes_and_goes(void)
{
	struct told told;
	struct otelprof p;
	struct world w;
	uint32_t child;
	pid_t pid;
	int go;

	world_init(&w, NULL);
	handle_init(&p, &w, &told);
	learn(&w, (uint32_t)getpid());
	sample(&w, (uint32_t)getpid());
	CHECK_STR(told.processes, "came self test_events test_events\n");
	/* the same resource in another window is no news */
	next_window(&w);
	sample(&w, (uint32_t)getpid());
	CHECK_STR(told.processes, "came self test_events test_events\n");

	pid = make_child(&go);
	child = (uint32_t)pid;
	told.processes[0] = 0;
	op_processes_on_fork(w.p, child, (uint32_t)getpid(), now(&w));
	world_settle(&w, 0);
	/* one that is never sampled is not told */
	CHECK_STR(told.processes, "");
	sample(&w, child);
	CHECK_STR(told.processes, "came child test_events test_events\n");

	told.processes[0] = 0;
	CHECK_INT(write(go, "x", 1), 1);
	wait_for_program(pid, "sleep");
	op_processes_on_exec(w.p, child, "sleep", now(&w));
	world_settle(&w, 0);
	sample(&w, child);
	CHECK_STR(told.processes, "changed child sleep sleep\n");

	told.processes[0] = 0;
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	op_processes_on_exit(w.p, child, now(&w));
	CHECK_STR(told.processes, "went child - -\n");
	op_processes_on_exit(w.p, child, now(&w));
	CHECK_STR(told.processes, "went child - -\n");

	/* nobody listens any more, and what is freed is not told */
	told.processes[0] = 0;
	CHECK_OK(otelprof_set_events(&p, NULL));
	op_processes_on_exit(w.p, (uint32_t)getpid(), now(&w));
	CHECK_STR(told.processes, "");
	CHECK_OK(close(go));
	handle_deinit(&p, &w);
}

static void test_a_child_that_is_never_sampled_goes_unseen(void)
{
	struct told told;
	struct otelprof p;
	struct world w;

	world_init(&w, NULL);
	handle_init(&p, &w, &told);
	op_processes_on_fork(w.p, 77, 1, now(&w));
	world_settle(&w, 0);
	op_processes_on_exit(w.p, 77, now(&w));
	CHECK_STR(told.processes, "");
	handle_deinit(&p, &w);
}

static void test_structs_of_other_versions(void)
{
	struct {
		struct otelprof_events events;
		void *more;
	} newer = { .events.size = sizeof(newer) };
	struct told told;
	struct otelprof p;
	struct world w;

	world_init(&w, NULL);
	handle_init(&p, &w, &told);
	CHECK_OK(otelprof_set_events(&p, &newer.events));
	newer.more = &p;
	CHECK_INT(otelprof_set_events(&p, &newer.events), -E2BIG);
	newer.events.size = 8;
	CHECK_INT(otelprof_set_events(&p, &newer.events), -EINVAL);
	handle_deinit(&p, &w);
}

TEST_MAIN({ "an_executable_is_told_once_with_its_file",
	    test_an_executable_is_told_once_with_its_file },
	  { "a_process_comes_changes_and_goes", test_a_process_comes_changes_and_goes },
	  { "a_child_that_is_never_sampled_goes_unseen",
	    test_a_child_that_is_never_sampled_goes_unseen },
	  { "structs_of_other_versions", test_structs_of_other_versions })
