/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/eh_hdr.h"

#include <elf.h>

#include "base/checked.h"
#include "base/macros.h"
#include "dwarf/entry.h"

enum {
	HDR_BYTES = 12, /* version, three encodings, eh_frame_ptr, fde_count */
	HDR_VERSION = 1,
	/* The encodings that all linkers write. */
	HDR_POINTER = OP_EH_PE_PCREL | OP_EH_PE_SDATA4,
	HDR_COUNT = OP_EH_PE_UDATA4,
	HDR_TABLE = OP_EH_PE_DATAREL | OP_EH_PE_SDATA4,
};

static const struct op_elf_segment *find_hdr(struct op_elf *elf)
{
	size_t len = 0;
	const struct op_elf_segment *s = op_elf_segments(elf, &len);
	size_t i;

	for (i = 0; i < len; i++) {
		if (s[i].type == PT_GNU_EH_FRAME && s[i].filesz >= HDR_BYTES)
			return &s[i];
	}
	return NULL;
}

bool op_eh_hdr_read(struct op_elf *elf, struct op_eh_hdr *ret)
{
	const struct op_elf_segment *s = find_hdr(elf);
	uint8_t bytes[HDR_BYTES];
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	struct op_eh_hdr hdr = { 0 };
	bool has_table;

	if (!s || op_elf_read(elf, s->offset, bytes, sizeof(bytes)) < 0)
		return false;
	if (op_read_u8(&r) != HDR_VERSION || op_read_u8(&r) != HDR_POINTER)
		return false;
	has_table = op_read_u8(&r) == HDR_COUNT;
	has_table &= op_read_u8(&r) == HDR_TABLE;
	hdr.addr = s->vaddr;
	hdr.frame = s->vaddr + op_reader_pos(&r);
	hdr.frame += (uint64_t)op_read_s32(&r);
	hdr.count = op_read_u32(&r);
	hdr.table = s->offset + HDR_BYTES;
	if (!has_table ||
	    !op_range_ok(HDR_BYTES, hdr.count * OP_EH_HDR_ENTRY_BYTES, s->filesz))
		hdr.count = 0;
	*ret = hdr;
	return true;
}

bool op_eh_hdr_find_frame(struct op_elf *elf, const struct op_eh_hdr *hdr,
			  uint64_t *ret_offset, uint64_t *ret_size)
{
	size_t len = 0;
	const struct op_elf_segment *s = op_elf_segments(elf, &len);
	uint64_t offset;
	uint64_t in;
	size_t i;

	for (i = 0; i < len; i++) {
		if (s[i].type == PT_LOAD && hdr->frame >= s[i].vaddr &&
		    hdr->frame - s[i].vaddr < s[i].filesz)
			break;
	}
	if (i == len)
		return false;
	in = hdr->frame - s[i].vaddr;
	if (op_add_overflow(s[i].offset, in, &offset) || offset >= op_elf_size(elf))
		return false;
	*ret_offset = offset;
	*ret_size = OP_MIN(s[i].filesz - in, op_elf_size(elf) - offset);
	return true;
}
