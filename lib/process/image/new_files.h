/* SPDX-License-Identifier: Apache-2.0 */
/* New executable files: while somebody asks, each file that is mapped is reported
 * once. */
#ifndef OP_PROCESS_IMAGE_NEW_FILES_H
#define OP_PROCESS_IMAGE_NEW_FILES_H

#include "process/image/executable.h"

struct op_opened;

enum {
	/* files in the queue; further ones are reported when they are mapped again */
	OP_NEW_FILES_MAX = 8192,
	/* times that a file is reported again because it could not be opened */
	OP_NEW_FILES_TRIES = 8,
};

/* From now on report each file once; with @on false, report none. */
void op_new_files_ask(struct op_executables *x, bool on);
/* Note that @e is mapped at @place. */
void op_new_files_note(struct op_executables *x, struct op_executable *e,
		       const struct op_executable_place *place);
/* Take the next file; the caller drops its reference. Returns whether there is one. */
bool op_new_files_take(struct op_executables *x, struct op_new_file *ret);
/*
 * Open the file, as op_target_open_mapped() does. -EBUSY: the time for other processes is used
 * up, so further files cannot be opened now either. If a failure says nothing about the
 * file, as that of a process that has ended, n->exe->noted is 0 again: the file is reported
 * when it is next noted, but not for ever.
 */
int op_new_files_open(struct op_executables *x, const struct op_new_file *n,
		      struct op_opened *ret);

#endif
