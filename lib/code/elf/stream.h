/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a part of a file mostly forward, through a buffer of its own. So several parts
 * can be read in turn without many small reads. */
#ifndef OP_CODE_ELF_STREAM_H
#define OP_CODE_ELF_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "code/elf/file.h"

struct op_elf_stream {
	struct op_elf *elf;
	uint8_t *buf;
	size_t cap;
	uint64_t off; /* file offset of the buffer */
	size_t len;   /* bytes in the buffer */
};

/* Make a stream with a buffer of @cap bytes. Returns 0 or -ENOMEM. */
int op_elf_stream_init(struct op_elf_stream *s, struct op_elf *elf, size_t cap);
void op_elf_stream_deinit(struct op_elf_stream *s);
/* Get @len bytes (at most the buffer's size) at file offset @off, borrowed until the next
 * call. Returns 0, -ENODATA past the end, or -errno. */
int op_elf_stream_get(struct op_elf_stream *s, uint64_t off, size_t len,
		      const uint8_t **ret);

#endif
