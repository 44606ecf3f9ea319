/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/wire.h"

bool wire_next(struct op_reader *r, struct wire_field *ret)
{
	const char *start = (const char *)r->pos;
	uint64_t tag, len;

	if (r->failed || !op_reader_left(r))
		return false;
	*ret = (struct wire_field){ 0 };
	tag = op_read_uleb(r);
	ret->number = (uint32_t)(tag >> 3);
	ret->type = (uint32_t)(tag & 7);
	switch (ret->type) {
	case WIRE_VARINT:
		ret->value = op_read_uleb(r);
		break;
	case WIRE_FIXED64:
		op_read_skip(r, sizeof(uint64_t));
		break;
	case WIRE_BYTES:
		len = op_read_uleb(r);
		ret->bytes.data = (const char *)op_read_bytes(r, len);
		ret->bytes.len = r->failed ? 0 : (size_t)len;
		break;
	case WIRE_FIXED32:
		op_read_skip(r, sizeof(uint32_t));
		break;
	default:
		r->failed = true;
	}
	ret->whole = (struct otlp_text){ start, (size_t)((const char *)r->pos - start) };
	return !r->failed;
}
