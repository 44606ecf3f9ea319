/* SPDX-License-Identifier: Apache-2.0 */
/* This process and its children as the subjects: their code and its names are known. */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <otelprof/config.h>

#include "base/io.h"
#include "inside.h"
#include "symbol/kernel.h"
#include "symbol/perfmap.h"
#include "target/maps.h"
#include "test.h"
#include "world.h"

static const uint64_t SECOND = 1000000000;

/* The pretended kernel's symbols. */
static const uint64_t KERNEL = UINT64_C(0xffffffff81000000);
static const uint64_t MODULE = UINT64_C(0xffffffffc0000000);

int op_kernel_symbols_find(struct op_kernel_symbols *k, uint64_t addr,
			   struct op_kernel_symbol *ret)
{
	CHECK(k);
	if (addr >= MODULE && addr < MODULE + 0x1000) {
		*ret = (struct op_kernel_symbol){ .name = "",
						  .module = "some_module",
						  .build_id = "",
						  .module_start = MODULE };
		return 1;
	}
	if (addr < KERNEL || addr >= KERNEL + 0x2000)
		return 0;
	*ret = (struct op_kernel_symbol){ .name = addr < KERNEL + 0x1000 ? "first_page"
									 : "second_page",
					  .module = "vmlinux",
					  .build_id = "abcd",
					  .module_start = KERNEL };
	return 1;
}

static uint32_t self(void)
{
	return (uint32_t)getpid();
}

__attribute__((noinline)) static int known_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3;
}

__attribute__((noinline)) static int other_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 5 + known_function(x);
}

struct extent {
	uint64_t start;
	uint64_t end;
};

struct extents {
	struct extent e[64];
	size_t len;
};

static int keep(void *ctx, const struct op_mmap_event *e)
{
	struct extents *x = ctx;

	if (strcmp(e->path, "[vsyscall]") == 0)
		return 0;
	CHECK(x->len < 64);
	x->e[x->len++] = (struct extent){ e->start, e->end };
	return 0;
}

/* What is published of this process is what its maps say. */
static void test_scan_publishes_what_is_mapped(void)
{
	const struct op_process *process;
	struct extents x = { 0 };
	uint64_t start;
	struct world w;
	size_t i;

	world_init(&w, NULL);
	CHECK(op_maps_read("/proc/self/maps", keep, &x) > 0);
	CHECK_OK(op_processes_scan(w.p));
	world_settle(&w, 0);
	process = world_process(&w, self());
	CHECK(process);
	CHECK_INT(process->mapping_count, x.len);
	for (i = 0; i < x.len; i++) {
		const struct op_mapping *m =
			world_mapping(&w, self(), x.e[i].start, &start);

		CHECK(m);
		CHECK_INT(start, x.e[i].start);
		CHECK_INT(m->end, x.e[i].end);
		CHECK(m->flags & OP_MAPPING_LAZY);
		CHECK_INT(m->segment, 0);
	}
	/* our parent runs, too */
	CHECK(world_process(&w, (uint32_t)getppid()));
	world_deinit(&w);
}

static void learn_self(struct world *w)
{
	struct extents x = { 0 };

	(void)x;
	CHECK_OK(world_sample(w, self(), NULL, 0, NULL, 0, OP_END_OFF));
	world_settle(w, 0);
	CHECK(world_process(w, self()));
}

static void test_native_frames_are_named(void)
{
	const uint64_t words[] = {
		world_exact((const void *)known_function),
		/* a return address at the very end of a function's first byte's call */
		world_native((const char *)(const void *)other_function + 1),
	};
	Dl_info info;
	struct world w;

	world_init(&w, NULL);
	CHECK(other_function(1) == 8);
	learn_self(&w);
	CHECK_OK(world_sample(&w, self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_STR(world_name(&w, 1), "other_function");
	CHECK_STR(world_type(&w, 0), "native");
	CHECK_STR(world_file(&w, 0), "test_processes");
	/* ELF addresses: this program is position-independent, so link base + address */
	CHECK(dladdr((const void *)known_function, &info));
	CHECK_INT(world_location(&w, 0)->address,
		  (const char *)(const void *)known_function -
			  (const char *)info.dli_fbase);
	CHECK_INT(world_location(&w, 1)->address,
		  (const char *)(const void *)other_function -
			  (const char *)info.dli_fbase);
	/* again, from the caches, and in another window */
	CHECK_OK(world_sample(&w, self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	op_processes_window_end(w.p);
	op_window_reset(w.window);
	CHECK_OK(world_sample(&w, self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_STR(world_name(&w, 1), "other_function");
	CHECK_STR(world_file(&w, 1), "test_processes");
	world_deinit(&w);
}

static void test_names_can_be_left_to_the_back_end(void)
{
	const struct world_options options = { .flags = OTELPROF_NO_NATIVE_NAMES };
	const uint64_t word = world_exact((const void *)known_function);
	struct world w;

	world_init(&w, &options);
	learn_self(&w);
	CHECK_OK(world_sample(&w, self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "");
	CHECK_STR(world_file(&w, 0), "test_processes");
	world_deinit(&w);
}

static void test_kernel_frames(void)
{
	const uint64_t kernel[] = { KERNEL + 0x10, KERNEL + 0x1000, MODULE + 0x43, 7 };
	struct world w;

	world_init(&w, NULL);
	learn_self(&w);
	CHECK_OK(world_sample(&w, self(), kernel, 4, NULL, 0, OP_END_COMPLETE));
	CHECK_INT(world_frames(&w), 4);
	CHECK_STR(world_name(&w, 0), "first_page");
	CHECK_STR(world_file(&w, 0), "vmlinux");
	CHECK_STR(world_type(&w, 0), "kernel");
	CHECK_INT(world_location(&w, 0)->address, 0x10);
	/* a return address just behind the first page's last call */
	CHECK_STR(world_name(&w, 1), "first_page");
	CHECK_INT(world_location(&w, 1)->address, 0xfff);
	CHECK_STR(world_name(&w, 2), "some_module+0x42");
	CHECK_STR(world_name(&w, 3), "[kernel]");
	CHECK_INT(world_location(&w, 3)->address, 0);
	world_deinit(&w);
}

static void test_ends_are_told(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	struct world w;

	world_init(&w, NULL);
	learn_self(&w);
	CHECK_OK(world_sample(&w, self(), NULL, 0, &word, 1, OP_END_TRUNCATED));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 1), "[truncated]");
	CHECK_OK(world_sample(&w, self(), NULL, 0, &word, 1, OP_ERROR_native_read_ra));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 1), "[unwind error: native_read_ra]");
	CHECK_STR(world_type(&w, 1), "native");
	CHECK_OK(world_sample(&w, self(), NULL, 0, &word, 1, 159));
	CHECK_STR(world_name(&w, 1), "[unwind error: unknown]");
	CHECK_OK(world_sample(&w, self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_INT(world_frames(&w), 1);
	world_deinit(&w);
}

static void test_code_without_a_file(void)
{
	const uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t words[] = { world_exact(page + 0x123),
				   world_native((void *)0x4242) };
	const struct op_mapping *m;
	char path[64];
	struct world w;
	FILE *f;

	CHECK(page != MAP_FAILED);
	(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map", self());
	(void)unlink(path);
	world_init(&w, NULL);
	learn_self(&w);
	m = world_mapping(&w, self(), (uint64_t)(uintptr_t)page, NULL);
	CHECK(m && m->flags == OP_MAPPING_ANON && !m->segment);
	CHECK_OK(world_sample(&w, self(), NULL, 0, words, 2, OP_END_COMPLETE));
	CHECK(strncmp(world_name(&w, 0), "[anon]+0x", 9) == 0);
	CHECK_STR(world_name(&w, 1), "[unmapped]+0x4241");
	/* and with a map of its names */
	f = fopen(path, "we");
	CHECK(f);
	(void)fprintf(f, "%lx 80 before\n%lx 10 jitted_function\n",
		      (unsigned long)(uintptr_t)page,
		      (unsigned long)(uintptr_t)page + 0x120);
	CHECK(fclose(f) == 0);
	op_processes_window_end(w.p);
	op_window_reset(w.window);
	CHECK_OK(world_sample(&w, self(), NULL, 0, words, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "jitted_function");
	CHECK(unlink(path) == 0);
	world_deinit(&w);
	CHECK(munmap((void *)(uintptr_t)page, 4096) == 0);
}

/* ---- first samples ---- */

struct snapshot {
	struct op_registers registers;
	uint8_t stack[(1 + OP_ABOVE_RECORDS) * OP_STACK_COPY_BYTES];
	size_t len;
};

static struct snapshot snapshot;

__attribute__((noinline, no_sanitize("address"))) static void copy_stack(uint64_t sp)
{
	const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)sp;
	/* The program's name stands in the stack's last page, behind the environment,
	 * which may be an empty one. */
	const uint64_t end = (getauxval(AT_EXECFN) | 4095) + 1;
	size_t i;

	if (snapshot.len > end - sp)
		snapshot.len = (size_t)(end - sp);
	for (i = 0; i < snapshot.len; i++)
		snapshot.stack[i] = from[i];
}

#if defined(__clang__)
#define KEEP_FRAME __attribute__((noinline))
#else
#define KEEP_FRAME __attribute__((noinline, noipa))
#endif

KEEP_FRAME static void take_snapshot(void)
{
	ucontext_t u;

	CHECK(getcontext(&u) == 0);
#if defined(__x86_64__)
	/* DWARF's numbers of rax to r15 */
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };
	size_t i;

	for (i = 0; i < 16; i++)
		snapshot.registers.reg[i] = (uint64_t)u.uc_mcontext.gregs[order[i]];
	snapshot.registers.pc = (uint64_t)u.uc_mcontext.gregs[REG_RIP];
	snapshot.registers.sp = (uint64_t)u.uc_mcontext.gregs[REG_RSP];
	snapshot.registers.fp = (uint64_t)u.uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
	memcpy(snapshot.registers.reg, u.uc_mcontext.regs, sizeof(u.uc_mcontext.regs));
	snapshot.registers.pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
	snapshot.registers.sp = u.uc_mcontext.sp;
	snapshot.registers.fp = u.uc_mcontext.regs[29];
	snapshot.registers.lr = u.uc_mcontext.regs[30];
#endif
	copy_stack(snapshot.registers.sp);
}

KEEP_FRAME static int level_three(int x)
{
	take_snapshot();
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

KEEP_FRAME static int level_two(int x)
{
	x = level_three(x + 1);
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

KEEP_FRAME static int level_one(int x)
{
	x = level_two(x + 1);
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static void check_levels(const struct world *w, const char *test)
{
	CHECK_STR(world_name(w, 0), "take_snapshot");
	CHECK_STR(world_name(w, 1), "level_three");
	CHECK_STR(world_name(w, 2), "level_two");
	CHECK_STR(world_name(w, 3), "level_one");
	CHECK_STR(world_name(w, 4), test);
}

static void test_first_sample_is_unwound(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	const struct op_mapping *m;
	uint32_t before;
	struct world w;
	size_t i;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	/* nothing is known of the process when its first sample comes */
	CHECK_OK(world_first_sample(&w, self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	check_levels(&w, "test_first_sample_is_unwound");
	for (i = 5; i < world_frames(&w) && strcmp(world_name(&w, i), "main") != 0; i++)
		;
	CHECK(i < world_frames(&w));
	/* whole, or cut where the copy ends: never an error */
	CHECK(!strstr(world_name(&w, world_frames(&w) - 1), "error"));
	/* its tables are there for the next one */
	m = world_mapping(&w, self(), (uint64_t)(uintptr_t)known_function, NULL);
	CHECK(m && m->segment && !(m->flags & OP_MAPPING_LAZY));
	before = world_generation(&w, self());
	CHECK_OK(world_first_sample(&w, self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	check_levels(&w, "test_first_sample_is_unwound");
	CHECK_INT(world_generation(&w, self()), before);
	CHECK_OK(world_sample(&w, self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	world_deinit(&w);
}

/* A file that was known, and that nobody had mapped for a while, has its table at once. */
static void test_known_file_is_not_lazy(void)
{
	const uint64_t known = (uint64_t)(uintptr_t)known_function;
	const struct op_mapping *m;
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	CHECK_OK(world_first_sample(&w, self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	op_processes_on_exit(w.p, self(), ++w.now_ns);
	op_processes_records_read(w.p, w.now_ns + 2 * OP_PROCESS_KEEP_NS);
	world_settle(&w, 2 * OP_PROCESS_KEEP_NS);
	CHECK(!world_mapping(&w, self(), known, NULL));
	CHECK_OK(op_processes_scan(w.p));
	world_settle(&w, 0);
	m = world_mapping(&w, self(), known, NULL);
	CHECK(m && m->segment && !(m->flags & OP_MAPPING_LAZY));
	/* one that no sample has met is not opened */
	m = world_mapping(&w, self(), (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "deflate"),
			  NULL);
	CHECK(!m || m->flags & OP_MAPPING_LAZY);
	world_deinit(&w);
}

/* The copy ends within the first frames: the rest is told to be cut, and is not read from
 * the stack of today. */
static void test_short_copy_is_truncated(void)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 64;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	CHECK_OK(world_first_sample(&w, self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	CHECK_STR(world_name(&w, 0), "take_snapshot");
	CHECK_STR(world_name(&w, world_frames(&w) - 1), "[truncated]");
	CHECK(world_frames(&w) <= 3);
	world_deinit(&w);
}

/* The kernel's walk met a mapping without a table, far above the leaf: that table is made
 * although the copy does not reach so far. */
static void test_missing_table_above_the_copy(void)
{
	const uint64_t missing = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
	const struct op_mapping *m;
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 64;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	CHECK_OK(op_processes_scan(w.p));
	world_settle(&w, 0);
	m = world_mapping(&w, self(), missing, NULL);
	CHECK(m && m->flags & OP_MAPPING_LAZY);
	CHECK_OK(world_missed_sample(&w, self(), &snapshot.registers, snapshot.stack,
				     snapshot.len, missing));
	CHECK_STR(world_name(&w, world_frames(&w) - 1), "[truncated]");
	m = world_mapping(&w, self(), missing, NULL);
	CHECK(m && m->segment && !(m->flags & OP_MAPPING_LAZY));
	world_deinit(&w);
}

static void add_snapshot(struct world *w)
{
	CHECK_OK(world_first_sample(w, self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
}

/* The sample comes while the frame that calls this is in this very call; or, with no @w, is
 * left for later. */
KEEP_FRAME static int sample_here(struct world *w)
{
	int x = level_one(0);

	if (w)
		add_snapshot(w);
	return x;
}

/* A frame of 24 KiB, in which the copy of the stack ends. */
KEEP_FRAME static int deep_frame(struct world *w, bool moved)
{
	volatile uint8_t big[24 << 10];
	int x;

	big[0] = 1;
	big[sizeof(big) - 1] = 2;
	x = sample_here(moved ? NULL : w);
	if (moved)
		add_snapshot(w);
	return x + big[0];
}

KEEP_FRAME static int outer_frame(struct world *w, bool moved)
{
	int x = deep_frame(w, moved);

	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static size_t find_frame(const struct world *w, const char *name)
{
	size_t i;

	for (i = 0; i < world_frames(w); i++)
		if (strcmp(world_name(w, i), name) == 0)
			return i;
	return SIZE_MAX;
}

#if defined(__x86_64__)
/* Its rule says that the caller's fp stands below sp, as in Go's code on aarch64. */
__asm__(".pushsection .text\n"
	".type saves_below, @function\n"
	"saves_below:\n"
	".cfi_startproc\n"
	".cfi_offset %rbp, -24\n"
	"nop\n"
	"nop\n"
	".cfi_endproc\n"
	".size saves_below, . - saves_below\n"
	".popsection\n");
extern const char saves_below[];

static void test_copy_from_below_sp(void)
{
	const uint64_t stack[] = { 0x1000, 0, (uint64_t)(uintptr_t)known_function + 1 };
	const struct op_registers registers = { .pc = (uint64_t)(uintptr_t)saves_below,
						.sp = (uint64_t)(uintptr_t)&stack[2] };
	struct world w;

	world_init(&w, NULL);
	CHECK_OK(world_first_sample(&w, self(), &registers, &stack[2], sizeof(stack[0])));
	CHECK_STR(world_name(&w, 0), "saves_below");
	CHECK_STR(world_name(&w, 1), "[truncated]");
	w.stack_below = 16;
	CHECK_OK(world_first_sample(&w, self(), &registers, stack, sizeof(stack)));
	CHECK_STR(world_name(&w, 0), "saves_below");
	CHECK_STR(world_name(&w, 1), "known_function");
	world_deinit(&w);
}
#else
static void test_copy_from_below_sp(void)
{
	/* the code above is x86-64's */
}
#endif

static void test_stack_above_the_copy(void)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	world_init(&w, NULL);
	CHECK(outer_frame(&w, false));
	CHECK(find_frame(&w, "deep_frame") == 5);
	CHECK(find_frame(&w, "outer_frame") == 6);
	CHECK(find_frame(&w, "main") != SIZE_MAX);
	CHECK(!strstr(world_name(&w, world_frames(&w) - 1), "["));
	/* It is not what it was: what stands there now is no frame of that moment. */
	CHECK(outer_frame(&w, true));
	CHECK(find_frame(&w, "deep_frame") == 5);
	CHECK(find_frame(&w, "outer_frame") == SIZE_MAX);
	CHECK_STR(world_name(&w, world_frames(&w) - 1), "[truncated]");
	world_deinit(&w);
}

/* Records before the sample have the rest of the snapshot, in pieces of 4,096 bytes from
 * @gap bytes above the copy on, of thread @tid. */
static void add_in_pieces(struct world *w, uint32_t tid, size_t gap)
{
	const size_t copy = 4096;
	size_t at = copy + gap;

	for (; at < snapshot.len; at += copy)
		CHECK_OK(world_above(w, tid, snapshot.registers.sp + at,
				     snapshot.stack + at,
				     OP_MIN(copy, snapshot.len - at)));
	CHECK_OK(
		world_first_sample(w, self(), &snapshot.registers, snapshot.stack, copy));
}

static void test_records_above_the_copy(void)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = sizeof(snapshot.stack);
	CHECK(outer_frame(NULL, false));
	world_init(&w, NULL);
	/* The thread has left all of it, and it is whole. */
	add_in_pieces(&w, self(), 0);
	CHECK(find_frame(&w, "deep_frame") == 5);
	CHECK(find_frame(&w, "outer_frame") == 6);
	CHECK(find_frame(&w, "main") != SIZE_MAX);
	CHECK(!strstr(world_name(&w, world_frames(&w) - 1), "error"));
	/* What does not fit is not taken. */
	add_in_pieces(&w, self() + 1, 0);
	CHECK(find_frame(&w, "outer_frame") == SIZE_MAX);
	add_in_pieces(&w, self(), 8);
	CHECK(find_frame(&w, "outer_frame") == SIZE_MAX);
	/* It was for that sample alone. */
	CHECK_OK(world_above(&w, self(), snapshot.registers.sp + 4096,
			     snapshot.stack + 4096, OP_STACK_COPY_BYTES));
	w.now_ns++;
	CHECK_OK(world_first_sample(&w, self(), &snapshot.registers, snapshot.stack,
				    4096));
	CHECK(find_frame(&w, "outer_frame") == SIZE_MAX);
	CHECK_INT(world_above(&w, self(), 0, snapshot.stack, OP_STACK_COPY_BYTES + 1),
		  -EBADMSG);
	world_deinit(&w);
}

/* A deep stack has one frame for those that were left out, and above it as many as there are
 * at least: a quarter less one. */
static void test_frames_left_out(void)
{
	const uint64_t word = world_native(known_function);
	uint64_t words[18];
	struct world w;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(words); i++)
		words[i] = word;
	words[8] = (uint64_t)OP_FRAME_LEFT_OUT << OP_FRAME_KIND_SHIFT;
	world_init(&w, NULL);
	CHECK_OK(op_processes_scan(w.p));
	world_settle(&w, 0);
	for (i = 12; i <= 16; i++) {
		CHECK_OK(world_sample(&w, self(), NULL, 0, words, i, OP_END_COMPLETE));
		CHECK_INT(world_frames(&w), 12);
		CHECK_STR(world_name(&w, 8), "[frames left out]");
		CHECK_STR(world_name(&w, 11), world_name(&w, 0));
	}
	/* a runtime's frame of eight words is not cut: one frame is left */
	words[9] = (uint64_t)op_frame_kind_of(1, OP_FRAME_WORDS_MAX)
		   << OP_FRAME_KIND_SHIFT;
	CHECK_OK(world_sample(&w, self(), NULL, 0, words, 18, OP_END_COMPLETE));
	CHECK_INT(world_frames(&w), 10);
	CHECK_STR(world_name(&w, 9), world_name(&w, 0));
	world_deinit(&w);
}

/* There was no time for the tables of the sample: what stands above waits with it. */
static void test_records_above_wait(void)
{
	const size_t copy = 4096;
	struct world w;
	size_t at;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = sizeof(snapshot.stack);
	CHECK(outer_frame(NULL, false));
	world_init(&w, NULL);
	for (at = copy; at < snapshot.len; at += copy)
		CHECK_OK(world_above(&w, self(), snapshot.registers.sp + at,
				     snapshot.stack + at,
				     OP_MIN(copy, snapshot.len - at)));
	op_processes_slice(w.p, 1);
	CHECK_INT(
		world_first_sample(&w, self(), &snapshot.registers, snapshot.stack, copy),
		-EINPROGRESS);
	op_processes_slice(w.p, 0);
	w.now_ns--; /* the same sample */
	CHECK_OK(world_first_sample(&w, self(), &snapshot.registers, snapshot.stack,
				    copy));
	CHECK(find_frame(&w, "outer_frame") == 6);
	world_deinit(&w);
}

/* ---- life cycle ---- */

static pid_t start_child(const char *path)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (path)
			(void)execl(path, path, "1000", (char *)NULL);
		for (;;)
			(void)pause();
	}
	return pid;
}

static void end_child(pid_t pid)
{
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void test_fork_inherits(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	const struct op_process *mine;
	const struct op_process *its;
	uint32_t child;
	struct world w;

	world_init(&w, NULL);
	learn_self(&w);
	child = (uint32_t)start_child(NULL);
	w.now_ns += 1000;
	op_processes_on_fork(w.p, child, self(), w.now_ns);
	world_settle(&w, 0);
	mine = world_process(&w, self());
	its = world_process(&w, child);
	CHECK(its && its != mine);
	CHECK_INT(its->mapping_count, mine->mapping_count);
	CHECK(its->generation != mine->generation);
	CHECK_OK(world_sample(&w, child, NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_INT(world_resource(&w)->pid, child);
	CHECK_STR(world_text(&w, world_resource(&w)->executable_name), "test_processes");
	/* a thread is no process */
	op_processes_on_fork(w.p, self(), self(), w.now_ns);
	CHECK_INT(world_generation(&w, self()), mine->generation);
	end_child((pid_t)child);
	world_deinit(&w);
}

/* A mapping in the child is none in the parent, and the other way round. */
static void test_fork_then_each_its_own(void)
{
	struct op_mmap_event e = { .start = 0x10000, .end = 0x12000, .path = "//anon" };
	uint32_t child = 0x7ffffff0;
	struct world w;

	world_init(&w, NULL);
	learn_self(&w);
	op_processes_on_fork(w.p, child, self(), ++w.now_ns);
	e.pid = child;
	op_processes_on_mmap(w.p, &e);
	e.pid = self();
	e.start = 0x20000;
	e.end = 0x22000;
	op_processes_on_mmap(w.p, &e);
	world_settle(&w, SECOND);
	CHECK(world_mapping(&w, child, 0x10000, NULL));
	CHECK(!world_mapping(&w, child, 0x20000, NULL));
	CHECK(world_mapping(&w, self(), 0x20000, NULL));
	CHECK(!world_mapping(&w, self(), 0x10000, NULL));
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
	uint32_t child = (uint32_t)start_child("/bin/sleep");
	struct replay replay = { .pid = child };
	char path[64];
	uint32_t old;
	uint64_t exec_ns;
	struct world w;
	int tries;

	world_init(&w, NULL);
	learn_self(&w);
	op_processes_on_fork(w.p, child, self(), ++w.now_ns);
	world_settle(&w, 0);
	old = world_generation(&w, child);
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
	CHECK_STR(world_text(&w, world_resource(&w)->executable_name), "test_processes");
	/* one from after it, by the old table: its frames are not true */
	CHECK_OK(world_late_sample(&w, child, old, exec_ns + 1, &word, 1));
	CHECK_INT(world_frames(&w), 1);
	CHECK_STR(world_name(&w, 0), "[unwind error: native_no_mapping]");
	CHECK(strcmp(world_text(&w, world_resource(&w)->executable_name),
		     "test_processes"));
	/* and one by the new table */
	CHECK_OK(world_sample(&w, child, NULL, 0, NULL, 0, OP_END_OFF));
	CHECK(strcmp(world_text(&w, world_resource(&w)->executable_name), "sleep") == 0 ||
	      strcmp(world_text(&w, world_resource(&w)->executable_name), "coreutils") ==
		      0);
	end_child((pid_t)child);
	world_deinit(&w);
}

/* The kernel's walk goes on here from the frame whose table was missing. */
static void test_walk_is_resumed(void)
{
	const uint64_t words[] = { world_exact((const void *)known_function),
				   world_native((const void *)((uintptr_t)other_function +
							       1)) };
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	learn_self(&w);
	CHECK_OK(world_resumed_sample(&w, self(), world_generation(&w, self()), words, 2,
				      &snapshot.registers, snapshot.stack, snapshot.len));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_STR(world_name(&w, 1), "other_function");
	CHECK_STR(world_name(&w, 2), "take_snapshot");
	CHECK_STR(world_name(&w, 3), "level_three");
	CHECK_STR(world_name(&w, 5), "level_one");
	/* What was walked by a table that is not known says nothing, nor do its registers. */
	CHECK_OK(world_resumed_sample(&w, self(), 12345, words, 2, &snapshot.registers,
				      snapshot.stack, snapshot.len));
	CHECK_INT(world_frames(&w), 1);
	CHECK_STR(world_name(&w, 0), "[unwind error: native_no_mapping]");
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
	learn_self(&w);
	world_settle(&w, 0);
	generation = world_generation(&w, self());
	CHECK(generation);
	fork_ns = ++w.now_ns;
	op_processes_on_fork(w.p, child, self(), fork_ns);
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

/* A child that was forked, and has executed something else before its first sample is read:
 * of each program the stack is that of its own mappings. */
static void test_first_sample_before_exec(void)
{
	uint32_t child = 0x7ffffff0; /* no such process: nothing is read of it */
	const uint64_t pc = (uint64_t)(uintptr_t)known_function;
	uint64_t fork_ns;
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	learn_self(&w);
	fork_ns = ++w.now_ns;
	op_processes_on_fork(w.p, child, self(), fork_ns);
	op_processes_on_exec(w.p, child, "other", fork_ns + 1000);
	op_processes_on_exit(w.p, child, fork_ns + 3000);
	w.now_ns += 5000;
	world_settle(&w, 0);
	/* in the image of its parent */
	w.now_ns = fork_ns + 500;
	CHECK_OK(world_first_sample(&w, child, &snapshot.registers, snapshot.stack,
				    snapshot.len));
	check_levels(&w, "test_first_sample_before_exec");
	CHECK_INT(world_resource(&w)->pid, child);
	/* in its own, of which nothing was told: no frame of the other */
	w.now_ns = fork_ns + 2000;
	CHECK_OK(world_first_sample(&w, child, &snapshot.registers, snapshot.stack,
				    snapshot.len));
	CHECK_INT(world_frames(&w), 2);
	CHECK_STR(world_name(&w, 1), "[unwind error: native_no_mapping]");
	/* in the kernel's execve: there is no user stack; told of before or after */
	for (w.now_ns = fork_ns + 500; w.now_ns < fork_ns + 3000; w.now_ns += 1500) {
		CHECK_OK(world_exec_sample(&w, child, KERNEL + 8, pc));
		CHECK_INT(world_frames(&w), 1);
		CHECK_STR(world_name(&w, 0), "first_page");
	}
	world_deinit(&w);
}

/* The process is gone when its first sample is read. */
static void test_first_sample_before_exit(void)
{
	uint32_t child = 0x7ffffff0;
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	learn_self(&w);
	op_processes_on_fork(w.p, child, self(), ++w.now_ns);
	op_processes_on_exit(w.p, child, w.now_ns + 1000);
	world_settle(&w, 2000);
	w.now_ns -= 1500;
	CHECK_OK(world_first_sample(&w, child, &snapshot.registers, snapshot.stack,
				    snapshot.len));
	check_levels(&w, "test_first_sample_before_exit");
	world_deinit(&w);
}

static void test_exit_keeps_for_late_records(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	uint32_t child = 0x7ffffff0; /* no such process: nothing is read of it */
	struct op_processes_stats stats;
	uint32_t generation;
	uint64_t end_ns;
	struct world w;

	world_init(&w, NULL);
	learn_self(&w);
	op_processes_on_fork(w.p, child, self(), ++w.now_ns);
	world_settle(&w, 0);
	generation = world_generation(&w, child);
	end_ns = w.now_ns + 100;
	op_processes_on_exit(w.p, child, end_ns);
	world_settle(&w, 200);
	CHECK(!world_process(&w, child));
	op_processes_get_stats(w.p, &stats);
	CHECK_INT(stats.processes, 1);
	CHECK_OK(world_late_sample(&w, child, generation, end_ns - 1, &word, 1));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_INT(world_resource(&w)->pid, child);
	CHECK_STR(world_text(&w, world_resource(&w)->executable_name), "test_processes");
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

	world_init(&w, NULL);
	learn_self(&w);
	op_processes_on_fork(w.p, child, self(), ++w.now_ns);
	world_settle(&w, 0);
	generation = world_generation(&w, child);
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
	learn_self(&w);
	op_processes_on_fork(w.p, pid, self(), ++w.now_ns);
	world_settle(&w, 1000);
	first = world_generation(&w, pid);
	CHECK_OK(world_sample(&w, pid, NULL, 0, &word, 1, OP_END_COMPLETE));
	first_start = world_resource(&w)->start_time_ns;
	op_processes_on_exit(w.p, pid, ++w.now_ns);
	op_processes_on_fork(w.p, pid, self(), w.now_ns += 1000);
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
	learn_self(&w);
	for (i = 0; i < 10; i++)
		op_processes_on_fork(w.p, 0x7ffffff0 + i, self(), ++w.now_ns);
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
		op_processes_on_fork(w.p, 0x7ffffff0, self(), ++w.now_ns);
	}
	world_settle(&w, 0);
	CHECK(world_process(&w, 0x7ffffff0));
	world_deinit(&w);
}

static void test_failed_publication_is_tried_again(void)
{
	struct world w;

	world_init(&w, NULL);
	CHECK_OK(world_sample(&w, self(), NULL, 0, NULL, 0, OP_END_OFF));
	w.publish_error = -ENOMEM;
	world_settle(&w, 0);
	CHECK(!world_process(&w, self()));
	w.publish_error = 0;
	world_settle(&w, SECOND);
	CHECK(world_process(&w, self()));
	world_deinit(&w);
}

/* Settle until all that is done in slices is done. */
static void settle_all(struct world *w)
{
	do
		world_settle(w, SECOND);
	while (op_processes_busy(w->p));
	world_settle(w, 0);
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
	learn_self(&w);
	generation = world_generation(&w, self());
	before = ++w.now_ns;
	op_processes_on_fork(w.p, 0x7ffffff0, self(), ++w.now_ns);
	world_settle(&w, 2 * SECOND);
	op_processes_on_fork(w.p, 0x7ffffff1, 0x7ffffff0, ++w.now_ns);
	world_settle(&w, 0);
	CHECK(!world_process(&w, self()));
	CHECK(world_process(&w, 0x7ffffff0) && world_process(&w, 0x7ffffff1));
	/* a record that was on its way */
	world_settle(&w, 2 * SECOND);
	CHECK_OK(world_late_sample(&w, self(), generation, before, words, 1));
	CHECK_STR(world_file(&w, 0), "test_processes");
	learn_self(&w);
	CHECK(!world_process(&w, 0x7ffffff0));
	CHECK_OK(world_sample(&w, self(), NULL, 0, words, 1, OP_END_COMPLETE));
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
	learn_self(&w);
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
	learn_self(&w);
	op_processes_on_fork(w.p, gone, self(), ++w.now_ns);
	world_settle(&w, 0);
	CHECK(world_process(&w, gone));
	child = (uint32_t)start_child(NULL);
	op_processes_on_lost(w.p);
	settle_all(&w);
	CHECK(!world_process(&w, gone));
	CHECK(world_process(&w, child));
	end_child((pid_t)child);
	world_deinit(&w);
}

/* An exit of which no event tells is noticed in the end. */
static void test_untold_exit(void)
{
	uint32_t gone = 0x7ffffff0;
	struct world w;

	world_init(&w, NULL);
	learn_self(&w);
	op_processes_on_fork(w.p, gone, self(), ++w.now_ns);
	world_settle(&w, 0);
	CHECK(world_process(&w, gone));
	world_settle(&w, 61 * SECOND);
	CHECK(!world_process(&w, gone));
	CHECK(world_process(&w, self()));
	world_deinit(&w);
}

/* Records of any bytes: an error or a sample, and no memory error. */
static void test_bad_records(void)
{
	struct op_record record = { .header = WORLD_RECORD_HEADER,
				    .pid = self(),
				    .tid = self() };
	uint8_t bytes[sizeof(record) + 600];
	uint64_t random = 7;
	struct world w;
	int i;

	world_init(&w, NULL);
	learn_self(&w);
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record) - 1, w.window),
		  -EBADMSG);
	record.header.type = OP_RECORD_TYPES;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EPROTO);
	record.header.type = OP_RECORD_SAMPLE;
	record.header.version++;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EPROTO);
	record.header.version = OP_RECORD_VERSION;
	record.header.bytes = sizeof(record.header) - 1;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EBADMSG);
	record.header.bytes = sizeof(record);
	record.user_words = 1;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EBADMSG);
	record.user_words = 0;
	record.event = OP_EVENT_MAX;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EBADMSG);
	record.event = 0;
	record.end = OP_END_UNKNOWN;
	CHECK_INT(op_sampler_add_record(w.sampler, &record, sizeof(record), w.window),
		  -EBADMSG);
	for (i = 0; i < 3000; i++) {
		size_t j;

		for (j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)op_hash_u64(++random);
		record.time_ns = w.now_ns;
		record.generation = i % 2 ? world_generation(&w, self()) : bytes[0];
		record.kernel_count = bytes[1] % 40;
		record.user_words = bytes[2] % 40;
		record.end = i % 8 ? bytes[3] : OP_END_UNKNOWN;
		record.stack_bytes = bytes[4];
		record.header.bytes = (uint32_t)sizeof(bytes) - bytes[590];
		memcpy(bytes, &record, sizeof(record));
		(void)op_sampler_add_record(w.sampler, bytes, sizeof(bytes) - bytes[590],
					    w.window);
	}
	world_deinit(&w);
}

TEST_MAIN({ "scan", test_scan_publishes_what_is_mapped },
	  { "native", test_native_frames_are_named },
	  { "no_names", test_names_can_be_left_to_the_back_end },
	  { "kernel", test_kernel_frames }, { "ends", test_ends_are_told },
	  { "anon", test_code_without_a_file }, { "first", test_first_sample_is_unwound },
	  { "missing-table", test_missing_table_above_the_copy },
	  { "above-the-copy", test_stack_above_the_copy },
	  { "records-above", test_records_above_the_copy },
	  { "records-above-wait", test_records_above_wait },
	  { "frames-left-out", test_frames_left_out },
	  { "below-sp", test_copy_from_below_sp },
	  { "short", test_short_copy_is_truncated }, { "fork", test_fork_inherits },
	  { "own", test_fork_then_each_its_own },
	  { "exec", test_exec_changes_everything },
	  { "exit", test_exit_keeps_for_late_records },
	  { "before-exec", test_first_sample_before_exec },
	  { "known-file", test_known_file_is_not_lazy },
	  { "resumed", test_walk_is_resumed },
	  { "read-late", test_records_are_read_late },
	  { "parents-table", test_child_by_parents_table },
	  { "before-exit", test_first_sample_before_exit },
	  { "reuse", test_reused_pid_is_another }, { "limit", test_limit_of_processes },
	  { "room", test_limit_makes_room }, { "pause", test_lost_events_pause },
	  { "retry", test_failed_publication_is_tried_again },
	  { "lost", test_lost_events }, { "untold", test_untold_exit },
	  { "bad", test_bad_records })
