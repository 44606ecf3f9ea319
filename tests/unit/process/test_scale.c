/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of an idle process, and the cost of a short-lived process beside many. Only
 * events are used, so the figures are the library's own. tests/bench/scale.sh measures a
 * whole host.
 */
#include <errno.h>
#include <malloc.h>
#include <sys/stat.h>
#include <time.h>

#include "base/io.h"
#include "code/symbol/kernel.h"
#include "inside.h"
#include "process/target/maps.h"
#include "process/target/target.h"
#include "tools.h"
#include "world.h"

enum {
	FILES = 5, /* that a small program maps: its own, ld.so, libc, another, the vDSO */
	EXECUTABLES = 100, /* different ones among the processes */
	FEW = 500,
	MANY = 8000,
	LIMIT = 8192, /* of processes, as a handle has it by itself */
	BYTES_MAX = 4096,
	BATCH = 200,
	BATCHES = 7,
	FACTOR_MAX =
		3, /* between few and many; a walk over all would be a factor of 16 */
};

static const uint64_t MS = 1000000;
static const uint64_t SECOND = 1000000000;

/* Of a sanitizer, whose malloc() is its own. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

int op_kernel_symbols_find(struct op_kernel_symbols *k, uint64_t addr,
			   struct op_kernel_symbol *ret)
{
	return 0;
}

/* Bytes taken of the heap and of what the kernel shares. */
static uint64_t taken(const struct world *w)
{
	struct op_arena_stats stats;

	op_arena_get_stats(w->arena, &stats);
	if (__sanitizer_get_current_allocated_bytes)
		return stats.used_bytes + __sanitizer_get_current_allocated_bytes();
	return stats.used_bytes + mallinfo2().uordblks + mallinfo2().hblkhd;
}

static void map_file(struct world *w, uint32_t pid, int file)
{
	char path[64];
	struct op_mmap_event e = {
		.pid = pid,
		.start = UINT64_C(0x400000) + (uint64_t)file * 0x10000000,
		.dev_major = 8,
		.inode = 1000 + (uint64_t)file,
		.path = path,
	};

	e.end = e.start + 0x20000;
	(void)snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/library-%d.so.6",
		       file);
	if (file == 0) {
		e.inode = 2000 + pid % EXECUTABLES;
		(void)snprintf(path, sizeof(path), "/usr/bin/program-%u",
			       pid % EXECUTABLES);
	} else if (file == FILES - 1) {
		e.inode = 0;
		(void)snprintf(path, sizeof(path), "[vdso]");
	}
	op_processes_on_mmap(w->p, &e);
}

/* A process as a shell makes it. */
static void begin(struct world *w, uint32_t pid)
{
	int i;

	op_processes_on_fork(w->p, pid, 1, w->now_ns);
	op_processes_on_exec(w->p, pid, "program", w->now_ns);
	for (i = 0; i < FILES; i++)
		map_file(w, pid, i);
}

/* @n idle ones, of pids from @first on. */
static void begin_many(struct world *w, uint32_t first, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		begin(w, first + i);
		if (i % 50 == 0)
			world_settle(w, MS);
	}
	world_settle(w, 4 * SECOND); /* nothing is kept for late records any more */
	world_settle(w, 2 * SECOND);
}

static void test_bytes_of_an_idle_process(void)
{
	const struct world_options options = { .procfs_root = tools_dir,
					       .max_processes = LIMIT };
	struct op_processes_stats stats;
	struct world w;
	uint64_t before;
	uint64_t each;

	world_init(&w, &options);
	begin_many(&w, 100, FEW); /* the files and the first sizes of tables */
	before = taken(&w);
	begin_many(&w, 100 + FEW, MANY - FEW);
	op_processes_get_stats(w.p, &stats);
	CHECK_INT(stats.processes, MANY);
	each = (taken(&w) - before) / (MANY - FEW);
	printf("bytes an idle process: %llu\n", (unsigned long long)each);
	CHECK(each <= BYTES_MAX);
	world_deinit(&w);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* What one costs from fork to exit, in ns: the best of some batches, as others work too. */
static uint64_t cost_beside(struct world *w, uint32_t *pid)
{
	uint64_t best = UINT64_MAX;
	int batch;
	int i;

	for (batch = 0; batch < BATCHES; batch++) {
		uint64_t begin_ns = cpu_ns();
		uint64_t took;

		for (i = 0; i < BATCH; i++) {
			begin(w, *pid);
			world_settle(w, MS);
			CHECK(world_process(w, *pid));
			op_processes_on_exit(w->p, *pid, w->now_ns);
			world_settle(w, MS);
			++*pid;
		}
		took = (cpu_ns() - begin_ns) / BATCH;
		if (took < best)
			best = took;
	}
	return best;
}

static void test_cost_beside_many(void)
{
	const struct world_options options = { .procfs_root = tools_dir,
					       .max_processes = LIMIT };
	uint32_t pid = 100000;
	struct world w;
	uint64_t few;
	uint64_t many;

	world_init(&w, &options);
	begin_many(&w, 100, FEW);
	few = cost_beside(&w, &pid);
	begin_many(&w, 100 + FEW, MANY - FEW);
	many = cost_beside(&w, &pid);
	printf("ns a process beside %d: %llu, beside %d: %llu\n", FEW,
	       (unsigned long long)few, MANY, (unsigned long long)many);
	CHECK(many <= few * FACTOR_MAX);
	world_deinit(&w);
}

/* One more than there is room for costs what the last one below the limit did. */
static void test_no_cliff_at_the_limit(void)
{
	const struct world_options options = { .procfs_root = tools_dir,
					       .max_processes = MANY };
	struct op_processes_stats stats;
	uint32_t pid = 100000;
	struct world w;
	uint64_t below;
	uint64_t chunks;

	world_init(&w, &options);
	begin_many(&w, 100, MANY - 1);
	below = cost_beside(&w, &pid);
	begin(&w, 99);
	world_settle(&w, 2 * SECOND);
	chunks = cost_beside(&w, &pid); /* each takes the place of an idle one */
	printf("ns a process below the limit: %llu, at it: %llu\n",
	       (unsigned long long)below, (unsigned long long)chunks);
	CHECK(chunks <= below * FACTOR_MAX);
	op_processes_get_stats(w.p, &stats);
	CHECK_INT(stats.unseen, 0);
	world_deinit(&w);
}

/* ---- very many mappings, in a pretended /proc: each settle reads a slice of maps, and others do not
 * wait for them ---- */

enum {
	LINES = 262144,
	EVERY = 17, /* so many lines have one mapping of code: 15,421, below the limit */
	CODE = (LINES + EVERY - 1) / EVERY,
	LONG_LINE = 190,
	LARGE = 10, /* processes */
	FIRST_PID = 100,
	HONEST_PID = 5000,
	/* a slice ends with a piece of 64 KiB, of lines of at least 50 bytes */
	SLICE_BYTES_MAX = OP_MAPS_SLICE_BYTES + (64 << 10),
	SLICE_MAPPINGS_MAX = OP_MAPS_SLICE + (64 << 10) / 50,
};

static uint64_t address_of(int line)
{
	return UINT64_C(0x7f0000000000) + (uint64_t)line * 0x2000;
}

/* As of containers: a line has LONG_LINE bytes, a process of LINES 50 MB. */
static const char LONG_FOLDER[] =
	"/var/lib/containers/storage/overlay/"
	"6f2b1c8e0d7a4953b1e6c0ffee5a9d3478210fedcba98765432100112233aabb/diff/usr/lib/"
	"x86_64-linux-gnu/programs";

/* @lines lines, one of @every of code. */
static void make_process(uint32_t pid, int lines, int every, const char *folder)
{
	char name[64];
	FILE *f;
	int i;

	(void)snprintf(name, sizeof(name), "%u", pid);
	CHECK(mkdir(tools_path(name), 0755) == 0);
	(void)snprintf(name, sizeof(name), "%u/maps", pid);
	f = fopen(tools_path(name), "we");
	CHECK(f);
	for (i = 0; i < lines; i++)
		CHECK(fprintf(f, "%llx-%llx r%c%cp 00000000 08:01 77 %s/%u\n",
			      (unsigned long long)address_of(i),
			      (unsigned long long)address_of(i) + 0x1000,
			      i % every ? 'w' : '-', i % every ? '-' : 'x', folder,
			      pid) > 0);
	CHECK(fclose(f) == 0);
}

static void begin_reading(struct world *w)
{
	const struct world_options options = { .procfs_root = tools_dir };

	world_init(w, &options);
	/* no child reads, whatever this host's programs serve */
	op_processes_target(w->p)->servers =
		(struct op_stall_risk){ .checked_ns =
						op_clock_monotonic_ns() + 3600000 * MS };
}

/* One call. Returns the executable mappings that it read; adds to *@bytes what it read of maps. */
static uint64_t settle_once(struct world *w, uint64_t *bytes)
{
	const struct op_target_stats *now = &op_processes_target(w->p)->stats;
	const struct op_target_stats before = *now;

	w->now_ns += MS;
	op_processes_settle(w->p, w->now_ns);
	*bytes = now->maps_bytes - before.maps_bytes;
	return now->mappings - before.mappings;
}

/* A sample of a process that is not known yet, as it comes from the kernel. */
static int first_sample(struct world *w, uint32_t pid, int line)
{
	const struct op_registers registers = { .pc = address_of(line) + 16,
						.sp = 0x7ffc00001000 };
	const uint64_t stack[16] = { 0 };

	return world_first_sample(w, pid, &registers, stack, sizeof(stack));
}

static void test_slices(void)
{
	uint64_t most = 0;
	uint64_t most_bytes = 0;
	int settles = 0;
	struct world w;
	int i;

	TOOLS_RUN("rm -rf *");
	make_process(FIRST_PID, LINES, EVERY, LONG_FOLDER);
	begin_reading(&w);
	/* its maps are not read yet, so it waits */
	CHECK_INT(first_sample(&w, FIRST_PID, 0), -EINPROGRESS);
	CHECK(inside_reads(w.p, FIRST_PID));
	for (; inside_reads(w.p, FIRST_PID); settles++) {
		uint64_t bytes;
		uint64_t n = settle_once(&w, &bytes);

		most = OP_MAX(most, n);
		most_bytes = OP_MAX(most_bytes, bytes);
		CHECK(settles < 1000);
	}
	printf("%d settles, at most %llu mappings and %llu bytes in each\n", settles,
	       (unsigned long long)most, (unsigned long long)most_bytes);
	CHECK(settles >= (int)((uint64_t)LINES * LONG_LINE / OP_MAPS_SLICE_BYTES));
	CHECK(most <= SLICE_MAPPINGS_MAX);
	CHECK(most_bytes <= SLICE_BYTES_MAX);
	world_settle(&w, MS);
	CHECK_INT(world_process(&w, FIRST_PID)->mapping_count, CODE);
	for (i = 0; i < LINES; i += EVERY)
		CHECK(world_mapping(&w, FIRST_PID, address_of(i) + 16, NULL));
	CHECK_OK(first_sample(&w, FIRST_PID, LINES - 1 - (LINES - 1) % EVERY));
	world_deinit(&w);
}

static void map_other(struct world *w, uint32_t pid, uint64_t start)
{
	op_processes_on_mmap(w->p, &(struct op_mmap_event){ .pid = pid,
							    .start = start,
							    .end = start + 0x1000,
							    .dev_major = 8,
							    .dev_minor = 1,
							    .inode = 78,
							    .path = "/opt/app/other",
							    .time_ns = ++w->now_ns });
}

/* A process that begins while ten large ones are read is published at once. */
static void test_others_do_not_wait(void)
{
	const uint64_t other = UINT64_C(0x600000000000);
	uint64_t bytes;
	struct world w;
	int i;

	TOOLS_RUN("rm -rf *");
	for (i = 0; i < LARGE; i++)
		make_process((uint32_t)(FIRST_PID + i), LINES / LARGE, 1, "/opt/app");
	begin_reading(&w);
	for (i = 0; i < LARGE; i++)
		CHECK_INT(first_sample(&w, (uint32_t)(FIRST_PID + i), 0), -EINPROGRESS);
	CHECK(inside_reads(w.p, FIRST_PID));
	op_processes_on_fork(w.p, HONEST_PID, 1, ++w.now_ns);
	op_processes_on_exec(w.p, HONEST_PID, "honest", ++w.now_ns);
	map_other(&w, HONEST_PID, other);
	/* a settle publishes one process at least */
	for (i = 0; i <= LARGE && !world_process(&w, HONEST_PID); i++) {
		CHECK(settle_once(&w, &bytes) <= SLICE_MAPPINGS_MAX);
		CHECK(bytes <= SLICE_BYTES_MAX);
	}
	CHECK(inside_reads(w.p, FIRST_PID));
	CHECK(world_mapping(&w, HONEST_PID, other, NULL));
	/* An event comes while the maps are read, and what it says is kept. */
	map_other(&w, FIRST_PID, other);
	/* One executes another program, one ends: their maps are read no more. */
	op_processes_on_exec(w.p, FIRST_PID + 1, "again", ++w.now_ns);
	CHECK(!inside_reads(w.p, FIRST_PID + 1));
	op_processes_on_exit(w.p, FIRST_PID + 2, ++w.now_ns);
	CHECK(!inside_reads(w.p, FIRST_PID + 2));
	world_settle(&w, MS);
	world_settle(&w, 10 * SECOND);
	CHECK(!inside_reads(w.p, FIRST_PID));
	CHECK(world_mapping(&w, FIRST_PID, other, NULL));
	/* all beyond the limit is counted */
	CHECK_INT(world_process(&w, FIRST_PID)->mapping_count, OP_MAPPINGS_MAX);
	CHECK_INT(world_process(&w, FIRST_PID + LARGE - 1)->mapping_count,
		  OP_MAPPINGS_MAX);
	world_deinit(&w);
}

enum {
	SMALL_ARENA_BYTES = 4 << 20, /* that the tables of LARGE would fill */
	ROUNDS = 20,
};

static const uint64_t TOP = UINT64_C(0x7fff00000000);

/* A process with more mappings than it may have, between and below those of other files. */
static void begin_large(struct world *w, uint32_t pid)
{
	int i;

	begin(w, pid);
	map_other(w, pid, TOP);
	for (i = 0; i < OP_MAPPINGS_MAX; i++)
		op_processes_on_mmap(
			w->p, &(struct op_mmap_event){ .pid = pid,
						       .start = address_of(i),
						       .end = address_of(i) + 0x1000,
						       .dev_major = 8,
						       .inode = 79,
						       .path = "/opt/app/large" });
}

static uint64_t failed_of(const struct world *w)
{
	struct op_arena_stats stats;

	op_arena_get_stats(w->arena, &stats);
	return stats.failed;
}

static void check_files(const struct world *w, uint32_t pid)
{
	int i;

	for (i = 0; i < FILES; i++)
		CHECK(world_mapping(w, pid, UINT64_C(0x400000) + (uint64_t)i * 0x10000000,
				    NULL));
}

/* Large tables take half of the arena at most, those that change all the time, too. What does not fit
 * is cut, files first, and counted. */
static void test_large_tables_leave_others_theirs(void)
{
	const struct world_options options = { .procfs_root = tools_dir,
					       .arena_bytes = SMALL_ARENA_BYTES };
	struct op_processes_stats stats;
	struct world w;
	uint32_t pid;
	int round;

	world_init(&w, &options);
	for (pid = FIRST_PID; pid < FIRST_PID + LARGE; pid++)
		begin_large(&w, pid);
	world_settle(&w, 10 * SECOND);
	CHECK_INT(failed_of(&w), 0);
	CHECK_INT(world_process(&w, FIRST_PID)->mapping_count, OP_MAPPINGS_MAX);
	CHECK(world_process(&w, FIRST_PID + LARGE - 1)->mapping_count < OP_MAPPINGS_MAX);
	for (round = 0; round < ROUNDS; round++) {
		begin(&w, HONEST_PID + (uint32_t)round);
		for (pid = FIRST_PID; pid < FIRST_PID + LARGE; pid++) {
			map_other(&w, pid, TOP + (uint64_t)(round + 1) * 0x2000);
			check_files(&w, pid);
			CHECK(world_mapping(&w, pid, TOP, NULL));
		}
		world_settle(&w, SECOND);
		check_files(&w, HONEST_PID + (uint32_t)round);
	}
	CHECK_INT(failed_of(&w), 0);
	op_processes_get_stats(w.p, &stats);
	CHECK(stats.mappings_unseen > OP_MAPPINGS_MAX);
	world_deinit(&w);
}

TEST_MAIN({ "bytes", test_bytes_of_an_idle_process }, { "cost", test_cost_beside_many },
	  { "limit", test_no_cliff_at_the_limit }, { "slices", test_slices },
	  { "others", test_others_do_not_wait },
	  { "share", test_large_tables_leave_others_theirs })
