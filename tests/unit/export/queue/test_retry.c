/* SPDX-License-Identifier: Apache-2.0 */
/* The retry table, the back-off, and what is read of a server's replies. */
#include "test.h"

#include "base/macros.h"
#include "export/transport/reply.h"
#include "export/transport/retry.h"

/* The table of the OTLP specification 1.10, "OTLP/gRPC Response", Failures. */
static void test_table_is_the_spec(void)
{
	static const bool retryable[] = {
		[OP_GRPC_CANCELLED] = true,
		[OP_GRPC_UNKNOWN] = false,
		[OP_GRPC_INVALID_ARGUMENT] = false,
		[OP_GRPC_DEADLINE_EXCEEDED] = true,
		[OP_GRPC_NOT_FOUND] = false,
		[OP_GRPC_ALREADY_EXISTS] = false,
		[OP_GRPC_PERMISSION_DENIED] = false,
		[OP_GRPC_RESOURCE_EXHAUSTED] = false,
		[OP_GRPC_FAILED_PRECONDITION] = false,
		[OP_GRPC_ABORTED] = true,
		[OP_GRPC_OUT_OF_RANGE] = true,
		[OP_GRPC_UNIMPLEMENTED] = false,
		[OP_GRPC_INTERNAL] = false,
		[OP_GRPC_UNAVAILABLE] = true,
		[OP_GRPC_DATA_LOSS] = true,
		[OP_GRPC_UNAUTHENTICATED] = false,
	};
	int i;

	for (i = 1; i < OP_GRPC_STATUS_MAX; i++)
		CHECK_INT(op_retry_allowed(i, -1), retryable[i]);
	CHECK(op_retry_allowed(OP_GRPC_RESOURCE_EXHAUSTED, 0));
	CHECK(!op_retry_allowed(OP_GRPC_INTERNAL, 0));
	CHECK(!op_retry_allowed(17, -1));
	CHECK_STR(op_retry_status_name(14), "UNAVAILABLE");
	CHECK_STR(op_retry_status_name(-1), "?");
	CHECK_STR(op_retry_status_name(17), "?");
}

/* Words of real servers: grpc-go of Collectors 0.147 and 0.159, grpcio, Go's net/http. */
static void check_hint(int status, int http, const char *message, const char *word)
{
	struct op_transport_result r = { .grpc_status = status, .http_status = http };
	const char *hint;

	(void)snprintf(r.message, sizeof(r.message), "%s", message);
	hint = op_retry_hint(&r);
	if (!word && hint)
		TEST_FAIL("\"%s\" is explained: %s", message, hint);
	if (word && (!hint || !strstr(hint, word)))
		TEST_FAIL("\"%s\" gives \"%s\", not %s", message, hint ? hint : "nothing",
			  word);
}

static void test_hints_tell_collectors_apart(void)
{
	check_hint(OP_GRPC_UNIMPLEMENTED, 0,
		   "unknown service opentelemetry.proto.collector.profiles."
		   "v1development.ProfilesService",
		   "service.profilesSupport");
	check_hint(OP_GRPC_UNIMPLEMENTED, 0, "Method not found!", "profiles pipeline");
	check_hint(OP_GRPC_UNIMPLEMENTED, 404, "404 page not found",
		   "service.profilesSupport");
	check_hint(
		OP_GRPC_INTERNAL, 0,
		"grpc: error unmarshalling request: proto: wrong wireType = 2 for field "
		"LinkIndex",
		"older than 0.148");
	check_hint(OP_GRPC_INVALID_ARGUMENT, 400,
		   "proto: wrong wireType = 2 for field LinkIndex", "older than 0.148");
	check_hint(OP_GRPC_INTERNAL, 0, "oops", NULL);
	check_hint(OP_GRPC_RESOURCE_EXHAUSTED, 0,
		   "grpc: received message larger than max (5050059 vs. 4194304)",
		   "max_request_bytes");
	check_hint(
		OP_GRPC_RESOURCE_EXHAUSTED, 0,
		"grpc: received message after decompression larger than max (4194305 vs. "
		"4194304)",
		"max_request_bytes");
	check_hint(OP_GRPC_RESOURCE_EXHAUSTED, 413, "", "max_request_bytes");
	check_hint(OP_GRPC_RESOURCE_EXHAUSTED, 0, "quota of the day", "quota");
	check_hint(OP_GRPC_UNAUTHENTICATED, 401, "", "headers");
	check_hint(OP_GRPC_FAILED_PRECONDITION, 308, "to https://x", "redirects");
	check_hint(OP_GRPC_UNAVAILABLE, 0, "connection refused", NULL);
}

static void test_results_have_names(void)
{
	struct op_transport_result r = { .grpc_status = OP_GRPC_UNAVAILABLE };

	CHECK_STR(op_retry_result_name(&r), "UNAVAILABLE");
	r.http_status = 503;
	CHECK_STR(op_retry_result_name(&r), "HTTP 503");
	r.http_status = 499;
	CHECK_STR(op_retry_result_name(&r), "HTTP 4xx");
	r.http_status = 599;
	CHECK_STR(op_retry_result_name(&r), "HTTP 5xx");
}

static void test_backoff_grows_with_jitter(void)
{
	struct op_backoff b = { .initial_ms = 1000, .max_ms = 30000, .random = 1 };
	uint64_t lo = 1000;
	uint64_t least = UINT64_MAX;
	uint64_t most = 0;
	int i;

	/* Step i lies within half and one and a half of 1000 * 1.5^i, at most 30000. */
	for (i = 0; i < 30; i++) {
		uint64_t w = op_backoff_next(&b, -1);

		CHECK(w >= lo / 2 && w <= lo * 3 / 2 + 2 && w <= 30000);
		lo = OP_MIN(lo * 3 / 2 + 1, UINT64_C(30000));
	}
	for (i = 0; i < 1000; i++) {
		uint64_t w;

		op_backoff_reset(&b);
		w = op_backoff_next(&b, -1);
		least = OP_MIN(least, w);
		most = OP_MAX(most, w);
	}
	CHECK(least >= 500 && least < 550);
	CHECK(most <= 1500 && most > 1450);
}

static void test_backoff_honours_the_server(void)
{
	struct op_backoff b = { .initial_ms = 10, .max_ms = 100, .random = 7 };
	uint64_t w = op_backoff_next(&b, 5000);
	int i;

	CHECK(w >= 5000 && w <= 5500);
	/* Exponential from there, under the limit again. */
	w = op_backoff_next(&b, -1);
	CHECK(w >= 50 && w <= 100);
	for (i = 0; i < 100; i++) {
		op_backoff_reset(&b);
		CHECK(op_backoff_next(&b, 3) >= 3);
	}
	/* Nobody may silence us for ever. */
	CHECK(op_backoff_next(&b, INT64_MAX) <= UINT64_C(3600) * 1100);
}

/* Bytes written by hand from the .proto files. */
static void test_retry_info_is_found(void)
{
	static const char retry[] = "\x08\x0e"	 /* code: 14 */
				    "\x12\x02no" /* message */
				    /* details: Any { RetryInfo { 2 s 500000001 ns } } */
				    "\x1a\x36"
				    "\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
				    "\x12\x0a\x0a\x08\x08\x02\x10\x81\xca\xb5\xee\x01";
	static const char other[] = "\x1a\x2a"
				    "\x0a\x28type.googleapis.com/google.rpc.DebugInfo";
	static const char empty[] = "\x1a\x2a"
				    "\x0a\x28type.googleapis.com/google.rpc.RetryInfo";
	size_t i;

	CHECK_INT(op_reply_retry_delay_ms(retry, sizeof(retry) - 1), 2501);
	CHECK_INT(op_reply_retry_delay_ms(other, sizeof(other) - 1), -1);
	CHECK_INT(op_reply_retry_delay_ms(empty, sizeof(empty) - 1), 0);
	CHECK_INT(op_reply_retry_delay_ms("", 0), -1);
	/* Cut anywhere: never a number out of half a message. */
	for (i = 0; i < sizeof(retry) - 1; i++)
		CHECK_INT(op_reply_retry_delay_ms(retry, i), -1);
}

static void test_negative_delay_is_none(void)
{
	static const char retry[] =
		"\x1a\x39"
		"\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
		"\x12\x0d\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		"\x01";

	CHECK_INT(op_reply_retry_delay_ms(retry, sizeof(retry) - 1), -1);
}

static void test_partial_success_is_read(void)
{
	static const char reply[] = "\x0a\x0c\x08\x03\x12\x08too\nbig\x7f";
	static const char negative[] =
		"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	uint64_t rejected = 99;
	char message[16] = "";

	CHECK_INT(op_reply_parse(reply, sizeof(reply) - 1, &rejected, message,
				 sizeof(message)),
		  0);
	CHECK_INT(rejected, 3);
	CHECK_STR(message, "too\\x0abig\\x7f");
	CHECK_INT(op_reply_parse(reply, sizeof(reply) - 1, &rejected, message, 4), 0);
	CHECK_STR(message, "too");
	CHECK_INT(op_reply_parse("", 0, &rejected, message, sizeof(message)), 0);
	CHECK_INT(rejected, 0);
	CHECK_INT(op_reply_parse(negative, sizeof(negative) - 1, &rejected, message,
				 sizeof(message)),
		  0);
	CHECK_INT(rejected, 0);
	rejected = 99;
	CHECK_INT(op_reply_parse("\x0a\x7f", 2, &rejected, message, sizeof(message)),
		  -EBADMSG);
	CHECK_INT(rejected, 99);
}

static void test_profiles_are_counted(void)
{
	/* resource { scope { profile, profile }, scope { profile } }, resource {}, dict */
	static const char request[] = "\x0a\x0c"
				      "\x12\x04\x12\x00\x12\x00"
				      "\x12\x04\x12\x02\x08\x01"
				      "\x0a\x00"
				      "\x12\x02\x0a\x00";

	CHECK_INT(op_reply_count_profiles(request, sizeof(request) - 1), 3);
	CHECK_INT(op_reply_count_profiles("x", 1), 0);
}

TEST_MAIN({ "table_is_the_spec", test_table_is_the_spec },
	  { "hints_tell_collectors_apart", test_hints_tell_collectors_apart },
	  { "results_have_names", test_results_have_names },
	  { "backoff_grows_with_jitter", test_backoff_grows_with_jitter },
	  { "backoff_honours_the_server", test_backoff_honours_the_server },
	  { "retry_info_is_found", test_retry_info_is_found },
	  { "negative_delay_is_none", test_negative_delay_is_none },
	  { "partial_success_is_read", test_partial_success_is_read },
	  { "profiles_are_counted", test_profiles_are_counted })
