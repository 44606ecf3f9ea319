/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses with libdeflate or zlib, as configured at build time. */
#include "export/transport/compress.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#ifdef OP_HAVE_LIBDEFLATE

#include <libdeflate.h>

enum {
	LEVEL = 6, /* zlib's default */
};

int op_gzip(const void *bytes, size_t len, void **ret, size_t *ret_len)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
	size_t cap = libdeflate_gzip_compress_bound(c, len);
	_cleanup_free_ void *out = c ? malloc(cap) : NULL;
	size_t n = out ? libdeflate_gzip_compress(c, bytes, len, out, cap) : 0;

	if (c)
		libdeflate_free_compressor(c);
	if (!n)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(out);
	*ret_len = n;
	return 0;
}

#else

#include <zlib.h>

enum {
	WINDOW = 15 + 16, /* the largest window, with a gzip header */
	MEMORY = 8,
};

int op_gzip(const void *bytes, size_t len, void **ret, size_t *ret_len)
{
	z_stream z = { 0 };
	_cleanup_free_ void *out = NULL;
	size_t cap;
	int r;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	cap = deflateBound(&z, len);
	out = malloc(cap);
	if (!out) {
		(void)deflateEnd(&z);
		return -ENOMEM;
	}
	z.next_in = (Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)len;
	z.next_out = out;
	z.avail_out = (uInt)cap;
	r = deflate(&z, Z_FINISH);
	*ret_len = z.total_out;
	(void)deflateEnd(&z);
	if (r != Z_STREAM_END)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(out);
	return 0;
}

#endif
