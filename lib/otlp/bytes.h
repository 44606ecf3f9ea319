/* SPDX-License-Identifier: Apache-2.0 */
/* Encoded bytes that grow at their end. All calls return 0 or -ENOMEM. */
#ifndef OP_OTLP_BYTES_H
#define OP_OTLP_BYTES_H

#include <pb_encode.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum {
	OP_TAG_BYTES = 1,    /* fields 1 to 15 */
	OP_LEN_BYTES = 5,    /* of a length below 2^32 */
	OP_INT32_BYTES = 5,  /* of an index: never negative */
	OP_INT64_BYTES = 10, /* of any number */
	OP_FIELD_BYTES = OP_TAG_BYTES + OP_LEN_BYTES,
};

struct op_bytes {
	uint8_t *data;
	size_t len;
	size_t cap;
};

/* Field @field of @len bytes: its tag and length; the bytes are the caller's to add. */
int op_bytes_head(struct op_bytes *b, uint32_t field, size_t len);
int op_bytes_add(struct op_bytes *b, const void *bytes, size_t len);
/* Field @field with these bytes: a string, or a message encoded before. */
int op_bytes_field(struct op_bytes *b, uint32_t field, const void *bytes, size_t len);
/* The fields of @message, which take at most @bound bytes, with no head. */
int op_bytes_plain(struct op_bytes *b, const pb_msgdesc_t *desc, const void *message,
		   size_t bound);
/* Field @field: @message, whose fields take at most @bound bytes. */
int op_bytes_message(struct op_bytes *b, uint32_t field, const pb_msgdesc_t *desc,
		     const void *message, size_t bound);
/* The same, of unknown size. */
int op_bytes_any_message(struct op_bytes *b, uint32_t field, const pb_msgdesc_t *desc,
			 const void *message);

#endif
