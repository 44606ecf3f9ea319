/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where the threads of a process keep their contexts. BPF programs read them
 * there. */
#ifndef OP_PROCESS_CONTEXT_PLACE_H
#define OP_PROCESS_CONTEXT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_elf;
struct op_memory;

/* A file that the process maps. */
struct op_context_file {
	struct op_elf *elf;
	uint64_t bias; /* process address - ELF address */
	bool musl;     /* the process's C library is musl, otherwise glibc */
	const struct op_memory *memory;
};

/*
 * Find the thread-local pointer of OTEP 4947, or that of custom-labels v1, in the file.
 * Fills @ret, except its number. Returns 1, 0 if the file has none or the loader has not
 * written its place yet, or -errno.
 */
int op_context_place_otel(const struct op_context_file *file,
			  struct op_context_place *ret);
int op_context_place_custom(const struct op_context_file *file,
			    struct op_context_place *ret);

/*
 * Find the place in an executable without a process context: custom-labels, or a Go
 * program of a known version. Fills @ret, except its number. Returns 1, 0 or -errno.
 */
int op_context_place_executable(const struct op_context_file *file,
				struct op_context_place *ret);

#endif
