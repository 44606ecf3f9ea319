/* SPDX-License-Identifier: Apache-2.0 */
/* Finds separate debug files, as gdb does, and mini debug info. */
#ifndef OP_CODE_SYMBOL_DEBUGFILE_H
#define OP_CODE_SYMBOL_DEBUGFILE_H

#include "code/elf/file.h"

struct op_symbols_options;

/*
 * Find the debug file of @elf by build id and by .gnu_debuglink. The host's files come
 * first, because a process cannot make those, and then files below the process's root,
 * for which @o has root, open and path. Only a file of the same build is accepted.
 * Returns 1 and *@ret; 0 if there is none; -ENOMEM.
 */
int op_debugfile_find(struct op_elf *elf, const struct op_symbols_options *o,
		      struct op_elf **ret);

/* Open the ELF image inside .gnu_debugdata, of at most @limit bytes. Returns 1 and *@ret;
 * 0 if there is none that can be read; -ENOMEM. */
int op_minidebug_open(struct op_elf *elf, size_t limit, struct op_elf **ret);

#endif
