/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the entries of x86-64's procedure linkage table, which have no symbols. */
#ifndef OP_CODE_SYMBOL_PLT_H
#define OP_CODE_SYMBOL_PLT_H

#include <stddef.h>
#include <stdint.h>

#include "code/elf/file.h"

/*
 * Find the function to which the entry at @vaddr jumps, by its relocation. Returns 1,
 * its name in @buf (as in the file, at most @size bytes) and the entry's start; 0 if
 * there is no entry or its function is not known; or -errno.
 */
int op_plt_find(struct op_elf *elf, uint64_t vaddr, char *buf, size_t size,
		uint64_t *ret_start);

#endif
