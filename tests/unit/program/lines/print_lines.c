/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the debug info of a file says of addresses that come, in hexadecimal, on standard
 * input: for each a line "ADDRESS", then a line "FUNCTION FILE:LINE" for each function at it.
 * With --memory BYTES, debug info that takes more is left out, and the last lines are "left out BYTES"
 * and, as the kernel counts it, "peak BYTES" of resident memory. (What wait4() says of a child has
 * its parent's memory in it.)
 * With --go what Go's table of functions says, as the library reads it while it profiles.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "code/elf/gopclntab.h"
#include "process/target/task/task.h"
#include "recording/lines/debuginfo.h"

static uint64_t peak(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	uint64_t kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
			break;
	}
	if (f)
		(void)fclose(f);
	return kib << 10;
}

static int print_dwarf(const char *path, uint64_t memory)
{
	struct debuginfo_line lines[DEBUGINFO_LINES_MAX];
	struct debuginfo *d = NULL;
	struct op_tasks tasks;
	uint64_t address;
	size_t n, i;

	op_tasks_init(&tasks);
	if (debuginfo_open(path, op_open(path, O_RDONLY), &tasks, memory, &d) < 0)
		return 1;
	while (scanf("%" SCNx64, &address) == 1) {
		n = debuginfo_find(d, address, lines);
		(void)printf("%" PRIx64 "\n", address);
		for (i = 0; i < n; i++)
			(void)printf(" %s %s:%u\n",
				     lines[i].function ? lines[i].function : "-",
				     lines[i].file ? lines[i].file : "?", lines[i].line);
	}
	if (memory != UINT64_MAX)
		(void)printf("left out %" PRIu64 "\npeak %" PRIu64 "\n",
			     debuginfo_left_out(d), peak());
	(void)debuginfo_free(d);
	op_tasks_deinit(&tasks);
	return 0;
}

static int print_go(const char *path)
{
	static struct op_go_line lines[DEBUGINFO_LINES_MAX];
	struct op_gopclntab *t = NULL;
	struct op_elf *elf = NULL;
	struct op_go_function f;
	uint64_t address;
	size_t n, i;
	int r = op_elf_open_path(path, &elf) < 0 || op_gopclntab_open(elf, &t) < 0;

	while (!r && scanf("%" SCNx64, &address) == 1) {
		n = op_gopclntab_find(t, address, &f) == 1
			    ? op_gopclntab_lines(t, &f, address, lines,
						 DEBUGINFO_LINES_MAX)
			    : 0;
		(void)printf("%" PRIx64 "\n", address);
		for (i = 0; i < n; i++)
			(void)printf(" %s %s:%u\n", lines[i].function, lines[i].file,
				     lines[i].line);
	}
	(void)op_gopclntab_free(t);
	(void)op_elf_free(elf);
	return r;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--go") == 0)
		return print_go(argv[2]);
	if (argc == 4 && strcmp(argv[1], "--memory") == 0)
		return print_dwarf(argv[3], strtoull(argv[2], NULL, 10));
	return argc == 2 ? print_dwarf(argv[1], UINT64_MAX) : 1;
}
