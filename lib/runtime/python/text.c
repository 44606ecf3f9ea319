/* SPDX-License-Identifier: Apache-2.0 */
/* Reads str and bytes objects from a process's memory. */
#include "runtime/python/text.h"

#include <errno.h>
#include <stdbool.h>

#include "base/macros.h"
#include "base/reader.h"

enum {
	/* bytes read of a str or bytes: everything before its text */
	HEAD_BYTES = 64,
	CHUNK_CHARS = 256,
	/* PyASCIIObject.state: 2 bits interned, 3 bits kind, 1 compact, 1 ascii */
	KIND_SHIFT = 2,
	KIND_MASK = 7, /* bytes of a character: 1, 2 or 4 */
	STATE_COMPACT = 1 << 5,
	STATE_ASCII = 1 << 6,
};

static void add_chars(struct op_strbuf *to, const void *bytes, size_t chars,
		      uint32_t kind)
{
	struct op_reader r = op_reader_init(bytes, chars * kind);
	size_t i;

	for (i = 0; i < chars; i++)
		op_strbuf_utf8(to, kind == 1   ? op_read_u8(&r)
				   : kind == 2 ? op_read_u16(&r)
					       : op_read_u32(&r));
}

static int read_chars(const struct op_memory *memory, uint64_t addr, uint64_t length,
		      uint32_t kind, struct op_strbuf *to)
{
	uint8_t chunk[CHUNK_CHARS * 4];

	while (length) {
		size_t n = OP_MIN(length, (uint64_t)CHUNK_CHARS);
		int r = op_memory_read(memory, addr, chunk, n * kind);

		if (r < 0)
			return r;
		add_chars(to, chunk, n, kind);
		addr += n * kind;
		length -= n;
	}
	op_strbuf_add(to, "", 1);
	return to->failed ? -ENOMEM : 0;
}

int op_runtime_python_str(const struct op_memory *memory,
			  const struct op_python_layout *layout, uint64_t addr,
			  struct op_strbuf *to)
{
	uint8_t head[HEAD_BYTES];
	struct op_reader r = op_reader_init(head, sizeof(head));
	uint64_t length;
	uint32_t state;
	uint32_t kind;
	int ret = op_memory_read(memory, addr, head,
				 OP_MIN((size_t)layout->unicode_ascii, sizeof(head)));

	if (ret < 0)
		return ret;
	op_reader_seek(&r, layout->unicode_length);
	length = op_read_u64(&r);
	op_reader_seek(&r, layout->unicode_state);
	state = op_read_u32(&r);
	kind = state >> KIND_SHIFT & KIND_MASK;
	if (r.failed || !(state & STATE_COMPACT) ||
	    (kind != 1 && kind != 2 && kind != 4) || length > UINT32_MAX)
		return -EBADMSG;
	addr += state & STATE_ASCII ? layout->unicode_ascii : layout->unicode_compact;
	return read_chars(memory, addr, OP_MIN(length, (uint64_t)OP_PYTHON_TEXT_MAX),
			  kind, to);
}

int op_runtime_python_bytes(const struct op_memory *memory,
			    const struct op_python_layout *layout, uint64_t addr,
			    struct op_strbuf *to)
{
	uint64_t length = 0;
	uint8_t chunk[1024];
	int ret = op_memory_read(memory, addr + layout->bytes_length, &length, 8);

	if (ret < 0)
		return ret;
	if (length > UINT32_MAX)
		return -EBADMSG;
	addr += layout->bytes_text;
	for (length = OP_MIN(length, (uint64_t)OP_PYTHON_BYTES_MAX); length;) {
		size_t n = OP_MIN(length, sizeof(chunk));

		ret = op_memory_read(memory, addr, chunk, n);
		if (ret < 0)
			return ret;
		op_strbuf_add(to, chunk, n);
		addr += n;
		length -= n;
	}
	return to->failed ? -ENOMEM : 0;
}
