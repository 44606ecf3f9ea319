/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of a file in a spill directory: a header of 64 bytes, and the encoded
 * request after it. Numbers are little endian, as on all hosts of this library:
 *
 *     0  magic "OTELPSPL"         24  length of the request, u64
 *     8  version, u32: 1          32  written at, Unix time in ns, u64
 *    12  bytes of header, u32     40  CRC-32 of the request, u32
 *    16  samples in it, u64       44  zero, 16 bytes
 *                                 60  CRC-32 of the 60 bytes before, u32
 *
 * The name is "TIME-RANDOM.request", with 20 and 16 digits, so that names sort by time.
 */
#ifndef OP_EXPORT_SPILL_SPILL_FILE_H
#define OP_EXPORT_SPILL_SPILL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OP_SPILL_HEADER_BYTES = 64,
	OP_SPILL_NAME_BYTES = 48, /* with the NUL */
};

struct op_spill_header {
	uint64_t samples;
	uint64_t len; /* of the request */
	uint64_t time_ns;
	uint32_t crc; /* of the request */
};

void op_spill_encode(const struct op_spill_header *h, uint8_t ret[OP_SPILL_HEADER_BYTES]);

/*
 * Read the header at the start of @bytes. Returns 0; -EBADMSG if it is not a header or
 * damaged; -EPROTONOSUPPORT if another version of the library wrote it. *@ret_why
 * (static) gives the reason.
 */
int op_spill_decode(const void *bytes, size_t len, struct op_spill_header *ret,
		    const char **ret_why);

/* Do length and checksum of @body agree with the header @h? */
bool op_spill_body_ok(const struct op_spill_header *h, const void *body, size_t len);

uint32_t op_spill_crc(const void *bytes, size_t len);

void op_spill_name(uint64_t time_ns, uint64_t random, char ret[OP_SPILL_NAME_BYTES]);
/* Does @name have the form of op_spill_name()? *@ret_time_ns is the time in it. */
bool op_spill_name_read(const char *name, uint64_t *ret_time_ns);

#endif
