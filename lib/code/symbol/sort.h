/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts symbols in place. The C library's qsort() takes as much memory again as what it sorts:
 * of a large program's names that is most of what reading them takes.
 */
#ifndef OP_CODE_SYMBOL_SORT_H
#define OP_CODE_SYMBOL_SORT_H

#include <stddef.h>

#include "code/symbol/index.h"

/* Sort by address, then by class, then by name. Takes no memory but a bounded stack. */
void op_symbol_sort(struct op_symbol_raw *raw, size_t len);

#endif
