/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that says it is a JVM: it exports the VM's tables for debuggers, with all the names that
 * are looked for, and all that they lead to is made up: pointers into itself, huge counts, nothing.
 *
 *     jvm SECONDS
 *
 * Its children, one after the other, differ in what they make up; each lives for 400 ms, and has
 * code of no file, which it runs. One of eight has a table without an end. names.h is made of
 * lib/runtime/hotspot/layout.c: X(is static, type, field).
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WORDS = 1 << 16,
	ENDLESS = 1 << 18,
	LIFE_MS = 400,
};

struct field {
	const char *type;
	const char *field;
	uint64_t is_static;
	uint64_t offset;
	void *address;
};

struct type {
	const char *type;
	uint64_t size;
};

static struct field fields[] = {
#define X(fixed, type, field) { type, field, fixed, 0, NULL },
#define SIZE(type)
#include "names.h"
#undef X
#undef SIZE
	{ NULL, NULL, 0, 0, NULL }
};

static struct type types[] = {
#define X(fixed, type, field)
#define SIZE(type) { type, 0 },
#include "names.h"
	{ NULL, 0 }
};

struct field *gHotSpotVMStructs = fields;
struct type *gHotSpotVMTypes = types;
uint64_t gHotSpotVMStructEntryArrayStride = sizeof(struct field);
uint64_t gHotSpotVMStructEntryTypeNameOffset = 0;
uint64_t gHotSpotVMStructEntryFieldNameOffset = 8;
uint64_t gHotSpotVMStructEntryIsStaticOffset = 16;
uint64_t gHotSpotVMStructEntryOffsetOffset = 24;
uint64_t gHotSpotVMStructEntryAddressOffset = 32;
uint64_t gHotSpotVMTypeEntryArrayStride = sizeof(struct type);
uint64_t gHotSpotVMTypeEntryTypeNameOffset = 0;
uint64_t gHotSpotVMTypeEntrySizeOffset = 8;

static uint64_t world[WORDS];
static uint64_t seed;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t made_up(unsigned char *code)
{
	switch (next() % 10) {
	case 0:
		return UINT64_MAX;
	case 1:
		return 0x7fffffff7fffffff;
	case 2:
		return next() % 64;
	case 3:
		return (uintptr_t)code + next() % 4096;
	case 4:
		return 0;
	default:
		return (uintptr_t)&world[next() % (WORDS - 64)];
	}
}

static void make_up(unsigned char *code)
{
	size_t i;

	for (i = 0; i < WORDS; i++)
		world[i] = made_up(code);
	for (i = 0; fields[i].type; i++) {
		fields[i].offset = next() % 16 * 8;
		fields[i].address = &world[next() % (WORDS - 64)];
		if (strcmp(fields[i].type, "Abstract_VM_Version") == 0)
			*(uint32_t *)fields[i].address = next() % 2 ? 25 : 17;
	}
	for (i = 0; types[i].type; i++)
		types[i].size = next() % 32 * 8;
}

/* A table of names that are all looked for, each at another place. */
static void make_endless(void)
{
	struct field *table = calloc(ENDLESS, sizeof(*table));
	char *text = malloc((size_t)ENDLESS * 16);
	size_t i;

	for (i = 0; i < ENDLESS; i++) {
		snprintf(text + i * 16, 16, "CodeBlob");
		table[i] =
			(struct field){ text + i * 16, text + i * 16, i & 1, 8, world };
	}
	gHotSpotVMStructs = table;
}

static void live(void)
{
	/* push rbp; mov rbp, rsp; mov ecx, 1000000; 1: dec ecx; jnz 1b; pop rbp; ret */
	static const unsigned char loop[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9,
					      0x40, 0x42, 0x0f, 0x00, 0xff,
					      0xc9, 0x75, 0xfc, 0x5d, 0xc3 };
	unsigned char *code = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timespec from, now;

	memcpy(code, loop, sizeof(loop));
	make_up(code);
	if (seed % 8 == 0)
		make_endless();
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		((void (*)(void))code)();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000 +
			 (now.tv_nsec - from.tv_nsec) / 1000000 <
		 LIFE_MS);
}

/* Usage: jvm SECONDS [SEED]: with SEED, one child. */
int main(int count, char **argument)
{
	time_t end = time(NULL) + atoi(argument[1]);
	unsigned n = 1;

	if (count > 2) {
		seed = strtoull(argument[2], NULL, 10) * 0x9e3779b97f4a7c15;
		live();
		return 0;
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (; time(NULL) < end; n++) {
		char text[16];
		pid_t child = fork();

		snprintf(text, sizeof(text), "%u", n);
		if (child == 0) {
			execl("/proc/self/exe", argument[0], "1", text, NULL);
			_exit(1);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}
