/* SPDX-License-Identifier: Apache-2.0 */
/* What making the table of one file may take, of memory and of time, whatever the file says. */
#include <elf.h>
#include <time.h>

#include "code/elf/file.h"

#include "cfi_bytes.h"
#include "tools.h"
#include "unwind_table.h"

enum {
	TEXT = 0x400000,
	FRAME_ADDR = 0x900000,
	FUNCTION_BYTES = 8,
	SLABS = 4,
	CPU_MS_MAX = 2000, /* a sanitizer's are many */
	DEADLINE_S = 60,
};

/* Names of sections: "", ".eh_frame", ".debug_frame", ".shstrtab". */
static const char NAMES[] = "\0.eh_frame\0.debug_frame\0.shstrtab";

enum {
	NAME_EH_FRAME = 1,
	NAME_DEBUG_FRAME = 11,
	NAME_STRINGS = 24,
};

struct fixture {
	void *slabs[SLABS];
	struct op_arena *arena;
	struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];
	struct op_unwind_rules *rules;
	struct op_elf *elf;
};

static struct fixture f;

static int add_slab(void *ctx, uint32_t index, void **ret)
{
	f.slabs[index] = *ret = malloc(OP_SLAB_BYTES);
	return *ret ? 0 : -ENOMEM;
}

/* Open a file with a segment of @text_bytes of code and a section of @frame_bytes, the first of
 * which are @frame's: those behind them are in no block of a disk. */
static void begin(uint64_t text_bytes, uint32_t name, const struct bytes *frame,
		  uint64_t frame_bytes)
{
	static const struct op_arena_ops ops = { .add_slab = add_slab };
	Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf64_Phdr ph = { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_vaddr = TEXT,
				.p_filesz = text_bytes,
				.p_memsz = text_bytes };
	Elf64_Shdr sh[3] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = name,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = name == NAME_EH_FRAME ? SHF_ALLOC : 0,
		  .sh_addr = name == NAME_EH_FRAME ? FRAME_ADDR : 0,
		  .sh_size = frame_bytes },
		{ .sh_name = NAME_STRINGS,
		  .sh_type = SHT_STRTAB,
		  .sh_size = sizeof(NAMES) },
	};
	struct bytes b = { 0 };

	eh.e_shoff = sizeof(eh) + sizeof(ph);
	sh[2].sh_offset = eh.e_shoff + sizeof(sh);
	sh[1].sh_offset = sh[2].sh_offset + sizeof(NAMES);
	put(&b, &eh, sizeof(eh));
	put(&b, &ph, sizeof(ph));
	put(&b, sh, sizeof(sh));
	put(&b, NAMES, sizeof(NAMES));
	put(&b, frame->data, frame->len);
	tools_write_bytes("file", b.data, b.len);
	free(b.data);
	CHECK_OK(truncate(tools_path("file"), (off_t)(sh[1].sh_offset + frame_bytes)));
	f = (struct fixture){ 0 };
	CHECK_OK(op_arena_new(&ops, NULL, SLABS * (uint64_t)OP_SLAB_BYTES, &f.arena));
	CHECK_OK(op_unwind_rules_new(f.memory, OP_UNWIND_RULES_MAX, &f.rules));
	CHECK_OK(op_elf_open_path(tools_path("file"), &f.elf));
}

static void end(void)
{
	struct op_arena_stats stats;
	size_t i;

	op_arena_get_stats(f.arena, &stats);
	CHECK_INT(stats.used_bytes, 0);
	op_elf_free(f.elf);
	op_unwind_rules_free(f.rules);
	op_arena_free(f.arena);
	for (i = 0; i < SLABS; i++)
		free(f.slabs[i]);
	CHECK_OK(unlink(tools_path("file")));
}

/* Make the table. Returns what that returned; the table is given back. */
static int make_table(void)
{
	struct op_unwind_table *table = NULL;
	int r = make_unwind_table(f.elf, NULL, f.arena, f.rules, NULL, &table);

	CHECK(!table == (r < 0));
	op_unwind_table_free(table, f.arena, f.rules, 0);
	return r;
}

/* @functions with a row at each byte. */
static int table_of(unsigned int functions)
{
	struct bytes b = { .addr = FRAME_ADDR };
	size_t cie = put_x86_cie(&b);
	unsigned int i;
	int r;

	for (i = 0; i < functions; i++)
		PUT_FDE(&b, cie, TEXT + (uint64_t)i * FUNCTION_BYTES, FUNCTION_BYTES,
			0x0e, 16, 0x41, 0x0e, 48, 0x41, 0x0e, 16, 0x41, 0x0e, 48, 0x41,
			0x0e, 16, 0x41, 0x0e, 48, 0x41, 0x0e, 16, 0x41, 0x0e, 48);
	begin((uint64_t)functions * FUNCTION_BYTES, NAME_EH_FRAME, &b, b.len);
	r = make_table();
	free(b.data);
	end();
	return r;
}

/* A quarter of the memory that all tables may have, and a slab where that is less. */
static void test_share_of_memory(void)
{
	const unsigned int most = OP_SLAB_BYTES / sizeof(struct op_row) / FUNCTION_BYTES;

	CHECK_OK(table_of(most / 2));
	CHECK_INT(table_of(most + most / 16), -EFBIG);
}

static uint64_t cpu_ms(void)
{
	struct timespec t;

	CHECK_OK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* 16 GiB of records in a few blocks of disk: four thousand million of no bytes. The section is
 * left out once it has had the work that the file's content is worth. */
static void test_sparse_records(void)
{
	const struct bytes none = { 0 };
	uint64_t began;

	(void)alarm(DEADLINE_S);
	begin(4096, NAME_DEBUG_FRAME, &none, UINT64_C(1) << 34);
	began = cpu_ms();
	CHECK_OK(make_table());
	CHECK(cpu_ms() - began < CPU_MS_MAX);
	end();
	(void)alarm(0);
}

TEST_MAIN({ "share_of_memory", test_share_of_memory },
	  { "sparse_records", test_sparse_records })
