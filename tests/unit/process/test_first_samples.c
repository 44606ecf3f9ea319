/* SPDX-License-Identifier: Apache-2.0 */
/* First samples of a process: they carry a copy of its stack, which user space walks. */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inside.h"
#include "process/target/target.h"
#include "snapshot.h"
#include "test.h"
#include "world.h"

static void test_first_sample_is_unwound(void)
{
	const uint64_t word = world_exact((const void *)known_function);
	const struct op_arena_mapping *m;
	uint32_t before;
	struct world w;
	size_t i;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	/* nothing is known of the process when its first sample comes */
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	check_levels(&w, "test_first_sample_is_unwound");
	for (i = 5; i < world_frames(&w) && strcmp(world_name(&w, i), "main") != 0; i++)
		;
	CHECK(i < world_frames(&w));
	/* whole, or cut where the copy ends: never an error */
	CHECK(!strstr(world_name(&w, world_frames(&w) - 1), "error"));
	/* its tables are there for the next one */
	m = world_mapping(&w, world_self(), (uint64_t)(uintptr_t)known_function, NULL);
	CHECK(m && m->segment && !(m->flags & OP_MAPPING_LAZY));
	before = world_generation(&w, world_self());
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	check_levels(&w, "test_first_sample_is_unwound");
	CHECK_INT(world_generation(&w, world_self()), before);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(&w, 0), "known_function");
	world_deinit(&w);
}

/* A file that was known, and that nobody had mapped for a while, has its table at once. */
static void test_known_file_is_not_lazy(void)
{
	const uint64_t known = (uint64_t)(uintptr_t)known_function;
	const struct op_arena_mapping *m;
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	op_processes_on_exit(w.p, world_self(), ++w.now_ns);
	op_processes_records_read(w.p, w.now_ns + 2 * OP_PROCESS_KEEP_NS);
	world_settle(&w, 2 * OP_PROCESS_KEEP_NS);
	CHECK(!world_mapping(&w, world_self(), known, NULL));
	CHECK_OK(inside_scan(w.p));
	world_settle(&w, 0);
	m = world_mapping(&w, world_self(), known, NULL);
	CHECK(m && m->segment && !(m->flags & OP_MAPPING_LAZY));
	/* one that no sample has met is not opened */
	m = world_mapping(&w, world_self(),
			  (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "deflate"), NULL);
	CHECK(!m || m->flags & OP_MAPPING_LAZY);
	world_deinit(&w);
}

/* While the ring is read, the names of a file wait, but not the walk: the programs have the tables
 * for the next sample. */
static void test_walk_comes_before_names(void)
{
	const struct op_arena_mapping *m;
	struct world w;
	int r;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	w.allowance.brief = true;
	r = world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
			       snapshot.len);
	CHECK_INT(r, -EINPROGRESS);
	CHECK(op_sampler_walked(w.sampler));
	m = world_mapping(&w, world_self(), (uint64_t)(uintptr_t)known_function, NULL);
	CHECK(m && m->segment && !(m->flags & OP_MAPPING_LAZY));
	w.allowance.brief = false;
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	check_levels(&w, "test_walk_comes_before_names");
	world_deinit(&w);
	/* without CPU time nothing waits */
	world_init(&w, NULL);
	w.allowance.brief = true;
	op_allowance_give_cpu(&w.allowance, 0);
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	world_deinit(&w);
}

/* The text of this program, as an event that the kernel makes at @time_ns. */
static void map_self(struct world *w, uint64_t time_ns)
{
	struct op_mmap_event e = { .pid = world_self(), .time_ns = time_ns };
	uint64_t known = (uint64_t)(uintptr_t)known_function;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	char path[256];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64
			   " %255s",
			   &e.start, &e.end, &e.offset, &e.dev_major, &e.dev_minor,
			   &e.inode, path) == 7 &&
		    e.start <= known && known < e.end)
			break;
	}
	CHECK_OK(fclose(maps));
	e.path = path;
	op_processes_on_mmap(w->p, &e);
}

/* What was mapped after the sample was not there at the sample, whatever was. */
static void test_mapped_after_the_sample(void)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	CHECK_OK(inside_scan(w.p));
	world_settle(&w, 0);
	map_self(&w, w.now_ns + 1);
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	CHECK_STR(world_name(&w, 0), "take_snapshot");
	map_self(&w, w.now_ns + 100);
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	CHECK_STR(world_name(&w, 0), "[unwind error: native_no_mapping]");
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
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
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
	const struct op_arena_mapping *m;
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 64;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	CHECK_OK(inside_scan(w.p));
	world_settle(&w, 0);
	m = world_mapping(&w, world_self(), missing, NULL);
	CHECK(m && m->flags & OP_MAPPING_LAZY);
	CHECK_OK(world_missed_sample(&w, world_self(), &snapshot.registers,
				     snapshot.stack, snapshot.len, missing));
	CHECK_STR(world_name(&w, world_frames(&w) - 1), "[truncated]");
	m = world_mapping(&w, world_self(), missing, NULL);
	CHECK(m && m->segment && !(m->flags & OP_MAPPING_LAZY));
	world_deinit(&w);
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
	CHECK_OK(world_first_sample(&w, world_self(), &registers, &stack[2],
				    sizeof(stack[0])));
	CHECK_STR(world_name(&w, 0), "saves_below");
	CHECK_STR(world_name(&w, 1), "[truncated]");
	w.stack_below = 16;
	CHECK_OK(world_first_sample(&w, world_self(), &registers, stack, sizeof(stack)));
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
	world_learn_self(&w);
	CHECK_OK(world_resumed_sample(&w, world_self(),
				      world_generation(&w, world_self()), words, 2,
				      &snapshot.registers, snapshot.stack, snapshot.len));
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_STR(world_name(&w, 1), "other_function");
	CHECK_STR(world_name(&w, 2), "take_snapshot");
	CHECK_STR(world_name(&w, 3), "level_three");
	CHECK_STR(world_name(&w, 5), "level_one");
	/* What was walked by a table that is not known says nothing, nor do its registers. */
	CHECK_OK(world_resumed_sample(&w, world_self(), 12345, words, 2,
				      &snapshot.registers, snapshot.stack, snapshot.len));
	CHECK_INT(world_frames(&w), 1);
	CHECK_STR(world_name(&w, 0), "[unwind error: native_no_mapping]");
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
	world_learn_self(&w);
	op_processes_on_fork(w.p, child, world_self(), ++w.now_ns);
	op_processes_on_exit(w.p, child, w.now_ns + 1000);
	world_settle(&w, 2000);
	w.now_ns -= 1500;
	CHECK_OK(world_first_sample(&w, child, &snapshot.registers, snapshot.stack,
				    snapshot.len));
	check_levels(&w, "test_first_sample_before_exit");
	world_deinit(&w);
}

enum {
	PIECES = 16,
};

/* A sample in code at @pc of which nothing is known. Returns whether it had to wait for a look at the
 * maps. */
static bool finds_code(struct world *w, uint64_t pc)
{
	const struct op_registers registers = { .pc = pc, .sp = 0x7ffc00001000 };
	uint8_t stack[64] = { 0 };
	bool waited = false;
	int r;

	do {
		r = world_first_sample(w, world_self(), &registers, stack, sizeof(stack));
		waited = waited || r == -EINPROGRESS;
		/* the last look may have been a slow one, on a busy machine */
		world_settle(w, r == -EINPROGRESS ? 1000000 : 1000000000);
	} while (r == -EINPROGRESS || strncmp(world_name(w, 0), "[anon]+0x", 9) != 0);
	CHECK_OK(r);
	return waited;
}

/* Code appears in one place after another, which no event reports. A sample in it waits where the
 * maps were read just before, and may be soon again. */
static void test_code_without_events(void)
{
	void *piece[PIECES];
	struct world w;
	int waits = 0;
	int i;

	world_init(&w, NULL);
	world_learn_self(&w);
	for (i = 0; i < PIECES; i++) {
		piece[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(piece[i] != MAP_FAILED);
		waits += finds_code(&w, (uint64_t)(uintptr_t)piece[i] + 7);
		w.now_ns -= 1000000000;
	}
	CHECK(waits > 0);
	for (i = 0; i < PIECES; i++)
		CHECK(munmap(piece[i], 4096) == 0);
	world_deinit(&w);
}

/* How many of @n samples at @pc, one each @ns, lead to a reading of the maps? */
static int count_looks(struct world *w, uint64_t pc, int n, uint64_t ns)
{
	const struct op_registers registers = { .pc = pc, .sp = 0x7ffc00001000 };
	const struct op_target_stats *stats = &op_processes_target(w->p)->stats;
	uint8_t stack[64] = { 0 };
	int looks = 0;

	while (n--) {
		uint64_t before = stats->mappings;
		int r;

		world_settle(w, ns);
		r = world_first_sample(w, world_self(), &registers, stack, sizeof(stack));
		CHECK(r == 0 || r == -EINPROGRESS);
		looks += stats->mappings != before;
	}
	return looks;
}

/* Samples at an address where nothing ever is ask for the maps less and less often. */
static void test_vain_looks(void)
{
	void *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t pc = (uint64_t)(uintptr_t)none;
	struct world w;
	int looks;

	CHECK(none != MAP_FAILED);
	world_init(&w, NULL);
	world_learn_self(&w);
	looks = count_looks(&w, pc, 40, 10000000);
	printf("%d", looks);
	CHECK(looks > 1 && looks < 15);
	looks = count_looks(&w, pc, 40, UINT64_C(4000000000));
	printf(", %d\n", looks);
	CHECK(looks > 1 && looks < 15);
	/* code is found there at the end of the longest pause at the latest */
	CHECK(mprotect(none, 4096, PROT_READ | PROT_EXEC) == 0);
	CHECK_INT(count_looks(&w, pc, 2, UINT64_C(64000000000)), 1);
	CHECK(strncmp(world_name(&w, 0), "[anon]+0x", 9) == 0);
	CHECK(munmap(none, 4096) == 0);
	world_deinit(&w);
}

TEST_MAIN({ "first", test_first_sample_is_unwound },
	  { "names-later", test_walk_comes_before_names },
	  { "missing-table", test_missing_table_above_the_copy },
	  { "below-sp", test_copy_from_below_sp },
	  { "mapped-after", test_mapped_after_the_sample },
	  { "short", test_short_copy_is_truncated },
	  { "known-file", test_known_file_is_not_lazy },
	  { "resumed", test_walk_is_resumed }, { "no-events", test_code_without_events },
	  { "vain-looks", test_vain_looks },
	  { "before-exit", test_first_sample_before_exit })
