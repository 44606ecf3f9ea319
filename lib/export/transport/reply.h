/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what a server returns in addition to its status code. All of it is hostile
 * data. */
#ifndef OP_EXPORT_TRANSPORT_REPLY_H
#define OP_EXPORT_TRANSPORT_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

enum {
	/* OTLP 1.10 recommends this limit to clients, also for what a body unpacks to. */
	OP_REPLY_BYTES_MAX = 4 << 20,
};

/* Parse an ExportProfilesServiceResponse: the number of profiles it refused, and its text
 * into @message (cut to @cap, always terminated). Returns 0 or -EBADMSG. */
int op_reply_parse(const void *bytes, size_t len, uint64_t *ret_rejected, char *message,
		   size_t cap);

struct op_transport_result;

/* The body of a successful answer. If it is not OTLP, for example from a web server at
 * a wrong port, *@ret reports that nothing was accepted. */
void op_reply_read(const void *bytes, size_t len, struct op_transport_result *ret);

/* The delay of the RetryInfo in a google.rpc.Status (the trailer
 * grpc-status-details-bin), in milliseconds, rounded up; -1 if there is none. */
int64_t op_reply_retry_delay_ms(const void *bytes, size_t len);

/* The text of a google.rpc.Status, cut to @cap; "" if it has none or is not a Status. */
void op_reply_status_message(const void *bytes, size_t len, char *ret, size_t cap);

/* Copy foreign text of @len bytes: cut and terminated, with control characters made
 * blanks. */
void op_reply_copy_text(const void *text, size_t len, char *ret, size_t cap);

/* The number of Profile messages in an ExportProfilesServiceRequest. */
uint64_t op_reply_count_profiles(const void *request, size_t len);

/* Reads the fields of one protobuf message one by one, bounds-checked. */
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
