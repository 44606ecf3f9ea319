/* SPDX-License-Identifier: Apache-2.0 */
/* New executable files: on demand each mapped file is reported once. */
#ifndef OP_PROCESS_IMAGE_NEW_FILES_H
#define OP_PROCESS_IMAGE_NEW_FILES_H

#include "process/image/executable.h"

struct op_opened;

enum {
	/* files in the queue; past that a file is reported when it is mapped again */
	OP_NEW_FILES_MAX = 8192,
	/* times that a file is reported again after it could not be opened */
	OP_NEW_FILES_TRIES = 8,
};

/* From now on report each file once; with @on false, report none. */
void op_new_files_ask(struct op_executables *x, bool on);
/* Note that @e is mapped at @place. */
void op_new_files_note(struct op_executables *x, struct op_executable *e,
		       const struct op_executable_place *place);
/* Take the next file. The caller drops its reference. Returns whether there is one. */
bool op_new_files_take(struct op_executables *x, struct op_new_file *ret);
/*
 * Open the file like op_target_open_mapped(). -EBUSY: the time for other processes is
 * used up, so no file can be opened now. If a failure does not depend on the file, such
 * as that of an ended process, n->exe->noted becomes 0: the file is reported when it is
 * next noted, OP_NEW_FILES_TRIES times at most.
 */
int op_new_files_open(struct op_executables *x, const struct op_new_file *n,
		      struct op_opened *ret);

#endif
