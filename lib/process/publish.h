/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing a process writes its state to the arena as a new generation
 * (process/generation.h), and changes the BPF programs' map to refer to it.
 */
#ifndef OP_PROCESS_PUBLISH_H
#define OP_PROCESS_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "code/elf/file.h"

struct op_mappings;
struct op_proc;
struct op_processes;
struct op_program;
struct op_mapping;

/*
 * Make a generation of @proc, unless nothing has changed. With @commit the BPF programs
 * get it, otherwise only the unwinder in user space uses it. Returns 0, or -errno, and
 * then the old generation stays.
 */
int op_publish(struct op_processes *p, struct op_proc *proc, bool commit);
/* The process ended or is no longer tracked: remove it from the BPF programs' map, and
 * retire its generation. */
void op_unpublish(struct op_processes *p, struct op_proc *proc);
/* Make a process from a program and its mappings at an earlier time, only for the
 * unwinder in user space. Returns 0 or -ENOMEM. */
int op_publish_past(struct op_processes *p, struct op_program *program,
		    struct op_mappings *mappings, struct op_proc **ret);
void op_publish_past_free(struct op_processes *p, struct op_proc *past);

/* Load the steps of @runtimes (bits). Those that cannot be loaded are not tried again. */
void op_publish_load_runtimes(struct op_processes *p, uint32_t runtimes);
/*
 * Make the table for addresses in @v, and load the step of its runtime. Returns 0,
 * -ENOEXEC for memory without a table, -EINPROGRESS without time for it, or -errno. The
 * mappings change at the next op_publish().
 */
int op_publish_make_table(struct op_processes *p, const struct op_program *program,
			  const struct op_mapping *v);
/* Open the file of @v and make its executable's image. @need_file: keep the image's file
 * open, too. */
int op_publish_open(struct op_processes *p, const struct op_program *program,
		    const struct op_mapping *v, bool need_file);
/*
 * If it is not known what is mapped at @addr of @proc now, compare or open its file, and
 * publish @proc. Returns 1 if it did so, 0 if not, or -EINPROGRESS without time for it.
 */
int op_publish_identify(struct op_processes *p, struct op_proc *proc, uint64_t addr);
/* Open the file of @v again, for a caller that keeps it. */
int op_publish_open_file(struct op_processes *p, const struct op_program *program,
			 const struct op_mapping *v, struct op_elf **ret,
			 uint64_t *ret_bias);

#endif
