/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a process's runtime instances (process/mappings/runtimes.h). Each
 * belongs to a file at a load bias. An unmapped file keeps its number until another file
 * needs it.
 */
#ifndef OP_PROCESS_MAPPINGS_INSTANCE_NUMBERS_H
#define OP_PROCESS_MAPPINGS_INSTANCE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_arena;
struct op_image;
struct op_images;
struct op_runtime_instance;
struct op_runtime_ops;
struct op_program_runtimes;
struct op_program_runtimes_context;

/* Bytes of the runtime's struct in the arena. */
size_t op_program_runtimes_bpf_bytes(const struct op_runtime_ops *ops);
/* The instance of @image at @bias. A new one gets a number and is not attached. NULL if
 * no number is free. */
struct op_runtime_instance *op_program_runtimes_take(struct op_program_runtimes *r,
						     struct op_image *image,
						     uint64_t bias);
/* Detach the instance if it is attached, and free its number. */
void op_program_runtimes_release(struct op_runtime_instance *i, struct op_arena *arena,
				 struct op_images *images, uint64_t now_ns);

/*
 * Note which instances' files are no longer mapped there. If a file waits for a number,
 * free that of the file that was unmapped first, once no record of it can arrive. Returns
 * true if a number was freed. @r has at least one instance.
 */
bool op_program_runtimes_give_back(struct op_program_runtimes *r,
				   const struct op_program_runtimes_context *context);
/* Set whether a mapped file waits for a number (@full). Then the maps are read from time
 * to time, because no event reports an unmapping. */
void op_program_runtimes_want(struct op_program_runtimes *r,
			      struct op_program_runtimes_context *context, bool full);
/* Another attempt is due at @at_ns. */
void op_program_runtimes_remind(struct op_program_runtimes_context *context,
				uint64_t at_ns);

#endif
