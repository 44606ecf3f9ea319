/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/wire.h"

#include <errno.h>
#include <string.h>

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

int wire_put_varint(struct op_bytes *out, uint64_t v)
{
	uint8_t bytes[OP_INT64_BYTES];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)v | 0x80;
	bytes[n++] = (uint8_t)v;
	return op_bytes_add(out, bytes, n);
}

int wire_open(struct op_bytes *out, size_t *ret_start)
{
	*ret_start = out->len;
	if (op_vec_reserve(out, OP_FIELD_BYTES))
		return -ENOMEM;
	out->len += OP_FIELD_BYTES; /* the longest head */
	return 0;
}

int wire_close(struct op_bytes *out, uint32_t field, size_t start)
{
	size_t body = start + OP_FIELD_BYTES;
	size_t len = out->len - body;
	int r;

	out->len = start;
	r = op_bytes_head(out, field, len);
	if (r)
		return r;
	memmove(out->data + out->len, out->data + body, len);
	out->len += len;
	return 0;
}
