/* SPDX-License-Identifier: Apache-2.0 */
/* Can an ELF file export a symbol? A cheap check that excludes thousands of files. */
#ifndef OP_RUNTIME_EXPORTS_H
#define OP_RUNTIME_EXPORTS_H

#include <stdbool.h>

#include "code/elf/file.h"

/* Returns false if the Bloom filter of .gnu.hash excludes that @name is a defined
 * dynamic symbol, or if there is no .gnu.hash. Reads at most 24 bytes of the file. */
bool op_runtime_may_export(struct op_elf *elf, const char *name);

#endif
