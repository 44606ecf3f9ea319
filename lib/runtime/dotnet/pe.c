/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/pe.h"

#include <errno.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"

enum {
	DOS_BYTES = 64,
	DOS_PE = 0x3c,
	PE_BYTES = 24,		 /* signature and file header */
	OPTIONAL_BYTES = 240,	 /* of PE32+, with 16 directories */
	OPTIONAL_BYTES_32 = 224, /* of PE32 */
	DIRECTORIES = 112,
	DIRECTORIES_32 = 96,
	DIRECTORY_CLR = 14,
	SECTION_BYTES = 40,
	CLR_BYTES = 72,
	CLR_METADATA = 8,
	CLR_READY = 64, /* ManagedNativeHeader */
	READY_BYTES = 16,
	READY_SECTION_BYTES = 12,
	HEADERS_MAX = 4096, /* the PE header begins in them */
	METADATA_MAGIC = 0x424a5342,
	READY_MAGIC = 0x00525452,
};

static int read_sections(struct op_dotnet_pe *pe, uint64_t at)
{
	uint8_t bytes[OP_DOTNET_SECTIONS_MAX * SECTION_BYTES];
	struct op_reader r = op_reader_init(bytes, (size_t)pe->sections * SECTION_BYTES);
	uint32_t i;
	int error;

	error = op_memory_read(pe->memory, at, bytes,
			       (size_t)pe->sections * SECTION_BYTES);
	if (error < 0)
		return error;
	for (i = 0; i < pe->sections; i++) {
		struct op_dotnet_section *s = &pe->section[i];

		op_reader_seek(&r, i * SECTION_BYTES + 8);
		s->bytes = op_read_u32(&r);
		s->rva = op_read_u32(&r);
		s->size = op_read_u32(&r);
		s->offset = op_read_u32(&r);
		op_read_skip(&r, 12);
		s->flags = op_read_u32(&r);
	}
	return r.failed ? -ENOEXEC : 0;
}

uint64_t op_runtime_dotnet_pe_at(const struct op_dotnet_pe *pe, uint32_t rva,
				 uint32_t len)
{
	uint32_t i;

	for (i = 0; i < pe->sections; i++) {
		const struct op_dotnet_section *s = &pe->section[i];
		uint32_t bytes = OP_MIN(s->bytes, s->size);

		if (rva < s->rva || !op_range_ok(rva - s->rva, len, bytes))
			continue;
		return pe->base + (pe->flat ? (uint64_t)s->offset + (rva - s->rva) : rva);
	}
	return 0;
}

static struct op_dotnet_place read_place(struct op_reader *r, size_t at)
{
	struct op_dotnet_place place;

	op_reader_seek(r, at);
	place.rva = op_read_u32(r);
	place.size = op_read_u32(r);
	return place;
}

/* Read the header of .NET at @clr, if the image is @flat or is not. */
static int read_clr(struct op_dotnet_pe *pe, const struct op_dotnet_place *clr, bool flat)
{
	uint8_t bytes[CLR_BYTES];
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	uint32_t magic = 0;
	uint64_t at;
	int error;

	pe->flat = flat;
	at = op_runtime_dotnet_pe_at(pe, clr->rva, CLR_BYTES);
	if (!at)
		return -ENOEXEC;
	error = op_memory_read(pe->memory, at, bytes, sizeof(bytes));
	if (error < 0)
		return error;
	pe->metadata = read_place(&r, CLR_METADATA);
	pe->ready = read_place(&r, CLR_READY);
	at = op_runtime_dotnet_pe_at(pe, pe->metadata.rva, pe->metadata.size);
	if (!at || pe->metadata.size < sizeof(magic))
		return -ENOEXEC;
	error = op_memory_read(pe->memory, at, &magic, sizeof(magic));
	if (error < 0)
		return error;
	return magic == METADATA_MAGIC ? 0 : -ENOEXEC;
}

int op_runtime_dotnet_pe(const struct op_memory *memory, uint64_t base,
			 struct op_dotnet_pe *ret)
{
	uint8_t bytes[OPTIONAL_BYTES + PE_BYTES];
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	struct op_dotnet_place clr;
	uint32_t optional;
	uint32_t at = 0;
	int error;

	*ret = (struct op_dotnet_pe){ .memory = memory, .base = base };
	error = op_memory_read(memory, base, bytes, DOS_BYTES);
	if (error < 0)
		return error;
	if (op_read_u16(&r) != 0x5a4d) /* MZ */
		return -ENOEXEC;
	op_reader_seek(&r, DOS_PE);
	at = op_read_u32(&r);
	if (at > HEADERS_MAX)
		return -ENOEXEC;
	error = op_memory_read(memory, base + at, bytes, sizeof(bytes));
	if (error < 0)
		return error;
	r = op_reader_init(bytes, sizeof(bytes));
	if (op_read_u32(&r) != 0x4550)
		return -ENOEXEC;
	ret->machine = op_read_u16(&r);
	ret->sections = op_read_u16(&r);
	op_read_skip(&r, 12);
	optional = op_read_u16(&r);
	if (!ret->sections || ret->sections > OP_DOTNET_SECTIONS_MAX ||
	    (optional != OPTIONAL_BYTES && optional != OPTIONAL_BYTES_32))
		return -ENOEXEC;
	clr = read_place(
		&r, PE_BYTES + DIRECTORY_CLR * 8 +
			    (optional == OPTIONAL_BYTES ? DIRECTORIES : DIRECTORIES_32));
	error = read_sections(ret, base + at + PE_BYTES + optional);
	if (error < 0)
		return error;
	error = read_clr(ret, &clr, true);
	return error < 0 ? read_clr(ret, &clr, false) : 0;
}

int op_runtime_dotnet_pe_ready(const struct op_dotnet_pe *pe, uint32_t type,
			       struct op_dotnet_place *ret)
{
	uint8_t bytes[READY_BYTES + OP_DOTNET_READY_MAX * READY_SECTION_BYTES];
	uint64_t at = op_runtime_dotnet_pe_at(pe, pe->ready.rva, READY_BYTES);
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	uint32_t count;
	uint32_t i;
	int error;

	if (!at)
		return 0;
	error = op_memory_read(pe->memory, at, bytes, READY_BYTES);
	if (error < 0)
		return error;
	if (op_read_u32(&r) != READY_MAGIC)
		return 0;
	op_read_skip(&r, 8);
	count = op_read_u32(&r);
	if (count > OP_DOTNET_READY_MAX)
		return -EBADMSG;
	error = op_memory_read(pe->memory, at + READY_BYTES, bytes,
			       (size_t)count * READY_SECTION_BYTES);
	r = op_reader_init(bytes, (size_t)count * READY_SECTION_BYTES);
	for (i = 0; error == 0 && i < count; i++) {
		uint32_t this = op_read_u32(&r);

		ret->rva = op_read_u32(&r);
		ret->size = op_read_u32(&r);
		if (this == type)
			return op_runtime_dotnet_pe_at(pe, ret->rva, ret->size)
				       ? 1
				       : -EBADMSG;
	}
	return error;
}
