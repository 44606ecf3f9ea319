/* SPDX-License-Identifier: Apache-2.0 */
/* Appends fields to a buffer; nanopb encodes the messages. */
#include "profile/otlp/bytes.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	WIRE_LEN = 2
}; /* wire type of strings and messages */

static size_t varint(uint8_t *at, uint64_t v)
{
	size_t n = 0;

	while (v >= 0x80) {
		at[n++] = (uint8_t)v | 0x80;
		v >>= 7;
	}
	at[n++] = (uint8_t)v;
	return n;
}

static size_t head(uint8_t *at, uint32_t field, size_t len)
{
	assert(field < 16 && len <= UINT32_MAX);
	at[0] = (uint8_t)(field << 3 | WIRE_LEN);
	return 1 + varint(at + 1, len);
}

int op_bytes_head(struct op_bytes *b, uint32_t field, size_t len)
{
	if (op_vec_reserve(b, OP_FIELD_BYTES))
		return -ENOMEM;
	b->len += head(b->data + b->len, field, len);
	return 0;
}

int op_bytes_add(struct op_bytes *b, const void *bytes, size_t len)
{
	if (!len)
		return 0;
	if (op_vec_reserve(b, len))
		return -ENOMEM;
	memcpy(b->data + b->len, bytes, len);
	b->len += len;
	return 0;
}

int op_bytes_field(struct op_bytes *b, uint32_t field, const void *bytes, size_t len)
{
	if (op_vec_reserve(b, OP_FIELD_BYTES + len))
		return -ENOMEM;
	b->len += head(b->data + b->len, field, len);
	return op_bytes_add(b, bytes, len);
}

int op_bytes_plain(struct op_bytes *b, const pb_msgdesc_t *desc, const void *message,
		   size_t bound)
{
	pb_ostream_t stream;

	if (op_vec_reserve(b, bound))
		return -ENOMEM;
	stream = pb_ostream_from_buffer(b->data + b->len, bound);
	/* It can only fail because the buffer is full: @bound was wrong. */
	if (!pb_encode(&stream, desc, message)) {
		assert(0);
		return -ENOMEM;
	}
	b->len += stream.bytes_written;
	return 0;
}

int op_bytes_message(struct op_bytes *b, uint32_t field, const pb_msgdesc_t *desc,
		     const void *message, size_t bound)
{
	size_t start = b->len;
	size_t body = start + OP_FIELD_BYTES;
	size_t len;
	int r;

	/* Encode behind space for the longest head, then move to the end of the actual
	 * head: one pass. */
	if (op_vec_reserve(b, OP_FIELD_BYTES + bound))
		return -ENOMEM;
	b->len = body;
	r = op_bytes_plain(b, desc, message, bound);
	len = b->len - body;
	b->len = start;
	if (r < 0)
		return r;
	b->len += head(b->data + start, field, len);
	memmove(b->data + b->len, b->data + body, len);
	b->len += len;
	return 0;
}

int op_bytes_any_message(struct op_bytes *b, uint32_t field, const pb_msgdesc_t *desc,
			 const void *message)
{
	size_t size;

	if (!pb_get_encoded_size(&size, desc, message))
		return -ENOMEM;
	return op_bytes_message(b, field, desc, message, size);
}
