/* SPDX-License-Identifier: Apache-2.0 */
#include "code/elf/tls.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/elf/private.h"
#include "code/elf/stream.h"

enum {
	NAME_MAX_BYTES = 64, /* bytes of a variable's name, with the NUL */
	RELOCATIONS_MAX = 1 << 20,
	TLS_SYMBOLS_MAX = 4096, /* symbols of one table whose names are compared */
	FLAGS_1_PIE = 0x08000000,
	THREAD_HEAD_BYTES = 16, /* aarch64: before the executable's block */
	PIECE_BYTES = 65536,
	MODULES_MAX = 1 << 16,
	GLIBC_STEP = 16, /* of a DTV's entry */
	MUSL_STEP = 8,
};

/* Static blocks are next to the thread pointer: a larger distance is an address. */
static const int64_t STATIC_MAX = INT64_C(1) << 24;

/* ---- the symbol ---- */

struct find {
	struct op_elf *elf;
	const struct op_elf_symtab *table;
	const char *name;
	uint64_t index;	 /* of the symbol that is looked at */
	uint32_t looked; /* names */
	struct op_elf_symbol symbol;
};

static int look_at(void *data, const struct op_elf_symbol *symbol, uint32_t name)
{
	struct find *f = data;
	char text[NAME_MAX_BYTES];
	uint64_t at;

	f->index++;
	if (symbol->type != STT_TLS || symbol->shndx == SHN_UNDEF)
		return 0;
	if (++f->looked > TLS_SYMBOLS_MAX)
		return -E2BIG;
	if (op_add_overflow(f->table->str_offset, name, &at) ||
	    op_elf_read_str(f->elf, at, f->table->str_offset + f->table->str_size, text,
			    sizeof(text)) < 0 ||
	    strcmp(text, f->name) != 0)
		return 0;
	f->symbol = *symbol;
	return 1;
}

static int find_in(struct op_elf *elf, enum op_elf_symtab_kind kind, const char *name,
		   struct find *ret)
{
	struct op_elf_symtab table;
	int r = op_elf_symtab(elf, kind, &table);

	if (r <= 0)
		return r;
	*ret = (struct find){ .elf = elf, .table = &table, .name = name };
	r = op_elf_symbol_each(elf, &table, look_at, ret);
	ret->table = NULL;
	return r;
}

/* ---- executables ---- */

struct dynamic {
	uint64_t rela, rela_bytes;
	uint64_t plt, plt_bytes;
	uint64_t flags_1;
};

static int take_dynamic(void *data, int64_t tag, uint64_t value)
{
	struct dynamic *d = data;

	switch (tag) {
	case DT_RELA:
		d->rela = value;
		break;
	case DT_RELASZ:
		d->rela_bytes = value;
		break;
	case DT_JMPREL:
		d->plt = value;
		break;
	case DT_PLTRELSZ:
		d->plt_bytes = value;
		break;
	case DT_FLAGS_1:
		d->flags_1 = value;
		break;
	default:
		break;
	}
	return 0;
}

static const struct op_elf_segment *segment_of(const struct op_elf *elf, uint32_t type)
{
	size_t i;

	for (i = 0; i < elf->segments_len; i++)
		if (elf->segments[i].type == type)
			return &elf->segments[i];
	return NULL;
}

static bool is_executable(const struct op_elf *elf, const struct dynamic *d)
{
	return elf->type == ET_EXEC || (d->flags_1 & FLAGS_1_PIE);
}

/* In every thread, the block of the executable is next to the thread pointer. */
static int static_place(const struct op_elf *elf, uint64_t value, struct op_elf_tls *ret)
{
	const struct op_elf_segment *tls = segment_of(elf, PT_TLS);
	uint64_t align;

	if (!tls || tls->memsz > INT32_MAX || value > INT32_MAX || tls->align > INT32_MAX)
		return -EBADMSG;
	align = OP_MAX(tls->align, (uint64_t)1);
	if (align & (align - 1))
		return -EBADMSG;
	ret->form = OP_ELF_TLS_STATIC;
	ret->slot = 0;
	if (elf->machine == EM_X86_64)
		ret->offset =
			(int64_t)value - (int64_t)((tls->memsz + align - 1) & -align);
	else
		ret->offset =
			(int64_t)(value + ((THREAD_HEAD_BYTES + align - 1) & -align));
	return 1;
}

/* ---- the words that the loader writes ---- */

struct wanted {
	uint64_t symbol; /* its number in .dynsym */
	uint64_t value;
};

static enum op_elf_tls_form form_of(const struct op_elf *elf, uint32_t type)
{
	if (elf->machine == EM_X86_64) {
		if (type == R_X86_64_TLSDESC)
			return OP_ELF_TLS_SLOT_DESCRIPTOR;
		if (type == R_X86_64_TPOFF64)
			return OP_ELF_TLS_SLOT_OFFSET;
		return type == R_X86_64_DTPMOD64 ? OP_ELF_TLS_SLOT_MODULE : 0;
	}
	if (type == R_AARCH64_TLSDESC)
		return OP_ELF_TLS_SLOT_DESCRIPTOR;
	if (type == R_AARCH64_TLS_TPREL)
		return OP_ELF_TLS_SLOT_OFFSET;
	return type == R_AARCH64_TLS_DTPMOD ? OP_ELF_TLS_SLOT_MODULE : 0;
}

/* Does this entry belong to the variable: by its symbol, or without one by the address? */
static bool take_entry(const struct op_elf *elf, const uint8_t *entry,
		       const struct wanted *wanted, struct op_elf_tls *ret)
{
	struct op_reader r = op_reader_init(entry, sizeof(Elf64_Rela));
	uint64_t at = op_read_u64(&r);
	uint64_t info = op_read_u64(&r);
	uint64_t addend = op_read_u64(&r);
	enum op_elf_tls_form form = form_of(elf, (uint32_t)ELF64_R_TYPE(info));
	bool named = ELF64_R_SYM(info) == wanted->symbol;

	/* a module's entry without a symbol serves any variable of the file */
	if (!form || (!named && (ELF64_R_SYM(info) || addend != wanted->value ||
				 form == OP_ELF_TLS_SLOT_MODULE)))
		return false;
	ret->form = form;
	ret->slot = at;
	ret->offset = 0;
	return true;
}

static int find_slot(struct op_elf *elf, uint64_t table, uint64_t bytes,
		     const struct wanted *wanted, struct op_elf_tls *ret)
{
	_cleanup_(op_elf_stream_deinit) struct op_elf_stream s = { 0 };
	uint64_t len = bytes / sizeof(Elf64_Rela);
	uint64_t off;
	uint64_t i;
	int r;

	if (!table || !len || op_elf_vaddr_offset(elf, table, bytes, &off))
		return 0;
	r = op_elf_stream_init(&s, elf, PIECE_BYTES);
	for (i = 0; r == 0 && i < OP_MIN(len, (uint64_t)RELOCATIONS_MAX); i++) {
		const uint8_t *entry;

		r = op_elf_stream_get(&s, off + i * sizeof(Elf64_Rela),
				      sizeof(Elf64_Rela), &entry);
		if (r == 0 && take_entry(elf, entry, wanted, ret))
			return 1;
	}
	return r;
}

int op_elf_tls_find(struct op_elf *elf, const char *name, struct op_elf_tls *ret)
{
	struct dynamic d = { 0 };
	struct op_elf_tls tls = { 0 };
	struct wanted wanted;
	struct find find;
	int r;

	if (!segment_of(elf, PT_TLS))
		return 0;
	r = op_elf_dynamic_each(elf, take_dynamic, &d);
	if (r == 0)
		r = find_in(elf, OP_ELF_DYNSYM, name, &find);
	if (r == 0 && is_executable(elf, &d))
		r = find_in(elf, OP_ELF_SYMTAB, name, &find);
	if (r <= 0)
		return r;
	if (is_executable(elf, &d)) {
		r = static_place(elf, find.symbol.value, &tls);
	} else {
		wanted = (struct wanted){ find.index, find.symbol.value };
		r = find_slot(elf, d.rela, d.rela_bytes, &wanted, &tls);
		if (r == 0)
			r = find_slot(elf, d.plt, d.plt_bytes, &wanted, &tls);
	}
	if (r > 0)
		*ret = tls;
	return r;
}

/* ---- the place in a process ---- */

/* The address of a module's block, from the table to which thread control blocks point. */
static int in_module(const struct op_elf *elf, bool musl, const uint64_t word[2],
		     struct op_elf_tls_place *ret)
{
	if (!word[0])
		return 0; /* not loaded yet */
	if (word[0] > MODULES_MAX || word[1] > (uint64_t)STATIC_MAX)
		return -EBADMSG;
	ret->module = (uint32_t)word[0];
	ret->offset = (int64_t)word[1];
	ret->dtv_step = musl ? MUSL_STEP : GLIBC_STEP;
	if (elf->machine == EM_X86_64)
		ret->dtv_at = 8;
	else
		ret->dtv_at = musl ? -8 : 0;
	return 1;
}

static int is_static(uint64_t word, struct op_elf_tls_place *ret)
{
	ret->offset = (int64_t)word;
	return ret->offset && ret->offset > -STATIC_MAX && ret->offset < STATIC_MAX;
}

int op_elf_tls_place(struct op_elf *elf, const struct op_elf_tls *tls,
		     const struct op_memory *memory, uint64_t bias, bool musl,
		     struct op_elf_tls_place *ret)
{
	struct op_elf_tls_place place = { .offset = tls->offset };
	size_t len = tls->form == OP_ELF_TLS_SLOT_OFFSET ? 1 : 2;
	uint64_t word[2] = { 0 };
	int r = 1;

	if (tls->form != OP_ELF_TLS_STATIC)
		r = op_memory_read(memory, tls->slot + bias, word, len * sizeof(word[0]));
	if (r < 0)
		return r;
	if (tls->form == OP_ELF_TLS_SLOT_OFFSET) {
		r = is_static(word[0], &place);
	} else if (tls->form == OP_ELF_TLS_SLOT_MODULE) {
		r = in_module(elf, musl, word, &place);
	} else if (tls->form == OP_ELF_TLS_SLOT_DESCRIPTOR &&
		   !(r = is_static(word[1], &place))) {
		/* the argument of a library that was loaded later leads to both */
		r = op_memory_read(memory, word[1], word, sizeof(word));
		r = r < 0 ? r : in_module(elf, musl, word, &place);
	}
	if (r > 0)
		*ret = place;
	return r;
}
