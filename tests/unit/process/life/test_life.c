/* SPDX-License-Identifier: Apache-2.0 */
/* The life of processes: fork, exec, exit, lost events, and the limit of processes. */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "code/elf/file.h"
#include "inside.h"
#include "process/registry.h"
#include "process/target/maps.h"
#include "self.h"
#include "test.h"
#include "tools.h"
#include "world.h"

static const uint64_t SECOND = 1000000000;

/* A world that knows this process and @child, forked from it. Returns the child's generation. */
static uint32_t begin_with_child(struct world *w, uint32_t child)
{
	world_init(w, NULL);
	world_learn_self(w);
	op_processes_on_fork(w->p, child, world_self(), ++w->now_ns);
	world_settle(w, 0);
	return world_generation(w, child);
}

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

	old = begin_with_child(&w, child);
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

/* Other code takes the place of known code. Until the kernel has heard of it, it walks by what was
 * there before; a sample from before that still is of it. */
static void test_code_takes_a_place(void)
{
	const uint64_t words[] = { world_exact((const void *)other_function),
				   world_native((const char *)(void *)known_function +
						1) };
	struct op_mmap_event e = { .path = "//anon" };
	uint32_t old;
	uint64_t t;
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	world_settle(&w, 0);
	old = world_generation(&w, world_self());
	t = w.now_ns += SECOND;
	e.pid = world_self();
	e.start = (uint64_t)(uintptr_t)known_function;
	e.end = e.start + 1;
	e.time_ns = t;
	op_processes_on_mmap(w.p, &e);
	CHECK_OK(world_late_sample(&w, world_self(), old, t - 1, words, 2));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 1), "known_function");
	/* what is below it holds, it is what is there now, and what is above it is not known */
	CHECK_OK(world_late_sample(&w, world_self(), old, t + 1, words, 2));
	CHECK_INT(world_frames(&w), 3);
	CHECK_STR(world_name(&w, 0), "other_function");
	CHECK_STR(world_name(&w, 1), "[anon]+0x0");
	CHECK_STR(world_name(&w, 2), "[unwind error: native_no_mapping]");
	/* the same words, of another time */
	CHECK_OK(world_late_sample(&w, world_self(), old, t - 1, words, 2));
	CHECK_STR(world_name(&w, 1), "known_function");
	/* by the new table all of it holds */
	world_settle(&w, SECOND);
	CHECK(world_generation(&w, world_self()) != old);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 1), "[anon]+0x0");
	world_deinit(&w);
}

/* The page where the kernel runs probed instructions is no code of the program, and stays apart from
 * code beside it. */
static void test_page_of_uprobes(void)
{
	const uint64_t start = (uint64_t)(uintptr_t)known_function & ~UINT64_C(4095);
	struct op_mmap_event e = { .path = "[uprobes]",
				   .start = start,
				   .end = start + 4096 };
	uint64_t word = world_exact((void *)(uintptr_t)(start + 0x84));
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	world_settle(&w, 0);
	e.pid = world_self();
	e.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &e);
	e.path = "//anon";
	e.start += 4096;
	e.end += 4096;
	op_processes_on_mmap(w.p, &e);
	world_settle(&w, SECOND);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "[uprobes]+0x84");
	word = world_exact((void *)(uintptr_t)(start + 4096));
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "[anon]+0x0");
	world_deinit(&w);
}

/* A copy of a file takes its place: what was found by the rules of the first holds. */
static void test_copy_takes_a_place(void)
{
	const struct op_mmap_event code = self_code();
	const uint64_t off = (uint64_t)(uintptr_t)known_function - code.start;
	struct op_mmap_event first, second, other;
	uint64_t words[] = { 0, world_native((const char *)(void *)other_function + 1) };
	uint64_t elsewhere;
	uint32_t old;
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	uint8_t stack[64] = { 0 };
	char self[32];
	struct world w;

	(void)tools_make_dir();
	(void)snprintf(self, sizeof(self), "/proc/%u/exe", world_self());
	world_init(&w, NULL);
	world_learn_self(&w);
	first = self_map_copy(self, NULL, &code, w.now_ns += SECOND);
	second = self_map_copy(self, NULL, &code, w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &first);
	op_processes_on_mmap(w.p, &second);
	world_settle(&w, SECOND);
	registers.pc = first.start + off;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	words[0] = world_exact((const void *)(uintptr_t)(first.start + off));
	elsewhere = world_exact((const void *)(uintptr_t)(second.start + off));
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &elsewhere, 1, OP_END_COMPLETE));
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	old = world_generation(&w, world_self());
	second.start = self_map(second.path, (void *)(uintptr_t)first.start, &code);
	second.end = first.end;
	second.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &second);
	/* it is compared for the sample */
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 1), "other_function");
	/* not of another file */
	other = self_map_copy("/bin/true", (void *)(uintptr_t)first.start, &code,
			      w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &other);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	CHECK_STR(world_name(&w, world_frames(&w) - 1),
		  "[unwind error: native_no_mapping]");
	world_deinit(&w);
	free((char *)first.path);
	free((char *)second.path);
	free((char *)other.path);
}

/* A file that is gone before it can be compared takes the place of another. The kernel has
 * seen the build id of the first one there, so it was a copy. */
static void test_mark_held(void)
{
	const struct op_mmap_event code = self_code();
	const uint64_t off = (uint64_t)(uintptr_t)known_function - code.start;
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	struct op_mmap_event e, gone;
	uint8_t stack[64] = { 0 };
	uint64_t words[] = { 0, world_native((const char *)(void *)other_function + 1) };
	const struct op_arena_mapping *there;
	uint32_t old;
	struct world w;

	(void)tools_make_dir();
	world_init(&w, NULL);
	world_learn_self(&w);
	e = self_replace(&w, &code);
	registers.pc = e.start + off;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	there = world_mapping(&w, world_self(), e.start, NULL);
	CHECK(there && there->flags & OP_MAPPING_REPLACED);
	CHECK_INT(there->flags >> OP_MAPPING_MARK_SHIFT, 1);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)registers.pc);
	CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	gone = e;
	gone.path = "/nowhere/at-all";
	gone.inode++;
	gone.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &gone);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	CHECK_STR(world_name(&w, world_frames(&w) - 1),
		  "[unwind error: native_no_mapping]");
	w.marks = 1 << 1; /* that of another mapping */
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	CHECK_STR(world_name(&w, world_frames(&w) - 1),
		  "[unwind error: native_no_mapping]");
	w.marks = 1;
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_STR(world_name(&w, 1), "other_function");
	/* a file that has other code there does not have the mark's word at that place */
	gone.offset += 0x1000;
	gone.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &gone);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	CHECK_STR(world_name(&w, world_frames(&w) - 1),
		  "[unwind error: native_no_mapping]");
	world_deinit(&w);
	free((char *)e.path);
}

/* Settle until all that is done in slices is done. */
static void settle_all(struct world *w)
{
	do
		world_settle(w, SECOND);
	while (op_processes_busy(w->p));
	world_settle(w, 0);
}

/* The kernel sees another build id than that of the file that is known, and by the time that the
 * maps are read that file is back. The stack is of the other one. */
static void test_mark_failed(void)
{
	const uint64_t word = world_exact((const void *)other_function);
	const struct op_mmap_event code = self_code();
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	uint8_t stack[64] = { 0 };
	struct op_mmap_event e;
	struct world w;

	(void)tools_make_dir();
	world_init(&w, NULL);
	world_learn_self(&w);
	e = self_replace(&w, &code);
	registers.pc = e.start + (uint64_t)(uintptr_t)known_function - code.start;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "known_function");
	/* now the kernel knows the mapping, and its mark */
	world_settle(&w, SECOND);
	CHECK_OK(world_resumed_sample(&w, world_self(),
				      world_generation(&w, world_self()), &word, 1,
				      &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "other_function");
	CHECK_STR(world_name(&w, 1), "[unwind error: native_no_mapping]");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	free((char *)e.path);
}

/* Of a file that replaced another, events were lost. Until its process's maps were read, others
 * may have been there. */
static void test_lost_while_replacing(void)
{
	const struct op_mmap_event code = self_code();
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	uint8_t stack[64] = { 0 };
	struct op_mmap_event e;
	struct world w;
	uint64_t lost_ns, read_ns;

	(void)tools_make_dir();
	world_init(&w, NULL);
	world_learn_self(&w);
	e = self_replace(&w, &code);
	registers.pc = e.start + (uint64_t)(uintptr_t)known_function - code.start;
	lost_ns = w.now_ns;
	op_processes_on_lost(w.p);
	settle_all(&w);
	read_ns = w.now_ns;
	w.now_ns = lost_ns;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "[unwind error: native_no_mapping]");
	/* a file that replaced none */
	registers.pc = (uint64_t)(uintptr_t)known_function;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "known_function");
	/* and that file afterwards */
	w.now_ns = read_ns + 2 * SECOND;
	w.marks = 1;
	registers.pc = e.start + (uint64_t)(uintptr_t)known_function - code.start;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "known_function");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	free((char *)e.path);
}

/* Code comes to the place of a file without an event, some time before the maps are read. A
 * sample that has the number of code pages of afterwards is from after that. If the number was
 * the same before, it tells nothing. */
static void test_code_pages_tell_when(void)
{
	static const struct {
		int rights;
		int more; /* pages that the sample has more than there are afterwards */
		const char *name;
	} CASES[] = {
		{ PROT_READ | PROT_WRITE | PROT_EXEC, 0, "[anon]+0x7" },
		{ PROT_READ | PROT_WRITE | PROT_EXEC, 1,
		  "[unwind error: native_no_mapping]" },
		{ PROT_READ | PROT_EXEC, 0, "[unwind error: native_no_mapping]" },
	};
	const struct op_mmap_event code = self_code();
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	uint8_t stack[64] = { 0 };
	struct op_mmap_event e;
	struct world w;
	size_t i;

	(void)tools_make_dir();
	for (i = 0; i < OP_ARRAY_SIZE(CASES); i++) {
		world_init(&w, NULL);
		world_learn_self(&w);
		e = self_replace(&w, &code);
		registers.pc = e.start + 7;
		CHECK_OK(world_first_sample(&w, world_self(), &registers, stack,
					    sizeof(stack)));
		CHECK(mmap((void *)(uintptr_t)e.start, e.end - e.start, CASES[i].rights,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
		w.code_pages = (uint16_t)(self_code_pages() + CASES[i].more);
		world_settle(&w, SECOND);
		w.now_ns -= SECOND / 2;
		CHECK_OK(world_first_sample(&w, world_self(), &registers, stack,
					    sizeof(stack)));
		CHECK_STR(world_name(&w, 0), CASES[i].name);
		world_deinit(&w);
		CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
		free((char *)e.path);
	}
}

/* A sample from before the file came has that number, too. It does not tell when the code took
 * the file's place. */
static void test_code_pages_of_before(void)
{
	const struct op_mmap_event code = self_code();
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	uint8_t stack[64] = { 0 };
	struct op_mmap_event e;
	struct world w;

	(void)tools_make_dir();
	world_init(&w, NULL);
	world_learn_self(&w);
	e = self_replace(&w, &code);
	CHECK(mmap((void *)(uintptr_t)e.start, e.end - e.start,
		   PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
	w.code_pages = self_code_pages();
	w.now_ns = e.time_ns - SECOND / 2;
	registers.pc = (uint64_t)(uintptr_t)known_function;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	w.now_ns = e.time_ns + SECOND / 2;
	w.code_pages += (uint16_t)((e.end - e.start) / 4096);
	registers.pc = e.start + 7;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "[unwind error: native_no_mapping]");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	free((char *)e.path);
}

/* A file comes to the place of code that the process had made. The maps are read between: they
 * show that the code is gone. A sample that the kernel walked by the list with that code is of
 * the file. */
static void test_gone_before_a_file_comes(void)
{
	const struct op_mmap_event code = self_code();
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	uint8_t stack[64] = { 0 };
	struct op_mmap_event made = { .pid = world_self(), .path = "//anon" };
	struct op_mmap_event e, file;
	uint64_t words[2];
	uint32_t old;
	struct world w;

	(void)tools_make_dir();
	world_init(&w, NULL);
	world_learn_self(&w);
	e = self_replace(&w, &code);
	made.start = (uint64_t)(uintptr_t)mmap(NULL, code.end - code.start,
					       PROT_READ | PROT_EXEC,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	made.end = made.start + (code.end - code.start);
	made.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &made);
	world_settle(&w, SECOND);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)(made.start + 7));
	words[1] = world_native((const char *)(void *)other_function + 1);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	CHECK_STR(world_name(&w, 0), "[anon]+0x7");

	CHECK_OK(munmap((void *)(uintptr_t)made.start, made.end - made.start));
	w.code_pages = self_code_pages();
	w.now_ns += SECOND;
	registers.pc = (uint64_t)(uintptr_t)known_function;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	w.now_ns += SECOND;
	file = self_map_copy("/bin/true", (void *)(uintptr_t)made.start, &code, w.now_ns);
	op_processes_on_mmap(w.p, &file);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	CHECK_INT(world_frames(&w), 2);
	CHECK_INT(strncmp(world_name(&w, 0), "copy-", 5), 0);
	CHECK_STR(world_name(&w, 1), "[unwind error: native_no_mapping]");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	CHECK_OK(munmap((void *)(uintptr_t)file.start, file.end - file.start));
	free((char *)e.path);
	free((char *)file.path);
}

/* A file is rewritten in place and mapped where it was, perhaps with another length. Until it
 * was compared, a sample by the old table has no frame of the old content. */
static void rewritten_takes_a_place(uint64_t more)
{
	const struct op_mmap_event code = self_code();
	const uint64_t off = (uint64_t)(uintptr_t)known_function - code.start;
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	uint8_t stack[64] = { 0 };
	struct op_mmap_event e;
	uint64_t words[1];
	char command[256];
	char self[32];
	uint32_t old;
	struct world w;

	(void)tools_make_dir();
	(void)snprintf(self, sizeof(self), "/proc/%u/exe", world_self());
	world_init(&w, NULL);
	world_learn_self(&w);
	e = self_map_copy(self, NULL, &code, w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &e);
	world_settle(&w, SECOND);
	registers.pc = e.start + off;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	words[0] = world_exact((const void *)(uintptr_t)registers.pc);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	old = world_generation(&w, world_self());
	CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	(void)snprintf(command, sizeof(command), "cat /bin/true > %s", e.path);
	CHECK_INT(system(command), 0);
	e.end += more;
	e.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &e);
	CHECK_OK(world_late_sample(&w, world_self(), old, e.time_ns - 1, words, 1));
	CHECK_INT(world_frames(&w), 1);
	CHECK_OK(world_late_sample(&w, world_self(), old, e.time_ns + 1, words, 1));
	CHECK(strcmp(world_name(&w, 0), "known_function") != 0);
	CHECK_STR(world_name(&w, world_frames(&w) - 1),
		  "[unwind error: native_no_mapping]");
	world_deinit(&w);
	free((char *)e.path);
}

static void test_rewritten_takes_a_place(void)
{
	rewritten_takes_a_place(0);
	rewritten_takes_a_place(4096);
}

/* A program has ended before its sample is walked on, where the kernel came to code that
 * had taken a place: it is walked by what was there at its time, and not by the old table. */
static void test_ended_after_code_took_a_place(void)
{
	const uint64_t word = world_exact((const void *)strlen);
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	struct op_mmap_event e = { .path = "//anon" };
	uint32_t child = 0x7ffffff0; /* no such process: nothing is read of it */
	uint8_t stack[64] = { 0 };
	uint32_t old;
	struct world w;

	old = begin_with_child(&w, child);
	CHECK(old);
	e.pid = child;
	e.start = (uint64_t)(uintptr_t)known_function;
	e.end = e.start + 1;
	e.time_ns = w.now_ns += SECOND / 100;
	op_processes_on_mmap(w.p, &e);
	w.now_ns += 1000;
	op_processes_on_exit(w.p, child, w.now_ns + 1000);
	registers.pc = e.start;
	CHECK_OK(world_resumed_sample(&w, child, old, &word, 1, &registers, stack,
				      sizeof(stack)));
	CHECK_STR(world_name(&w, 1), "[anon]+0x0");
	world_deinit(&w);
}

/* A library whose code is the function @name is mapped. Returns the event. */
static struct op_mmap_event map_library(const char *name, uint64_t time_ns)
{
	struct op_mmap_event code = { .end = 4096 };
	const struct op_elf_segment *segments;
	char path[64];
	struct op_elf *elf;
	size_t len;
	size_t i;

	(void)snprintf(path, sizeof(path), "%s.so", name);
	TOOLS_RUN(
		"echo 'int %s(void) { return 0; }' | gcc -shared -nostdlib -x c - -o %s",
		name, path);
	CHECK_OK(op_elf_open_path(tools_path(path), &elf));
	segments = op_elf_segments(elf, &len);
	for (i = 0; i < len && !(segments[i].flags & PF_X); i++)
		continue;
	CHECK(i < len);
	code.offset = segments[i].offset;
	op_elf_free(elf);
	return self_map_copy(tools_path(path), NULL, &code, time_ns);
}

/* A file takes the place of another in a child, and in a later child with its pid another file
 * does. Each sample by the parent's table has the name of its own child's file. */
static void test_reused_pid_has_other_code(void)
{
	static const char *const names[] = { "first", "alpha", "beta" };
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	const uint32_t child = 0x7ffffff0; /* no such process: nothing is read of it */
	struct op_mmap_event e[3];
	uint8_t stack[64] = { 0 };
	uint64_t word;
	struct world w;
	size_t i;

	TOOLS_NEED("gcc");
	world_init(&w, NULL);
	world_learn_self(&w);
	for (i = 0; i < 3; i++) {
		e[i] = map_library(names[i], w.now_ns += SECOND);
		op_processes_on_mmap(w.p, &e[i]);
		world_settle(&w, SECOND);
		registers.pc = e[i].start;
		CHECK_OK(world_first_sample(&w, world_self(), &registers, stack,
					    sizeof(stack)));
		CHECK_STR(world_name(&w, 0), names[i]);
	}
	world_settle(&w, SECOND);
	word = world_exact((const void *)(uintptr_t)e[0].start);
	for (i = 1; i < 3; i++) {
		op_processes_on_fork(w.p, child, world_self(), w.now_ns += 1000);
		e[i].pid = child;
		e[i].start = e[0].start;
		e[i].end = e[0].end;
		e[i].time_ns = w.now_ns += 1000;
		op_processes_on_mmap(w.p, &e[i]);
		CHECK_OK(world_late_sample(&w, child, world_generation(&w, world_self()),
					   w.now_ns + 1, &word, 1));
		CHECK_STR(world_name(&w, 0), names[i]);
		op_processes_on_exit(w.p, child, w.now_ns += 1000);
	}
	world_deinit(&w);
	for (i = 0; i < 3; i++)
		free((char *)e[i].path);
}

/* The function of the first frame of stack @number. */
static const char *first_name(const struct world *w, uint32_t number)
{
	struct op_span span = w->window->stacks.data[number];
	const struct op_location_entry *l;
	uint32_t function;

	CHECK(span.len > 0);
	l = &w->window->locations.data[op_window_numbers(w->window, span)[0]];
	CHECK(l->lines.len > 0);
	function = w->window->lines.data[l->lines.first].function;
	return world_text(w, w->window->functions.data[function].name);
}

/* A file takes the place of another: callers there have its name, published or not. */
static void test_callers_by_changed_code(void)
{
	static const char *const names[] = { "alpha", "beta" };
	struct op_registers registers = { .sp = 0x7ffc00001000 };
	struct op_mmap_event e[2];
	uint8_t stack[64] = { 0 };
	uint64_t pc;
	struct world w;
	size_t i;

	TOOLS_NEED("gcc");
	world_init(&w, NULL);
	world_learn_self(&w);
	for (i = 0; i < 2; i++) {
		e[i] = map_library(names[i], w.now_ns += SECOND);
		op_processes_on_mmap(w.p, &e[i]);
		world_settle(&w, SECOND);
		registers.pc = e[i].start;
		CHECK_OK(world_first_sample(&w, world_self(), &registers, stack,
					    sizeof(stack)));
		world_settle(&w, SECOND);
	}
	pc = e[0].start + 1;
	for (i = 0; i < 2; i++) {
		uint32_t number;

		e[i].start = self_map(e[i].path, (void *)(uintptr_t)e[0].start, &e[i]);
		e[i].end = e[0].end;
		e[i].time_ns = w.now_ns += 1000;
		op_processes_on_mmap(w.p, &e[i]);
		CHECK_OK(op_sampler_callers(w.sampler,
					    op_registry_find(w.p, world_self()), &pc, 1,
					    false, w.window, &number));
		CHECK_STR(first_name(&w, number), names[i]);
	}
	world_deinit(&w);
	for (i = 0; i < 2; i++)
		free((char *)e[i].path);
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
	(void)begin_with_child(&w, child);
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

	generation = begin_with_child(&w, child);
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

	generation = begin_with_child(&w, child);
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
	settle_all(&w);
	CHECK_INT(inside_readings(w.p), 1);
	op_processes_on_lost(w.p);
	settle_all(&w);
	CHECK_INT(inside_readings(w.p), 2);
	/* the reading lasted for five minutes: the next one waits for ten times as long */
	op_processes_on_lost(w.p);
	while (inside_readings(w.p) == 2)
		world_settle(&w, SECOND / 10);
	inside_reading_lasted(w.p, 300 * SECOND);
	settle_all(&w);
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
	settle_all(&w);
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
	  { "takes-a-place", test_code_takes_a_place },
	  { "uprobes", test_page_of_uprobes }, { "copy", test_copy_takes_a_place },
	  { "held", test_mark_held }, { "mark-failed", test_mark_failed },
	  { "lost-while-replacing", test_lost_while_replacing },
	  { "gone-before-a-file-comes", test_gone_before_a_file_comes },
	  { "code-pages", test_code_pages_tell_when },
	  { "code-pages-before", test_code_pages_of_before },
	  { "rewritten", test_rewritten_takes_a_place },
	  { "ended", test_ended_after_code_took_a_place },
	  { "reuse-code", test_reused_pid_has_other_code },
	  { "callers", test_callers_by_changed_code },
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
