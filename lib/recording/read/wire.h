/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the fields of an encoded message, and writes some. */
#ifndef OP_RECORDING_READ_WIRE_H
#define OP_RECORDING_READ_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"
#include "otlp/reader.h"
#include "profile/otlp/bytes.h"

/* A field of an encoded message. */
struct wire_field {
	uint32_t number;
	uint32_t type;		/* WIRE_* */
	uint64_t value;		/* of WIRE_VARINT */
	struct otlp_text bytes; /* of WIRE_BYTES */
	struct otlp_text whole; /* with its tag */
};

enum {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

/* Get the next field. Returns false at the end, and with r->failed at a damaged place. */
bool wire_next(struct op_reader *r, struct wire_field *ret);

/* These return 0 or -ENOMEM. */
int wire_put_varint(struct op_bytes *out, uint64_t v);
/* Begin a field whose length is not known yet. The end writes its head and moves the
 * bytes to it. */
int wire_open(struct op_bytes *out, size_t *ret_start);
int wire_close(struct op_bytes *out, uint32_t field, size_t start);

#endif
