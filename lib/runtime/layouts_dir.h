/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of layout files, as the user gave it. */
#ifndef OP_RUNTIME_LAYOUTS_DIR_H
#define OP_RUNTIME_LAYOUTS_DIR_H

#include "base/log.h"
#include "runtime/layouts.h"

/*
 * Take the files NAME.layout of @dir in the order of their names. It and they must belong to
 * root or to this process's user, and be writable by nobody else. A file that is wrong is
 * left out with a warning. Returns 0, or -errno with its sentence where @dir cannot be used.
 */
int op_layouts_read_dir(struct op_layouts *layouts, const char *dir, struct op_log *log);

#endif
