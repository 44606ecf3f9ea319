/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs chains of functions that say nothing of their frames, for SECONDS of CPU time.
 *
 *     silent SECONDS library PATH        a shared library that silent_code.py made
 *     silent SECONDS made PATH NAMES     its machine code, put into memory without a file; each
 *                                        line of NAMES is "OFFSET SIZE NAME", for a perf map
 *
 * Compiled with ALONE it is a program without a library and without unwind data; the chains are
 * linked to it.
 */
#include <stdint.h>

#define SILENT_FN                                                                        \
	__attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

struct silent_code {
	uint64_t count;
	void (*noise)(void);
	int64_t entry[]; /* from the start of this struct */
};

static volatile uint64_t sink;
static void (*volatile tick)(void);

SILENT_FN static void noise_tick(void)
{
	sink++;
}

/* Leaves return addresses of calls through a pointer below the stack pointer. */
SILENT_FN static void noise_deep(int depth)
{
	volatile char b[40];

	b[depth & 31] = 1;
	tick();
	if (depth)
		noise_deep(depth - 1);
	tick();
	sink += (uint64_t)b[depth & 31];
}

SILENT_FN static void noise(void)
{
	noise_deep(3);
	sink++;
}

SILENT_FN static void run_chain(struct silent_code *code, uint64_t i)
{
	void (*volatile entry)(void) = (void (*)(void))((char *)code + code->entry[i]);

	noise_deep(60);
	entry();
	sink++;
}

static void prepare(struct silent_code *code)
{
	tick = noise_tick;
	code->noise = noise;
}

#ifdef ALONE

extern struct silent_code silent_code;

static long call2(long n, long a, long b)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return ret;
}

SILENT_FN void alone(void)
{
	uint64_t i = 0;
	long now[2];

	prepare(&silent_code);
	do {
		run_chain(&silent_code, i++ % silent_code.count);
		call2(228, 2, (long)now); /* clock_gettime(CLOCK_PROCESS_CPUTIME_ID) */
	} while (now[0] < SECONDS);
	call2(231, 0, 0);
	sink++;
}

__asm__(".globl _start\n_start: xor %ebp,%ebp\n and $-16,%rsp\n call alone\n hlt\n");

#else

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Put the code into memory, where only a perf map names it. */
static struct silent_code *make(const char *path, const char *names)
{
	struct stat st;
	char line[256];
	unsigned long at;
	unsigned long size;
	int fd = open(path, O_RDONLY);
	size_t bytes = fd < 0 || fstat(fd, &st) ? 0 : (size_t)st.st_size;
	char *code = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *in = fopen(names, "r");
	FILE *out;

	if (!bytes || code == MAP_FAILED || read(fd, code, bytes) != (ssize_t)bytes ||
	    !in)
		fail(path);
	(void)snprintf(line, sizeof(line), "/tmp/perf-%d.map", (int)getpid());
	out = fopen(line, "w");
	if (!out)
		fail(line);
	while (fscanf(in, "%lx %lx %255s", &at, &size, line) == 3)
		(void)fprintf(out, "%lx %lx %s\n", (unsigned long)code + at, size, line);
	(void)fclose(out);
	(void)fclose(in);
	prepare((struct silent_code *)(void *)code);
	if (mprotect(code, bytes, PROT_READ | PROT_EXEC))
		fail("mprotect");
	return (struct silent_code *)(void *)code;
}

static struct silent_code *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	struct silent_code *code = library ? dlsym(library, "silent_code") : NULL;

	if (!code)
		fail(dlerror());
	prepare(code);
	return code;
}

int main(int argc, char **argv)
{
	struct silent_code *code;
	clock_t end;
	uint64_t i = 0;

	if (argc < 4)
		return 2;
	end = (clock_t)atoi(argv[1]) * CLOCKS_PER_SEC;
	code = argc > 4 ? make(argv[3], argv[4]) : load(argv[3]);
	while (clock() < end)
		run_chain(code, i++ % code->count);
	(void)snprintf((char[64]){ 0 }, 1, "%d", (int)sink);
	return 0;
}

#endif
