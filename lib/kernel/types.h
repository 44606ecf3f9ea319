/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy, of some ten KB, of the kernel's types that the programs name. libbpf would
 * otherwise read all of the kernel's types, 5 MB twice over, for each object that it
 * loads. With the copy, relocating another walker costs next to nothing.
 */
#ifndef OP_KERNEL_TYPES_H
#define OP_KERNEL_TYPES_H

#include <stddef.h>

struct btf;

/*
 * Copy from @kernel the types that the @len @programs name (struct, union, enum;
 * "name___flavour" stands for "name"), and all types that they contain by value. Types
 * behind pointers are left out. The caller frees *@ret. Returns 0 or -errno.
 */
int op_types_copy(const struct btf *kernel, const struct btf *const *programs, size_t len,
		  struct btf **ret);

/* Make such a copy of the running kernel's BTF at @path. Returns the descriptor of an
 * anonymous file, or -errno. */
int op_types_file(const char *path, const struct btf *const *programs, size_t len);

#endif
