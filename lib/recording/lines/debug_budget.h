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

/* What debug info takes in memory, before it is loaded and while it is used. */
struct debug_memory {
	uint64_t mapped;   /* sections as they stand in the file */
	uint64_t unpacked; /* compressed ones, when libdw has unpacked them */
	bool suffices;	   /* libdw searches for no separate file */
};

/* The debug sections and all compressed ones of a file, as their headers say. */
struct debug_memory memory_of_elf(Elf *elf);
/* The same of an open file. Returns 0, or -EINVAL if it is no ELF file. */
int memory_of_fd(int fd, struct debug_memory *ret);
/* A copy of the file in memory whose sections by zstd are unpacked; -1 if it has none, if they or the file
 * take more than @memory bytes, or if they are damaged. */
int debug_unpack(int fd, uint64_t memory);
/* Bytes of the heap in use; 0 if that cannot be known. */
uint64_t memory_in_use(void);

struct debug_budget {
	struct op_tasks *tasks; /* open what others chose */
	struct stat program;	/* the file whose debug info it is */
	uint64_t memory;	/* that it may take */
	uint64_t mapped;	/* sections in files, and those that were unpacked */
	uint64_t unpacked;
	bool has_separate; /* separate: its separate file */
	struct stat separate;
	int copy; /* of it, unpacked, as long as libdw has not taken it; -1: none */
	char *copy_path;
	uint64_t left_out; /* the memory that it would take with what had no room */
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

/* Do these sections fit the budget? If so they count from now on. */
bool debug_budget_take(struct debug_budget *r, const struct debug_memory *more);
/* May libdw open @path, which a file names? Not a device, a pipe, or what does not answer. It may if
 * nothing is there. *@ret_more (or NULL) is what a file would take. */
bool debug_budget_may_open(const struct debug_budget *r, const char *path,
			   struct debug_memory *ret_more);
/* Find the separate file of the file @path, open as @file. Does it fit the budget, or is there none? */
bool debug_budget_take_separate(struct debug_budget *r, const char *path, int file);
/* A callback of libdw, with a pointer to the room in *@userdata: finds what is used besides, if
 * there is room. */
int debug_budget_find_separate(Dwfl_Module *module, void **userdata, const char *name,
			       Dwarf_Addr base, const char *file, const char *link,
			       GElf_Word crc, char **ret_path);

#endif
