/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes CPython's tables from bytecode to line (Objects/lnotab_notes.txt,
 * locations.md). */
#ifndef OP_RUNTIME_PYTHON_LINES_H
#define OP_RUNTIME_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/python/layout.h"

/* The line of the instruction at byte @at of the bytecode; @first_line if @at is before
 * its start (-1 or less: the frame has not run anything yet); 0 if the table has none. */
uint32_t op_runtime_python_line(enum op_python_lines kind, const void *table, size_t len,
				uint32_t first_line, int64_t at);

#endif
