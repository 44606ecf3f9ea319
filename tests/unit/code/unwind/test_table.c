/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>

#include "code/elf/file.h"

#include "cfi_bytes.h"
#include "unwind_table.h"

enum {
	FRAME_ADDR = 0x100000, /* .eh_frame */
	TEXT = 0x200000,
	TEXT_BYTES = 0x60000,
	TEXT2 = 0x300000,
	TEXT2_BYTES = 0x1000,
	PAGE = 1 << OP_PAGE_SHIFT,
	RBP = 6,
	RSP = 7,
};

static const char NAMES[] = "\0.eh_frame\0.shstrtab";

static bool
	huge_memsz; /* the first segment has 8 GiB in memory, the second in the file */

/* An ELF file in memory with two executable segments and the given .eh_frame. */
static struct op_elf *make_elf(const struct bytes *frame, uint16_t machine,
			       uint64_t entry)
{
	Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_entry = entry,
		.e_phoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	Elf64_Phdr ph[2] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_vaddr = TEXT,
		  .p_filesz = TEXT_BYTES,
		  .p_memsz = TEXT_BYTES,
		  .p_align = 4096 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_vaddr = TEXT2,
		  .p_filesz = TEXT2_BYTES,
		  .p_memsz = TEXT2_BYTES,
		  .p_align = 4096 },
	};
	Elf64_Shdr sh[3] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC,
		  .sh_addr = FRAME_ADDR,
		  .sh_size = frame->len },
		{ .sh_name = 11, .sh_type = SHT_STRTAB, .sh_size = sizeof(NAMES) },
	};
	struct op_elf *elf = NULL;
	struct bytes b = { 0 };

	if (huge_memsz) {
		ph[0].p_memsz = (UINT64_C(8) << 30) - (2 << OP_PAGE_SHIFT);
		ph[1].p_vaddr = UINT64_C(16) << 30;
		ph[1].p_memsz = ph[1].p_filesz = ph[0].p_memsz;
	}
	sh[1].sh_offset = sizeof(eh) + sizeof(ph);
	sh[2].sh_offset = sh[1].sh_offset + frame->len;
	eh.e_shoff = sh[2].sh_offset + sizeof(NAMES);
	put(&b, &eh, sizeof(eh));
	put(&b, ph, sizeof(ph));
	put(&b, frame->data, frame->len);
	put(&b, NAMES, sizeof(NAMES));
	put(&b, sh, sizeof(sh));
	CHECK_OK(op_elf_open_bytes(b.data, b.len, &elf));
	return elf;
}

struct fixture {
	void *slabs[OP_SLABS_MAX];
	uint32_t slabs_len;
	struct op_arena *arena;
	struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];
	struct op_unwind_rules *rules;
	struct op_elf *elf;
	struct op_unwind_table *table;
};

static struct fixture f;

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	f.slabs[index] = malloc(OP_SLAB_BYTES);
	CHECK(f.slabs[index]);
	memset(f.slabs[index], 0xa5, OP_SLAB_BYTES);
	f.slabs_len = index + 1;
	*ret = f.slabs[index];
	return 0;
}

static const struct op_arena_ops ops = { .add_slab = make_slab };

/* Takes @frame's bytes. */
static void setup(struct bytes *frame, uint16_t machine, uint64_t entry,
		  const struct op_unwind_table_loop *loop)
{
	f = (struct fixture){ 0 };
	CHECK_OK(op_arena_new(&ops, NULL, 4 * OP_SLAB_BYTES, &f.arena));
	CHECK_OK(op_unwind_rules_new(f.memory, OP_UNWIND_RULES_MAX, &f.rules));
	f.elf = make_elf(frame, machine, entry);
	free(frame->data);
	CHECK_OK(make_unwind_table(f.elf, loop, f.arena, f.rules, NULL, &f.table));
}

/* Releasing the table gives back all of the arena. */
static void teardown(void)
{
	struct op_arena_stats stats;
	uint32_t i;

	op_arena_get_stats(f.arena, &stats);
	if (f.table)
		CHECK_INT(stats.used_bytes, f.table->arena_bytes);
	op_unwind_table_free(f.table, f.arena, f.rules, 1);
	op_arena_get_stats(f.arena, &stats);
	CHECK_INT(stats.used_bytes, 0);
	op_elf_free(f.elf);
	op_unwind_rules_free(f.rules);
	op_arena_free(f.arena);
	for (i = 0; i < f.slabs_len; i++)
		free(f.slabs[i]);
}

#define CHECK_RULE(at, want_cfa, want_off, want_save, want_save_off)                     \
	do {                                                                             \
		struct op_unwind_rule _r = { 0 };                                        \
		CHECK_INT(find_unwind_rule(f.table, f.arena, f.memory, at, &_r), 1);     \
		CHECK_INT(_r.cfa, want_cfa);                                             \
		CHECK_INT(_r.cfa_off, want_off);                                         \
		CHECK_INT(_r.save, want_save);                                           \
		CHECK_INT(_r.save_off, want_save_off);                                   \
	} while (0)

static void test_gaps_padding_and_ends(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);

	PUT_FDE(&b, cie, TEXT + 0x100, 0x20, 0x44, 0x0e, 64);
	PUT_FDE(&b, cie, TEXT + 0x12f, 0x11, 0x44, 0x0e, 32); /* 15 bytes after */
	PUT_FDE(&b, cie, TEXT + 0x150, 0x10, 0x44, 0x0e, 32); /* 16 bytes after */
	PUT_FDE(&b, cie, TEXT + 0x30000, 0x10, 0x44, 0x0e, 48);
	PUT_FDE(&b, cie, 0x1000, 0x10, 0x44, 0x0e, 32); /* not in the text */
	setup(&b, EM_X86_64, 0, NULL);
	CHECK_INT(f.table->fdes, 5);
	CHECK_INT(f.table->bad_fdes, 0);
	CHECK_RULE(TEXT, OP_CFA_INVALID, 0, 0, 0);
	CHECK_RULE(TEXT + 0xff, OP_CFA_INVALID, 0, 0, 0);
	CHECK_RULE(TEXT + 0x100, OP_CFA_SP, 8, 0, 0);
	CHECK_RULE(TEXT + 0x103, OP_CFA_SP, 8, 0, 0);
	CHECK_RULE(TEXT + 0x104, OP_CFA_SP, 64, 0, 0);
	CHECK_RULE(TEXT + 0x12e, OP_CFA_SP, 64, 0, 0); /* padding */
	CHECK_RULE(TEXT + 0x12f, OP_CFA_SP, 8, 0, 0);
	CHECK_RULE(TEXT + 0x13f, OP_CFA_SP, 32, 0, 0);
	CHECK_RULE(TEXT + 0x140, OP_CFA_INVALID, 0, 0, 0);
	CHECK_RULE(TEXT + 0x14f, OP_CFA_INVALID, 0, 0, 0);
	CHECK_RULE(TEXT + 0x150, OP_CFA_SP, 8, 0, 0);
	/* Much code without information may be of another kind. */
	CHECK_RULE(TEXT + 0x160, OP_CFA_FRAME, 0, OP_SAVE_CHECK, 0);
	CHECK_RULE(TEXT + 0x2ffff, OP_CFA_FRAME, 0, OP_SAVE_CHECK, 0);
	CHECK_RULE(TEXT + 0x30004, OP_CFA_SP, 48, 0, 0);
	CHECK_RULE(TEXT + TEXT_BYTES - 1, OP_CFA_FRAME, 0, OP_SAVE_CHECK, 0);
	CHECK_INT(find_unwind_rule(f.table, f.arena, f.memory, TEXT - 1,
				   &(struct op_unwind_rule){ 0 }),
		  0);
	/* The other segment has no functions: it is one gap. */
	CHECK_RULE(TEXT2, OP_CFA_INVALID, 0, 0, 0);
	CHECK(f.table->segments[1].segment != 0);
	teardown();
}

static void test_runs_are_exact(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);
	uint64_t at = TEXT + PAGE - 4; /* a run that meets the end of a page */
	int i;

	PUT_FDE(&b, cie, TEXT, 0x100, /* pushes, a frame, pops, and the frame again */
		0x42, 0x0e, 16, 0x42, 0x0e, 24, 0x41, 0x0e, 32, 0x86, 4, /* push rbp */
		0x41, 0x0e, 40, 0x44, 0x0e, 0x80, 0x01,			 /* sub rsp, 88 */
		0x50, 0x0a, 0x0e, 40, 0x41, 0x0e, 32, 0x41, 0x0e, 24, 0x42, 0x0e, 16,
		0x42, 0x0e, 8, 0x41, 0x0b);
	PUT_FDE(&b, cie, at, 0x100, 0x42, 0x0e, 16, 0x42, 0x0e, 24, 0x42, 0x0e, 32);
	setup(&b, EM_X86_64, 0, NULL);
	CHECK_RULE(TEXT + 1, OP_CFA_SP, 8, 0, 0);
	CHECK_RULE(TEXT + 2, OP_CFA_SP, 16, 0, 0);
	CHECK_RULE(TEXT + 3, OP_CFA_SP, 16, 0, 0);
	CHECK_RULE(TEXT + 4, OP_CFA_SP, 24, 0, 0);
	CHECK_RULE(TEXT + 5, OP_CFA_SP, 32, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 6, OP_CFA_SP, 40, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 9, OP_CFA_SP, 40, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 10, OP_CFA_SP, 128, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 26, OP_CFA_SP, 40, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 27, OP_CFA_SP, 32, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 28, OP_CFA_SP, 24, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 29, OP_CFA_SP, 24, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 30, OP_CFA_SP, 16, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 32, OP_CFA_SP, 8, OP_SAVE_FP, -32);
	CHECK_RULE(TEXT + 33, OP_CFA_SP, 128, OP_SAVE_FP, -32);
	for (i = 0; i < 8; i++)
		CHECK_RULE(at + (uint64_t)i, OP_CFA_SP, i < 6 ? 8 + i / 2 * 8 : 32, 0, 0);
	/* Ten rows would say it one by one; here: pushes, pushes, body, pops, body, gap;
	 * pushes at the end of the page; a row carried over, one more, the gap. */
	CHECK(f.table->rows < 6 + 10 + TEXT_BYTES / PAGE);
	teardown();
}

static void test_long_functions_hold_on_later_pages(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);
	const struct op_segment *segment;
	const struct op_page *pages;
	uint32_t i;

	PUT_FDE(&b, cie, TEXT + 0x10, 0x2fff0, 0x44, 0x0e, 64);
	PUT_FDE(&b, cie, TEXT + 0x30000, TEXT_BYTES, 0x44, 0x0e,
		32); /* past the segment */
	setup(&b, EM_X86_64, 0, NULL);
	CHECK_RULE(TEXT + PAGE, OP_CFA_SP, 64, 0, 0);
	CHECK_RULE(TEXT + 2 * PAGE + 77, OP_CFA_SP, 64, 0, 0);
	CHECK_RULE(TEXT + 0x2ffff, OP_CFA_SP, 64, 0, 0);
	CHECK_RULE(TEXT + 0x30000, OP_CFA_SP, 8, 0, 0);
	CHECK_RULE(TEXT + TEXT_BYTES - 1, OP_CFA_SP, 32, 0, 0);
	segment = op_arena_at(f.arena, f.table->segments[0].segment);
	CHECK_INT(segment->vaddr, TEXT);
	CHECK_INT(segment->page_count, TEXT_BYTES / PAGE);
	pages = op_arena_at(f.arena, segment->pages);
	for (i = 0; i < segment->page_count; i++) {
		const struct op_row *rows = op_arena_at(f.arena, pages[i].rows);

		CHECK(pages[i].count > 0);
		CHECK_INT(rows[0].pc, 0);
	}
	teardown();
}

static void test_overlapping_functions(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);

	PUT_FDE(&b, cie, TEXT + 0x40, 0x80, 0x0e, 32, 0x70, 0x0e, 48); /* 0x40 .. 0xc0 */
	PUT_FDE(&b, cie, TEXT, 0x60, 0x0e, 16);			       /* 0x00 .. 0x60 */
	PUT_FDE(&b, cie, TEXT + 0x10, 0x20, 0x0e, 64); /* inside the first */
	setup(&b, EM_X86_64, 0, NULL);
	CHECK_RULE(TEXT + 0x10, OP_CFA_SP, 16, 0, 0);
	CHECK_RULE(TEXT + 0x5f, OP_CFA_SP, 16, 0, 0);
	CHECK_RULE(TEXT + 0x60, OP_CFA_SP, 32, 0, 0);
	CHECK_RULE(TEXT + 0x70, OP_CFA_SP, 48, 0, 0);
	CHECK_RULE(TEXT + 0xbf, OP_CFA_SP, 48, 0, 0);
	CHECK_RULE(TEXT + 0xc0, OP_CFA_FRAME, 0, OP_SAVE_CHECK, 0);
	teardown();
}

static void test_signal_plt_stop_and_entry(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);
	size_t signal = put_cie(&b, "zRS", 0x1b, 16, X86_CIE, sizeof(X86_CIE));
	struct op_unwind_table_loop loop = { .runtime = OP_RUNTIME_PYTHON, .count = 2 };
	const struct op_segment *segment;
	struct op_unwind_rule before;

	PUT_FDE(&b, cie, TEXT, 0x20, 0x0e, 16, 0x46, 0x0e, 24, 0x4a, /* .plt */
		0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	PUT_FDE(&b, cie, TEXT + 0x100, 0x26, 0x07, 16); /* _start */
	PUT_FDE(&b, signal, TEXT + 0x200, 9, SIGNAL_FRAME);
	PUT_FDE(&b, cie, TEXT + 0x209, 0x17, 0x0e, 16);
	PUT_FDE(&b, signal, TEXT + 0x220, 9, SIGNAL_FRAME); /* right after another */
	PUT_FDE(&b, signal, TEXT2, 9, SIGNAL_FRAME);	    /* at the start of the text */
	loop.range[0][0] = TEXT + 0x209;
	loop.range[0][1] = TEXT + 0x210;
	loop.range[1][0] = TEXT2 + 0x10;
	loop.range[1][1] = TEXT2 + 0x20;
	setup(&b, EM_X86_64, TEXT + 0x300, &loop);
	CHECK_RULE(TEXT, OP_CFA_SP, 16, 0, 0);
	CHECK_RULE(TEXT + 15, OP_CFA_SP, 24, 0, 0);
	CHECK_RULE(TEXT + 16, OP_CFA_PLT, 11, 0, 0);
	CHECK_RULE(TEXT + 0x100, OP_CFA_STOP, 0, 0, 0);
	CHECK(find_unwind_rule(f.table, f.arena, f.memory, TEXT + 0x1fe, &before) == 1 &&
	      before.cfa != OP_CFA_SIGNAL);
	CHECK_RULE(TEXT + 0x1ff, OP_CFA_SIGNAL, 0, 0, 0);
	CHECK_RULE(TEXT + 0x208, OP_CFA_SIGNAL, 0, 0, 0);
	CHECK_RULE(TEXT + 0x209, OP_CFA_SP, 16, 0, 0);
	CHECK_RULE(TEXT + 0x21f, OP_CFA_SP, 16, 0, 0);
	CHECK_RULE(TEXT + 0x220, OP_CFA_SIGNAL, 0, 0, 0);
	CHECK_RULE(TEXT2, OP_CFA_SIGNAL, 0, 0, 0);
	/* The entry point, which no FDE covers. */
	CHECK_RULE(TEXT + 0x300, OP_CFA_STOP, 0, 0, 0);
	CHECK_RULE(TEXT + 0x300 + OP_UNWIND_TABLE_ENTRY_BYTES - 1, OP_CFA_STOP, 0, 0, 0);
	CHECK_RULE(TEXT + 0x300 + OP_UNWIND_TABLE_ENTRY_BYTES, OP_CFA_FRAME, 0,
		   OP_SAVE_CHECK, 0);
	segment = op_arena_at(f.arena, f.table->segments[0].segment);
	CHECK_INT(segment->runtime, OP_RUNTIME_PYTHON);
	CHECK_INT(segment->loop_count, 1);
	CHECK_INT(segment->loop[0][1], TEXT + 0x210);
	segment = op_arena_at(f.arena, f.table->segments[1].segment);
	CHECK_INT(segment->loop_count, 1);
	CHECK_INT(segment->loop[0][0], TEXT2 + 0x10);
	teardown();
}

static void test_what_no_rule_says(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);

	PUT_FDE(&b, cie, TEXT, 0x10, 0x09, RBP, 3);   /* rbp is kept in rbx */
	PUT_FDE(&b, cie, TEXT + 0x10, 0x10, 0x90, 2); /* return address at CFA - 16 */
	PUT_FDE(&b, cie, TEXT + 0x20, 0x10, 0x09, 16, 5, 0x0c, RSP,
		0);					   /* popped to rdi */
	PUT_FDE(&b, cie, TEXT + 0x30, 0x10, 0x0c, 40, 8);  /* CFA by a vector register */
	PUT_FDE(&b, cie, TEXT + 0x40, 0x10, 0x0c, 10, 24); /* by r10 */
	PUT_FDE(&b, cie, TEXT + 0x50, 0x10, 0x87, 2);	   /* rsp itself was saved */
	PUT_FDE(&b, cie, TEXT + 0x60, 0x10, 0x3f);	   /* unreadable */
	setup(&b, EM_X86_64, 0, NULL);
	CHECK_RULE(TEXT, OP_CFA_INVALID, 0, 0, 0);
	CHECK_RULE(TEXT + 0x10, OP_CFA_INVALID, 0, 0, 0);
	CHECK_RULE(TEXT + 0x20, OP_CFA_SP, 0, OP_SAVE_RA_REG, 5);
	CHECK_RULE(TEXT + 0x30, OP_CFA_INVALID, 0, 0, 0);
	CHECK_RULE(TEXT + 0x40, OP_CFA_REG, 24 * 256 + 10, 0, 0);
	CHECK_RULE(TEXT + 0x50, OP_CFA_INVALID, 0, 0, 0);
	CHECK_RULE(TEXT + 0x60, OP_CFA_INVALID, 0, 0, 0);
	CHECK_INT(f.table->inexpressible, 4);
	CHECK_INT(f.table->bad_fdes, 1);
	teardown();
}

static void test_aarch64(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_cie(&b, "zR", 0x1b, 30, ARM_CIE, sizeof(ARM_CIE));

	PUT_FDE(&b, cie, TEXT, 0x40, 0x44, 0x0e, 48, 0x9d, 6, 0x9e, 5, /* stp x29, x30 */
		0x44, 0x0d, 29, 0x44, 0x0e, 0, 0xdd, 0xde);
	PUT_FDE(&b, cie, TEXT + 0x40, 0x40, 0x44, 0x0e, 16, 0x9e, 2, /* x30 alone */
		0x44, 0xde, 0x9d, 2,				     /* x29 alone */
		0x44, 0x9e, 2, 0x9d, 1,	 /* the other way round */
		0x44, 0xdd, 0x09, 30, 9, /* lr in x9 */
		0x44, 0x07, 30);
	setup(&b, EM_AARCH64, 0, NULL);
	CHECK_RULE(TEXT, OP_CFA_SP, 0, OP_SAVE_NONE, 0);
	CHECK_RULE(TEXT + 4, OP_CFA_SP, 48, OP_SAVE_PAIR, -48);
	CHECK_RULE(TEXT + 8, OP_CFA_FP, 48, OP_SAVE_PAIR, -48);
	CHECK_RULE(TEXT + 12, OP_CFA_FP, 0, OP_SAVE_NONE, 0);
	CHECK_RULE(TEXT + 0x44, OP_CFA_SP, 16, OP_SAVE_RA, -16);
	CHECK_RULE(TEXT + 0x48, OP_CFA_SP, 16, OP_SAVE_FP, -16);
	CHECK_RULE(TEXT + 0x4c, OP_CFA_INVALID, 0, 0, 0);
	CHECK_RULE(TEXT + 0x50, OP_CFA_SP, 16, OP_SAVE_RA_REG, 9);
	CHECK_RULE(TEXT + 0x54, OP_CFA_STOP, 0, 0, 0);
	CHECK_INT(f.table->inexpressible, 1);
	teardown();
}

/* A file without frame information: what its code and its entry point say. */
static void test_no_information(void)
{
	struct bytes b = { .addr = FRAME_ADDR };

	put32(&b, 0);
	setup(&b, EM_X86_64, TEXT, NULL);
	CHECK_INT(f.table->segments_len, 2);
	CHECK_RULE(TEXT, OP_CFA_STOP, 0, 0, 0);
	teardown();
}

static void test_nothing_is_kept_past_the_budget(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);
	size_t taken;
	int refused = 0;
	int i;

	for (i = 0; i < 4000; i++)
		PUT_FDE(&b, cie, TEXT + (uint64_t)i * 64, 32, 0x42, 0x0e,
			(uint8_t)(24 + i % 13 * 8));
	PUT_FDE(&b, cie, TEXT2, 32, 0);
	setup(&b, EM_X86_64, 0, NULL);
	op_unwind_table_free(f.table, f.arena, f.rules, 0);
	f.table = NULL;
	op_arena_reclaim(f.arena, UINT64_MAX);
	/* Take the rest in ever smaller pieces: the table is refused at each of its
	 * allocations in turn. */
	for (taken = OP_SLAB_BYTES; taken >= 8;) {
		struct op_arena_stats before;
		struct op_arena_stats after;
		op_ref ref;
		void *at;

		if (op_arena_alloc(f.arena, taken, &ref, &at) < 0) {
			taken /= 2;
			continue;
		}
		op_arena_get_stats(f.arena, &before);
		i = make_unwind_table(f.elf, NULL, f.arena, f.rules, NULL, &f.table);
		op_unwind_table_free(f.table, f.arena, f.rules, 0);
		op_arena_get_stats(f.arena, &after);
		op_arena_reclaim(f.arena, UINT64_MAX);
		CHECK_INT(after.used_bytes, before.used_bytes);
		CHECK(i == 0 || (i == -ENOSPC && !f.table));
		f.table = NULL;
		refused += i < 0;
	}
	CHECK(refused > 4);
	op_elf_free(f.elf);
	op_unwind_rules_free(f.rules);
	op_arena_free(f.arena);
	for (i = 0; i < (int)f.slabs_len; i++)
		free(f.slabs[i]);
}

/* One function finds its CFA by rbx: then the rules of all of the file follow that. */
static void test_kept_register(void)
{
	enum {
		SAME = OP_SAVE_KEPT_SAME << OP_SAVE_KEPT_SHIFT,
	};
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);

	PUT_FDE(&b, cie, TEXT, 0x20, 0x44, 0x0e, 64, 0x83, 7);
	PUT_FDE(&b, cie, TEXT + 0x20, 0x20, 0x44, 0x0c, 3, 24);
	setup(&b, EM_X86_64, 0, NULL);
	CHECK(f.table->wants_kept);
	CHECK_RULE(TEXT, OP_CFA_SP, 8, SAME, 0);
	CHECK_RULE(TEXT + 4, OP_CFA_SP, 64, 7 << OP_SAVE_KEPT_SHIFT, 0);
	CHECK_RULE(TEXT + 0x24, OP_CFA_REG, 24 << 8 | 3, SAME, 0);
	teardown();
	/* nobody asks for it: no row more */
	b = (struct bytes){ .addr = FRAME_ADDR };
	cie = put_x86_cie(&b);
	PUT_FDE(&b, cie, TEXT, 0x20, 0x44, 0x0e, 64, 0x83, 7);
	setup(&b, EM_X86_64, 0, NULL);
	CHECK_RULE(TEXT + 4, OP_CFA_SP, 64, 0, 0);
	teardown();
}

/* A file that asks for 32,768 rules has its share of them, and others have theirs. */
static void test_flood_of_rules(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);
	struct op_unwind_table *again = NULL;
	int i;

	for (i = 0; i < 32768; i++)
		PUT_FDE(&b, cie, TEXT + (uint64_t)i * 8, 8, 0x0e,
			(uint8_t)(0x80 | (i & 0x7f)), (uint8_t)(0x80 | (i >> 7 & 0x7f)),
			(uint8_t)(1 + (i >> 14)));
	setup(&b, EM_X86_64, 0, NULL);
	CHECK_INT(f.table->rules.numbers.len, OP_UNWIND_RULES_SET_MAX);
	CHECK(op_unwind_rules_used(f.rules) < OP_UNWIND_RULES_MAX / 2);
	CHECK_OK(make_unwind_table(f.elf, NULL, f.arena, f.rules, NULL, &again));
	CHECK_INT(again->rules.numbers.len, OP_UNWIND_RULES_SET_MAX);
	op_unwind_table_free(again, f.arena, f.rules, 0);
	op_unwind_table_free(f.table, f.arena, f.rules, 0);
	f.table = NULL;
	CHECK_INT(op_unwind_rules_used(f.rules), 3);
	teardown();
}

/* Text that is not in the file takes no pages: 16 segments of 8 GiB in 4 KiB would take 32 MiB
 * of the arena. */
static void test_segments_of_nothing(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);

	PUT_FDE(&b, cie, TEXT, 32, 0);
	f = (struct fixture){ 0 };
	CHECK_OK(op_arena_new(&ops, NULL, 4 * OP_SLAB_BYTES, &f.arena));
	CHECK_OK(op_unwind_rules_new(f.memory, OP_UNWIND_RULES_MAX, &f.rules));
	huge_memsz = true;
	f.elf = make_elf(&b, EM_X86_64, 0);
	huge_memsz = false;
	free(b.data);
	CHECK_OK(make_unwind_table(f.elf, NULL, f.arena, f.rules, NULL, &f.table));
	CHECK_INT(f.table->segments_len, 1);
	CHECK_INT(f.table->segments[0].memsz, TEXT_BYTES);
	CHECK(f.table->arena_bytes < 4096);
	teardown();
}

/* Make the table of @elf, a little in each call. Returns how many there were. */
static unsigned int make_in_slices(struct op_elf *elf, struct op_unwind_table **ret)
{
	struct op_unwind_table_job *job = NULL;
	unsigned int calls = 0;
	int r;

	CHECK_OK(op_unwind_table_job_new(elf, NULL, f.arena, f.rules, NULL, &job));
	do {
		struct op_allowance over = op_allowance_within(NULL, 1);

		r = op_unwind_table_job_run(job, &over, ret);
		calls++;
	} while (r == -EINPROGRESS);
	CHECK_OK(r);
	op_unwind_table_job_free(job);
	return calls;
}

/* A table that is made in slices is the one that is made at once, rule for rule. */
static void check_slices(struct op_elf *elf, uint64_t step)
{
	struct op_unwind_table *whole = NULL;
	struct op_unwind_table *parts = NULL;
	const struct op_unwind_table_segment *s;
	uint64_t rules = 0;
	size_t i;

	CHECK_OK(make_unwind_table(elf, NULL, f.arena, f.rules, NULL, &whole));
	CHECK(make_in_slices(elf, &parts) > 10);
	CHECK_INT(parts->rows, whole->rows);
	CHECK_INT(parts->fdes, whole->fdes);
	CHECK_INT(parts->bad_fdes, whole->bad_fdes);
	CHECK_INT(parts->segments_len, whole->segments_len);
	for (i = 0; i < whole->segments_len; i++) {
		uint64_t at;

		s = &whole->segments[i];
		for (at = s->vaddr; at < s->vaddr + s->memsz; at += step) {
			struct op_unwind_rule a = { 0 };
			struct op_unwind_rule b = { 0 };

			CHECK_INT(find_unwind_rule(parts, f.arena, f.memory, at, &a),
				  find_unwind_rule(whole, f.arena, f.memory, at, &b));
			CHECK(memcmp(&a, &b, sizeof(a)) == 0);
			rules += a.cfa == OP_CFA_SP;
		}
	}
	CHECK(rules > 100);
	op_unwind_table_free(parts, f.arena, f.rules, 0);
	op_unwind_table_free(whole, f.arena, f.rules, 0);
}

static void test_slices(void)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);
	struct op_arena_stats before;
	struct op_arena_stats after;
	struct op_allowance over = op_allowance_within(NULL, 1);
	struct op_unwind_table_job *job = NULL;
	struct op_unwind_table *none = NULL;
	struct op_elf *self = NULL;
	int i;

	/* out of order, and with gaps between them */
	for (i = 0; i < 3000; i++)
		PUT_FDE(&b, cie, TEXT + (uint64_t)(i * 7919 % 3000) * 64, 32, 0x42, 0x0e,
			(uint8_t)(24 + i % 13 * 8));
	setup(&b, EM_X86_64, 0, NULL);
	check_slices(f.elf, 7);
	/* code without frame information, a linkage table, a search table */
	CHECK_OK(op_elf_open_path("/proc/self/exe", &self));
	check_slices(self, 13);
	/* given up half-way: nothing is left behind */
	op_arena_get_stats(f.arena, &before);
	CHECK_OK(op_unwind_table_job_new(self, NULL, f.arena, f.rules, NULL, &job));
	for (i = 0; i < 60; i++)
		CHECK_INT(op_unwind_table_job_run(job, &over, &none), -EINPROGRESS);
	op_unwind_table_job_free(job);
	op_arena_get_stats(f.arena, &after);
	CHECK_INT(after.used_bytes, before.used_bytes);
	op_elf_free(self);
	teardown();
}

TEST_MAIN({ "kept_register", test_kept_register }, { "gaps", test_gaps_padding_and_ends },
	  { "runs", test_runs_are_exact },
	  { "pages", test_long_functions_hold_on_later_pages },
	  { "overlap", test_overlapping_functions },
	  { "signal", test_signal_plt_stop_and_entry },
	  { "inexpressible", test_what_no_rule_says }, { "aarch64", test_aarch64 },
	  { "none", test_no_information }, { "rule_flood", test_flood_of_rules },
	  { "nothing", test_segments_of_nothing }, { "slices", test_slices },
	  { "budget", test_nothing_is_kept_past_the_budget })
