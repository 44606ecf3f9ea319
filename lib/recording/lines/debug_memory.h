/* SPDX-License-Identifier: Apache-2.0 */
/* What debug info takes in memory, before it is loaded and while it is used. */
#ifndef OP_RECORDING_LINES_DEBUG_MEMORY_H
#define OP_RECORDING_LINES_DEBUG_MEMORY_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct debug_memory {
	uint64_t mapped;   /* sections as they stand in the file */
	uint64_t unpacked; /* compressed ones, when libdw has unpacked them */
	bool suffices;	   /* libdw searches for no separate file */
};

/* The debug sections of a file, as their headers say. */
struct debug_memory memory_of_elf(Elf *elf);
/* The same of an open file. Returns 0, or -EINVAL if it is no ELF file. */
int memory_of_fd(int fd, struct debug_memory *ret);
/* The same of the file @path; nothing if it cannot be read. */
struct debug_memory memory_of_path(const char *path);
/* Bytes of the heap in use; 0 if that cannot be known. */
uint64_t memory_in_use(void);

#endif
