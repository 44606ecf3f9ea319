/* SPDX-License-Identifier: Apache-2.0 */
/* Parses tags and lengths of protobuf fields. */
#include "export/transport/reply.h"

enum {
	TYPE_BITS = 3
};

bool op_wire_next(struct op_reader *r, struct op_wire_field *ret)
{
	struct op_wire_field f = { 0 };
	const uint8_t *start;
	uint64_t tag;
	uint64_t len;

	if (r->failed || !op_reader_left(r))
		return false;
	tag = op_read_uleb(r);
	f.number = (uint32_t)(tag >> TYPE_BITS);
	f.type = tag & ((1 << TYPE_BITS) - 1);
	switch (f.type) {
	case OP_WIRE_VARINT:
		f.value = op_read_uleb(r);
		break;
	case OP_WIRE_FIXED64:
		f.value = op_read_u64(r);
		break;
	case OP_WIRE_FIXED32:
		f.value = op_read_u32(r);
		break;
	case OP_WIRE_BYTES:
		len = op_read_uleb(r);
		start = op_read_bytes(r, len);
		if (start)
			f.bytes = op_reader_init(start, len);
		break;
	default:
		/* No message that is read here has groups (types 3 and 4). */
		r->failed = true;
		break;
	}
	if (r->failed || !f.number || tag > UINT32_MAX) {
		r->failed = true;
		return false;
	}
	*ret = f;
	return true;
}
