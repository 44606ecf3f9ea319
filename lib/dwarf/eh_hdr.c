/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/eh_hdr.h"

#include <elf.h>

#include "base/checked.h"
#include "base/macros.h"
#include "dwarf/entry.h"

enum {
	HDR_BYTES = 12, /* version, three encodings, eh_frame_ptr, fde_count */
	HDR_VERSION = 1,
	/* The encodings that all linkers use. */
	HDR_POINTER = OP_EH_PE_PCREL | OP_EH_PE_SDATA4,
	HDR_COUNT = OP_EH_PE_UDATA4,
	HDR_TABLE = OP_EH_PE_DATAREL | OP_EH_PE_SDATA4,
	FDE_BYTES = 16, /* length, CIE pointer, first address, number of addresses */
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

/* Read entry @i of the table: the start of a function, and the address of its FDE. */
static int read_entry(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t i,
		      uint64_t *ret_start, uint64_t *ret_fde)
{
	uint8_t bytes[OP_EH_HDR_ENTRY_BYTES];
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	int e;

	e = op_elf_read(elf, hdr->table + i * OP_EH_HDR_ENTRY_BYTES, bytes,
			sizeof(bytes));
	if (e < 0)
		return e;
	*ret_start = hdr->addr + (uint64_t)op_read_s32(&r);
	*ret_fde = hdr->addr + (uint64_t)op_read_s32(&r);
	return 0;
}

/*
 * The number of addresses of the FDE at @fde, if it has the form that compilers use for
 * code below 2 GiB: fields of 4 bytes, the first relative to its own address. 0: it has
 * another form.
 */
static uint64_t fde_range(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t fde,
			  uint64_t start)
{
	uint8_t bytes[FDE_BYTES];
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	uint64_t offset;
	uint64_t size;

	if (!op_eh_hdr_find_frame(elf, hdr, &offset, &size) || fde < hdr->frame ||
	    !op_range_ok(fde - hdr->frame, sizeof(bytes), size) ||
	    op_elf_read(elf, offset + (fde - hdr->frame), bytes, sizeof(bytes)) < 0)
		return 0;
	op_read_skip(&r, 8);
	if (fde + 8 + (uint64_t)op_read_s32(&r) != start)
		return 0;
	return op_read_u32(&r);
}

/* Count the entries that begin at or below @vaddr. Returns 0 or -errno. */
static int count_below(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t vaddr,
		       uint64_t *ret)
{
	uint64_t low = 0;
	uint64_t high;
	uint64_t start;
	uint64_t fde;
	int r = 0;

	for (high = hdr->count; r == 0 && low < high;) {
		uint64_t mid = low + (high - low) / 2;

		r = read_entry(elf, hdr, mid, &start, &fde);
		if (r == 0 && start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = low;
	return r;
}

int op_eh_hdr_find(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t vaddr,
		   uint64_t *ret_start, uint64_t *ret_fde)
{
	uint64_t below;
	int r = count_below(elf, hdr, vaddr, &below);

	if (r < 0 || !below)
		return r;
	r = read_entry(elf, hdr, below - 1, ret_start, ret_fde);
	return r < 0 ? r : 1;
}

int op_eh_hdr_function(struct op_elf *elf, uint64_t vaddr, uint64_t *ret_start,
		       uint64_t *ret_end)
{
	struct op_eh_hdr hdr;
	uint64_t below;
	uint64_t start;
	uint64_t next;
	uint64_t range;
	uint64_t fde;
	int r;

	if (!op_eh_hdr_read(elf, &hdr))
		return 0;
	r = count_below(elf, &hdr, vaddr, &below);
	if (r < 0 || !below)
		return r;
	r = read_entry(elf, &hdr, below - 1, &start, &fde);
	if (r < 0)
		return r;
	range = fde_range(elf, &hdr, fde, start);
	next = UINT64_MAX;
	if (!range && below < hdr.count)
		r = read_entry(elf, &hdr, below, &next, &fde);
	if (range && op_add_overflow(start, range, &next))
		return 0;
	if (r < 0 || vaddr < start || vaddr >= next || next == UINT64_MAX)
		return r;
	*ret_start = start;
	*ret_end = next;
	return 1;
}
