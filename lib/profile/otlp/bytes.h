/* SPDX-License-Identifier: Apache-2.0 */
/* A growing buffer of encoded bytes. All calls return 0 or -ENOMEM. */
#ifndef OP_PROFILE_OTLP_BYTES_H
#define OP_PROFILE_OTLP_BYTES_H

#include <pb_encode.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum {
	OP_TAG_BYTES = 1,    /* fields 1 to 15 */
	OP_LEN_BYTES = 5,    /* for a length below 2^32 */
	OP_INT32_BYTES = 5,  /* for an index, which is never negative */
	OP_INT64_BYTES = 10, /* for any number */
	OP_FIELD_BYTES = OP_TAG_BYTES + OP_LEN_BYTES,
};

struct op_bytes {
	uint8_t *data;
	size_t len;
	size_t cap;
};

/* Add the tag and the length of field @field, which has @len bytes; the caller adds the
 * bytes. */
int op_bytes_head(struct op_bytes *b, uint32_t field, size_t len);
int op_bytes_add(struct op_bytes *b, const void *bytes, size_t len);
/* Add field @field with these bytes: a string, or an encoded message. */
int op_bytes_field(struct op_bytes *b, uint32_t field, const void *bytes, size_t len);
/* Add the fields of @message, which take at most @bound bytes, without a tag and a
 * length. */
int op_bytes_plain(struct op_bytes *b, const pb_msgdesc_t *desc, const void *message,
		   size_t bound);
/* Add field @field with @message, whose fields take at most @bound bytes. */
int op_bytes_message(struct op_bytes *b, uint32_t field, const pb_msgdesc_t *desc,
		     const void *message, size_t bound);
/* The same for a message of unknown size. */
int op_bytes_any_message(struct op_bytes *b, uint32_t field, const pb_msgdesc_t *desc,
			 const void *message);

#endif
