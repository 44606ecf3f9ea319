/* SPDX-License-Identifier: Apache-2.0 */
#include "export/transport/compress.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/cleanup.h"

enum {
	LEVEL = 3, /* zstd's default */
};

int op_zstd(const void *bytes, size_t len, void **ret, size_t *ret_len)
{
	size_t cap = ZSTD_compressBound(len);
	_cleanup_free_ void *out = malloc(cap);
	size_t n;

	if (!out)
		return -ENOMEM;
	/* the output fits, so only memory can be missing */
	n = ZSTD_compress(out, cap, bytes, len, LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	*ret = OP_TAKE_PTR(out);
	*ret_len = n;
	return 0;
}
