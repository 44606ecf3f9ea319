/* SPDX-License-Identifier: Apache-2.0 */
/* Parses CIEs and FDEs; parsed CIEs are cached by their offset. */
#include "code/dwarf/entry.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

enum {
	LENGTH_64 = 0xffffffff,	      /* a 64-bit length follows */
	LENGTH_RESERVED = 0xfffffff0, /* DWARF 5, section 7.4 */
	ADDRESS_BYTES = 8,
	HEADER_MAX = 20, /* length, long length, long id */
};

/* Determine from the id whether a record is a CIE or an FDE, and which CIE an FDE has. */
static int resolve_id(const struct op_cfi *cfi, bool is_64, struct op_cfi_entry *entry)
{
	uint64_t cie_id = is_64 ? UINT64_MAX : UINT32_MAX;

	if (cfi->kind == OP_CFI_DEBUG_FRAME) {
		entry->is_cie = entry->id == cie_id;
		entry->cie = entry->id;
		return 0;
	}
	/* In .eh_frame the id is 0, or the distance back to the CIE from this field. */
	entry->is_cie = entry->id == 0;
	if (entry->id > entry->id_off)
		return -EBADMSG;
	entry->cie = entry->id_off - entry->id;
	return 0;
}

int op_cfi_read_entry(struct op_cfi *cfi, uint64_t off, struct op_cfi_entry *ret)
{
	uint64_t left = cfi->section.size - off;
	size_t have = (size_t)(left < HEADER_MAX ? left : HEADER_MAX);
	const uint8_t *bytes;
	struct op_reader r;
	uint64_t length;
	bool is_64;
	int error;

	ret->off = off;
	ret->next = 0;
	if (off > cfi->section.size)
		return -EBADMSG;
	error = op_dwarf_section_at(&cfi->section, off, have, &bytes);
	if (error < 0)
		return error;
	r = op_reader_init(bytes, have);
	length = op_read_u32(&r);
	is_64 = length == LENGTH_64;
	if (is_64)
		length = op_read_u64(&r);
	else if (length >= LENGTH_RESERVED)
		return -EBADMSG;
	if (r.failed || !op_range_ok(op_reader_pos(&r), length, left))
		return -EBADMSG;
	ret->id_off = off + op_reader_pos(&r);
	ret->next = ret->id_off + length;
	ret->empty = length == 0;
	if (ret->empty)
		return 0;
	/* In .eh_frame the id has 4 bytes even after a 64-bit length (LSB
	 * 5.0, 10.6.1). */
	is_64 = is_64 && cfi->kind == OP_CFI_DEBUG_FRAME;
	ret->id = is_64 ? op_read_u64(&r) : op_read_u32(&r);
	ret->body = off + op_reader_pos(&r);
	if (r.failed || ret->body > ret->next ||
	    ret->next - ret->body > OP_DWARF_WINDOW_MAX)
		return -E2BIG;
	ret->body_len = (size_t)(ret->next - ret->body);
	return resolve_id(cfi, is_64, ret) < 0 ? -E2BIG : 0;
}

/* Read a pointer; the encoding that linkers nearly always use is read inline. */
static inline uint64_t read_pointer(struct op_reader *r, uint8_t encoding, uint64_t addr)
{
	if (encoding == (OP_EH_PE_PCREL | OP_EH_PE_SDATA4)) {
		uint64_t value = (uint64_t)op_read_s32(r);

		return r->failed ? 0 : value + addr;
	}
	return op_cfi_read_pointer(r, encoding, addr);
}

/* Skip a pointer. */
static void skip_pointer(struct op_reader *r, uint8_t encoding, uint64_t addr)
{
	if (encoding == OP_EH_PE_ALIGNED)
		(void)op_cfi_read_pointer(r, encoding, addr);
	else if (encoding != OP_EH_PE_OMIT)
		(void)op_cfi_read_pointer(r, encoding & OP_EH_PE_FORMAT, addr);
}

/* Read the letters of an augmentation and their data. @addr: ELF address of r->start.
 * Returns 0, or -EBADMSG for an unknown letter, after which nothing can be read. */
static int read_augmentation(struct op_cie *cie, const char *letters, struct op_reader *r,
			     uint64_t addr)
{
	uint64_t end;
	uint64_t len;

	if (*letters == '\0')
		return 0;
	if (*letters != 'z')
		return -EBADMSG;
	cie->sized = true;
	len = op_read_uleb(r);
	if (r->failed || len > op_reader_left(r))
		return -EBADMSG;
	end = op_reader_pos(r) + len;
	while (*++letters) {
		switch (*letters) {
		case 'L':
			(void)op_read_u8(r);
			break;
		case 'P': {
			uint8_t encoding = op_read_u8(r);

			skip_pointer(r, encoding, addr + op_reader_pos(r));
			break;
		}
		case 'R':
			cie->pointer = op_read_u8(r);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* aarch64: return addresses are signed with key B */
		case 'G': /* aarch64: frames with memory tags */
			break;
		default:
			return -EBADMSG;
		}
	}
	if (r->failed || op_reader_pos(r) > end)
		return -EBADMSG;
	op_reader_seek(r, end);
	return 0;
}

/* Read a CIE up to its instructions; @r is left at the first of them. */
static int read_cie_header(struct op_cie *cie, struct op_reader *r, uint64_t addr)
{
	uint8_t version = op_read_u8(r);
	const char *letters = op_read_cstr(r);

	if (!letters || (version != 1 && version != 3 && version != 4))
		return -EBADMSG;
	if (strcmp(letters, "eh") == 0) { /* gcc 2: a pointer to its own data */
		op_read_skip(r, ADDRESS_BYTES);
		letters = "";
	}
	if (version == 4 && (op_read_u8(r) != ADDRESS_BYTES || op_read_u8(r) != 0))
		return -EBADMSG;
	cie->code_align = op_read_uleb(r);
	cie->data_align = op_read_sleb(r);
	cie->ra_reg = version == 1 ? op_read_u8(r) : op_read_uleb(r);
	if (r->failed)
		return -EBADMSG;
	return read_augmentation(cie, letters, r, addr);
}

static int read_cie(struct op_cfi *cfi, uint64_t off, struct op_cie *cie)
{
	struct op_cfi_entry entry;
	const uint8_t *bytes;
	struct op_reader r;
	uint64_t addr;
	int error;

	error = op_cfi_read_entry(cfi, off, &entry);
	if (error < 0)
		return error;
	if (entry.empty || !entry.is_cie)
		return -EBADMSG;
	error = op_dwarf_section_at(&cfi->section, entry.body, entry.body_len, &bytes);
	if (error < 0)
		return error;
	addr = cfi->section.addr + entry.body;
	r = op_reader_init(bytes, entry.body_len);
	error = read_cie_header(cie, &r, addr);
	if (error < 0)
		return error;
	return op_cfi_run_cie(cfi, cie, &r, addr);
}

int op_cfi_get_cie(struct op_cfi *cfi, uint64_t off, const struct op_cie **ret)
{
	struct op_cie *cie = &cfi->cies[op_hash_u64(off) % OP_CFI_CIES_KEPT];
	int error;

	if (!cie->known || cie->off != off) {
		*cie = (struct op_cie){ .off = off };
		error = read_cie(cfi, off, cie);
		if (error == -EBADMSG || error == -E2BIG) {
			cie->bad = true;
			cfi->bad_cies++;
		} else if (error < 0) {
			return error;
		}
		cie->known = true;
	}
	*ret = cie;
	return 0;
}

int op_cfi_read_fde(struct op_cfi *cfi, const struct op_cfi_entry *entry,
		    struct op_cfi_parsed_fde *ret)
{
	const struct op_cie *cie;
	const uint8_t *bytes;
	struct op_reader r;
	uint64_t addr = cfi->section.addr + entry->body;
	uint64_t start;
	uint64_t range;
	uint64_t end;
	int error;

	error = op_cfi_get_cie(cfi, entry->cie, &cie);
	if (error < 0)
		return error;
	if (cie->bad)
		return -EBADMSG;
	error = op_dwarf_section_at(&cfi->section, entry->body, entry->body_len, &bytes);
	if (error < 0)
		return error;
	r = op_reader_init(bytes, entry->body_len);
	start = read_pointer(&r, cie->pointer, addr);
	range = op_cfi_read_pointer(&r, cie->pointer & OP_EH_PE_FORMAT,
				    addr + op_reader_pos(&r));
	if (cie->sized)
		op_read_skip(&r, op_read_uleb(&r));
	if (r.failed || op_add_overflow(start, range, &end))
		return -EBADMSG;
	/* Store field by field: copying a struct just written would stall on store
	 * forwarding. */
	ret->fde.start = start;
	ret->fde.end = end;
	ret->fde.off = entry->off;
	ret->fde.signal = cie->signal;
	ret->pc = start;
	ret->cie = cie;
	ret->program = op_reader_init(r.pos, op_reader_left(&r));
	ret->program_addr = addr + op_reader_pos(&r);
	return 0;
}
