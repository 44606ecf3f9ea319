/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BPF object as lib/pack.py leaves it: a quarter as large, and what is unpacked for a load
 * does not stay in memory after it.
 */
#ifndef OP_KIND_PACKED_H
#define OP_KIND_PACKED_H

#include <stddef.h>

struct op_packed_object {
	const unsigned char *bytes; /* zlib's (RFC 1950) */
	size_t len;
	size_t object_len; /* of the ELF file in it */
};

#endif
