/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer that follows a reader forward through the file. */
#include "code/elf/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/macros.h"

int op_elf_stream_init(struct op_elf_stream *s, struct op_elf *elf, size_t cap)
{
	*s = (struct op_elf_stream){ .elf = elf, .buf = malloc(cap), .cap = cap };
	return s->buf ? 0 : -ENOMEM;
}

void op_elf_stream_deinit(struct op_elf_stream *s)
{
	free(s->buf);
	*s = (struct op_elf_stream){ 0 };
}

int op_elf_stream_get(struct op_elf_stream *s, uint64_t off, size_t len,
		      const uint8_t **ret)
{
	uint64_t size = op_elf_size(s->elf);
	int r;

	if (len > s->cap || !op_range_ok(off, len, size))
		return -ENODATA;
	if (off < s->off || !op_range_ok(off - s->off, len, s->len)) {
		s->len = 0;
		s->off = off;
		r = op_elf_read(s->elf, off, s->buf,
				(size_t)OP_MIN((uint64_t)s->cap, size - off));
		if (r)
			return r;
		s->len = (size_t)OP_MIN((uint64_t)s->cap, size - off);
	}
	*ret = s->buf + (off - s->off);
	return 0;
}
