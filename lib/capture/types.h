/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's types that the programs name, in a BTF of some ten KB. libbpf would read all
 * of the kernel's types, 5 MB twice over, for each object it loads; from this one it relocates
 * as well, and the next walker costs next to nothing.
 */
#ifndef OP_CAPTURE_TYPES_H
#define OP_CAPTURE_TYPES_H

#include <stddef.h>

struct btf;

/*
 * Copy from @kernel what the @len @programs name (struct, union, enum; "name___flavour" stands for
 * "name"), with all that lies inside it by value; what is behind a pointer is left out.
 * Caller frees *@ret. 0 or -errno.
 */
int op_types_copy(const struct btf *kernel, const struct btf *const *programs, size_t len,
		  struct btf **ret);

/*
 * The same of the running kernel's @path as a file of its own. Returns the descriptor of
 * an anonymous file, or -errno.
 */
int op_types_file(const char *path, const struct btf *const *programs, size_t len);

#endif
