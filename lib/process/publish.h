/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing: what is known of a process goes into the arena as a new generation, and the
 * kernel is told. Nothing that was published is changed; what it replaces is kept for
 * OP_PROCESS_KEEP_NS.
 */
#ifndef OP_PROCESS_PUBLISH_H
#define OP_PROCESS_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/file.h"

struct op_generation;
struct op_layout;
struct op_proc;
struct op_processes;
struct op_program;
struct op_vma;

/*
 * Make a generation of @proc as it is now; nothing where nothing changed. With @commit the
 * kernel is told, else it is only there for the host's unwinder. 0 or -errno; then the
 * old one stays.
 */
int op_publish(struct op_processes *p, struct op_proc *proc, bool commit);
/* The process ended or is tracked no more: tell the kernel, retire its generation. */
void op_unpublish(struct op_processes *p, struct op_proc *proc);
/* It becomes another program, or what it has mapped another set: records of what it was are
 * still to come, whether that was published or not. */
void op_publish_keep(struct op_processes *p, struct op_proc *proc);
/*
 * What ran once, with what it had mapped, as a process that the kernel is not told of: to
 * be published to the host's unwinder alone. 0 or -ENOMEM.
 */
int op_publish_past(struct op_processes *p, struct op_program *program,
		    struct op_layout *layout, struct op_proc **ret);
void op_publish_past_free(struct op_processes *p, struct op_proc *past);
/* Let go of generations whose time is over. */
void op_publish_expire(struct op_processes *p);
/* Let go of all generations of @proc. */
void op_publish_drop(struct op_processes *p, struct op_proc *proc);

/* The generation @number of the processes of @pid, or NULL where it is not kept any more. */
struct op_generation *op_publish_find(const struct op_proc *proc, uint32_t number);

/* Load the kernel's steps of @runtimes (bits). What cannot be loaded is not asked for again. */
void op_publish_load_runtimes(struct op_processes *p, uint32_t runtimes);
/* Which runtime does a file of @path look like, of those that are wanted? 0: none. */
uint32_t op_publish_runtimes_like(const struct op_processes *p, const char *path);
/*
 * Make the table that addresses in @v need (and load its runtime). 0; -ENOEXEC for memory
 * without a table; -EINPROGRESS when the slice is over; -errno. The layout changes at the
 * next op_publish().
 */
int op_publish_make_table(struct op_processes *p, const struct op_program *program,
			  const struct op_vma *v);
/* Is the poll's time over, so that long work is to be left to the next one? */
bool op_publish_is_late(struct op_processes *p);
/* Open @v's file: e->image is there after it; with @need_file its file is open, too. */
int op_publish_open(struct op_processes *p, const struct op_program *program,
		    const struct op_vma *v, bool need_file);
/* Open @v's file anew, for a caller who keeps it. */
int op_publish_open_file(struct op_processes *p, const struct op_program *program,
			 const struct op_vma *v, struct op_elf **ret, uint64_t *ret_bias);

#endif
