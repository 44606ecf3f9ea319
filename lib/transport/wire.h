/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of one protobuf message, one after another, bounds-checked. */
#ifndef OP_TRANSPORT_WIRE_H
#define OP_TRANSPORT_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"

enum op_wire_type {
	OP_WIRE_VARINT = 0,
	OP_WIRE_FIXED64 = 1,
	OP_WIRE_BYTES = 2,
	OP_WIRE_FIXED32 = 5,
};

struct op_wire_field {
	uint32_t number;
	uint32_t type;		/* enum op_wire_type */
	uint64_t value;		/* of a number */
	struct op_reader bytes; /* of OP_WIRE_BYTES; borrows */
};

/* The next field. False at the end of the message and where it makes no sense (failed). */
bool op_wire_next(struct op_reader *r, struct op_wire_field *ret);

/* Is it the bytes (string, message) with that number? */
static inline bool op_wire_is_bytes(const struct op_wire_field *f, uint32_t number)
{
	return f->number == number && f->type == OP_WIRE_BYTES;
}

/* Is it the varint with that number? */
static inline bool op_wire_is_varint(const struct op_wire_field *f, uint32_t number)
{
	return f->number == number && f->type == OP_WIRE_VARINT;
}

#endif
