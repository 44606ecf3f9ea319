/* SPDX-License-Identifier: Apache-2.0 */
/* The life of processes: fork, exec, exit, lost events, and the limit of processes. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "inside.h"
#include "process/registry.h"
#include "process/target/maps.h"
#include "self.h"
#include "test.h"
#include "tools.h"
#include "world.h"

static const uint64_t SECOND = 1000000000;

static void test_fork_inherits(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	const struct op_process *mine;
	const struct op_process *its;
	uint32_t child;
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	child = (uint32_t)self_start_child(NULL);
	w.now_ns += 1000;
	op_processes_on_fork(w.p, child, world_self(), w.now_ns);
	world_settle(&w, 0);
	mine = world_process(&w, world_self());
	its = world_process(&w, child);
	CHECK(its && its != mine);
	CHECK_INT(its->mapping_count, mine->mapping_count);
	CHECK(its->generation != mine->generation);
	CHECK_OK(world_sample(&w, child, NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_INT(world_resource(&w)->pid, child);
	CHECK_STR(world_text(&w, world_resource(&w)->executable_name), "test_life");
	/* a thread is no process */
	op_processes_on_fork(w.p, world_self(), world_self(), w.now_ns);
	CHECK_INT(world_generation(&w, world_self()), mine->generation);
	self_end_child((pid_t)child);
	world_deinit(&w);
}

/* A mapping in the child is none in the parent, and the other way round. */
static void test_fork_then_each_its_own(void)
{
	struct op_mmap_event e = { .start = 0x10000, .end = 0x12000, .path = "//anon" };
	uint32_t child = 0x7ffffff0;
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	op_processes_on_fork(w.p, child, world_self(), ++w.now_ns);
	e.pid = child;
	op_processes_on_mmap(w.p, &e);
	e.pid = world_self();
	e.start = 0x20000;
	e.end = 0x22000;
	op_processes_on_mmap(w.p, &e);
	world_settle(&w, SECOND);
	CHECK(world_mapping(&w, child, 0x10000, NULL));
	CHECK(!world_mapping(&w, child, 0x20000, NULL));
	CHECK(world_mapping(&w, world_self(), 0x20000, NULL));
	CHECK(!world_mapping(&w, world_self(), 0x10000, NULL));
	world_deinit(&w);
}

struct replay {
	struct world *w;
	uint32_t pid;
	int events;
};

static int replay_one(void *ctx, const struct op_mmap_event *e)
{
	struct replay *r = ctx;
	struct op_mmap_event event = *e;

	event.pid = r->pid;
	op_processes_on_mmap(r->w->p, &event);
	r->events++;
	return 0;
}

static void test_exec_changes_everything(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	uint32_t child = (uint32_t)self_start_child("/bin/sleep");
	struct replay replay = { .pid = child };
	char path[64];
	uint32_t old;
	uint64_t exec_ns;
	struct world w;
	int tries;

	old = self_begin_with_child(&w, child);
	CHECK(old);
	w.now_ns += 1000;
	exec_ns = w.now_ns;
	op_processes_on_exec(w.p, child, "sleep", exec_ns);
	world_settle(&w, 1000);
	/* not mapped yet: the kernel shall send registers and stack */
	CHECK(!world_process(&w, child));
	replay.w = &w;
	(void)snprintf(path, sizeof(path), "/proc/%u/maps", child);
	for (tries = 0; tries < 1000; tries++) {
		_cleanup_free_ char *comm = NULL;
		char name[64];

		(void)snprintf(name, sizeof(name), "/proc/%u/comm", child);
		if (op_read_file(name, 64, &comm) > 0 && strncmp(comm, "sleep", 5) == 0)
			break;
		(void)usleep(1000);
	}
	(void)usleep(20000);
	CHECK(op_maps_read(path, replay_one, &replay) > 0);
	CHECK(replay.events > 1);
	world_settle(&w, SECOND);
	CHECK(world_process(&w, child));
	CHECK(!world_mapping(&w, child, (uint64_t)(uintptr_t)known_function, NULL));
	/* a sample from before the exec is of the old program */
	CHECK_OK(world_late_sample(&w, child, old, exec_ns - 1, &word, 1));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_STR(world_text(&w, world_resource(&w)->executable_name), "test_life");
	/* one from after it, by the old table: its frames are not true */
	CHECK_OK(world_late_sample(&w, child, old, exec_ns + 1, &word, 1));
	CHECK_INT(world_frames(&w), 1);
	CHECK_STR(world_name(&w, 0), "[unwind error: native_no_mapping]");
	CHECK(strcmp(world_text(&w, world_resource(&w)->executable_name), "test_life"));
	/* and one by the new table */
	CHECK_OK(world_sample(&w, child, NULL, 0, NULL, 0, OP_END_OFF));
	CHECK(strcmp(world_text(&w, world_resource(&w)->executable_name), "sleep") == 0 ||
	      strcmp(world_text(&w, world_resource(&w)->executable_name), "coreutils") ==
		      0);
	self_end_child((pid_t)child);
	world_deinit(&w);
}

/* Samples of a program find other numbers of code pages than its maps explain, so that is no
 * longer asked. The next program of the process is asked at once. */
static void test_exec_is_looked_at(void)
{
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	struct replay replay = { .pid = world_self() };
	uint8_t stack[64] = { 0 };
	struct world w;
	void *code;
	int i;

	world_init(&w, NULL);
	replay.w = &w;
	world_learn_self(&w);
	registers.pc = (uint64_t)(uintptr_t)known_function;
	w.code_pages = 1;
	for (i = 0; i < 20; i++) {
		world_settle(&w, 100 * SECOND);
		CHECK_OK(world_first_sample(&w, world_self(), &registers, stack,
					    sizeof(stack)));
	}
	world_settle(&w, SECOND);
	CHECK_INT(world_process(&w, world_self())->code_pages, 0);
	op_processes_on_exec(w.p, world_self(), "test_life", ++w.now_ns);
	CHECK(op_maps_read("/proc/self/maps", replay_one, &replay) > 0);
	world_settle(&w, SECOND);
	CHECK(world_process(&w, world_self())->code_pages > 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	CHECK(code != MAP_FAILED);
	w.code_pages = self_code_pages();
	registers.pc = (uint64_t)(uintptr_t)code + 7;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "[anon]+0x7");
	CHECK_OK(munmap(code, 4096));
	world_deinit(&w);
}

/* Code replaced other code of the parent before the fork: the parent's table has it. What
 * the child maps later has no part in its earlier samples. */
static void test_parents_table_is_new(void)
{
	const uint64_t words[] = { world_exact((const void *)known_function),
				   world_native((const char *)(void *)other_function +
						1) };
	struct op_mmap_event e = { .path = "//anon" };
	uint32_t child = 0x7ffffff0;
	uint32_t generation;
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	world_settle(&w, 0);
	e.pid = world_self();
	e.start = (uint64_t)(uintptr_t)known_function;
	e.end = e.start + 1;
	e.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &e);
	world_settle(&w, SECOND);
	generation = world_generation(&w, world_self());
	op_processes_on_fork(w.p, child, world_self(), ++w.now_ns);
	CHECK_OK(world_late_sample(&w, child, generation, w.now_ns + 1, words, 2));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 0), "[anon]+0x0");
	e.pid = child;
	e.path = "/nowhere/at-all";
	e.inode = 1;
	e.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &e);
	CHECK_OK(world_late_sample(&w, child, generation, e.time_ns - 1, words, 2));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 0), "[anon]+0x0");
	CHECK_OK(world_late_sample(&w, child, generation, e.time_ns + 1, words, 2));
	CHECK_STR(world_name(&w, world_frames(&w) - 1),
		  "[unwind error: native_no_mapping]");
	world_deinit(&w);
}

/* A child is walked by its parent's table in the kernel until it has its own. */
static void test_child_by_parents_table(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	uint32_t child = 0x7ffffff0;
	uint32_t generation;
	uint64_t fork_ns;
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	world_settle(&w, 0);
	generation = world_generation(&w, world_self());
	CHECK(generation);
	fork_ns = ++w.now_ns;
	op_processes_on_fork(w.p, child, world_self(), fork_ns);
	CHECK_OK(world_late_sample(&w, child, generation, fork_ns + 10, &word, 1));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_INT(world_resource(&w)->pid, child);
	op_processes_on_exec(w.p, child, "other", fork_ns + 1000);
	CHECK_OK(world_late_sample(&w, child, generation, fork_ns + 20, &word, 1));
	CHECK_STR(world_name(&w, 0), "known_function");
	/* never what it executed */
	CHECK_OK(world_late_sample(&w, child, generation, fork_ns + 1001, &word, 1));
	CHECK_STR(world_name(&w, 0), "[unwind error: native_no_mapping]");
	/* and the kernel is told of its end though it was never told of it */
	CHECK_INT(w.unpublished, 0);
	op_processes_on_exit(w.p, child, fork_ns + 2000);
	CHECK_INT(w.unpublished, 1);
	world_deinit(&w);
}

/* Code of a program went without an event, and the program ended before its sample is walked:
 * a file that it opened while it ran may be the one that was gone. */
static void doubt_after_the_end(bool exec)
{
	const struct op_mmap_event code = self_code();
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	uint32_t child = 0x7ffffff0; /* no such process: nothing is read of it */
	uint8_t stack[64] = { 0 };
	struct op_mmap_event e;
	struct world w;

	(void)tools_make_dir();
	(void)self_begin_with_child(&w, child);
	e = self_map_copy("/bin/true", NULL, &code, w.now_ns += SECOND);
	e.pid = child;
	op_processes_on_mmap(w.p, &e);
	e.time_ns = w.now_ns += SECOND;
	e.offset += 0x1000;
	op_processes_on_mmap(w.p, &e);
	world_settle(&w, SECOND);
	w.now_ns += 1000;
	if (exec)
		op_processes_on_exec(w.p, child, "true", w.now_ns + 1000);
	else
		op_processes_on_exit(w.p, child, w.now_ns + 1000);
	w.code_pages = 1;
	registers.pc = e.start + 7;
	CHECK_OK(world_first_sample(&w, child, &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "[unwind error: native_no_mapping]");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	free((char *)e.path);
}

static void test_doubt_after_exit(void)
{
	doubt_after_the_end(false);
}

static void test_doubt_after_exec(void)
{
	doubt_after_the_end(true);
}

static void test_exit_keeps_for_late_records(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	uint32_t child = 0x7ffffff0; /* no such process: nothing is read of it */
	struct op_processes_stats stats;
	uint32_t generation;
	uint64_t end_ns;
	struct world w;

	generation = self_begin_with_child(&w, child);
	end_ns = w.now_ns + 100;
	op_processes_on_exit(w.p, child, end_ns);
	world_settle(&w, 200);
	CHECK(!world_process(&w, child));
	op_processes_get_stats(w.p, &stats);
	CHECK_INT(stats.processes, 1);
	CHECK_OK(world_late_sample(&w, child, generation, end_ns - 1, &word, 1));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_INT(world_resource(&w)->pid, child);
	CHECK_STR(world_text(&w, world_resource(&w)->executable_name), "test_life");
	/* its time over, no more than the pid is known */
	world_settle(&w, OP_PROCESS_KEEP_NS + SECOND);
	CHECK_OK(world_late_sample(&w, child, generation, end_ns - 1, &word, 1));
	CHECK_INT(world_resource(&w)->pid, child);
	CHECK_INT(world_resource(&w)->executable_name, 0);
	world_deinit(&w);
}

/* Records that wait for long to be read find their process all the same. */
static void test_records_are_read_late(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	uint32_t child = 0x7ffffff0;
	uint32_t generation;
	uint64_t end_ns;
	struct world w;

	generation = self_begin_with_child(&w, child);
	op_processes_records_read(w.p, w.now_ns);
	end_ns = w.now_ns + 100;
	op_processes_on_exit(w.p, child, end_ns);
	world_settle(&w, OP_PROCESS_KEEP_NS + SECOND);
	CHECK_OK(world_late_sample(&w, child, generation, end_ns - 1, &word, 1));
	CHECK_STR(world_name(&w, 0), "known_function");
	op_processes_records_read(w.p, w.now_ns);
	world_settle(&w, SECOND);
	CHECK_OK(world_late_sample(&w, child, generation, end_ns - 1, &word, 1));
	CHECK_INT(world_resource(&w)->executable_name, 0);
	world_deinit(&w);
}

static void test_reused_pid_is_another(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	uint32_t pid = 0x7ffffff0;
	uint64_t first_start;
	uint32_t first;
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	op_processes_on_fork(w.p, pid, world_self(), ++w.now_ns);
	world_settle(&w, 1000);
	first = world_generation(&w, pid);
	CHECK_OK(world_sample(&w, pid, NULL, 0, &word, 1, OP_END_COMPLETE));
	first_start = world_resource(&w)->start_time_ns;
	op_processes_on_exit(w.p, pid, ++w.now_ns);
	op_processes_on_fork(w.p, pid, world_self(), w.now_ns += 1000);
	world_settle(&w, 1000);
	CHECK(world_generation(&w, pid) != first);
	CHECK_OK(world_sample(&w, pid, NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK(world_resource(&w)->start_time_ns > first_start);
	/* a late one of the first */
	CHECK_OK(world_late_sample(&w, pid, first, w.now_ns - 2500, &word, 1));
	CHECK_INT(world_resource(&w)->start_time_ns, first_start);
	world_deinit(&w);
}

static void test_limit_of_processes(void)
{
	const struct world_options options = { .max_processes = 3 };
	struct op_processes_stats stats;
	struct world w;
	uint32_t i;

	world_init(&w, &options);
	world_learn_self(&w);
	for (i = 0; i < 10; i++)
		op_processes_on_fork(w.p, 0x7ffffff0 + i, world_self(), ++w.now_ns);
	world_settle(&w, 1000);
	op_processes_get_stats(w.p, &stats);
	CHECK_INT(stats.processes, 3);
	CHECK_INT(stats.unseen, 8);
	CHECK(world_process(&w, 0x7ffffff1) && !world_process(&w, 0x7ffffff2));
	CHECK_OK(world_sample(&w, 0x7ffffff5, NULL, 0, NULL, 0, OP_END_OFF));
	CHECK_INT(world_resource(&w)->pid, 0x7ffffff5);
	/* churn does not add up */
	for (i = 0; i < 1000; i++) {
		op_processes_on_exit(w.p, 0x7ffffff0, ++w.now_ns);
		op_processes_on_fork(w.p, 0x7ffffff0, world_self(), ++w.now_ns);
	}
	world_settle(&w, 0);
	CHECK(world_process(&w, 0x7ffffff0));
	world_deinit(&w);
}

static void test_failed_publication_is_tried_again(void)
{
	struct world w;

	world_init(&w, NULL);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, NULL, 0, OP_END_OFF));
	w.publish_error = -ENOMEM;
	world_settle(&w, 0);
	CHECK(!world_process(&w, world_self()));
	w.publish_error = 0;
	world_settle(&w, SECOND);
	CHECK(world_process(&w, world_self()));
	world_deinit(&w);
}

/* At the limit those used least recently give way, and are learnt again when they are met. */
static void test_limit_makes_room(void)
{
	const struct world_options options = { .max_processes = 2 };
	const uint64_t words[] = { world_exact((const void *)known_function) };
	struct op_processes_stats stats;
	uint32_t generation;
	uint64_t before;
	struct world w;

	world_init(&w, &options);
	world_learn_self(&w);
	generation = world_generation(&w, world_self());
	before = ++w.now_ns;
	op_processes_on_fork(w.p, 0x7ffffff0, world_self(), ++w.now_ns);
	world_settle(&w, 2 * SECOND);
	op_processes_on_fork(w.p, 0x7ffffff1, 0x7ffffff0, ++w.now_ns);
	world_settle(&w, 0);
	CHECK(!world_process(&w, world_self()));
	CHECK(world_process(&w, 0x7ffffff0) && world_process(&w, 0x7ffffff1));
	/* a record that was on its way */
	world_settle(&w, 2 * SECOND);
	CHECK_OK(world_late_sample(&w, world_self(), generation, before, words, 1));
	CHECK_STR(world_file(&w, 0), "test_life");
	world_learn_self(&w);
	CHECK(!world_process(&w, 0x7ffffff0));
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	op_processes_get_stats(w.p, &stats);
	CHECK_INT(stats.processes, 2);
	CHECK_INT(stats.unseen, 0);
	world_deinit(&w);
}

/* One reading answers all losses, and the next one waits. */
static void test_lost_events_pause(void)
{
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	op_processes_on_lost(w.p);
	op_processes_on_lost(w.p);
	world_settle_all(&w);
	CHECK_INT(inside_readings(w.p), 1);
	op_processes_on_lost(w.p);
	world_settle_all(&w);
	CHECK_INT(inside_readings(w.p), 2);
	/* the reading lasted for five minutes: the next one waits for ten times as long */
	op_processes_on_lost(w.p);
	while (inside_readings(w.p) == 2)
		world_settle(&w, SECOND / 10);
	inside_reading_lasted(w.p, 300 * SECOND);
	world_settle_all(&w);
	op_processes_on_lost(w.p);
	world_settle(&w, 1000 * SECOND);
	CHECK_INT(inside_readings(w.p), 3);
	world_settle(&w, 3000 * SECOND);
	CHECK_INT(inside_readings(w.p), 4);
	world_deinit(&w);
}

/* Events lost: what ended is found out, and what came is learnt. */
static void test_lost_events(void)
{
	uint32_t gone = 0x7ffffff0;
	uint32_t child;
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	op_processes_on_fork(w.p, gone, world_self(), ++w.now_ns);
	world_settle(&w, 0);
	CHECK(world_process(&w, gone));
	child = (uint32_t)self_start_child(NULL);
	op_processes_on_lost(w.p);
	world_settle_all(&w);
	CHECK(!world_process(&w, gone));
	CHECK(world_process(&w, child));
	self_end_child((pid_t)child);
	world_deinit(&w);
}

/* An exit of which no event tells is noticed in the end. */
static void test_untold_exit(void)
{
	uint32_t gone = 0x7ffffff0;
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	op_processes_on_fork(w.p, gone, world_self(), ++w.now_ns);
	world_settle(&w, 0);
	CHECK(world_process(&w, gone));
	world_settle(&w, 61 * SECOND);
	CHECK(!world_process(&w, gone));
	CHECK(world_process(&w, world_self()));
	world_deinit(&w);
}

TEST_MAIN({ "fork", test_fork_inherits }, { "own", test_fork_then_each_its_own },
	  { "exec-looks", test_exec_is_looked_at },
	  { "exec", test_exec_changes_everything },
	  { "doubt-exit", test_doubt_after_exit },
	  { "doubt-exec", test_doubt_after_exec },
	  { "exit", test_exit_keeps_for_late_records },
	  { "read-late", test_records_are_read_late },
	  { "parents-table", test_child_by_parents_table },
	  { "parents-new-table", test_parents_table_is_new },
	  { "reuse", test_reused_pid_is_another }, { "limit", test_limit_of_processes },
	  { "room", test_limit_makes_room }, { "pause", test_lost_events_pause },
	  { "retry", test_failed_publication_is_tried_again },
	  { "lost", test_lost_events }, { "untold", test_untold_exit })
