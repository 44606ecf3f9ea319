/* SPDX-License-Identifier: Apache-2.0 */
/* The debug info of one file: source lines and inlined functions at an address. */
#ifndef OP_RECORDING_LINES_DEBUGINFO_H
#define OP_RECORDING_LINES_DEBUGINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DEBUGINFO_LINES_MAX = 32
};

/* A function at an address; the innermost inlined one is first. Strings live as long as
 * the debug info. */
struct debuginfo_line {
	const char *function; /* NULL: the function in the symbol table */
	const char *linkage;  /* linkage name, or NULL */
	const char *file;     /* NULL: unknown */
	uint32_t line;
	uint32_t start_line;
};

struct debuginfo;
struct op_tasks;

/* Open the debug info of the file @path, which is open as @file, and closes that.
 * @tasks opens other files that the file names, as long as the debug info lives.
 * Sections that would exceed @memory bytes are left out. Returns 0, also if there are
 * only symbols or debug info was left out; -ENOENT if there is neither; -ENOMEM. */
int debuginfo_open(const char *path, int file, struct op_tasks *tasks, uint64_t memory,
		   struct debuginfo **ret);
struct debuginfo *debuginfo_free(struct debuginfo *d);

/* Look up ELF address @vaddr. Returns the number of lines, 0 if nothing is known. */
size_t debuginfo_find(struct debuginfo *d, uint64_t vaddr,
		      struct debuginfo_line ret[DEBUGINFO_LINES_MAX]);
/* The name of the function at @vaddr: from the symbol table of the file or of its debug
 * file, else from the debug info. It is mangled, without a version. NULL: unknown.
 * Valid until the next call. */
const char *debuginfo_name(struct debuginfo *d, uint64_t vaddr);
/* The separate file from which it was read. NULL: the file itself. */
const char *debuginfo_path(const struct debuginfo *d);
/* Are there only symbols? */
bool debuginfo_has_no_lines(const struct debuginfo *d);
/* The memory that would be needed, including debug info that was left out. 0: none was. */
uint64_t debuginfo_left_out(const struct debuginfo *d);
/* Does it take more memory by now than allowed? Look-ups make tables. */
bool debuginfo_is_full(const struct debuginfo *d);
/* Was a part of it, in a .dwo file of -gsplit-dwarf, missing when it was needed? */
bool debuginfo_is_partial(const struct debuginfo *d);
/* Is that part in a package (.dwp), which libdw before 0.193 does not read? */
bool debuginfo_is_packaged(const struct debuginfo *d);

#endif
