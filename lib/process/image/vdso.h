/* SPDX-License-Identifier: Apache-2.0 */
/* The vDSO's ELF image. Every 64-bit process has the same one, so it is copied from this
 * process: no other process can present a forged one. */
#ifndef OP_PROCESS_IMAGE_VDSO_H
#define OP_PROCESS_IMAGE_VDSO_H

#include "code/elf/file.h"

/* Returns 0, -ENOENT if there is no vDSO, or an error of op_elf_open_bytes(). */
int op_vdso_open(struct op_elf **ret);

#endif
