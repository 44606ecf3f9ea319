/* SPDX-License-Identifier: Apache-2.0 */
/* Where the threads of a process have their contexts: for the kernel programs, which read them. */
#ifndef OP_PROCESS_CONTEXT_PLACE_H
#define OP_PROCESS_CONTEXT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_elf;
struct op_memory;

/* A file that the process has mapped. */
struct op_context_file {
	struct op_elf *elf;
	uint64_t bias; /* process address - ELF address */
	bool musl;     /* the process's C library; else glibc */
	const struct op_memory *memory;
};

/*
 * The thread-local pointer of OTEP 4947, or of custom-labels v1, where the file has it.
 * Fills @ret, except its number. Returns 1; 0 where the file has none, or the loader has
 * not written its place yet; -errno.
 */
int op_context_place_otel(const struct op_context_file *file,
			  struct op_context_place *ret);
int op_context_place_custom(const struct op_context_file *file,
			    struct op_context_place *ret);

/*
 * What an executable itself shows, without a process context: custom-labels in it, or a
 * Go program of a known version. Fills @ret, except its number. Returns 1, 0 or -errno.
 */
int op_context_place_executable(const struct op_context_file *file,
				struct op_context_place *ret);

#endif
