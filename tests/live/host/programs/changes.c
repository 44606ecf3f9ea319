/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes, at random, what it runs, and writes what ran when.
 *
 *     changes SEED SECONDS BUILDS COUNT FOLDER LOG [MOUNT UNMOUNT SHAPE]
 *
 * BUILDS has the libraries libK.so and the programs runK, 0 <= K < COUNT, of changes_code.c, which
 * work in functions of their own names. They are copied into FOLDER under two names: as new files
 * with perhaps the old inode, over the old file, or by a rename. Libraries are opened and closed;
 * programs are executed; code without a file is made, moved and freed, where a library was as
 * well; children are forked and do the same. A line of LOG is
 *
 *     PID NAME OUTER_BEGIN INNER_BEGIN INNER_END OUTER_END SHAPE
 *
 * in ns of Unix time: PID was in functions of NAME at no time but the outer one, and at each
 * moment of the inner one.
 *
 * With MOUNT, only files of other file systems change: "MOUNT K" mounts one at FOLDER that has
 * the build K as plugin.so and program, UNMOUNT takes it away. A line of LOG.numbers is
 *
 *     SHAPE K DEVICE INODE
 *
 * as the kernel names the mapping of plugin.so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHANGE_FN                                                                        \
	__attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

enum {
	CODE_BYTES = 4096,
	DEPTH_MAX = 2, /* of forks */
};

static uint64_t random_state;
static const char *builds;
static const char *folder;
static const char *log_path;
static int count;
static int log_fd = -1;
static volatile uint64_t sink;
static uintptr_t last_place; /* of a library that was closed */

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % n;
}

/* Most pieces of work are short, some are long, in CPU time. */
static uint64_t piece_ns(void)
{
	uint64_t ms = below(8) ? 1 + below(20) : 20 + below(300);

	return ms * 1000000;
}

static void note(const char *name, uint64_t outer, const uint64_t inner[2], uint64_t end,
		 const char *shape)
{
	char line[256];
	int len = snprintf(line, sizeof(line), "%d %s %lu %lu %lu %lu %s\n",
			   (int)getpid(), name, outer, inner[0], inner[1], end, shape);

	if (write(log_fd, line, (size_t)len) != len)
		_exit(3);
}

static void fail(const char *what)
{
	(void)fprintf(stderr, "changes: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void copy_to(const char *from, int to)
{
	static char bytes[1 << 20];
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (n <= 0 || ftruncate(to, 0) || pwrite(to, bytes, (size_t)n, 0) != n ||
	    close(fd) || fchmod(to, 0755) || close(to))
		fail(from);
}

/* Give the file @path the content of build @k of @kind. Returns how. */
static const char *give(const char *kind, int k, const char *path)
{
	char from[512];
	char new[512];
	uint32_t how = below(3);

	(void)snprintf(from, sizeof(from), "%s/%s%d", builds, kind, k);
	(void)snprintf(new, sizeof(new), "%s.new", path);
	if (how == 0) { /* over the old one */
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

		if (fd >= 0) {
			copy_to(from, fd);
			return "rewritten";
		}
	}
	if (how == 1) { /* with the number of the old one, if nothing else takes it */
		(void)unlink(path);
		copy_to(from, open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
		return "unlinked";
	}
	copy_to(from, open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
	if (rename(new, path))
		fail(new);
	return "renamed";
}

typedef void (*work_fn)(uint64_t ns, uint64_t inner[2]);

static CHANGE_FN void run_library(work_fn work, int k, const char *shape)
{
	uint64_t outer = now_ns();
	uint64_t inner[2] = { 0, 0 };
	char name[32];

	work(piece_ns(), inner);
	(void)snprintf(name, sizeof(name), "lib%d", k);
	note(name, outer, inner, now_ns(), shape);
	sink++;
}

static void *open_library(const char *path, work_fn *ret)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return NULL;
	*(void **)ret = dlsym(library, "changes_work");
	last_place = (uintptr_t)*ret & ~(uintptr_t)(CODE_BYTES - 1);
	return library;
}

static CHANGE_FN void change_library(void)
{
	int k = (int)below((uint32_t)count);
	const char *shape;
	char path[512];
	work_fn work;
	void *library;

	(void)snprintf(path, sizeof(path), "%s/plugin%u.so", folder, below(2));
	shape = give("lib", k, path);
	library = open_library(path, &work);
	if (!library)
		fail(path);
	run_library(work, k, shape);
	if (below(3) == 0)
		run_library(work, k, shape);
	(void)dlclose(library);
}

/* Two at once; one is closed, a third one comes into its place. */
static CHANGE_FN void change_beside(void)
{
	int k[3];
	char path[3][512];
	work_fn work[3];
	void *library[3];
	int i;

	for (i = 0; i < 3; i++) {
		k[i] = (int)below((uint32_t)count);
		(void)snprintf(path[i], sizeof(path[i]), "%s/beside%d.so", folder, i);
		(void)give("lib", k[i], path[i]);
	}
	for (i = 0; i < 2; i++) {
		library[i] = open_library(path[i], &work[i]);
		if (!library[i])
			fail(path[i]);
		run_library(work[i], k[i], "beside");
	}
	(void)dlclose(library[0]);
	run_library(work[1], k[1], "beside");
	library[2] = open_library(path[2], &work[2]);
	if (!library[2])
		fail(path[2]);
	run_library(work[2], k[2], "beside");
	run_library(work[1], k[1], "beside");
	(void)dlclose(library[1]);
	(void)dlclose(library[2]);
}

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; mov %rdi,%rcx; 1: dec %rcx; jne 1b; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9,
				0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3 };
#elif defined(__aarch64__)
/* stp x29,x30,[sp,-16]!; mov x29,sp; 1: subs x0,x0,1; b.ne 1b; ldp x29,x30,[sp],16; ret */
static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0xf1000400,
				 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0 };
#endif

static CHANGE_FN void run_made(void *made, const char *shape)
{
	uint64_t outer = now_ns();
	uint64_t inner[2] = { outer, 0 };

	((void (*)(uint64_t))made)(3000000 + (uint64_t)below(30000000));
	inner[1] = now_ns();
	note("made", outer, inner, inner[1], shape);
	sink++;
}

/* Memory, where the last library was if nothing is there now. */
static void *memory(int protection)
{
	void *hint = below(4) ? (void *)last_place : NULL;
	void *m = mmap(hint, CODE_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		fail("mmap");
	return m;
}

static CHANGE_FN void change_made(void)
{
	bool written = below(2);
	void *m = memory(written ? PROT_READ | PROT_WRITE
				 : PROT_READ | PROT_WRITE | PROT_EXEC);

	memcpy(m, code, sizeof(code));
	if (written && mprotect(m, CODE_BYTES, PROT_READ | PROT_EXEC))
		fail("mprotect");
	__builtin___clear_cache((char *)m, (char *)m + sizeof(code));
	run_made(m, written ? "made-mprotect" : "made");
	(void)munmap(m, CODE_BYTES);
}

static CHANGE_FN void change_moved(void)
{
	void *m = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *to = memory(PROT_NONE);

	if (m == MAP_FAILED)
		fail("mmap");
	memcpy(m, code, sizeof(code));
	__builtin___clear_cache((char *)m, (char *)m + sizeof(code));
	if (below(2))
		run_made(m, "made");
	m = mremap(m, CODE_BYTES, CODE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (m == MAP_FAILED)
		fail("mremap");
	run_made(m, "moved");
	(void)munmap(m, CODE_BYTES);
}

/* Run the program at @path, which has the build @k. */
static CHANGE_FN void run_program(const char *path, int k, const char *shape)
{
	char name[32], until[32];
	pid_t pid;

	(void)snprintf(name, sizeof(name), "run%d", k);
	(void)snprintf(until, sizeof(until), "%lu", piece_ns());
	pid = fork();
	if (pid == 0) {
		(void)execl(path, path, until, log_path, name, shape, NULL);
		fail(path);
	}
	(void)waitpid(pid, NULL, 0);
}

static CHANGE_FN void change_program(void)
{
	int k = (int)below((uint32_t)count);
	uint64_t seed = random_state;
	const char *shape;
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/program%u-%d", folder, below(2),
		       (int)getpid());
	shape = give("run", k, path);
	run_program(path, k, shape);
	random_state = seed * 3 + 1;
}

static void run_command(const char *command)
{
	if (system(command)) /* NOLINT(cert-env33-c) */
		fail(command);
}

/* Note how the kernel names the file that is mapped at last_place. */
static void note_number(int k, const char *shape)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char path[512], line[1024], device[32];
	unsigned long start, end, inode;
	FILE *to;

	(void)snprintf(path, sizeof(path), "%s.numbers", log_path);
	to = fopen(path, "ae");
	if (!maps || !to)
		fail(path);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %*s %31s %lu", &start, &end, device,
			   &inode) == 4 &&
		    last_place >= start && last_place < end)
			(void)fprintf(to, "%s %d %s %lu\n", shape, k, device, inode);
	(void)fclose(maps);
	(void)fclose(to);
}

/* The command @mount K, a library and a program of that file system, and the command @unmount. */
static CHANGE_FN void change_mount(const char *mount, const char *unmount,
				   const char *shape)
{
	int k = (int)below((uint32_t)count);
	char text[512], path[512];
	work_fn work;
	void *library;

	(void)snprintf(text, sizeof(text), "%s %d", mount, k);
	run_command(text);
	(void)snprintf(path, sizeof(path), "%s/plugin.so", folder);
	library = open_library(path, &work);
	if (!library)
		fail(path);
	note_number(k, shape);
	run_library(work, k, shape);
	(void)dlclose(library);
	(void)snprintf(path, sizeof(path), "%s/program", folder);
	run_program(path, k, shape);
	run_command(unmount);
}

static CHANGE_FN void change(int depth);

static CHANGE_FN void change_forked(int depth)
{
	uint32_t n = 1 + below(3);
	pid_t pid = fork();

	if (pid == 0) {
		random_state = random_state * 5 + 7;
		while (n--)
			change(depth + 1);
		_exit(0);
	}
	if (pid < 0)
		fail("fork");
	random_state = random_state * 5 + 8;
	(void)waitpid(pid, NULL, 0);
}

static CHANGE_FN void change(int depth)
{
	switch (below(depth < DEPTH_MAX ? 8 : 6)) {
	case 0:
	case 1:
		change_library();
		break;
	case 2:
		change_beside();
		break;
	case 3:
		change_made();
		break;
	case 4:
		change_moved();
		break;
	case 5:
	case 6:
		change_program();
		break;
	default:
		change_forked(depth);
		break;
	}
	sink++;
}

int main(int argc, char **argv)
{
	uint64_t end;

	if (argc != 7 && argc != 10)
		return 2;
	random_state = strtoull(argv[1], NULL, 10) * 2 + 1;
	end = now_ns() + strtoull(argv[2], NULL, 10) * 1000000000u;
	builds = argv[3];
	count = atoi(argv[4]);
	folder = argv[5];
	log_path = argv[6];
	log_fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (log_fd < 0 || count < 1)
		fail(log_path);
	(void)below(2);
	while (now_ns() < end)
		if (argc == 10)
			change_mount(argv[7], argv[8], argv[9]);
		else
			change(0);
	return 0;
}
