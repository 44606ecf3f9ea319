/* SPDX-License-Identifier: Apache-2.0 */
/* May an ELF file export a symbol? A cheap no for the thousands of files that do not. */
#ifndef OP_RUNTIME_EXPORTS_H
#define OP_RUNTIME_EXPORTS_H

#include <stdbool.h>

#include "elf/file.h"

/* False where the Bloom filter of .gnu.hash rules @name out as a defined dynamic symbol,
 * or where there is no .gnu.hash. Reads at most 24 bytes of the file. */
bool op_runtime_may_export(struct op_elf *elf, const char *name);

#endif
