/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An executable that changes while it is read: a child flips bytes of it, truncates it and
 * writes it anew, over and over. Whatever is read is wrong then, but nothing crashes (run
 * under the sanitizers), nothing leaks, and the file that is whole again is read whole.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/macros.h"
#include "code/symbol/symbols.h"

#include "test.h"
#include "tools.h"
#include "unwind_table.h"

enum {
	SLABS = 4,
	FINDS = 64,
	FLIPS = 16,
	FUNCTIONS = 500,
	SECONDS = 2,
	BYTES_MAX = 1 << 20,
};

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	void **slabs = ctx;

	CHECK(index < SLABS);
	*ret = slabs[index] = calloc(1, OP_SLAB_BYTES);
	return *ret ? 0 : -ENOMEM;
}

/* Read all of @path there is: its table, its names. Returns the functions found by name. */
static int read_all(const char *path, uint64_t *ret_rows)
{
	static const struct op_arena_ops ops = { .add_slab = make_slab };
	struct op_symbols_options options = { .path = path };
	struct op_unwind_rule *memory = calloc(OP_UNWIND_RULES_MAX, sizeof(*memory));
	_cleanup_(op_arena_freep) struct op_arena *arena = NULL;
	_cleanup_(op_unwind_rules_freep) struct op_unwind_rules *rules = NULL;
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	struct op_symbols *symbols = NULL;
	struct op_unwind_table *table = NULL;
	struct op_arena_stats stats;
	void *slabs[SLABS] = { 0 };
	struct op_symbol found;
	int names = 0;
	int i;

	CHECK_OK(op_arena_new(&ops, slabs, SLABS * OP_SLAB_BYTES, &arena));
	CHECK_OK(op_unwind_rules_new(memory, OP_UNWIND_RULES_MAX, &rules));
	if (op_elf_open_path(path, &elf) == 0) {
		if (make_unwind_table(elf, NULL, arena, rules, NULL, &table) == 0)
			*ret_rows = table->rows;
		if (op_symbols_new(elf, &options, NULL, &symbols) == 0)
			for (i = 0; i < FINDS; i++)
				names += op_symbols_find(symbols, 512 * (unsigned)i,
							 &found, 1) == 1 &&
					 found.name[0] == 'g';
	}
	op_symbols_free(symbols);
	op_unwind_table_free(table, arena, rules, 0);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.used_bytes, 0);
	for (i = 0; i < SLABS; i++)
		free(slabs[i]);
	free(memory);
	return names;
}

static void write_whole(int fd, const char *bytes, size_t len)
{
	CHECK(pwrite(fd, bytes, len, 0) == (ssize_t)len);
	CHECK_OK(ftruncate(fd, (off_t)len));
}

/* The child: until it is killed. */
static void change(int fd, const char *bytes, size_t len)
{
	uint64_t random = 88172645463325252u;
	int i;

	for (;;) {
		for (i = 0; i < FLIPS; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			CHECK(pwrite(fd, &random, 1, (off_t)(random >> 8) % (off_t)len) ==
			      1);
		}
		CHECK_OK(ftruncate(fd, (off_t)(random >> 16) % (off_t)len));
		write_whole(fd, bytes, len);
	}
}

static void test_a_file_that_changes_crashes_nothing(void)
{
	char path[128];
	char *bytes = malloc(BYTES_MAX);
	uint64_t whole = 0;
	uint64_t rows = 0;
	time_t end;
	ssize_t len;
	pid_t pid;
	int fd;
	int n = 0;

	TOOLS_NEED("gcc");
	TOOLS_RUN("for i in $(seq %d); do echo \"int g$i(int *a) { extern int h(int *); "
		  "return h(a) + $i; }\"; done > many.c && "
		  "gcc -O1 -shared -fPIC -o many.so many.c",
		  FUNCTIONS);
	(void)snprintf(path, sizeof(path), "%s", tools_path("many.so"));
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	len = read(fd, bytes, BYTES_MAX);
	CHECK(len > 0 && len < BYTES_MAX);
	CHECK(read_all(path, &whole) > 0);
	CHECK(whole >= FUNCTIONS); /* a push each */
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		change(fd, bytes, (size_t)len);
	}
	for (end = time(NULL) + SECONDS; time(NULL) <= end; n++)
		(void)read_all(path, &rows);
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK(n > 1);
	write_whole(fd, bytes, (size_t)len);
	CHECK(read_all(path, &rows) > 0);
	CHECK_INT(rows, whole);
	(void)close(fd);
	free(bytes);
}

/* Each length in steps, as a download that broke off leaves it. */
static void test_truncated_files_crash_nothing(void)
{
	uint64_t rows = 0;
	char path[128];
	off_t size;
	int fd;

	TOOLS_NEED("gcc");
	TOOLS_RUN("echo 'int main(void) { return 0; }' > cut.c && gcc -o cut cut.c");
	(void)snprintf(path, sizeof(path), "%s", tools_path("cut"));
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	for (size = lseek(fd, 0, SEEK_END); size > 0; size -= OP_MIN(size, (off_t)199)) {
		CHECK_OK(ftruncate(fd, size));
		(void)read_all(path, &rows);
	}
	(void)close(fd);
}

TEST_MAIN({ "a_file_that_changes_crashes_nothing",
	    test_a_file_that_changes_crashes_nothing },
	  { "truncated_files_crash_nothing", test_truncated_files_crash_nothing })
