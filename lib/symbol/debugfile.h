/* SPDX-License-Identifier: Apache-2.0 */
/* Separate debug files, as gdb looks for them, and mini debug info. */
#ifndef OP_SYMBOL_DEBUGFILE_H
#define OP_SYMBOL_DEBUGFILE_H

#include "elf/file.h"

struct op_symbols_options;

/*
 * The debug file of @elf by build id and by .gnu_debuglink, first of this host, whose files
 * are not a process's to make, then below a process's root: as @o has root, open and path.
 * Only one that is of the same build is taken.
 * Returns 1 and *@ret, 0: there is none, -ENOMEM.
 */
int op_debugfile_find(struct op_elf *elf, const struct op_symbols_options *o,
		      struct op_elf **ret);

/* The ELF image inside .gnu_debugdata, of at most @limit bytes. Returns 1 and *@ret, 0:
 * none that can be read, -ENOMEM. */
int op_minidebug_open(struct op_elf *elf, size_t limit, struct op_elf **ret);

#endif
