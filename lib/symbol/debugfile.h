/* SPDX-License-Identifier: Apache-2.0 */
/* Separate debug files, as gdb looks for them, and mini debug info. */
#ifndef OP_SYMBOL_DEBUGFILE_H
#define OP_SYMBOL_DEBUGFILE_H

#include "elf/file.h"

/*
 * The debug file of @elf by build id and by .gnu_debuglink, first below @root (a process's
 * root, which links in it cannot leave), then of this host. @path: of the executable below
 * @root, or NULL. Only one that is of the same build is taken.
 * Returns 1 and *@ret, 0: there is none, -ENOMEM.
 */
int op_debugfile_find(struct op_elf *elf, const char *root, const char *path,
		      struct op_elf **ret);

/* The ELF image inside .gnu_debugdata, of at most @limit bytes. Returns 1 and *@ret, 0:
 * none that can be read, -ENOMEM. */
int op_minidebug_open(struct op_elf *elf, size_t limit, struct op_elf **ret);

#endif
