/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the content of sections, decompressed (gABI, "Section Compression"). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/elf/private.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* since glibc 2.37 */
#endif

static int read_plain(struct op_elf *elf, uint64_t off, uint64_t size, void **ret)
{
	_cleanup_free_ void *data = NULL;
	int r;

	data = malloc(size ? size : 1);
	if (!data)
		return -ENOMEM;
	r = op_elf_read(elf, off, data, size);
	if (r)
		return r;
	*ret = OP_TAKE_PTR(data);
	return 0;
}

/* Pass the file's bytes to @z in pieces until its output is full. */
static int inflate_pieces(struct op_elf *elf, z_stream *z, uint64_t off, uint64_t len)
{
	_cleanup_free_ uint8_t *piece = NULL;

	piece = malloc(OP_ELF_PIECE_BYTES);
	if (!piece)
		return -ENOMEM;
	while (len) {
		size_t n = (size_t)OP_MIN(len, (uint64_t)OP_ELF_PIECE_BYTES);
		int r = op_elf_read(elf, off, piece, n);
		int z_err;

		if (r)
			return r;
		z->next_in = piece;
		z->avail_in = (uInt)n;
		z_err = inflate(z, Z_NO_FLUSH);
		if (z_err == Z_STREAM_END)
			return 0;
		if (z_err == Z_MEM_ERROR)
			return -ENOMEM;
		if (z_err != Z_OK || z->avail_in)
			return -EBADMSG;
		off += n;
		len -= n;
	}
	return -EBADMSG;
}

static int read_zlib(struct op_elf *elf, uint64_t off, uint64_t len, void *buf,
		     size_t size)
{
	z_stream z = { 0 };
	int r;

	if (size > UINT32_MAX)
		return -EFBIG;
	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	z.next_out = buf;
	z.avail_out = (uInt)size;
	r = inflate_pieces(elf, &z, off, len);
	if (!r && z.avail_out)
		r = -EBADMSG;
	(void)inflateEnd(&z);
	return r;
}

/* Decompress at once: a stream would need a window of up to 128 MiB besides
 * the output. */
static int read_zstd(struct op_elf *elf, uint64_t off, uint64_t len, void *buf,
		     size_t size)
{
	_cleanup_free_ void *in = NULL;
	size_t n;
	int r;

	if (len > ZSTD_compressBound(size))
		return -EBADMSG;
	r = read_plain(elf, off, len, &in);
	if (r)
		return r;
	n = ZSTD_decompress(buf, size, in, len);
	return ZSTD_isError(n) || n != size ? -EBADMSG : 0;
}

static int read_compressed(struct op_elf *elf, const struct op_elf_section *section,
			   size_t limit, void **ret, size_t *ret_len)
{
	uint8_t header[sizeof(Elf64_Chdr)];
	struct op_reader reader = op_reader_init(header, sizeof(header));
	_cleanup_free_ void *data = NULL;
	uint64_t off;
	uint64_t len;
	uint64_t size;
	uint32_t type;
	int r;

	if (section->size < sizeof(header) ||
	    op_add_overflow(section->offset, sizeof(header), &off))
		return -EBADMSG;
	r = op_elf_read(elf, section->offset, header, sizeof(header));
	if (r)
		return r;
	type = op_read_u32(&reader);
	op_read_skip(&reader, 4); /* ch_reserved */
	size = op_read_u64(&reader);
	len = section->size - sizeof(header);
	if (size > limit)
		return -EFBIG;
	data = malloc(size ? size : 1);
	if (!data)
		return -ENOMEM;
	if (type == ELFCOMPRESS_ZLIB)
		r = read_zlib(elf, off, len, data, size);
	else if (type == ELFCOMPRESS_ZSTD)
		r = read_zstd(elf, off, len, data, size);
	else
		r = -ENOTSUP;
	if (r)
		return r;
	*ret = OP_TAKE_PTR(data);
	*ret_len = size;
	return 0;
}

int op_elf_section_data(struct op_elf *elf, const struct op_elf_section *section,
			size_t limit, void **ret, size_t *ret_len)
{
	int r;

	if (section->type == SHT_NOBITS ||
	    !op_range_ok(section->offset, section->size, elf->size))
		return -ENODATA;
	if (section->flags & SHF_COMPRESSED)
		return read_compressed(elf, section, limit, ret, ret_len);
	if (section->size > limit)
		return -EFBIG;
	r = read_plain(elf, section->offset, section->size, ret);
	if (!r)
		*ret_len = section->size;
	return r;
}
