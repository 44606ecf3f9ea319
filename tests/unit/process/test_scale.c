/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of an idle process, and the cost of a short-lived process beside many. Only
 * events are used, so the figures are the library's own. tests/bench/scale.sh measures a
 * whole host.
 */
#include <malloc.h>
#include <time.h>

#include "code/symbol/kernel.h"
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

TEST_MAIN({ "bytes", test_bytes_of_an_idle_process }, { "cost", test_cost_beside_many },
	  { "limit", test_no_cliff_at_the_limit })
