/* SPDX-License-Identifier: Apache-2.0 */
/* Parses response messages of OTLP and google.rpc. */
#include "export/transport/reply.h"

#include <errno.h>
#include <string.h>

#include "base/foreign/text.h"
#include "base/macros.h"
#include "export/transport/retry.h"
#include "export/transport/transport.h"

/* Field numbers of opentelemetry/proto 1.10 and of google/rpc. */
enum {
	RESPONSE_PARTIAL_SUCCESS = 1,
	PARTIAL_REJECTED = 1,
	PARTIAL_MESSAGE = 2,
	REQUEST_RESOURCE_PROFILES = 1,
	RESOURCE_SCOPE_PROFILES = 2,
	SCOPE_PROFILES = 2,
	STATUS_MESSAGE = 2,
	STATUS_DETAILS = 3,
	ANY_TYPE_URL = 1,
	ANY_VALUE = 2,
	RETRY_INFO_DELAY = 1,
	DURATION_SECONDS = 1,
	DURATION_NANOS = 2,
};

static const char NOT_OTLP[] = "an answer that is not OTLP";
static const char retry_info_url[] = "type.googleapis.com/google.rpc.RetryInfo";

void op_reply_copy_text(const void *text, size_t len, char *ret, size_t cap)
{
	(void)op_text_show(text, len, ret, cap);
}

static int parse_partial(struct op_reader *r, uint64_t *rejected, char *message,
			 size_t cap)
{
	struct op_wire_field f;

	while (op_wire_next(r, &f)) {
		if (op_wire_is_varint(&f, PARTIAL_REJECTED))
			*rejected = (int64_t)f.value < 0 ? 0 : f.value;
		else if (op_wire_is_bytes(&f, PARTIAL_MESSAGE))
			op_reply_copy_text(f.bytes.start, op_reader_left(&f.bytes),
					   message, cap);
	}
	return r->failed ? -EBADMSG : 0;
}

int op_reply_parse(const void *bytes, size_t len, uint64_t *ret_rejected, char *message,
		   size_t cap)
{
	struct op_reader reader = op_reader_init(bytes, len);
	struct op_wire_field f;
	uint64_t rejected = 0;
	int r = 0;

	while (!r && op_wire_next(&reader, &f)) {
		if (op_wire_is_bytes(&f, RESPONSE_PARTIAL_SUCCESS))
			r = parse_partial(&f.bytes, &rejected, message, cap);
	}
	if (r || reader.failed)
		return -EBADMSG;
	*ret_rejected = rejected;
	return 0;
}

void op_reply_read(const void *bytes, size_t len, struct op_transport_result *ret)
{
	if (op_reply_parse(bytes, len, &ret->rejected, ret->message,
			   sizeof(ret->message)) == 0)
		return;
	ret->grpc_status = OP_GRPC_UNKNOWN;
	(void)strlcpy(ret->message, NOT_OTLP, sizeof(ret->message));
}

static int64_t parse_duration(struct op_reader *r)
{
	struct op_wire_field f;
	int64_t seconds = 0;
	int64_t nanos = 0;

	while (op_wire_next(r, &f)) {
		if (op_wire_is_varint(&f, DURATION_SECONDS))
			seconds = (int64_t)f.value;
		else if (op_wire_is_varint(&f, DURATION_NANOS))
			nanos = (int64_t)f.value;
	}
	if (r->failed || seconds < 0 || nanos < 0 || nanos >= OP_NS_PER_S ||
	    seconds > INT64_MAX / OP_MS_PER_S - OP_MS_PER_S)
		return -1;
	return seconds * OP_MS_PER_S + (nanos + OP_NS_PER_MS - 1) / OP_NS_PER_MS;
}

static int64_t parse_retry_info(struct op_reader *r)
{
	struct op_wire_field f;
	int64_t delay = 0; /* a RetryInfo without a delay: retry at once */

	while (op_wire_next(r, &f)) {
		if (op_wire_is_bytes(&f, RETRY_INFO_DELAY))
			delay = parse_duration(&f.bytes);
	}
	return r->failed ? -1 : delay;
}

static int64_t parse_any(struct op_reader *r)
{
	struct op_reader value = op_reader_init("", 0);
	struct op_wire_field f;
	bool ours = false;

	while (op_wire_next(r, &f)) {
		if (op_wire_is_bytes(&f, ANY_TYPE_URL))
			ours = op_reader_left(&f.bytes) == sizeof(retry_info_url) - 1 &&
			       !memcmp(f.bytes.start, retry_info_url,
				       sizeof(retry_info_url) - 1);
		else if (op_wire_is_bytes(&f, ANY_VALUE))
			value = f.bytes;
	}
	return ours && !r->failed ? parse_retry_info(&value) : -1;
}

int64_t op_reply_retry_delay_ms(const void *bytes, size_t len)
{
	struct op_reader r = op_reader_init(bytes, len);
	struct op_wire_field f;
	int64_t delay = -1;

	while (delay < 0 && op_wire_next(&r, &f)) {
		if (op_wire_is_bytes(&f, STATUS_DETAILS))
			delay = parse_any(&f.bytes);
	}
	return delay;
}

void op_reply_status_message(const void *bytes, size_t len, char *ret, size_t cap)
{
	struct op_reader r = op_reader_init(bytes, len);
	struct op_wire_field f;

	ret[0] = 0;
	while (op_wire_next(&r, &f)) {
		if (op_wire_is_bytes(&f, STATUS_MESSAGE))
			op_reply_copy_text(f.bytes.start, op_reader_left(&f.bytes), ret,
					   cap);
	}
}

static uint64_t count_scopes(struct op_reader *resource)
{
	struct op_wire_field scope;
	struct op_wire_field f;
	uint64_t n = 0;

	while (op_wire_next(resource, &scope)) {
		if (!op_wire_is_bytes(&scope, RESOURCE_SCOPE_PROFILES))
			continue;
		while (op_wire_next(&scope.bytes, &f))
			n += op_wire_is_bytes(&f, SCOPE_PROFILES);
	}
	return n;
}

uint64_t op_reply_count_profiles(const void *request, size_t len)
{
	struct op_reader r = op_reader_init(request, len);
	struct op_wire_field f;
	uint64_t n = 0;

	while (op_wire_next(&r, &f)) {
		if (op_wire_is_bytes(&f, REQUEST_RESOURCE_PROFILES))
			n += count_scopes(&f.bytes);
	}
	return n;
}
