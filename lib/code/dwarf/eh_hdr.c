/* SPDX-License-Identifier: Apache-2.0 */
/* Reads .eh_frame_hdr and searches its table of FDEs. */
#include "code/dwarf/eh_hdr.h"

#include <elf.h>

#include "base/checked.h"
#include "base/macros.h"
#include "code/dwarf/entry.h"

enum {
	HDR_BYTES = 12, /* version, three encodings, eh_frame_ptr, fde_count */
	HDR_VERSION = 1,
	/* The encodings that all linkers use. */
	HDR_POINTER = OP_EH_PE_PCREL | OP_EH_PE_SDATA4,
	HDR_COUNT = OP_EH_PE_UDATA4,
	HDR_TABLE = OP_EH_PE_DATAREL | OP_EH_PE_SDATA4,
	FDE_BYTES = 16, /* length, CIE pointer, first address, number of addresses */
	/* Entries that are read in one piece, once a search has come down to them. */
	PIECE = 64,
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

	if (!s || op_elf_read_kept(elf, s->offset, bytes, sizeof(bytes)) < 0)
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

/* An entry of the table: the start of a function, and the address of its FDE. */
struct entry {
	uint64_t start;
	uint64_t fde;
};

static struct entry entry_of(const struct op_eh_hdr *hdr, const uint8_t *bytes)
{
	struct op_reader r = op_reader_init(bytes, OP_EH_HDR_ENTRY_BYTES);
	struct entry e;

	e.start = hdr->addr + (uint64_t)op_read_s32(&r);
	e.fde = hdr->addr + (uint64_t)op_read_s32(&r);
	return e;
}

/* Read entry @i of the table. */
static int read_entry(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t i,
		      struct entry *ret)
{
	uint8_t bytes[OP_EH_HDR_ENTRY_BYTES];
	int r = op_elf_read_kept(elf, hdr->table + i * OP_EH_HDR_ENTRY_BYTES, bytes,
				 sizeof(bytes));

	if (r == 0)
		*ret = entry_of(hdr, bytes);
	return r;
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
	    op_elf_read_apart(elf, offset + (fde - hdr->frame), bytes, sizeof(bytes)) < 0)
		return 0;
	op_read_skip(&r, 8);
	if (fde + 8 + (uint64_t)op_read_s32(&r) != start)
		return 0;
	return op_read_u32(&r);
}

/*
 * Count the entries that begin at or below @vaddr; *@ret_last is the last of them, if there
 * is one. Returns 0 or -errno. The first steps, which all searches have in common, are kept
 * with the file. The last steps are made in one piece of it.
 */
static int count_below(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t vaddr,
		       uint64_t *ret, struct entry *ret_last)
{
	uint8_t piece[PIECE * OP_EH_HDR_ENTRY_BYTES];
	uint64_t high = hdr->count;
	uint64_t low = 0;
	uint64_t first;
	struct entry last = { 0 };
	struct entry e = { 0 };
	int r;

	while (high - low > PIECE) {
		uint64_t mid = low + (high - low) / 2;

		r = read_entry(elf, hdr, mid, &e);
		if (r < 0)
			return r;
		if (e.start > vaddr) {
			high = mid;
			continue;
		}
		last = e;
		low = mid + 1;
	}
	first = low;
	r = op_elf_read_apart(elf, hdr->table + first * OP_EH_HDR_ENTRY_BYTES, piece,
			      (size_t)(high - low) * OP_EH_HDR_ENTRY_BYTES);
	while (r == 0 && low < high) {
		uint64_t mid = low + (high - low) / 2;

		e = entry_of(hdr, piece + (mid - first) * OP_EH_HDR_ENTRY_BYTES);
		if (e.start > vaddr) {
			high = mid;
			continue;
		}
		last = e;
		low = mid + 1;
	}
	*ret = low;
	*ret_last = last;
	return r;
}

int op_eh_hdr_find(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t vaddr,
		   uint64_t *ret_start, uint64_t *ret_fde)
{
	struct entry e;
	uint64_t below;
	int r = count_below(elf, hdr, vaddr, &below, &e);

	if (r < 0 || !below)
		return r;
	*ret_start = e.start;
	*ret_fde = e.fde;
	return 1;
}

int op_eh_hdr_each(struct op_elf *elf, const struct op_eh_hdr *hdr, uint64_t start,
		   uint64_t end, int (*fn)(void *data, uint64_t start, uint64_t fde),
		   void *data)
{
	uint8_t piece[PIECE * OP_EH_HDR_ENTRY_BYTES];
	struct entry e;
	uint64_t at;
	int r = count_below(elf, hdr, start, &at, &e);

	at -= at > 0;
	while (r == 0 && at < hdr->count) {
		size_t n = (size_t)OP_MIN(hdr->count - at, (uint64_t)PIECE);
		size_t i;

		r = op_elf_read_apart(elf, hdr->table + at * OP_EH_HDR_ENTRY_BYTES, piece,
				      n * OP_EH_HDR_ENTRY_BYTES);
		for (i = 0; r == 0 && i < n; i++) {
			e = entry_of(hdr, piece + i * OP_EH_HDR_ENTRY_BYTES);
			if (e.start >= end)
				return 0;
			r = fn(data, e.start, e.fde);
		}
		at += n;
	}
	return r;
}

int op_eh_hdr_function(struct op_elf *elf, uint64_t vaddr, uint64_t *ret_start,
		       uint64_t *ret_end)
{
	struct entry next = { .start = UINT64_MAX };
	struct op_eh_hdr hdr;
	struct entry e;
	uint64_t below;
	uint64_t range;
	int r;

	if (!op_eh_hdr_read(elf, &hdr))
		return 0;
	r = count_below(elf, &hdr, vaddr, &below, &e);
	if (r < 0 || !below)
		return r;
	range = fde_range(elf, &hdr, e.fde, e.start);
	if (!range && below < hdr.count)
		r = read_entry(elf, &hdr, below, &next);
	if (range && op_add_overflow(e.start, range, &next.start))
		return 0;
	if (r < 0 || vaddr < e.start || vaddr >= next.start || next.start == UINT64_MAX)
		return r;
	*ret_start = e.start;
	*ret_end = next.start;
	return 1;
}
