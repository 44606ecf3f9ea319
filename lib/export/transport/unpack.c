/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses with zlib, which stops when the output is full. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "export/transport/compress.h"

enum {
	FIRST_BYTES = 64 << 10,
	GZIP_OR_ZLIB = MAX_WBITS + 32,
};

int op_unpack(const void *bytes, size_t len, size_t max, void **ret, size_t *ret_len)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)len };
	_cleanup_free_ uint8_t *out = NULL;
	uint8_t *more = NULL;
	size_t size = 0;
	int r = Z_OK;

	if (len > UINT32_MAX || max >= UINT32_MAX)
		return -EFBIG;
	if (inflateInit2(&z, GZIP_OR_ZLIB) != Z_OK)
		return -ENOMEM;
	/* One byte more shows that there is more. */
	while (r == Z_OK && !z.avail_out && size <= max) {
		size = OP_MIN(size ? 2 * size : FIRST_BYTES, max + 1);
		more = realloc(out, size);
		if (!more)
			break;
		out = more;
		z.next_out = out + z.total_out;
		z.avail_out = (uInt)(size - z.total_out);
		r = inflate(&z, Z_NO_FLUSH);
	}
	(void)inflateEnd(&z);
	if (!more || r == Z_MEM_ERROR)
		return -ENOMEM;
	if (z.total_out > max)
		return -EFBIG;
	if (r != Z_STREAM_END || z.avail_in)
		return -EBADMSG;
	*ret = OP_TAKE_PTR(out);
	*ret_len = z.total_out;
	return 0;
}
