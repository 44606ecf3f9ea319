/* SPDX-License-Identifier: Apache-2.0 */
/* Files of other processes are open only while a process maps them and they are
 * needed. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/elf/file.h"
#include "code/symbol/kernel.h"
#include "process/target/maps.h"
#include "test.h"
#include "tools.h"
#include "world.h"

static const uint64_t SECOND = 1000000000;

enum {
	COPIES = 150,
	OPEN_MAX = 64 + 8, /* of images, and of what else a test opens */
};

int op_kernel_symbols_find(struct op_kernel_symbols *k, uint64_t addr,
			   struct op_kernel_symbol *ret)
{
	return 0;
}

/* A program at @path that waits. Each time the same file, and a small one: the library compares
 * files up to OP_IMAGE_COMPARE_MAX. */
static void copy_program(const char *path)
{
	char command[1024];

	TOOLS_NEED("gcc");
	if (access(tools_path("program"), F_OK) != 0)
		TOOLS_RUN("echo '#include <unistd.h>\n"
			  "int first_function(int x) { return x + 1; }\n"
			  "int second_function(int x) { return x + 2; }\n"
			  "int main(void) { for (;;) pause(); }' | "
			  "gcc -x c - -o program");
	(void)snprintf(command, sizeof(command), "cp %s %s", tools_path("program"), path);
	CHECK_OK(system(command));
}

static char *copy_path(char *buf, size_t size, int number)
{
	(void)snprintf(buf, size, "/tmp/op-copy-%d-%d", (int)getpid(), number);
	return buf;
}

/* Run @path until it is killed. */
static pid_t run(const char *path)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, (char *)NULL);
		_exit(1);
	}
	return pid;
}

static void end(pid_t pid)
{
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

/* Descriptors of this process whose file's path begins with @prefix; NULL: all. */
static int descriptors(const char *prefix)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int n = 0;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		char target[4096] = "";

		if (entry->d_name[0] == '.')
			continue;
		(void)!readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		n += !prefix || strncmp(target, prefix, strlen(prefix)) == 0;
	}
	(void)closedir(dir);
	return n;
}

struct place {
	const char *path;
	uint64_t start; /* of the executable mapping */
	uint64_t offset;
};

static int keep_place(void *ctx, const struct op_mmap_event *e)
{
	struct place *place = ctx;

	if (strcmp(e->path, place->path) != 0)
		return 0;
	place->start = e->start;
	place->offset = e->offset;
	return 1;
}

static struct place find_place(pid_t pid, const char *path)
{
	struct place place = { .path = path };
	char maps[64];
	int tries;

	(void)snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)pid);
	for (tries = 0; tries < 2000 && !place.start; tries++) {
		(void)op_maps_read(maps, keep_place, &place);
		(void)usleep(1000);
	}
	CHECK(place.start);
	return place;
}

/* Where @function is in process @pid, which runs @path. */
static uint64_t address_in(pid_t pid, const char *path, const char *function)
{
	struct place there = find_place(pid, path);
	struct op_elf_symbol symbol;
	struct op_elf *elf;

	CHECK_OK(op_elf_open_path(path, &elf));
	CHECK_OK(op_elf_find_symbol(elf, function, &symbol));
	op_elf_free(elf);
	return symbol.value - there.offset + there.start;
}

static void check_name(struct world *w, pid_t pid, uint64_t pc, const char *name)
{
	const uint64_t word = pc | (uint64_t)OP_FRAME_NATIVE_EXACT << OP_FRAME_KIND_SHIFT;

	CHECK_OK(world_sample(w, (uint32_t)pid, NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_STR(world_name(w, 0), name);
}

/* The process is known and published. */
static void learn(struct world *w, pid_t pid)
{
	CHECK_OK(world_sample(w, (uint32_t)pid, NULL, 0, NULL, 0, OP_END_OFF));
	world_settle(w, 0);
	CHECK(world_process(w, (uint32_t)pid));
}

static void test_closed_when_nobody_maps_it(void)
{
	char path[64];
	struct world w;
	pid_t first;
	pid_t second;

	world_init(&w, NULL);
	copy_program(copy_path(path, sizeof(path), 0));
	first = run(path);
	(void)find_place(first, path);
	learn(&w, first);
	check_name(&w, first, address_in(first, path, "first_function"),
		   "first_function");
	world_settle(&w, 10 * SECOND);
	CHECK_INT(descriptors(path), 1); /* it is mapped still */

	end(first);
	op_processes_on_exit(w.p, (uint32_t)first, w.now_ns);
	world_settle(&w, 4 * SECOND); /* late records had their time */
	CHECK_INT(descriptors(path), 0);

	/* The next process of the same file has its names. */
	second = run(path);
	(void)find_place(second, path);
	learn(&w, second);
	check_name(&w, second, address_in(second, path, "second_function"),
		   "second_function");
	CHECK_INT(descriptors(path), 1);
	end(second);
	op_processes_on_exit(w.p, (uint32_t)second, w.now_ns);
	world_settle(&w, 4 * SECOND);
	CHECK_INT(descriptors(path), 0);
	CHECK(unlink(path) == 0);
	world_deinit(&w);
}

static void test_closed_when_deleted(void)
{
	char path[64];
	struct world w;
	uint64_t first;
	uint64_t second;
	pid_t pid;

	world_init(&w, NULL);
	copy_program(copy_path(path, sizeof(path), 1));
	pid = run(path);
	first = address_in(pid, path, "first_function");
	second = address_in(pid, path, "second_function");
	learn(&w, pid);
	check_name(&w, pid, first, "first_function");
	CHECK_INT(descriptors(path), 1);
	CHECK(unlink(path) == 0);
	world_settle(&w, 3 * SECOND);
	CHECK_INT(descriptors(path), 0);

	/* Its other names can be had as long as it runs; then it is closed at once. */
	check_name(&w, pid, second, "second_function");
	CHECK_INT(descriptors(path), 1);
	world_settle(&w, 1);
	CHECK_INT(descriptors(path), 0);
	end(pid);
	op_processes_on_exit(w.p, (uint32_t)pid, w.now_ns);
	world_settle(&w, 4 * SECOND);
	world_deinit(&w);
}

/* A name in a folder of its own. */
static char *folder_path(char *buf, size_t size, int number)
{
	size_t len = strlen(copy_path(buf, size, number));

	CHECK_OK(mkdir(buf, 0700));
	(void)snprintf(buf + len, size - len, "/copy");
	return buf;
}

static void remove_with_folder(char *path)
{
	CHECK_OK(unlink(path));
	*strrchr(path, '/') = '\0';
	CHECK_OK(rmdir(path));
}

/* Two files of one content and name have one image; the file that is open is of a process that
 * ended. */
static void test_closed_when_its_opener_ends(void)
{
	char paths[2][64];
	struct world w;
	pid_t pid[2];
	int i;

	world_init(&w, NULL);
	for (i = 0; i < 2; i++) {
		copy_program(folder_path(paths[i], sizeof(paths[i]), 2 + i));
		pid[i] = run(paths[i]);
		(void)find_place(pid[i], paths[i]);
		learn(&w, pid[i]);
		check_name(&w, pid[i], address_in(pid[i], paths[i], "first_function"),
			   "first_function");
	}
	CHECK_INT(descriptors(paths[0]) + descriptors(paths[1]), 1);
	end(pid[0]);
	op_processes_on_exit(w.p, (uint32_t)pid[0], w.now_ns);
	world_settle(&w, 4 * SECOND);
	CHECK_INT(descriptors(paths[0]), 0);
	check_name(&w, pid[1], address_in(pid[1], paths[1], "second_function"),
		   "second_function");
	end(pid[1]);
	op_processes_on_exit(w.p, (uint32_t)pid[1], w.now_ns);
	world_settle(&w, 4 * SECOND);
	CHECK_INT(descriptors(paths[1]), 0);
	for (i = 0; i < 2; i++)
		remove_with_folder(paths[i]);
	world_deinit(&w);
}

static void append(const char *path, int number)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(write(fd, &number, sizeof(number)) == sizeof(number));
	CHECK(close(fd) == 0);
}

static void test_number_is_bounded(void)
{
	char path[64];
	void *map[COPIES];
	struct world w;
	int before = descriptors(NULL); /* those that the test was started with, too */
	int i;

	world_init(&w, NULL);
	for (i = 0; i < COPIES; i++) {
		int fd;

		copy_program(copy_path(path, sizeof(path), i));
		append(path, i); /* another content: an image of its own */
		fd = open(path, O_RDONLY | O_CLOEXEC);
		CHECK(fd >= 0);
		map[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		CHECK(map[i] != MAP_FAILED);
		CHECK(close(fd) == 0);
	}
	learn(&w, getpid());
	for (i = 0; i < COPIES; i++) {
		struct op_registers registers = { .pc = (uint64_t)(uintptr_t)map[i],
						  .sp = 0x7ffc00001000 };
		uint64_t stack[4] = { 0 };

		CHECK_OK(world_first_sample(&w, (uint32_t)getpid(), &registers, stack,
					    sizeof(stack)));
	}
	CHECK(descriptors(NULL) - before <= OPEN_MAX);
	for (i = 0; i < COPIES; i++) {
		CHECK(munmap(map[i], 4096) == 0);
		CHECK(unlink(copy_path(path, sizeof(path), i)) == 0);
	}
	world_deinit(&w);
	CHECK(descriptors("/tmp/op-copy-") == 0);
}

TEST_MAIN({ "nobody", test_closed_when_nobody_maps_it },
	  { "deleted", test_closed_when_deleted },
	  { "opener", test_closed_when_its_opener_ends },
	  { "bounded", test_number_is_bounded })
