/* SPDX-License-Identifier: Apache-2.0 */
/* A BPF object as lib/pack.py compresses it, to a quarter of its size. It is unpacked for
 * a load and freed afterwards. */
#ifndef OP_KERNEL_KINDS_PACKED_H
#define OP_KERNEL_KINDS_PACKED_H

#include <stddef.h>

struct op_packed_object {
	const unsigned char *bytes; /* in zlib format (RFC 1950) */
	size_t len;
	size_t object_len; /* size of the uncompressed ELF file */
};

#endif
