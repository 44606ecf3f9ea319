/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the debug info of a file says of addresses that come, in hexadecimal, on standard
 * input: for each a line "ADDRESS", then a line "FUNCTION FILE:LINE" for each function at it.
 * With --go what Go's table of functions says, as the library reads it while it profiles.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "lines/debuginfo.h"

static int print_dwarf(const char *path)
{
	struct debuginfo_line lines[DEBUGINFO_LINES_MAX];
	struct debuginfo *d = NULL;
	uint64_t address;
	size_t n, i;

	if (debuginfo_open(path, &d) < 0)
		return 1;
	while (scanf("%" SCNx64, &address) == 1) {
		n = debuginfo_find(d, address, lines);
		(void)printf("%" PRIx64 "\n", address);
		for (i = 0; i < n; i++)
			(void)printf(" %s %s:%u\n",
				     lines[i].function ? lines[i].function : "-",
				     lines[i].file ? lines[i].file : "?", lines[i].line);
	}
	(void)debuginfo_free(d);
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
	return argc == 2 ? print_dwarf(argv[1]) : 1;
}
