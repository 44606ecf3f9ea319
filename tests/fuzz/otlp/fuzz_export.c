/* SPDX-License-Identifier: Apache-2.0 */
/* What a server sends back, and what a user writes into variables. The first byte picks. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/spill/spill_file.h"
#include "export/transport/endpoint.h"
#include "export/transport/headers.h"
#include "export/transport/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_reply(const uint8_t *data, size_t size)
{
	uint64_t rejected = 0;
	char message[32] = "";
	size_t i;

	(void)op_reply_parse(data, size, &rejected, message, sizeof(message));
	assert(rejected <= INT64_MAX);
	assert(memchr(message, 0, sizeof(message)));
	for (i = 0; message[i]; i++)
		assert((unsigned char)message[i] >= ' ');
}

static void fuzz_headers(const char *text)
{
	struct op_headers h = { 0 };
	size_t i;

	(void)op_headers_parse(&h, text, "fuzz", NULL);
	assert(h.len <= OP_HEADERS_MAX);
	for (i = 0; i < h.len; i++)
		assert(h.data[i].key[0] && !strpbrk(h.data[i].value, "\r\n"));
	op_headers_deinit(&h);
}

static void fuzz_endpoint(const char *text)
{
	struct op_endpoint e = { 0 };

	if (op_endpoint_parse(text, false, "fuzz", NULL, &e) < 0)
		return;
	assert(strrchr(e.target, ':') && !strpbrk(e.target, "/@ ?#"));
	op_endpoint_deinit(&e);
}

static void fuzz_url(const char *text, bool whole)
{
	struct op_endpoint e = { 0 };

	if (op_endpoint_parse_http(text, whole, "fuzz", NULL, &e) < 0)
		return;
	assert(!strncmp(e.url, e.tls ? "https://" : "http://", 7));
	assert(!strpbrk(e.url, " \r\n"));
	op_endpoint_deinit(&e);
}

/* A file of a spill directory, which anybody may have written. */
static void fuzz_spill(const uint8_t *data, size_t size, const char *text)
{
	struct op_spill_header h = { 0 };
	const char *why = NULL;
	uint64_t time_ns = 0;
	uint8_t again[OP_SPILL_HEADER_BYTES];
	char name[OP_SPILL_NAME_BYTES];

	if (op_spill_name_read(text, &time_ns)) {
		op_spill_name(time_ns, 0, name);
		assert(!strncmp(name, text, 20));
	}
	if (op_spill_decode(data, size, &h, &why) < 0) {
		assert(why);
		return;
	}
	assert(!why && h.len && h.samples <= UINT32_MAX);
	op_spill_encode(&h, again);
	assert(!memcmp(again, data, 40));
	(void)op_spill_body_ok(&h, data + OP_SPILL_HEADER_BYTES,
			       size - OP_SPILL_HEADER_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = NULL;

	if (!size)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	switch (data[0] % 8) {
	case 0:
		fuzz_reply(data + 1, size - 1);
		break;
	case 1:
		assert(op_reply_retry_delay_ms(data + 1, size - 1) >= -1);
		break;
	case 2:
		assert(op_reply_count_profiles(data + 1, size - 1) <= size);
		break;
	case 3:
		fuzz_headers(text);
		break;
	case 4:
		fuzz_url(text, false);
		break;
	case 5:
		fuzz_url(text, true);
		break;
	case 6:
		fuzz_spill(data + 1, size - 1, text);
		break;
	default:
		fuzz_endpoint(text);
		break;
	}
	return 0;
}
