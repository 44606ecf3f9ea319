/* SPDX-License-Identifier: Apache-2.0 */
/* Finds Go's tables in a file, and the module data that refers to them. */
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/elf/gopclntab_private.h"
#include "code/elf/private.h"
#include "code/elf/stream.h"

bool op_gopclntab_is_header(const void *bytes)
{
	struct op_reader r = op_reader_init(bytes, 8);
	uint32_t magic = op_read_u32(&r);
	uint16_t zero = op_read_u16(&r);
	uint8_t quantum = op_read_u8(&r);
	uint8_t pointer = op_read_u8(&r);

	return (magic == 0xfffffffb || magic == 0xfffffffa || magic == 0xfffffff0 ||
		magic == 0xfffffff1) &&
	       !zero && (quantum == 1 || quantum == 4) && pointer == 8;
}

enum {
	SCAN_STREAM_BYTES = 64 << 10,

	/*
	 * Indices of words of runtime.moduledata: pcHeader, six slices, findfunctab,
	 * minpc, maxpc, text, … are the same since 1.16. What is behind them moves: gofunc was
	 * word 38 in 1.18, 40 in 1.20 and 43 in 1.27.
	 */
	MODULE_HEADER = 0,
	MODULE_MINPC = 20,
	MODULE_MAXPC = 21,
	MODULE_TEXT = 22,
	MODULE_PLACES = 36,
	MODULE_WORDS = MODULE_PLACES + OP_GO_PLACES,
};

static bool is_go(struct op_elf *elf)
{
	struct op_build_ids ids = { 0 };

	if (op_elf_section(elf, ".go.buildinfo") ||
	    op_elf_section(elf, ".note.go.buildid"))
		return true;
	return !elf->sections_len && op_elf_read_notes(elf, &ids) == 0 && ids.go[0];
}

static void set_place(struct op_gopclntab *t, uint64_t vaddr, uint64_t start,
		      uint64_t end)
{
	t->vaddr = vaddr;
	t->start = start;
	t->end = OP_MIN(end, t->elf->size);
}

static bool locate_section(struct op_gopclntab *t)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(names); i++) {
		const struct op_elf_section *s = op_elf_section(t->elf, names[i]);

		if (!s || s->type == SHT_NOBITS || s->flags & SHF_COMPRESSED ||
		    !op_range_ok(s->offset, s->size, t->elf->size))
			continue;
		set_place(t, s->addr, s->offset, s->offset + s->size);
		return true;
	}
	return false;
}

static int locate_symbol(struct op_gopclntab *t)
{
	struct op_elf_symbol symbol;
	const struct op_elf_section *s;
	int r;

	r = op_elf_find_symbol(t->elf, "runtime.pclntab", &symbol);
	if (r <= 0)
		return r;
	if (symbol.shndx >= t->elf->sections_len)
		return 0;
	s = &t->elf->sections[symbol.shndx];
	if (s->type == SHT_NOBITS || symbol.value < s->addr ||
	    symbol.value - s->addr >= s->size ||
	    !op_range_ok(s->offset, s->size, t->elf->size))
		return 0;
	set_place(t, symbol.value, s->offset + (symbol.value - s->addr),
		  s->offset + s->size);
	return 1;
}

/* Search for the header in @size bytes at @off; the linker aligns the table. */
static int scan(struct op_gopclntab *t, uint64_t off, uint64_t size, uint64_t vaddr)
{
	_cleanup_(op_elf_stream_deinit) struct op_elf_stream s = { 0 };
	uint64_t at;
	int r;

	if (!op_range_ok(off, size, t->elf->size))
		return 0;
	r = op_elf_stream_init(&s, t->elf, SCAN_STREAM_BYTES);
	if (r)
		return r;
	for (at = OP_ALIGN_UP(vaddr, UINT64_C(8)) - vaddr; op_range_ok(at, 8, size);
	     at += 8) {
		const uint8_t *bytes;

		r = op_elf_stream_get(&s, off + at, 8, &bytes);
		if (r)
			return r;
		if (bytes[3] != 0xff || !op_gopclntab_is_header(bytes))
			continue;
		set_place(t, vaddr + at, off + at, off + size);
		return 1;
	}
	return 0;
}

/* If the system's linker made a shared object, the table is a part of .data.rel.ro. */
static int locate_scan(struct op_gopclntab *t)
{
	size_t i;
	int r = 0;

	for (i = 0; i < t->elf->sections_len && !r; i++) {
		const struct op_elf_section *s = &t->elf->sections[i];

		if (s->type == SHT_PROGBITS && strcmp(s->name, ".data.rel.ro") == 0)
			r = scan(t, s->offset, s->size, s->addr);
	}
	for (i = 0; i < t->elf->segments_len && !r && !t->elf->sections_len; i++) {
		const struct op_elf_segment *s = &t->elf->segments[i];

		if (s->type == PT_LOAD && !(s->flags & PF_X))
			r = scan(t, s->offset, s->filesz, s->vaddr);
	}
	return r;
}

int op_gopclntab_locate(struct op_gopclntab *t)
{
	int found;

	if (locate_section(t))
		return 0;
	if (!is_go(t->elf))
		return -ENOENT;
	found = locate_symbol(t);
	if (!found)
		found = locate_scan(t);
	return found < 0 ? found : found ? 0 : -ENOENT;
}

/* Find the word @value in the data of a program that is linked to fixed addresses. */
static int find_word(struct op_elf *elf, const struct op_elf_section *section,
		     uint64_t value, uint64_t *ret)
{
	_cleanup_(op_elf_stream_deinit) struct op_elf_stream s = { 0 };
	uint64_t at;
	int r;

	if (section->type == SHT_NOBITS ||
	    !op_range_ok(section->offset, section->size, elf->size))
		return 0;
	r = op_elf_stream_init(&s, elf, SCAN_STREAM_BYTES);
	if (r)
		return r;
	for (at = 0; op_range_ok(at, 8, section->size); at += 8) {
		const uint8_t *bytes;

		r = op_elf_stream_get(&s, section->offset + at, 8, &bytes);
		if (r)
			return r;
		if (memcmp(bytes, &value, sizeof(value)) == 0) {
			*ret = section->addr + at;
			return 1;
		}
	}
	return 0;
}

/* Find the ELF address of runtime.firstmoduledata. Returns 1; 0 if it is not found; or
 * -errno. */
static int locate_module(struct op_gopclntab *t, uint64_t *ret)
{
	static const char *const names[] = { ".noptrdata", ".data" };
	const struct op_elf_section *s;
	struct op_elf_symbol symbol;
	size_t i;
	int r;

	s = op_elf_section(t->elf, ".go.module"); /* since 1.26 */
	if (s) {
		*ret = s->addr;
		return 1;
	}
	r = op_elf_find_symbol(t->elf, "runtime.firstmoduledata", &symbol);
	if (r > 0)
		*ret = symbol.value;
	for (i = 0; i < OP_ARRAY_SIZE(names) && !r; i++) {
		s = op_elf_section(t->elf, names[i]);
		if (s)
			r = find_word(t->elf, s, t->vaddr, ret);
	}
	return r;
}

int op_gopclntab_read_module(struct op_gopclntab *t)
{
	uint64_t words[MODULE_WORDS];
	uint64_t vaddr;
	int r;

	r = locate_module(t, &vaddr);
	if (r <= 0)
		return r;
	r = op_elf_read_words(t->elf, vaddr, words, MODULE_WORDS);
	if (r)
		return r == -ENODATA ? 0 : r;
	if (words[MODULE_HEADER] != t->vaddr ||
	    words[MODULE_MINPC] > words[MODULE_MAXPC] ||
	    (t->text && words[MODULE_TEXT] != t->text))
		return 0;
	t->text = words[MODULE_TEXT];
	memcpy(t->places, words + MODULE_PLACES, sizeof(t->places));
	return 0;
}
