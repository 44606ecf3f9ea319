/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a process's instances of runtimes (process/mappings/runtimes.h): each is
 * for a file at a load bias. That of a file that is no longer mapped is kept until
 * another file needs it.
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
/* The instance of @image at @bias. If there is none, it gets a number and is not attached;
 * NULL if no number is free. */
struct op_runtime_instance *op_program_runtimes_take(struct op_program_runtimes *r,
						     struct op_image *image,
						     uint64_t bias);
/* Detach it if it is attached. Its number is free from now on. */
void op_program_runtimes_release(struct op_runtime_instance *i, struct op_arena *arena,
				 struct op_images *images, uint64_t now_ns);

/*
 * Note which instances' files are no longer mapped at their place. If a file waits for a
 * number, that of the file that went first is given back, once no record of it can be still
 * to come. Returns true if one was. There are instances.
 */
bool op_program_runtimes_give_back(struct op_program_runtimes *r,
				   const struct op_program_runtimes_context *context);
/* Does a mapped file wait for a number (@full)? Then the maps are read from time to
 * time, since nobody tells what was unmapped. */
void op_program_runtimes_want(struct op_program_runtimes *r,
			      struct op_program_runtimes_context *context, bool full);
/* Another attempt is due at @at_ns. */
void op_program_runtimes_remind(struct op_program_runtimes_context *context,
				uint64_t at_ns);

#endif
