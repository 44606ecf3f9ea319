/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that the debug info of a file may take, counted before it is loaded. */
#ifndef OP_RECORDING_LINES_DEBUG_BUDGET_H
#define OP_RECORDING_LINES_DEBUG_BUDGET_H

#include <elfutils/libdwfl.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "process/target/task/task.h"

/* Memory of debug info, before it is loaded and while it is used. */
struct debug_memory {
	uint64_t mapped;   /* sections as they are in the file */
	uint64_t unpacked; /* compressed sections, after libdw has unpacked them */
	bool suffices;	   /* libdw does not search for a separate file */
};

/* The debug sections and all compressed ones of a file, from their headers. */
struct debug_memory memory_of_elf(Elf *elf);
/* The same for an open file. Returns 0, or -EINVAL if it is not an ELF file. */
int memory_of_fd(int fd, struct debug_memory *ret);
/* Make a copy of the file in memory with its zstd sections unpacked. Returns a
 * descriptor, or -1 if it has no such section, if they or the file take more than
 * @memory bytes, or if they are damaged. */
int debug_unpack(int fd, uint64_t memory);
/* Bytes of the heap in use, or 0 if that is not known. */
uint64_t memory_in_use(void);

struct debug_budget {
	struct op_tasks *tasks; /* open files that others chose */
	struct stat program;	/* whose debug info it is */
	bool copied;	 /* from a server, which says who owns it: it names no file */
	uint64_t memory; /* limit */
	uint64_t mapped; /* sections in files, and sections that were unpacked */
	uint64_t unpacked;
	bool has_separate; /* the separate file, if has_separate */
	struct stat separate;
	int copy; /* unpacked copy of it, until libdw takes it, or -1 */
	char *copy_path;
	/* memory that would be needed with the part that did not fit */
	uint64_t left_out;
};

/*
 * libdw opens files by names that a program chose. It does so with the rights of who owns the program:
 * a name that was looked at may be a link to what only root may open by now.
 */
struct debug_rights {
	uid_t user;
	gid_t group;
};
struct debug_rights debug_rights_of_owner(const struct debug_budget *r);
void debug_rights_return(struct debug_rights own);

/* Do these sections fit the budget? If so they count from here on. */
bool debug_budget_take(struct debug_budget *r, const struct debug_memory *more);
/* May libdw open @path, which a file names? Not a device, a pipe, or a file that a server
 * has. True also if there is no file. *@ret_more (unless NULL) is the memory of
 * that file. */
bool debug_budget_may_open(const struct debug_budget *r, const char *path,
			   struct debug_memory *ret_more);
/* Find the separate file of the file @path, open as @file. True if it fits the budget
 * or there is none. */
bool debug_budget_take_separate(struct debug_budget *r, const char *path, int file);
/* A callback of libdw, with a pointer to the budget in *@userdata. Finds a separate
 * file that fits the budget. */
int debug_budget_find_separate(Dwfl_Module *module, void **userdata, const char *name,
			       Dwarf_Addr base, const char *file, const char *link,
			       GElf_Word crc, char **ret_path);

#endif
