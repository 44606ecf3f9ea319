/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/pe/elf.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/dotnet/pe/entries.h"
#include "runtime/dotnet/pe/file.h"
#include "runtime/dotnet/pe/metadata.h"
#include "runtime/dotnet/pe/pe.h"

enum {
	READY_FUNCTIONS = 102, /* sections of READYTORUN_HEADER */
	READY_ENTRIES = 103,
	READY_INSTANCES = 109,
	READY_COLD_PARTS = 120,
	NO_NAME = UINT32_MAX, /* the row of a method of another image */
	SECTION_CODE = 0x20,
	INFO_BYTES = 4 + 2 * 255,
	PAGE = 4096,
	SLOTS = 256,
	HASH_BYTES = 16,
	SECTIONS = 7,
	SEARCH = 3, /* the section that is the search table */
	SEGMENTS = 2,
	SEARCH_COUNT = 8, /* where the search table has the number of its entries */
};

/* The header of .eh_frame_hdr (LSB 5.0, section 10.6.2), for addresses that count from 0:
 * functions from the beginning of the image, FDEs from that of .eh_frame. */
static const uint8_t search_header[] = {
	1,    0x1b,		/* .eh_frame: signed 4 bytes, from here on */
	0x03,			/* the number of entries: 4 bytes */
	0x3b,			/* entries: signed 4 bytes, from the header on */
	0xfc, 0xff, 0xff, 0xff, /* 4 bytes back: 0 */
	0,    0,    0,	  0,
};

struct conversion {
	struct op_dotnet_file file;
	struct op_dotnet_pe pe;
	const struct op_dotnet_section *text;
	uint8_t *functions;
	uint32_t count;
	struct op_dotnet_bytes frames;	/* .eh_frame */
	struct op_dotnet_bytes search;	/* .eh_frame_hdr */
	struct op_dotnet_bytes symbols; /* .symtab */
	struct op_dotnet_bytes strings; /* .strtab */
	struct op_map64 named; /* row of a method -> its name's place in strings */
	struct op_strbuf name; /* the one that is read */
};

static void conversion_deinit(struct conversion *c)
{
	op_runtime_dotnet_file_deinit(&c->file);
	free(c->functions);
	op_vec_clear(&c->frames.v);
	op_vec_clear(&c->search.v);
	op_vec_clear(&c->symbols.v);
	op_vec_clear(&c->strings.v);
	op_map64_clear(&c->named);
	op_strbuf_deinit(&c->name);
}

/* Find the code and the table of functions. */
static int open_image(struct conversion *c, int fd)
{
	struct op_dotnet_place place;
	uint32_t i;
	int r = op_runtime_dotnet_file_init(&c->file, fd, SLOTS, OP_DOTNET_IMAGE_MAX);

	if (r == 0)
		r = op_runtime_dotnet_pe(&c->file.memory, 0, &c->pe);
	if (r < 0)
		return r == -EFAULT ? -ENOEXEC : r;
	if (c->pe.machine != OP_DOTNET_MACHINE_X86_64 || !c->pe.flat)
		return -ENOEXEC;
	r = op_runtime_dotnet_pe_ready(&c->pe, READY_FUNCTIONS, &place);
	if (r <= 0)
		return r < 0 ? r : -ENOEXEC;
	for (i = 0; i < c->pe.sections && !c->text; i++)
		if (c->pe.section[i].flags & SECTION_CODE)
			c->text = &c->pe.section[i];
	c->count = place.size / OP_DOTNET_FUNCTION_BYTES;
	if (!c->text || !c->count || c->count > OP_DOTNET_FUNCTIONS_MAX ||
	    c->text->offset < sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr))
		return -ENOEXEC;
	c->functions = malloc((size_t)c->count * OP_DOTNET_FUNCTION_BYTES);
	if (!c->functions)
		return -ENOMEM;
	return op_memory_read(&c->file.memory,
			      op_runtime_dotnet_pe_at(&c->pe, place.rva, place.size),
			      c->functions, (size_t)c->count * OP_DOTNET_FUNCTION_BYTES);
}

/* Function number @i. Returns its unwind data's place, or 0 if it is none of the text's. */
static uint32_t function_at(const struct conversion *c, uint32_t i,
			    struct op_dotnet_function *ret)
{
	const size_t at = (size_t)i * OP_DOTNET_FUNCTION_BYTES;
	struct op_reader r = op_reader_init(c->functions + at, OP_DOTNET_FUNCTION_BYTES);
	const uint32_t end = c->text->rva + OP_MIN(c->text->bytes, c->text->size);

	*ret = (struct op_dotnet_function){ .begin = op_read_u32(&r),
					    .end = op_read_u32(&r) };
	if (ret->begin < c->text->rva || ret->end > end || ret->begin >= ret->end ||
	    ret->end - ret->begin > OP_DOTNET_FUNCTION_CODE_MAX)
		return 0;
	return op_read_u32(&r);
}

/* Add the FDE of @f, if it gets one, and its entry of the search table. */
static void put_fde(struct conversion *c, const struct op_dotnet_function *f)
{
	const size_t at = c->frames.v.len;

	op_runtime_dotnet_fde(&c->frames, f);
	if (c->frames.v.len == at)
		return;
	op_runtime_dotnet_put_u32(&c->search, f->begin);
	op_runtime_dotnet_put_u32(&c->search, (uint32_t)at);
}

static int end_search(struct conversion *c)
{
	const size_t bytes = c->search.v.len - sizeof(search_header);
	const uint32_t count = (uint32_t)(bytes / (2 * sizeof(count)));

	if (c->search.failed)
		return -ENOMEM;
	memcpy(c->search.v.data + SEARCH_COUNT, &count, sizeof(count));
	return 0;
}

static int read_frames(struct conversion *c)
{
	_cleanup_free_ uint8_t *code = malloc(OP_DOTNET_FUNCTION_CODE_MAX);
	uint8_t info[INFO_BYTES];
	uint32_t last = 0; /* where the function before ends */
	uint32_t i;

	if (!code)
		return -ENOMEM;
	op_runtime_dotnet_cie(&c->frames);
	op_runtime_dotnet_put(&c->search, search_header, sizeof(search_header));
	for (i = 0; i < c->count && !c->frames.failed; i++) {
		struct op_dotnet_function f;
		uint32_t unwind = function_at(c, i, &f);
		uint64_t at = op_runtime_dotnet_pe_at(&c->pe, unwind, 4);
		uint64_t text = op_runtime_dotnet_pe_at(&c->pe, f.begin, f.end - f.begin);

		/* In an honest image none is part of another: so no code is read twice. */
		if (!unwind || f.begin < last || !at || !text ||
		    op_memory_read(&c->file.memory, at, info, 4) < 0)
			continue;
		last = f.end;
		f.info_len = 4 + 2 * (size_t)info[2];
		if (op_memory_read(&c->file.memory, at, info, f.info_len) < 0 ||
		    op_memory_read(&c->file.memory, text, code, f.end - f.begin) < 0)
			continue;
		f.info = info;
		f.code = code;
		put_fde(c, &f);
	}
	op_runtime_dotnet_put_u32(&c->frames, 0);
	return c->frames.failed ? -ENOMEM : end_search(c);
}

/* The place of the name of method @row in the strings. The method may have several
 * functions. 0: it has no name. */
static uint32_t name_at(struct conversion *c, const struct op_dotnet_metadata *metadata,
			uint32_t row)
{
	uint64_t at = 0;

	if (op_map64_get(&c->named, row, &at))
		return (uint32_t)at;
	op_strbuf_reset(&c->name);
	if (op_runtime_dotnet_method_name(metadata,
					  (uint32_t)OP_DOTNET_METHOD_DEF << 24 | row,
					  &c->name) == 0 &&
	    c->name.len) {
		at = c->strings.v.len;
		op_runtime_dotnet_put(&c->strings, c->name.data, c->name.len + 1);
	}
	c->strings.failed |= op_map64_put(&c->named, row, at) < 0;
	return (uint32_t)at;
}

/* Put the rows of methods into @rows, by the numbers of their functions. */
static int find_methods(const struct conversion *c, uint32_t methods, uint32_t *rows)
{
	struct op_dotnet_entries entries;
	uint32_t function;
	uint32_t row;
	int r = op_runtime_dotnet_entries(&c->pe, READY_ENTRIES, &entries);

	for (row = 1; r == 0 && row <= methods; row++)
		if (op_runtime_dotnet_entry(&entries, row - 1, &function) == 1 &&
		    function < c->count)
			rows[function] = row;
	return r;
}

/* The same of instances of generic methods. An image has no more of them than functions. */
static int find_instances(const struct conversion *c, uint32_t *rows)
{
	struct op_dotnet_instances instances;
	uint32_t function = 0;
	uint32_t row = 0;
	uint32_t i;
	int r = op_runtime_dotnet_instances(&c->pe, READY_INSTANCES, &instances);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (i = 0; i < c->count; i++) {
		r = op_runtime_dotnet_instance(&instances, &function, &row);
		if (r <= 0)
			return r;
		if (function < c->count)
			rows[function] = row ?: NO_NAME;
	}
	return 0;
}

/* Handlers follow their method, so each function that is none belongs to the method before it.
 * Parts that were split off stand elsewhere. */
static void find_handlers(const struct conversion *c, uint32_t *rows)
{
	struct op_dotnet_place place;
	uint32_t i;

	if (op_runtime_dotnet_pe_ready(&c->pe, READY_COLD_PARTS, &place) != 0)
		return;
	for (i = 1; i < c->count; i++)
		rows[i] = rows[i] ?: rows[i - 1];
}

/* Name the functions. */
static int read_names(struct conversion *c)
{
	static const Elf64_Sym none;
	_cleanup_free_ uint32_t *rows = calloc(c->count, sizeof(*rows));
	struct op_dotnet_metadata metadata;
	uint32_t i;
	int r;

	if (!rows)
		return -ENOMEM;
	op_runtime_dotnet_put(&c->strings, "", 1);
	op_runtime_dotnet_put(&c->symbols, &none, sizeof(none));
	r = op_runtime_dotnet_metadata(
		&c->file.memory,
		op_runtime_dotnet_pe_at(&c->pe, c->pe.metadata.rva, c->pe.metadata.size),
		c->pe.metadata.size, &metadata);
	if (r == 0)
		r = find_methods(c, metadata.table[OP_DOTNET_METHOD_DEF].rows, rows);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* it has no names */
	if (find_instances(c, rows) == 0)
		find_handlers(c, rows);
	for (i = 0; i < c->count; i++) {
		struct op_dotnet_function f;
		Elf64_Sym symbol = { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				     .st_shndx = 1 };

		if (!rows[i] || rows[i] == NO_NAME || !function_at(c, i, &f))
			continue;
		symbol.st_name = name_at(c, &metadata, rows[i]);
		symbol.st_value = f.begin;
		symbol.st_size = f.end - f.begin;
		if (symbol.st_name)
			op_runtime_dotnet_put(&c->symbols, &symbol, sizeof(symbol));
	}
	return c->strings.failed || c->symbols.failed ? -ENOMEM : 0;
}

static int put_at(int fd, uint64_t at, const void *bytes, size_t len)
{
	const uint8_t *from = bytes;

	while (len) {
		ssize_t n = pwrite(fd, from, len, (off_t)at);

		if (n < 0)
			return -errno;
		from += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* What is written behind the image's bytes. */
struct part {
	const char *name;
	uint32_t type;
	const void *bytes;
	size_t len;
	uint32_t link;
	uint32_t entry;
	uint32_t align;
};

static int write_headers(const struct conversion *c, int fd, uint64_t sections,
			 uint64_t search)
{
	const uint32_t size = OP_MIN(c->text->bytes, c->text->size);
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_shoff = sections,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = SEGMENTS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS + 1,
		.e_shstrndx = SECTIONS,
	};
	const Elf64_Phdr segment[SEGMENTS] = { { .p_type = PT_LOAD,
						 .p_flags = PF_R | PF_X,
						 .p_offset = c->text->offset,
						 .p_vaddr = c->text->rva,
						 .p_paddr = c->text->rva,
						 .p_filesz = size,
						 .p_memsz = size,
						 .p_align = 1 },
					       { .p_type = PT_GNU_EH_FRAME,
						 .p_flags = PF_R,
						 .p_offset = search,
						 .p_filesz = c->search.v.len,
						 .p_align = 4 } };
	int r = put_at(fd, 0, &header, sizeof(header));

	return r < 0 ? r : put_at(fd, sizeof(header), segment, sizeof(segment));
}

static int write_parts(const struct conversion *c, int fd,
		       const struct part part[SECTIONS])
{
	Elf64_Shdr section[SECTIONS + 1] = { 0 };
	_cleanup_(op_strbuf_deinit) struct op_strbuf names = { 0 };
	uint64_t at = (c->file.size + PAGE - 1) / PAGE * PAGE;
	size_t i;
	int r = 0;

	op_strbuf_add(&names, "", 1);
	for (i = 0; i < SECTIONS; i++) {
		Elf64_Shdr *s = &section[i + 1];

		at = (at + 15) & ~UINT64_C(15);
		*s = (Elf64_Shdr){ .sh_name = (Elf64_Word)names.len,
				   .sh_type = part[i].type,
				   .sh_offset = at,
				   .sh_size = part[i].len,
				   .sh_link = part[i].link,
				   .sh_entsize = part[i].entry,
				   .sh_addralign = part[i].align };
		op_strbuf_add(&names, part[i].name, strlen(part[i].name) + 1);
		if (i == 0) { /* the code, which stands in the image */
			s->sh_offset = c->text->offset;
			s->sh_addr = c->text->rva;
			s->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
			continue;
		}
		if (i + 1 == SECTIONS) {
			s->sh_size = names.len;
			r = names.failed ? -ENOMEM
					 : put_at(fd, at, names.data, names.len);
		} else {
			r = put_at(fd, at, part[i].bytes, part[i].len);
		}
		if (r < 0)
			return r;
		at += s->sh_size;
	}
	at = (at + 15) & ~UINT64_C(15);
	r = write_headers(c, fd, at, section[SEARCH].sh_offset);
	return r < 0 ? r : put_at(fd, at, section, sizeof(section));
}

static int write_elf(const struct conversion *c, int *ret)
{
	struct {
		Elf64_Nhdr header;
		char owner[4];
		uint8_t id[HASH_BYTES];
	} note = { .header = { .n_namesz = 4,
			       .n_descsz = HASH_BYTES,
			       .n_type = NT_GNU_BUILD_ID },
		   .owner = "GNU" };
	const struct part part[SECTIONS] = {
		{ ".text", SHT_NOBITS, NULL, OP_MIN(c->text->bytes, c->text->size), 0, 0,
		  1 },
		{ ".eh_frame", SHT_PROGBITS, c->frames.v.data, c->frames.v.len, 0, 0, 4 },
		{ ".eh_frame_hdr", SHT_PROGBITS, c->search.v.data, c->search.v.len, 0, 0,
		  4 },
		{ ".symtab", SHT_SYMTAB, c->symbols.v.data, c->symbols.v.len, 5,
		  sizeof(Elf64_Sym), 8 },
		{ ".strtab", SHT_STRTAB, c->strings.v.data, c->strings.v.len, 0, 0, 1 },
		{ ".note.gnu.build-id", SHT_NOTE, &note, sizeof(note), 0, 0, 4 },
		{ ".shstrtab", SHT_STRTAB, NULL, 0, 0, 0, 1 },
	};
	_cleanup_close_ int fd = memfd_create("dotnet", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	op_hash_fnv128a((const char *)c->frames.v.data, c->frames.v.len, note.id);
	r = write_parts(c, fd, part);
	if (r == 0)
		*ret = OP_TAKE_FD(fd);
	return r;
}

int op_runtime_dotnet_elf(int fd, int *ret)
{
	_cleanup_(conversion_deinit) struct conversion c = { 0 };
	int r = open_image(&c, fd);

	if (r == 0)
		r = read_frames(&c);
	if (r == 0)
		r = read_names(&c);
	return r < 0 ? r : write_elf(&c, ret);
}
