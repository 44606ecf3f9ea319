/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of one protobuf message one by one, bounds-checked. */
#ifndef OP_EXPORT_TRANSPORT_WIRE_H
#define OP_EXPORT_TRANSPORT_WIRE_H

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
	uint64_t value;		/* of a numeric field */
	struct op_reader bytes; /* of an OP_WIRE_BYTES field; borrows */
};

/* Read the next field. Returns false at the end, and if the message is invalid
 * (r->failed). */
bool op_wire_next(struct op_reader *r, struct op_wire_field *ret);

/* Is it a bytes field (string, message) with that number? */
static inline bool op_wire_is_bytes(const struct op_wire_field *f, uint32_t number)
{
	return f->number == number && f->type == OP_WIRE_BYTES;
}

/* Is it a varint field with that number? */
static inline bool op_wire_is_varint(const struct op_wire_field *f, uint32_t number)
{
	return f->number == number && f->type == OP_WIRE_VARINT;
}

#endif
