/* SPDX-License-Identifier: Apache-2.0 */
/* Where the rows of a table come from. */
#ifndef OP_UNWIND_SOURCE_H
#define OP_UNWIND_SOURCE_H

#include "base/log.h"
#include "elf/file.h"
#include "unwind/builder.h"

/* Give @b the functions of @elf from all that the file has. 0, -ENOSPC, -ENOMEM, -errno. */
int op_source_all(struct op_elf *elf, struct op_builder *b, struct op_log *log);

#endif
