/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the cache of source lines: the input is what follows its checksum, which is made
 * here. What is read is written again, and then read as the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "recording/lines/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	HEAD = 16,
	ADDRESSES = 512
};

static const char id[] = "0123abcd";

static bool text_equal(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Both say the same of @vaddr. Every string is read to its end. */
static void compare(const struct lines_cache *a, const struct lines_cache *b,
		    uint64_t vaddr, bool named)
{
	struct debuginfo_line x[DEBUGINFO_LINES_MAX], y[DEBUGINFO_LINES_MAX];
	const char *x_name = NULL, *y_name = NULL;
	size_t n = 0, m = 0, i;

	if (lines_cache_find(a, vaddr, named, x, &n, &x_name) !=
	    lines_cache_find(b, vaddr, named, y, &m, &y_name))
		__builtin_trap();
	if (n != m || !text_equal(x_name, y_name))
		__builtin_trap();
	for (i = 0; i < n; i++)
		if (!text_equal(x[i].function, y[i].function) ||
		    !text_equal(x[i].linkage, y[i].linkage) ||
		    !text_equal(x[i].file, y[i].file) || x[i].line != y[i].line ||
		    x[i].start_line != y[i].start_line)
			__builtin_trap();
}

static void write_and_compare(struct lines_cache *c)
{
	_cleanup_(lines_cache_freep) struct lines_cache *again = lines_cache_new();
	struct op_strbuf bytes = { 0 };
	uint64_t i;

	if (again && lines_cache_encode(c, id, &bytes) == 0) {
		if (lines_cache_parse(again, bytes.data, bytes.len, id) < 0)
			__builtin_trap();
		for (i = 0; i < ADDRESSES; i++) {
			compare(c, again, i, false);
			compare(c, again, i, true);
		}
		compare(c, again, UINT64_MAX, false);
		again = lines_cache_free(again);
	}
	op_strbuf_deinit(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(lines_cache_freep) struct lines_cache *c = lines_cache_new();
	uint8_t *bytes = malloc(HEAD + size);
	const uint32_t version = LINES_CACHE_VERSION;
	uint32_t crc;

	if (c && bytes) {
		memcpy(bytes, "OTPLINES", 8);
		memcpy(bytes + 8, &version, sizeof(version));
		if (size)
			memcpy(bytes + HEAD, data, size);
		crc = (uint32_t)crc32(0, bytes + HEAD, (uInt)size);
		memcpy(bytes + 12, &crc, sizeof(crc));
		if (lines_cache_parse(c, bytes, HEAD + size, id) == 0)
			write_and_compare(c);
	}
	c = lines_cache_free(c);
	free(bytes);
	return 0;
}
