/* SPDX-License-Identifier: Apache-2.0 */
/* Other code takes the place of a mapping: a file's, the same file's with other content, or code that the
 * process made. */
#include <sys/mman.h>
#include <unistd.h>

#include "process/registry.h"
#include "process/target/maps.h"
#include "self.h"
#include "test.h"
#include "tools.h"
#include "world.h"

static const uint64_t SECOND = 1000000000;

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
	world_settle_all(&w);
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

	old = self_begin_with_child(&w, child);
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
		e[i] = self_map_library(names[i], w.now_ns += SECOND);
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
		e[i] = self_map_library(names[i], w.now_ns += SECOND);
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

TEST_MAIN({ "takes-a-place", test_code_takes_a_place },
	  { "uprobes", test_page_of_uprobes }, { "copy", test_copy_takes_a_place },
	  { "held", test_mark_held }, { "mark-failed", test_mark_failed },
	  { "lost-while-replacing", test_lost_while_replacing },
	  { "gone-before-a-file-comes", test_gone_before_a_file_comes },
	  { "code-pages", test_code_pages_tell_when },
	  { "code-pages-before", test_code_pages_of_before },
	  { "rewritten", test_rewritten_takes_a_place },
	  { "ended", test_ended_after_code_took_a_place },
	  { "reuse-code", test_reused_pid_has_other_code },
	  { "callers", test_callers_by_changed_code })
