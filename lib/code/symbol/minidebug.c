/* SPDX-License-Identifier: Apache-2.0 */
/* Reads mini debug info: an xz-compressed ELF file with a .symtab of the functions that
 * .dynsym lacks. */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/macros.h"
#include "code/symbol/symbols.h"

enum {
	COMPRESSED_MAX = 16 << 20,
	/* "xz -9" asks for a dictionary of 64 MiB, of which it uses what the data has. */
	LZMA_MEMORY_MAX = 72 << 20,
	FIRST_BYTES = 64 << 10,
};

/* Run @lzma to its end into a buffer that grows up to @limit. */
static int decompress(lzma_stream *lzma, size_t limit, void **ret, size_t *ret_len)
{
	_cleanup_free_ uint8_t *buf = NULL;
	size_t cap = 0;

	for (;;) {
		size_t want = OP_MIN(cap ? cap * 2 : FIRST_BYTES, limit);
		lzma_ret status;
		uint8_t *p;

		if (cap >= limit)
			return -EFBIG;
		p = realloc(buf, want);
		if (!p)
			return -ENOMEM;
		buf = p;
		lzma->next_out = buf + cap;
		lzma->avail_out = want - cap;
		cap = want;
		status = lzma_code(lzma, LZMA_FINISH);
		if (status == LZMA_STREAM_END)
			break;
		if (status == LZMA_MEM_ERROR)
			return -ENOMEM;
		if (status != LZMA_OK || lzma->avail_out)
			return -EBADMSG;
	}
	*ret_len = cap - lzma->avail_out;
	*ret = OP_TAKE_PTR(buf);
	return 0;
}

static int read_image(struct op_elf *elf, size_t limit, void **ret, size_t *ret_len)
{
	const struct op_elf_section *s = op_elf_section(elf, ".gnu_debugdata");
	_cleanup_free_ void *in = NULL;
	lzma_stream lzma = LZMA_STREAM_INIT;
	size_t in_len;
	int r;

	if (!s)
		return -ENODATA;
	r = op_elf_section_data(elf, s, COMPRESSED_MAX, &in, &in_len);
	if (r)
		return r;
	if (lzma_stream_decoder(&lzma, LZMA_MEMORY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	lzma.next_in = in;
	lzma.avail_in = in_len;
	r = decompress(&lzma, limit, ret, ret_len);
	lzma_end(&lzma);
	return r;
}

int op_minidebug_open(struct op_elf *elf, size_t limit, struct op_elf **ret)
{
	_cleanup_free_ void *image = NULL;
	size_t len;
	int r;

	r = read_image(elf, limit, &image, &len);
	if (!r)
		r = op_elf_open_bytes(image, len, ret);
	if (r)
		return r == -ENOMEM ? r : 0;
	image = NULL;
	return 1;
}
