/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a directory of layout files that the user named. */
#ifndef OP_RUNTIME_LAYOUTS_DIR_H
#define OP_RUNTIME_LAYOUTS_DIR_H

#include "base/log.h"
#include "runtime/layouts.h"

/*
 * Read the files NAME.layout of @dir in the order of their names. The directory and the
 * files must belong to root or to this process's user, and nobody else may write them. A
 * file with an error is left out with a warning. Returns 0, or -errno with a sentence if
 * @dir cannot be used.
 */
int op_layouts_read_dir(struct op_layouts *layouts, const char *dir, struct op_log *log);

#endif
