/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that makes machine code, as a just-in-time compiler does: j0 calls j1 and so on
 * down to a leaf, all with frame records. It writes their names into /tmp/perf-PID.map, or
 * with lines into /tmp/jit-PID.dump, which it maps executable.
 *
 *     writer SECONDS anon|memfd|shared [late|again|bare|dump|moved|foreign]
 *
 *     anon, memfd, shared   the memory that the code stands in
 *     late                  the map is written after a third of the time
 *     again                 after half of the time the leaf gets another name
 *     dump                  a jitdump file; jN is at line 10 + N of jit.src up to its call,
 *                           and at line 20 + N behind it; the leaf at line 30
 *     moved                 the same; the leaf's code is said to move to where it is
 *     foreign               the same, in a file that nobody but another user owns
 *     bare                  the code keeps no frame pointer (x86-64): it is run()'s
 *
 * SECONDS are of CPU time. Prints "ready PID".
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

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
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

/* Linux, tools/perf/Documentation/jitdump-specification.txt */
struct dump_header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t timestamp, flags;
};

struct dump_record {
	uint32_t id, size;
	uint64_t timestamp;
};

struct dump_load {
	struct dump_record record;
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct dump_move {
	struct dump_record record;
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

struct dump_line {
	uint64_t addr;
	uint32_t line, discriminator;
};

static uint64_t timestamp(void)
{
	return (uint64_t)(now() * 1e9);
}

static void dump_lines(FILE *f, const uint8_t *at, uint32_t line, uint32_t behind)
{
	/* where the call of make_caller() begins */
	const uint8_t *call = at + 14;
	const char file[] = "/src/jit.src";
	const char same[] = "\xff";
	struct dump_line lines[2] = { { (uintptr_t)at, line, 0 },
				      { (uintptr_t)call + 2, behind, 0 } };
	uint64_t head[2] = { (uintptr_t)at, 2 };
	struct dump_record r = { 2, 0, timestamp() };

	r.size = (uint32_t)(sizeof(r) + sizeof(head) + sizeof(lines) + sizeof(file) +
			    sizeof(same));
	fwrite(&r, sizeof(r), 1, f);
	fwrite(head, sizeof(head), 1, f);
	fwrite(&lines[0], sizeof(lines[0]), 1, f);
	fwrite(file, sizeof(file), 1, f);
	fwrite(&lines[1], sizeof(lines[1]), 1, f);
	fwrite(same, sizeof(same), 1, f);
}

static void dump_code(FILE *f, const char *name, const uint8_t *at, const uint8_t *bytes,
		      uint64_t index)
{
	struct dump_load load = { { 0, 0, timestamp() },
				  (uint32_t)getpid(),
				  (uint32_t)getpid(),
				  (uintptr_t)at,
				  (uintptr_t)at,
				  EACH,
				  index };

	load.record.size = (uint32_t)(sizeof(load) + strlen(name) + 1 + EACH);
	fwrite(&load, sizeof(load), 1, f);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(bytes, EACH, 1, f);
}

static void write_dump(const char *how)
{
	struct dump_header header = { 0x4a695444,  1, sizeof(header),
				      62,	   0, (uint32_t)getpid(),
				      timestamp(), 0 };
	uint8_t *leaf = code + CALLERS * EACH;
	uint8_t *first = strcmp(how, "moved") == 0 ? leaf + BYTES : leaf;
	struct dump_move move = { { 1, sizeof(move), 0 },
				  (uint32_t)getpid(),
				  (uint32_t)getpid(),
				  (uintptr_t)leaf,
				  (uintptr_t)first,
				  (uintptr_t)leaf,
				  EACH,
				  CALLERS };
	char path[64];
	char name[8];
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	f = fopen(path, "w+e");
	if (!f)
		exit(1);
	fwrite(&header, sizeof(header), 1, f);
	for (i = 0; i < CALLERS; i++) {
		dump_lines(f, code + i * EACH, 10 + (uint32_t)i, 20 + (uint32_t)i);
		snprintf(name, sizeof(name), "j%d", i);
		dump_code(f, name, code + i * EACH, code + i * EACH, (uint64_t)i);
	}
	dump_lines(f, first, 30, 30);
	dump_code(f, "leaf", first, leaf, CALLERS);
	if (first != leaf)
		fwrite(&move, sizeof(move), 1, f);
	fflush(f);
	if (strcmp(how, "foreign") == 0 && fchown(fileno(f), 65534, 65534) < 0)
		exit(1);
	if (mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) ==
	    MAP_FAILED)
		exit(1);
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
	if (strcmp(how, "dump") == 0 || strcmp(how, "moved") == 0 ||
	    strcmp(how, "foreign") == 0)
		write_dump(how);
	else if (strcmp(how, "late") != 0)
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
