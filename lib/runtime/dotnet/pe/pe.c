/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/pe/pe.h"

#include <errno.h>
#include <string.h>

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
	DIRECTORY_DEBUG = 6,
	DIRECTORY_CLR = 14,
	DEBUG_BYTES = 28, /* of an entry of the debug directory */
	DEBUG_MAX = 16,
	DEBUG_CODEVIEW = 2,
	CODEVIEW_BYTES = 24,	     /* before the path */
	CODEVIEW_MAGIC = 0x53445352, /* RSDS */
	PATH_MAX_BYTES = 1024,
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
	uint32_t directories;
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
	directories =
		PE_BYTES + (optional == OPTIONAL_BYTES ? DIRECTORIES : DIRECTORIES_32);
	ret->debug = read_place(&r, directories + DIRECTORY_DEBUG * 8);
	clr = read_place(&r, directories + DIRECTORY_CLR * 8);
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

/* The CodeView record of @size bytes at @at: RSDS, the id without the time stamp, 4 bytes more, and
 * the path at which the compiler wrote the PDB. */
static int read_codeview(const struct op_dotnet_pe *pe, uint64_t at, uint32_t size,
			 uint8_t ret_id[16], char ret_name[OP_DOTNET_PDB_NAME_MAX])
{
	uint8_t bytes[CODEVIEW_BYTES + PATH_MAX_BYTES];
	struct op_reader r = op_reader_init(bytes, OP_MIN(size, sizeof(bytes)));
	const uint8_t *id;
	const char *path;
	const char *name;
	int error =
		at ? op_memory_read(pe->memory, at, bytes, op_reader_left(&r)) : -EBADMSG;

	if (error < 0)
		return error;
	if (op_read_u32(&r) != CODEVIEW_MAGIC)
		return -EBADMSG;
	id = op_read_bytes(&r, 16);
	op_read_skip(&r, 4);
	path = op_read_cstr(&r);
	if (!id || !path)
		return -EBADMSG;
	/* of Windows or of another system */
	for (name = path; *path; path++)
		if (*path == '/' || *path == '\\')
			name = path + 1;
	if (!*name || strlen(name) >= OP_DOTNET_PDB_NAME_MAX)
		return -EBADMSG;
	memcpy(ret_id, id, 16);
	memcpy(ret_name, name, strlen(name) + 1);
	return 0;
}

int op_runtime_dotnet_pe_pdb(const struct op_dotnet_pe *pe, uint8_t ret_id[20],
			     char ret_name[OP_DOTNET_PDB_NAME_MAX])
{
	uint8_t bytes[DEBUG_MAX * DEBUG_BYTES];
	uint32_t count = OP_MIN(pe->debug.size / DEBUG_BYTES, (uint32_t)DEBUG_MAX);
	struct op_reader r = op_reader_init(bytes, (size_t)count * DEBUG_BYTES);
	uint64_t at = op_runtime_dotnet_pe_at(pe, pe->debug.rva, count * DEBUG_BYTES);
	uint32_t i;
	int error;

	if (!count || !at)
		return -ENOENT;
	error = op_memory_read(pe->memory, at, bytes, (size_t)count * DEBUG_BYTES);
	if (error < 0)
		return error;
	for (i = 0; i < count; i++) {
		struct op_dotnet_place place;
		uint32_t stamp;
		uint32_t type;

		op_reader_seek(&r, (size_t)i * DEBUG_BYTES + 4);
		stamp = op_read_u32(&r);
		op_read_skip(&r, 4);
		type = op_read_u32(&r);
		place.size = op_read_u32(&r);
		place.rva = op_read_u32(&r);
		if (type != DEBUG_CODEVIEW)
			continue;
		memcpy(ret_id + 16, &stamp, sizeof(stamp));
		return read_codeview(pe,
				     op_runtime_dotnet_pe_at(pe, place.rva, place.size),
				     place.size, ret_id, ret_name);
	}
	return -ENOENT;
}
