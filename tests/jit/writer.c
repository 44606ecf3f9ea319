/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that makes machine code, as a just-in-time compiler does: j0 calls j1 and so on
 * down to a leaf, all with frame records. It writes their names into /tmp/perf-PID.map.
 *
 *     writer SECONDS anon|memfd|shared [late|again|bare]
 *
 *     anon, memfd, shared   the memory that the code stands in
 *     late                  the map is written after a third of the time
 *     again                 after half of the time the leaf gets another name
 *     bare                  the code keeps no frame pointer (x86-64): it is run()'s
 *
 * Prints "ready PID".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	CALLERS = 4,
	EACH = 64, /* bytes of a function */
	BYTES = 4096,
};

static uint8_t *code;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#if defined(__x86_64__)
static void make_caller(uint8_t *at, const uint8_t *callee)
{
	static const uint8_t begin[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8 };
	static const uint8_t end[] = { 0xff, 0xd0, 0x5d,
				       0xc3 }; /* call *%rax; pop; ret */

	memcpy(at, begin, sizeof(begin)); /* push %rbp; mov %rsp,%rbp; movabs */
	memcpy(at + sizeof(begin), &callee, 8);
	memcpy(at + sizeof(begin) + 8, end, sizeof(end));
}

static void make_leaf(uint8_t *at)
{
	/* push %rbp; mov %rsp,%rbp; mov $1000000,%ecx; dec %ecx; jnz; pop %rbp; ret */
	static const uint8_t leaf[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f,
					0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };

	memcpy(at, leaf, sizeof(leaf));
}

static void make_bare(uint8_t *at, const uint8_t *callee)
{
	/* sub $8,%rsp; movabs; call *%rax; add $8,%rsp; ret */
	static const uint8_t begin[] = { 0x48, 0x83, 0xec, 0x08, 0x48, 0xb8 };
	static const uint8_t end[] = { 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	static const uint8_t leaf[] = { 0xb9, 0x40, 0x42, 0x0f, 0x00,
					0xff, 0xc9, 0x75, 0xfc, 0xc3 };

	memcpy(at, begin, sizeof(begin));
	memcpy(at + sizeof(begin), &callee, 8);
	memcpy(at + sizeof(begin) + 8, end, sizeof(end));
	if (!callee)
		memcpy(at, leaf, sizeof(leaf));
}
#elif defined(__aarch64__)
static void make_caller(uint8_t *at, const uint8_t *callee)
{
	/* stp x29,x30,[sp,#-16]!; mov x29,sp; ldr x9,.+16; blr x9; ldp; ret; .quad callee */
	static const uint32_t words[] = { 0xa9bf7bfd, 0x910003fd, 0x58000089,
					  0xd63f0120, 0xa8c17bfd, 0xd65f03c0 };

	memcpy(at, words, sizeof(words));
	memcpy(at + sizeof(words), &callee, 8);
}

static void make_leaf(uint8_t *at)
{
	/* as above; mov w9,#0xf0000; subs w9,w9,#1; b.ne */
	static const uint32_t words[] = { 0xa9bf7bfd, 0x910003fd, 0x52a001e9, 0x71000529,
					  0x54ffffe1, 0xa8c17bfd, 0xd65f03c0 };

	memcpy(at, words, sizeof(words));
}

static void make_bare(uint8_t *at, const uint8_t *callee)
{
	(void)at;
	(void)callee;
	exit(2);
}
#endif

static void *memory(const char *kind)
{
	int fd = -1;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	if (strcmp(kind, "memfd") == 0) {
		fd = memfd_create("jit", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, BYTES) < 0)
			return MAP_FAILED;
		flags = MAP_SHARED;
	} else if (strcmp(kind, "shared") == 0) {
		flags = MAP_SHARED | MAP_ANONYMOUS;
	}
	return mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, flags, fd, 0);
}

static void write_map(const char *leaf)
{
	char path[64];
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "ae");
	if (!f)
		exit(1);
	for (i = 0; i < CALLERS; i++)
		fprintf(f, "%lx %x j%d\n", (unsigned long)(code + i * EACH), EACH, i);
	fprintf(f, "%lx %x %s\n", (unsigned long)(code + CALLERS * EACH), EACH, leaf);
	fclose(f);
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void run(double end)
{
	while (now() < end) {
		((void (*)(void))(uintptr_t)code)();
		__asm__ volatile(""); /* no tail call */
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	double start = now();
	const char *how = "";
	int i;

	if (argc < 3)
		return 2;
	code = memory(argv[2]);
	if (code == MAP_FAILED)
		return 1;
	if (argc > 3)
		how = argv[3];
	for (i = 0; i < CALLERS; i++)
		make_caller(code + i * EACH, code + (i + 1) * EACH);
	make_leaf(code + CALLERS * EACH);
	for (i = 0; i <= CALLERS && strcmp(how, "bare") == 0; i++)
		make_bare(code + i * EACH, i < CALLERS ? code + (i + 1) * EACH : NULL);
	__builtin___clear_cache((char *)code, (char *)code + BYTES);
	if (strcmp(how, "late") != 0)
		write_map("leaf");
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (strcmp(how, "late") == 0) {
		run(start + seconds / 3);
		write_map("leaf");
	}
	if (strcmp(how, "again") == 0) {
		run(start + seconds / 2);
		write_map("renamed");
	}
	run(start + seconds);
	return 0;
}
