/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and checks the header and the name of a spilled request. */
#include "export/spill/spill_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/reader.h"
#include "export/sink/sink.h"

enum {
	VERSION = 1,
	CRC_AT = 60,
	TIME_DIGITS = 20,
	RANDOM_DIGITS = 16,
	ZEROS = 16,
	MAGIC_BYTES = 8,
};

static const char magic[] = "OTELPSPL";
static const char suffix[] = ".request";

uint32_t op_spill_crc(const void *bytes, size_t len)
{
	return (uint32_t)crc32_z(0, bytes, len);
}

static uint8_t *put(uint8_t *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	return to + len;
}

void op_spill_encode(const struct op_spill_header *h, uint8_t ret[OP_SPILL_HEADER_BYTES])
{
	const uint32_t version = VERSION;
	const uint32_t header = OP_SPILL_HEADER_BYTES;
	uint8_t *p = ret;
	uint32_t crc;

	memset(ret, 0, OP_SPILL_HEADER_BYTES);
	p = put(p, magic, MAGIC_BYTES);
	p = put(p, &version, sizeof(version));
	p = put(p, &header, sizeof(header));
	p = put(p, &h->samples, sizeof(h->samples));
	p = put(p, &h->len, sizeof(h->len));
	p = put(p, &h->time_ns, sizeof(h->time_ns));
	(void)put(p, &h->crc, sizeof(h->crc));
	crc = op_spill_crc(ret, CRC_AT);
	(void)put(ret + CRC_AT, &crc, sizeof(crc));
}

int op_spill_decode(const void *bytes, size_t len, struct op_spill_header *ret,
		    const char **ret_why)
{
	struct op_reader r = op_reader_init(bytes, len);
	const uint8_t *start = op_read_bytes(&r, MAGIC_BYTES);
	struct op_spill_header h = { 0 };
	uint32_t version = op_read_u32(&r);
	uint32_t header = op_read_u32(&r);
	uint32_t crc;

	h.samples = op_read_u64(&r);
	h.len = op_read_u64(&r);
	h.time_ns = op_read_u64(&r);
	h.crc = op_read_u32(&r);
	op_read_skip(&r, ZEROS);
	crc = op_read_u32(&r);
	*ret_why = NULL;
	if (r.failed)
		*ret_why = "it is too short";
	else if (memcmp(start, magic, MAGIC_BYTES) != 0)
		*ret_why = "it was not written by this library";
	/* Another version may have its checksum elsewhere, so this comes first. */
	else if (version != VERSION)
		*ret_why = "another version of the library wrote it";
	else if (op_spill_crc(bytes, CRC_AT) != crc || header != OP_SPILL_HEADER_BYTES)
		*ret_why = "its header is damaged";
	else if (!h.len || h.len > OP_REQUEST_BYTES_MAX)
		*ret_why = "its length makes no sense";
	/* The sum of many files must not overflow, and no request holds 2^32 samples. */
	else if (h.samples > UINT32_MAX)
		*ret_why = "its number of samples makes no sense";
	if (*ret_why)
		return version != VERSION && !r.failed &&
				       !memcmp(start, magic, MAGIC_BYTES)
			       ? -EPROTONOSUPPORT
			       : -EBADMSG;
	*ret = h;
	return 0;
}

bool op_spill_body_ok(const struct op_spill_header *h, const void *body, size_t len)
{
	return len == h->len && op_spill_crc(body, len) == h->crc;
}

void op_spill_name(uint64_t time_ns, uint64_t random, char ret[OP_SPILL_NAME_BYTES])
{
	(void)snprintf(ret, OP_SPILL_NAME_BYTES, "%020" PRIu64 "-%016" PRIx64 "%s",
		       time_ns, random, suffix);
}

bool op_spill_name_read(const char *name, uint64_t *ret_time_ns)
{
	size_t digits = strspn(name, "0123456789");
	const char *rest = name + digits;

	if (digits != TIME_DIGITS || *rest++ != '-' ||
	    strspn(rest, "0123456789abcdef") != RANDOM_DIGITS ||
	    strcmp(rest + RANDOM_DIGITS, suffix) != 0)
		return false;
	errno = 0;
	*ret_time_ns = strtoull(name, NULL, 10);
	return errno == 0;
}
