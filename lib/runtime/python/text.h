/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CPython's str and bytes objects from a process's memory. */
#ifndef OP_RUNTIME_PYTHON_TEXT_H
#define OP_RUNTIME_PYTHON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "runtime/python/layout.h"

enum {
	OP_PYTHON_TEXT_MAX = 4096,   /* characters of a name; longer ones are cut */
	OP_PYTHON_BYTES_MAX = 65536, /* bytes of a line table; the rest is cut */
};

/* Append the str object at @addr as UTF-8, and a NUL. Returns 0; -EBADMSG if it is not a
 * str; an error of reading; -ENOMEM. */
int op_runtime_python_str(const struct op_memory *memory,
			  const struct op_python_layout *layout, uint64_t addr,
			  struct op_strbuf *to);
/* Append the content of the bytes object at @addr. */
int op_runtime_python_bytes(const struct op_memory *memory,
			    const struct op_python_layout *layout, uint64_t addr,
			    struct op_strbuf *to);

#endif
