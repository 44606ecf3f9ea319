/* SPDX-License-Identifier: Apache-2.0 */
/* No stack is told as right that is wrong while mappings change: what went unseen, what was read late,
 * what was lost, and what found no room. */
#include <sys/mman.h>
#include <unistd.h>

#include "process/generation.h"
#include "process/mappings/mappings.h"
#include "process/registry.h"
#include "self.h"
#include "test.h"
#include "tools.h"
#include "world.h"

static const uint64_t SECOND = 1000000000;

static const struct op_registers elsewhere = { .sp = 0x7ffc00001000 };
static const char MARK[] = "[unwind error: native_no_mapping]";

/* The maps of this process are read for a sample of known_function. */
static void read_maps(struct world *w)
{
	struct op_registers registers = elsewhere;
	uint8_t stack[64] = { 0 };

	w->code_pages = self_code_pages();
	registers.pc = (uint64_t)(uintptr_t)known_function;
	CHECK_OK(world_first_sample(w, world_self(), &registers, stack, sizeof(stack)));
	w->code_pages = 0;
}

/* A first sample at @pc, so that its file has a table. */
static void sample_at(struct world *w, uint32_t pid, uint64_t pc)
{
	struct op_registers registers = elsewhere;
	uint8_t stack[64] = { 0 };

	registers.pc = pc;
	CHECK_OK(world_first_sample(w, pid, &registers, stack, sizeof(stack)));
}

/* Code of this process at @start that it made. */
static struct op_mmap_event make_code(uint64_t bytes, uint64_t time_ns)
{
	struct op_mmap_event e = { .pid = world_self(),
				   .path = "//anon",
				   .time_ns = time_ns };
	void *at = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	CHECK(at != MAP_FAILED);
	e.start = (uint64_t)(uintptr_t)at;
	e.end = e.start + bytes;
	return e;
}

/* Code goes from @start, without an event. Nothing else of this process comes there by chance. */
static void lose_code(uint64_t start, uint64_t bytes)
{
	CHECK(mmap((void *)(uintptr_t)start, bytes, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
}

/* The last stack has no frame @not_name and ends with a mark. */
static void check_marked(const struct world *w, const char *not_name)
{
	size_t i;

	for (i = 0; i < world_frames(w); i++)
		CHECK(strcmp(world_name(w, i), not_name) != 0);
	CHECK_STR(world_name(w, world_frames(w) - 1), MARK);
}

/* Made code is not executable while the process writes it. Functions there are on stacks
 * nevertheless, until the memory is gone. */
static void test_written_code(void)
{
	struct op_mmap_event made;
	uint64_t word;
	struct world w;

	world_init(&w, NULL);
	world_learn_self(&w);
	made = make_code(8192, w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &made);
	word = world_native((const char *)(uintptr_t)(made.start + 8));
	/* a part of it, then all */
	CHECK_OK(mprotect((void *)(uintptr_t)made.start, 4096, PROT_READ | PROT_WRITE));
	w.now_ns += SECOND;
	read_maps(&w);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "[anon]+0x7");
	CHECK_OK(mprotect((void *)(uintptr_t)made.start, 8192, PROT_READ | PROT_WRITE));
	w.now_ns += SECOND;
	read_maps(&w);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "[anon]+0x7");
	lose_code(made.start, 8192);
	w.now_ns += SECOND;
	read_maps(&w);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK(strncmp(world_name(&w, 0), "[unmapped]", 10) == 0);
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)made.start, 8192));
}

/* A file comes to the end of made code that was unmapped there. The maps are read between, and show
 * the beginning of that code. */
static void end_of_made_code(bool replaces)
{
	const struct op_mmap_event code = self_code();
	struct op_mmap_event part = { .start = 0, .end = 4096, .offset = code.offset };
	struct op_mmap_event e = { 0 };
	struct op_mmap_event made, file;
	uint64_t words[2];
	uint32_t old;
	struct world w;

	(void)tools_make_dir();
	world_init(&w, NULL);
	world_learn_self(&w);
	if (replaces)
		e = self_replace(&w, &code);
	made = make_code(8192, w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &made);
	world_settle(&w, SECOND);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)(made.start + 4096 + 7));
	words[1] = world_native((const char *)(void *)other_function + 1);
	lose_code(made.start + 4096, 4096);
	w.now_ns += SECOND;
	read_maps(&w);
	file = self_map_copy("/bin/true", (void *)(uintptr_t)(made.start + 4096), &part,
			     w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &file);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "[anon]+0x1007");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)made.start, 8192));
	if (replaces)
		CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	free((char *)e.path);
	free((char *)file.path);
}

static void test_end_of_made_code(void)
{
	end_of_made_code(true);
}

static void test_end_of_made_code_first_time(void)
{
	end_of_made_code(false);
}

/* The same for all of the made code, in a process that mapped no file where something was. */
static void test_made_code_first_time(void)
{
	const struct op_mmap_event code = self_code();
	struct op_mmap_event part = { .start = 0, .end = 4096, .offset = code.offset };
	struct op_mmap_event made, file;
	uint64_t words[2];
	uint32_t old;
	struct world w;

	(void)tools_make_dir();
	world_init(&w, NULL);
	world_learn_self(&w);
	made = make_code(4096, w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &made);
	world_settle(&w, SECOND);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)(made.start + 7));
	words[1] = world_native((const char *)(void *)other_function + 1);
	lose_code(made.start, 4096);
	w.now_ns += SECOND;
	read_maps(&w);
	/* of before that */
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns - SECOND / 2, words,
				   2));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 0), "[anon]+0x7");
	file = self_map_copy("/bin/true", (void *)(uintptr_t)made.start, &part,
			     w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &file);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "[anon]+0x7");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)made.start, 4096));
	free((char *)file.path);
}

/* The maps show that made code is gone, and then a file there, whose event comes later. A sample of
 * before is of the code. */
static void test_made_code_before_two_readings(void)
{
	const struct op_mmap_event code = self_code();
	struct op_mmap_event part = { .start = 0, .end = 4096, .offset = code.offset };
	struct op_registers registers = elsewhere;
	uint8_t stack[64] = { 0 };
	struct op_mmap_event made, file;
	uint64_t sample_ns;
	struct world w;
	size_t i;

	(void)tools_make_dir();
	world_init(&w, NULL);
	world_learn_self(&w);
	made = make_code(4096, w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &made);
	sample_ns = w.now_ns + SECOND / 2;
	lose_code(made.start, 4096);
	world_settle(&w, SECOND);
	read_maps(&w);
	file = self_map_copy("/bin/true", (void *)(uintptr_t)made.start, &part,
			     w.now_ns += SECOND);
	world_settle(&w, SECOND);
	w.now_ns = sample_ns;
	registers.pc = made.start + 7;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	for (i = 0; i < world_frames(&w); i++)
		CHECK(strncmp(world_name(&w, i), "copy-", 5) != 0);
	CHECK_STR(world_name(&w, world_frames(&w) - 1), MARK);
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)made.start, 4096));
	free((char *)file.path);
}

/* Another file comes to the end of a file's mapping, which was unmapped there. */
static void end_of_a_file(bool made)
{
	const struct op_mmap_event code = self_code();
	const uint64_t off = (uint64_t)(uintptr_t)known_function - code.start;
	struct op_mmap_event part = { .start = 0, .end = 4096, .offset = code.offset };
	struct op_mmap_event file, other;
	uint64_t words[2];
	uint64_t page;
	uint32_t old;
	char self[32];
	struct world w;

	(void)tools_make_dir();
	(void)snprintf(self, sizeof(self), "/proc/%u/exe", world_self());
	world_init(&w, NULL);
	world_learn_self(&w);
	file = self_map_copy(self, NULL, &code, w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &file);
	world_settle(&w, SECOND);
	sample_at(&w, world_self(), file.start + off);
	CHECK_STR(world_name(&w, 0), "known_function");
	world_settle(&w, SECOND);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)(file.start + off));
	words[1] = world_native((const char *)(void *)other_function + 1);
	page = (file.start + off) & ~UINT64_C(4095);
	CHECK(page > file.start);
	lose_code(page, file.end - page);
	w.now_ns += SECOND;
	read_maps(&w);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns - SECOND / 2, words,
				   2));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_INT(world_frames(&w), 2);
	if (made) {
		CHECK(mmap((void *)(uintptr_t)page, 4096, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
		other = (struct op_mmap_event){ .pid = world_self(),
						.path = strdup("//anon"),
						.start = page,
						.end = page + 4096,
						.time_ns = w.now_ns += SECOND };
	} else {
		other = self_map_copy("/bin/true", (void *)(uintptr_t)page, &part,
				      w.now_ns += SECOND);
	}
	op_processes_on_mmap(w.p, &other);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "known_function");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)file.start, file.end - file.start));
	free((char *)file.path);
	free((char *)other.path);
}

static void test_end_of_a_file(void)
{
	end_of_a_file(false);
}

static void test_end_of_a_file_made(void)
{
	end_of_a_file(true);
}

/* Map the libraries @name in this process, and take a sample of each. */
static void learn_libraries(struct world *w, const char *const name[], size_t n,
			    struct op_mmap_event *e)
{
	size_t i;

	for (i = 0; i < n; i++) {
		e[i] = self_map_library(name[i], w->now_ns += SECOND);
		op_processes_on_mmap(w->p, &e[i]);
		world_settle(w, SECOND);
		sample_at(w, world_self(), e[i].start);
		CHECK_STR(world_name(w, 0), name[i]);
		world_settle(w, SECOND);
	}
}

static void forget_libraries(struct op_mmap_event *e, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		CHECK_OK(munmap((void *)(uintptr_t)e[i].start, e[i].end - e[i].start));
		free((char *)e[i].path);
	}
}

/* A process forks, and then maps another file where one was. Its maps are read for a sample of
 * before the fork, whose event comes later. The child has the first file. */
static void fork_before_a_reading(bool gone)
{
	static const char *const names[] = { "alpha", "beta" };
	uint32_t child = 0x7ffffff0;
	struct op_mmap_event e[2], again;
	uint64_t fork_ns, read_ns;
	uint64_t words[2];
	struct world w;

	TOOLS_NEED("gcc");
	world_init(&w, NULL);
	world_learn_self(&w);
	learn_libraries(&w, names, 2, e);
	words[0] = world_exact((const void *)(uintptr_t)e[0].start);
	words[1] = world_native((const char *)(void *)other_function + 1);
	if (!gone)
		child = (uint32_t)self_start_child(NULL);
	again = e[1];
	again.start = self_map(e[1].path, (void *)(uintptr_t)e[0].start, &e[1]);
	again.end = e[0].end;
	world_settle(&w, SECOND);
	read_ns = w.now_ns;
	w.now_ns -= SECOND / 2;
	read_maps(&w);
	fork_ns = w.now_ns + 1000;
	op_processes_on_fork(w.p, child, world_self(), fork_ns);
	again.time_ns = fork_ns + 1000;
	op_processes_on_mmap(w.p, &again);
	w.now_ns = read_ns;
	world_settle(&w, SECOND);
	/* what the kernel walks by the child's own table is right, or there is none */
	if (world_process(&w, child)) {
		CHECK_OK(world_sample(&w, child, NULL, 0, words, 2, OP_END_COMPLETE));
		CHECK(strcmp(world_name(&w, 0), "beta") != 0);
	}
	if (gone) {
		op_processes_on_exit(w.p, child, w.now_ns + SECOND);
		sample_at(&w, child, e[0].start);
		check_marked(&w, "beta");
	} else {
		sample_at(&w, child, e[0].start);
		CHECK_STR(world_name(&w, 0), "alpha");
		self_end_child((pid_t)child);
	}
	world_deinit(&w);
	forget_libraries(e, 2);
}

static void test_fork_before_a_reading(void)
{
	fork_before_a_reading(false);
}

/* The same of a child that is gone before anybody reads its maps. */
static void test_fork_before_a_reading_gone(void)
{
	fork_before_a_reading(true);
}

/* A change waits for its publication for longer than changes are kept, and another comes. */
static void test_published_late(void)
{
	static const char *const names[] = { "alpha", "beta", "delta" };
	struct op_mmap_event e[3], again;
	uint64_t words[2];
	uint32_t old;
	struct world w;

	TOOLS_NEED("gcc");
	world_init(&w, NULL);
	world_learn_self(&w);
	learn_libraries(&w, names, 3, e);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)e[0].start);
	words[1] = world_native((const char *)(void *)other_function + 1);
	w.publish_error = -ENOMEM;
	again = e[1];
	again.start = self_map(e[1].path, (void *)(uintptr_t)e[0].start, &e[1]);
	again.end = e[0].end;
	again.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &again);
	world_settle(&w, SECOND);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "alpha");
	world_settle(&w, OP_PROCESS_KEEP_NS + SECOND);
	again.start = self_map(e[1].path, (void *)(uintptr_t)e[2].start, &e[1]);
	again.end = e[2].end;
	again.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &again);
	CHECK_INT(world_generation(&w, world_self()), old);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "alpha");
	world_deinit(&w);
	forget_libraries(e, 3);
}

/* A process has as many mappings as fit. Code that it makes in a known one has no room, but that code
 * is no longer the file's. */
static void test_no_room_for_a_change(void)
{
	const uint64_t words[] = { world_exact((const void *)known_function),
				   world_native((const char *)(void *)other_function +
						1) };
	struct op_mmap_event e = { .pid = world_self(),
				   .path = "/nowhere/at-all",
				   .inode = 1 };
	uint32_t old;
	struct world w;
	size_t i;

	world_init(&w, NULL);
	world_learn_self(&w);
	e.time_ns = w.now_ns += SECOND;
	for (i = 0; i < OP_MAPPINGS_MAX; i++) {
		e.start = 0x10000 + i * 0x2000;
		e.end = e.start + 0x1000;
		op_processes_on_mmap(w.p, &e);
	}
	world_settle(&w, 2 * SECOND);
	sample_at(&w, world_self(), (uint64_t)(uintptr_t)known_function);
	world_settle(&w, 2 * SECOND);
	old = world_generation(&w, world_self());
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	e = (struct op_mmap_event){ .pid = world_self(), .path = "//anon" };
	e.start = words[0] & OP_FRAME_ADDRESS_MASK;
	e.end = e.start + 1;
	e.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &e);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "known_function");
	world_deinit(&w);
}

/* The event of a file that replaced another was lost, and another event of the process came. The time
 * of that one is not the time from which on the file was there. */
static void test_lost_before_another_event(void)
{
	static const char *const names[] = { "alpha", "beta" };
	struct op_mmap_event e[2], made;
	uint64_t words[2];
	uint64_t mapped_ns;
	uint32_t old;
	struct world w;

	TOOLS_NEED("gcc");
	world_init(&w, NULL);
	world_learn_self(&w);
	learn_libraries(&w, names, 2, e);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)e[0].start);
	words[1] = world_native((const char *)(void *)other_function + 1);
	(void)self_map(e[1].path, (void *)(uintptr_t)e[0].start, &e[1]);
	mapped_ns = w.now_ns += SECOND / 10;
	made = make_code(4096, w.now_ns += SECOND / 10);
	op_processes_on_mmap(w.p, &made);
	op_processes_on_lost(w.p);
	world_settle(&w, SECOND / 10);
	while (op_processes_busy(w.p))
		world_settle(&w, SECOND / 50);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "alpha");
	CHECK_OK(world_late_sample(&w, world_self(), old, mapped_ns + 1, words, 2));
	check_marked(&w, "alpha");
	world_deinit(&w);
	forget_libraries(e, 2);
	CHECK_OK(munmap((void *)(uintptr_t)made.start, 4096));
}

/* Code went, and then other code took the place of a file of its length. The maps are read for a
 * sample from between, whose number of code pages is that of afterwards. It does not tell that the
 * second was there. */
static void test_code_pages_of_another_place(void)
{
	static const char *const names[] = { "alpha" };
	struct op_mmap_event e, made;
	struct op_registers registers = elsewhere;
	uint8_t stack[64] = { 0 };
	struct world w;

	TOOLS_NEED("gcc");
	world_init(&w, NULL);
	world_learn_self(&w);
	learn_libraries(&w, names, 1, &e);
	made = make_code(4096, w.now_ns += SECOND);
	op_processes_on_mmap(w.p, &made);
	world_settle(&w, SECOND);
	lose_code(made.start, 4096);
	CHECK(mmap((void *)(uintptr_t)e.start, 4096, PROT_READ | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
	world_settle(&w, SECOND);
	w.now_ns -= SECOND / 2;
	w.code_pages = self_code_pages();
	registers.pc = e.start;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
	check_marked(&w, "[anon]+0x0");
	world_deinit(&w);
	forget_libraries(&e, 1);
	CHECK_OK(munmap((void *)(uintptr_t)made.start, 4096));
}

/* A file was written anew in place and mapped again where it was, and the event was lost. The maps look
 * as before. When they are read, its content has been there for a while. */
static void lost_and_rewritten(bool look)
{
	const struct op_mmap_event code = self_code();
	const uint64_t off = (uint64_t)(uintptr_t)known_function - code.start;
	struct op_mmap_event e;
	uint64_t words[2];
	uint64_t mapped_ns;
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
	sample_at(&w, world_self(), e.start + off);
	CHECK_STR(world_name(&w, 0), "known_function");
	world_settle(&w, SECOND);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)(e.start + off));
	words[1] = world_native((const char *)(void *)other_function + 1);
	lose_code(e.start, e.end - e.start);
	(void)snprintf(command, sizeof(command), "cat /bin/true > %s", e.path);
	CHECK_INT(system(command), 0);
	(void)self_map(e.path, (void *)(uintptr_t)e.start, &code);
	mapped_ns = w.now_ns += SECOND / 10;
	op_processes_on_lost(w.p);
	w.now_ns += SECOND / 10;
	if (look)
		read_maps(&w);
	world_settle(&w, SECOND / 10);
	while (op_processes_busy(w.p))
		world_settle(&w, SECOND / 50);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "known_function");
	CHECK_OK(world_late_sample(&w, world_self(), old, mapped_ns + 1, words, 2));
	check_marked(&w, "known_function");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	free((char *)e.path);
}

static void test_lost_and_rewritten(void)
{
	lost_and_rewritten(false);
}

/* The same if a sample asked for a reading first. */
static void test_lost_and_rewritten_read(void)
{
	lost_and_rewritten(true);
}

/* A file takes the place of made code that was left out of a full list. */
static void test_left_out_before_a_file_comes(void)
{
	struct op_mmap_event e = { .pid = world_self(),
				   .path = "/nowhere/at-all",
				   .inode = 1 };
	struct op_mmap_event made = { .pid = world_self(), .path = "//anon" };
	const uint64_t words[] = { world_exact((const void *)(uintptr_t)0x4000007),
				   world_native((const char *)(void *)other_function +
						1) };
	uint32_t old;
	struct world w;
	size_t i;

	world_init(&w, NULL);
	world_learn_self(&w);
	made.time_ns = e.time_ns = w.now_ns += SECOND;
	for (i = 0; i < 4; i++) {
		made.start = 0x4000000 - i * 0x10000;
		made.end = made.start + 0x1000;
		op_processes_on_mmap(w.p, &made);
	}
	for (i = 0; i < OP_MAPPINGS_MAX - 64; i++) {
		e.start = 0x10000000 + i * 0x2000;
		e.end = e.start + 0x1000;
		op_processes_on_mmap(w.p, &e);
	}
	world_settle(&w, 2 * SECOND);
	old = world_generation(&w, world_self());
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "[anon]+0x7");
	e.time_ns = w.now_ns += SECOND;
	while (op_mappings_find(
		op_proc_view_now(op_registry_find(w.p, world_self())).mappings,
		0x4000007)) {
		e.start += 0x2000;
		e.end = e.start + 0x1000;
		op_processes_on_mmap(w.p, &e);
	}
	e.start = 0x4000000;
	e.end = e.start + 0x1000;
	e.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &e);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "[anon]+0x7");
	world_deinit(&w);
}

/* A process gives way to others while an event of it waits: a file had taken the place of another.
 * Samples of before and after that come later. */
static void test_forgotten_before_an_event(void)
{
	static const char *const names[] = { "alpha", "beta" };
	const struct world_options options = { .max_processes = 2 };
	struct op_mmap_event e[2], again;
	uint64_t words[2];
	uint64_t used_ns;
	uint32_t old;
	struct world w;

	TOOLS_NEED("gcc");
	world_init(&w, &options);
	world_learn_self(&w);
	learn_libraries(&w, names, 2, e);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)e[0].start);
	words[1] = world_native((const char *)(void *)other_function + 1);
	used_ns = w.now_ns;
	again = e[1];
	again.start = self_map(e[1].path, (void *)(uintptr_t)e[0].start, &e[1]);
	again.end = e[0].end;
	op_processes_on_fork(w.p, 0x7ffffff0, world_self(), ++w.now_ns);
	world_settle(&w, 2 * SECOND);
	op_processes_on_fork(w.p, 0x7ffffff1, 0x7ffffff0, ++w.now_ns);
	again.time_ns = w.now_ns + 1000;
	world_settle(&w, 0);
	CHECK(!world_process(&w, world_self()));
	w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &again);
	CHECK_OK(world_late_sample(&w, world_self(), old, used_ns, words, 2));
	CHECK_STR(world_name(&w, 0), "alpha");
	CHECK_INT(world_frames(&w), 2);
	CHECK_OK(world_late_sample(&w, world_self(), old, again.time_ns + 1, words, 2));
	check_marked(&w, "alpha");
	world_deinit(&w);
	forget_libraries(e, 2);
}

/* The mark of a file held when a stack was announced. Then another file took its place: a later sample
 * that names the stack says nothing of the mark. */
static void test_mark_held_when_announced(void)
{
	const struct op_hash hash = { { 0x1111, 0x2222 } };
	const struct op_mmap_event code = self_code();
	const uint64_t off = (uint64_t)(uintptr_t)known_function - code.start;
	struct op_mmap_event e, gone;
	uint64_t words[2];
	struct world w;

	(void)tools_make_dir();
	world_init(&w, NULL);
	world_learn_self(&w);
	e = self_replace(&w, &code);
	sample_at(&w, world_self(), e.start + off);
	words[0] = world_exact((const void *)(uintptr_t)(e.start + off));
	words[1] = world_native((const char *)(void *)other_function + 1);
	w.marks = 1;
	CHECK_OK(world_announce(&w, world_self(), &hash, words, 2));
	CHECK_OK(world_named_sample(&w, world_self(), &hash, 0));
	CHECK_STR(world_name(&w, 0), "known_function");
	lose_code(e.start, e.end - e.start);
	gone = e;
	gone.path = "/nowhere/at-all";
	gone.inode++;
	gone.time_ns = w.now_ns += SECOND;
	op_processes_on_mmap(w.p, &gone);
	CHECK_OK(world_named_sample(&w, world_self(), &hash, 0));
	check_marked(&w, "known_function");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)e.start, e.end - e.start));
	free((char *)e.path);
}

/* A process that replaces files lost events, and its maps are not read yet. */
static void test_lost_before_the_reading(void)
{
	static const char *const names[] = { "alpha", "beta" };
	const struct op_mmap_event code = self_code();
	struct op_mmap_event other;
	struct op_mmap_event e[2];
	uint64_t words[2];
	uint32_t old;
	struct world w;

	TOOLS_NEED("gcc");
	world_init(&w, NULL);
	world_learn_self(&w);
	other = self_replace(&w, &code);
	learn_libraries(&w, names, 2, e);
	old = world_generation(&w, world_self());
	words[0] = world_exact((const void *)(uintptr_t)e[0].start);
	words[1] = world_native((const char *)(void *)other_function + 1);
	(void)self_map(e[1].path, (void *)(uintptr_t)e[0].start, &e[1]);
	w.now_ns += SECOND / 10;
	op_processes_on_lost(w.p);
	CHECK_OK(world_late_sample(&w, world_self(), old, w.now_ns + 1, words, 2));
	check_marked(&w, "alpha");
	world_deinit(&w);
	CHECK_OK(munmap((void *)(uintptr_t)other.start, other.end - other.start));
	free((char *)other.path);
	forget_libraries(e, 2);
}

TEST_MAIN({ "written", test_written_code }, { "made-end", test_end_of_made_code },
	  { "made-end-first", test_end_of_made_code_first_time },
	  { "made-first", test_made_code_first_time },
	  { "made-two-readings", test_made_code_before_two_readings },
	  { "file-end", test_end_of_a_file },
	  { "file-end-made", test_end_of_a_file_made },
	  { "fork-reading", test_fork_before_a_reading },
	  { "fork-reading-gone", test_fork_before_a_reading_gone },
	  { "published-late", test_published_late },
	  { "no-room", test_no_room_for_a_change },
	  { "lost-earlier", test_lost_before_another_event },
	  { "pages-elsewhere", test_code_pages_of_another_place },
	  { "lost-rewritten", test_lost_and_rewritten },
	  { "lost-rewritten-read", test_lost_and_rewritten_read },
	  { "left-out", test_left_out_before_a_file_comes },
	  { "forgotten", test_forgotten_before_an_event },
	  { "mark-announced", test_mark_held_when_announced },
	  { "lost-unread", test_lost_before_the_reading })
