/* SPDX-License-Identifier: Apache-2.0 */
/* Where a file's frame information is found: two sections at once, or no sections. */
#include <zlib.h>

#include "code/dwarf/cfi.h"
#include "code/elf/file.h"

#include "../elf/builder.h"
#include "cfi_bytes.h"
#include "unwind_table.h"

enum {
	TEXT_BYTES = 0x400,
	HDR_BYTES = 12,
};

struct fixture {
	struct builder b;
	struct bytes eh; /* .eh_frame */
	struct bytes debug;
	uint64_t text; /* ELF address of TEXT_BYTES of code */
	void *slabs[OP_SLABS_MAX];
	struct op_arena *arena;
	struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];
	struct op_unwind_rules *rules;
	struct op_elf *elf;
	struct op_unwind_table *table;
	int logged; /* lines about a section that is left out */
};

static struct fixture f;

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	*ret = f.slabs[index] = calloc(1, OP_SLAB_BYTES);
	CHECK(*ret);
	return 0;
}

static const struct op_arena_ops ops = { .add_slab = make_slab };

static void on_log(void *userdata, int level, const char *message)
{
	f.logged += strstr(message, "cannot be read") != NULL;
}

/* The address that the next section gets. */
static uint64_t next_address(void)
{
	return BUILDER_BASE + ((f.b.len + 15) & ~(size_t)15);
}

/* A file with code; .eh_frame comes next. */
static void start(void)
{
	f = (struct fixture){ 0 };
	builder_init(&f.b);
	f.text = next_address();
	builder_section(&f.b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL,
			TEXT_BYTES);
	f.eh.addr = next_address();
}

static void add_eh_frame(void)
{
	builder_section(&f.b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, f.eh.data, f.eh.len);
}

static void make_table(void)
{
	struct op_log log = { .fn = on_log, .level = OP_LOG_DEBUG };

	CHECK_OK(op_arena_new(&ops, NULL, OP_SLAB_BYTES, &f.arena));
	CHECK_OK(op_unwind_rules_new(f.memory, OP_UNWIND_RULES_MAX, &f.rules));
	CHECK_OK(op_elf_open_bytes(builder_copy(&f.b), f.b.len, &f.elf));
	CHECK_OK(make_unwind_table(f.elf, NULL, f.arena, f.rules, &log, &f.table));
	op_log_deinit(&log);
}

static void finish(void)
{
	size_t i;

	op_unwind_table_free(f.table, f.arena, f.rules, 0);
	op_elf_free(f.elf);
	op_unwind_rules_free(f.rules);
	op_arena_free(f.arena);
	free(f.eh.data);
	free(f.debug.data);
	for (i = 0; i < OP_SLABS_MAX; i++)
		free(f.slabs[i]);
}

/* The offset of the CFA from sp at @at in the code; 0: none is known, -1: no row. */
static int cfa_at(uint64_t at)
{
	struct op_unwind_rule rule = { 0 };

	if (!find_unwind_rule(f.table, f.arena, f.memory, f.text + at, &rule))
		return -1;
	if (rule.cfa == OP_CFA_INVALID)
		return 0;
	CHECK_INT(rule.cfa, OP_CFA_SP);
	return rule.cfa_off;
}

/* ---- .debug_frame ---- */

static void put_debug_cie(struct bytes *b)
{
	size_t at = b->len;

	put32(b, 0);
	put32(b, UINT32_MAX);
	put8(b, 3);
	put8(b, 0); /* no augmentation */
	put8(b, 1);
	put8(b, 0x78); /* -8 */
	put8(b, 16);
	put(b, X86_CIE, sizeof(X86_CIE));
	end_record(b, at);
}

/* An FDE of the CIE at offset 0. */
static void put_debug_fde(uint64_t from, uint64_t size, const uint8_t *program,
			  size_t len)
{
	size_t at = f.debug.len;

	put32(&f.debug, 0);
	put32(&f.debug, 0);
	put64(&f.debug, f.text + from);
	put64(&f.debug, size);
	put(&f.debug, program, len);
	end_record(&f.debug, at);
}

#define PUT_DEBUG_FDE(from, size, ...)                                                   \
	put_debug_fde(from, size, (const uint8_t[]){ __VA_ARGS__ },                      \
		      sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void add_debug_frame(void)
{
	builder_section(&f.b, ".debug_frame", SHT_PROGBITS, 0, f.debug.data, f.debug.len);
}

/* Compressed, said to have @size bytes. */
static void add_compressed(uint64_t size)
{
	Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = size };
	uint8_t out[sizeof(header) + 4096];
	uLongf len = sizeof(out) - sizeof(header);

	memcpy(out, &header, sizeof(header));
	CHECK_INT(compress(out + sizeof(header), &len, f.debug.data, f.debug.len), Z_OK);
	builder_section(&f.b, ".debug_frame", SHT_PROGBITS, SHF_COMPRESSED, out,
			sizeof(header) + len);
}

/* A program whose own code has .debug_frame alone and whose start files have .eh_frame. */
static void test_debug_frame_fills_what_eh_frame_leaves(void)
{
	size_t cie;

	start();
	cie = put_x86_cie(&f.eh);
	PUT_FDE(&f.eh, cie, f.text + 0x40, 0x20, 0x0e, 16);
	PUT_FDE(&f.eh, cie, f.text + 0xa0, 0x10, 0x0e, 32);
	PUT_FDE(&f.eh, cie, f.text + 0x100, 0x20, 0x0e, 40);
	add_eh_frame();
	put_debug_cie(&f.debug);
	PUT_DEBUG_FDE(0x200, 0x10, 0x0e, 48); /* behind all others */
	/* around one of .eh_frame, with rows before, in and behind it */
	PUT_DEBUG_FDE(0x80, 0x60, 0x0e, 56, 0x68, 0x0e, 64, 0x58, 0x0e, 72);
	PUT_DEBUG_FDE(0x110, 0x20, 0x0e, 80); /* over the end of one */
	PUT_DEBUG_FDE(0x40, 0x20, 0x0e, 88);  /* the same function */
	PUT_DEBUG_FDE(0x48, 0x08, 0x0e, 88);
	PUT_DEBUG_FDE(0x00, 0x20, 0x0e, 96); /* before all others */
	add_debug_frame();
	builder_finish(&f.b);
	make_table();
	CHECK_INT(f.table->fdes, 9);
	CHECK_INT(f.table->bad_fdes, 0);
	CHECK_INT(cfa_at(0x00), 96);
	CHECK_INT(cfa_at(0x1f), 96);
	CHECK_INT(cfa_at(0x20), 0);
	CHECK_INT(cfa_at(0x3f), 0);
	CHECK_INT(cfa_at(0x40), 16);
	CHECK_INT(cfa_at(0x5f), 16);
	CHECK_INT(cfa_at(0x60), 0);
	CHECK_INT(cfa_at(0x80), 56);
	CHECK_INT(cfa_at(0x9f), 56);
	CHECK_INT(cfa_at(0xa0), 32);
	CHECK_INT(cfa_at(0xaf), 32);
	CHECK_INT(cfa_at(0xb0), 64);
	CHECK_INT(cfa_at(0xbf), 64);
	CHECK_INT(cfa_at(0xc0), 72);
	CHECK_INT(cfa_at(0xdf), 72);
	CHECK_INT(cfa_at(0xe0), 0);
	CHECK_INT(cfa_at(0x100), 40);
	CHECK_INT(cfa_at(0x11f), 40);
	CHECK_INT(cfa_at(0x120), 80);
	CHECK_INT(cfa_at(0x12f), 80);
	CHECK_INT(cfa_at(0x130), 0);
	CHECK_INT(cfa_at(0x200), 48);
	CHECK_INT(cfa_at(0x210), 0);
	finish();
}

/* The size that the header of a compressed .debug_frame tells, and what comes of it. */
static void check_compressed(bool has_eh, uint64_t size, int in_debug, int logged)
{
	size_t cie;

	start();
	cie = put_x86_cie(&f.eh);
	PUT_FDE(&f.eh, cie, f.text + 0x40, 0x20, 0x0e, 16);
	if (has_eh)
		add_eh_frame();
	put_debug_cie(&f.debug);
	PUT_DEBUG_FDE(0x80, 0x20, 0x0e, 24);
	add_compressed(size ? size : f.debug.len);
	builder_finish(&f.b);
	make_table();
	CHECK_INT(cfa_at(0x48), has_eh ? 16 : 0);
	CHECK_INT(cfa_at(0x88), in_debug);
	CHECK_INT(f.logged, logged);
	finish();
}

/* What cannot be decompressed is left out and costs the rest nothing. */
static void test_compressed_debug_frame(void)
{
	check_compressed(true, 0, 24, 0);
	check_compressed(false, 0, 24, 0);
	check_compressed(true, OP_CFI_INFLATED_MAX + 1, 0, 1);
	check_compressed(false, OP_CFI_INFLATED_MAX + 1, 0, 1);
	check_compressed(true, 4000, 0, 1); /* more than there is */
}

/* ---- no section headers ---- */

/* .eh_frame_hdr of @len FDEs at the offsets in @fdes, for the program header. */
static void add_hdr(const size_t *fdes, const uint64_t *starts, size_t len, bool table)
{
	struct bytes b = { .addr = next_address() };
	size_t i;

	put8(&b, 1);
	put8(&b, 0x1b);
	put8(&b, table ? 0x03 : 0xff);
	put8(&b, table ? 0x3b : 0xff);
	put32(&b, (uint32_t)(f.eh.addr - (b.addr + 4)));
	put32(&b, (uint32_t)len);
	for (i = 0; i < len; i++) {
		put32(&b, (uint32_t)(f.text + starts[i] - b.addr));
		put32(&b, (uint32_t)(f.eh.addr + fdes[i] - b.addr));
	}
	builder_section(&f.b, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, b.data, b.len);
	free(b.data);
}

/* Cut the file behind its segment; the header is section 3. */
static void cut(void)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)f.b.bytes;
	Elf64_Phdr *p = (Elf64_Phdr *)(void *)(f.b.bytes + sizeof(*h));

	builder_finish(&f.b);
	h->e_shoff = 0;
	h->e_shnum = h->e_shstrndx = 0;
	p[1] = (Elf64_Phdr){
		.p_type = PT_GNU_EH_FRAME,
		.p_flags = PF_R,
		.p_offset = f.b.sections[3].sh_offset,
		.p_vaddr = f.b.sections[3].sh_addr,
		.p_filesz = f.b.sections[3].sh_size,
		.p_memsz = f.b.sections[3].sh_size,
	};
	f.b.len = p[0].p_filesz;
}

/* As sstrip(1) leaves files. Behind the terminator stands what is no record. */
static void check_no_sections(bool table)
{
	static const uint64_t starts[] = { 0x40, 0x80 };
	size_t fdes[2];
	size_t cie;

	start();
	cie = put_x86_cie(&f.eh);
	fdes[1] = PUT_FDE(&f.eh, cie, f.text + 0x80, 0x20, 0x0e, 24);
	fdes[0] = PUT_FDE(&f.eh, cie, f.text + 0x40, 0x20, 0x0e, 16);
	put32(&f.eh, 0);
	PUT_FDE(&f.eh, cie, f.text + 0xc0, 0x20, 0x0e, 32);
	add_eh_frame();
	add_hdr(fdes, starts, 2, table);
	cut();
	make_table();
	CHECK_INT(f.table->fdes, 2);
	CHECK_INT(f.table->bad_fdes, 0);
	CHECK_INT(cfa_at(0x40), 16);
	CHECK_INT(cfa_at(0x5f), 16);
	CHECK_INT(cfa_at(0x60), 0);
	CHECK_INT(cfa_at(0x80), 24);
	CHECK_INT(cfa_at(0xa0), 0);
	CHECK_INT(cfa_at(0xc0), 0);
	finish();
}

static void test_no_sections(void)
{
	check_no_sections(true);
	check_no_sections(false);
}

/* A header that points out of what is loaded gives nothing, and no error. */
static void test_header_that_points_nowhere(void)
{
	static const uint64_t starts[] = { 0x40 };
	uint64_t addr;
	size_t fde;

	start();
	fde = PUT_FDE(&f.eh, put_x86_cie(&f.eh), f.text + 0x40, 0x20, 0x0e, 16);
	addr = f.eh.addr;
	add_eh_frame();
	f.eh.addr = BUILDER_BASE + BUILDER_BYTES;
	add_hdr(&fde, starts, 1, true);
	f.eh.addr = addr;
	cut();
	make_table();
	CHECK_INT(f.table->fdes, 0);
	CHECK_INT(cfa_at(0x40), 8);
	finish();
}

TEST_MAIN({ "both", test_debug_frame_fills_what_eh_frame_leaves },
	  { "compressed", test_compressed_debug_frame },
	  { "no_sections", test_no_sections },
	  { "nowhere", test_header_that_points_nowhere })
