/* SPDX-License-Identifier: Apache-2.0 */
/* A file without sections whose hash table says how many symbols there are, and lies. */
#include <elf.h>
#include <time.h>
#include <unistd.h>

#include "code/elf/file.h"
#include "tools.h"

enum {
	DYNAMIC_AT = 0x200,
	HASH_AT = 0x1000,
	CPU_MS_MAX = 2000, /* a sanitizer's are many */
	DEADLINE_S = 60,
};

static const uint64_t FILE_BYTES = UINT64_C(1) << 34; /* in a few blocks of disk */

static uint64_t cpu_ms(void)
{
	struct timespec t;

	CHECK_OK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Open a file of 16 GiB whose DT_GNU_HASH begins with @words. Addresses are offsets. */
static struct op_elf *open_with(const uint32_t words[4], uint64_t bucket_at,
				uint32_t bucket)
{
	static uint8_t bytes[HASH_AT + 64];
	const Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	const Elf64_Dyn dynamic[] = {
		{ .d_tag = DT_SYMTAB, .d_un.d_val = 0x2000 },
		{ .d_tag = DT_STRTAB, .d_un.d_val = 0x3000 },
		{ .d_tag = DT_STRSZ, .d_un.d_val = 0x100 },
		{ .d_tag = DT_GNU_HASH, .d_un.d_val = HASH_AT },
		{ .d_tag = DT_NULL },
	};
	const Elf64_Phdr ph[2] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R,
		  .p_filesz = FILE_BYTES,
		  .p_memsz = FILE_BYTES },
		{ .p_type = PT_DYNAMIC,
		  .p_flags = PF_R,
		  .p_offset = DYNAMIC_AT,
		  .p_vaddr = DYNAMIC_AT,
		  .p_filesz = sizeof(dynamic),
		  .p_memsz = sizeof(dynamic) },
	};
	struct op_elf *elf = NULL;

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &eh, sizeof(eh));
	memcpy(bytes + sizeof(eh), ph, sizeof(ph));
	memcpy(bytes + DYNAMIC_AT, dynamic, sizeof(dynamic));
	memcpy(bytes + HASH_AT, words, 4 * sizeof(*words));
	if (bucket_at)
		memcpy(bytes + HASH_AT + bucket_at, &bucket, sizeof(bucket));
	tools_write_bytes("file", bytes, sizeof(bytes));
	CHECK_OK(truncate(tools_path("file"), (off_t)FILE_BYTES));
	CHECK_OK(op_elf_open_path(tools_path("file"), &elf));
	return elf;
}

static void check_refused(struct op_elf *elf, int want)
{
	struct op_elf_symtab table;
	uint64_t began = cpu_ms();

	CHECK_INT(op_elf_symtab(elf, OP_ELF_DYNSYM, &table), want);
	CHECK(cpu_ms() - began < CPU_MS_MAX);
	op_elf_free(elf);
	CHECK_OK(unlink(tools_path("file")));
}

/* Four thousand million buckets, all of them in a hole of the file. */
static void test_many_buckets(void)
{
	static const uint32_t words[4] = { UINT32_MAX, 1, 0, 0 };

	(void)alarm(DEADLINE_S);
	check_refused(open_with(words, 0, 0), -EFBIG);
	(void)alarm(0);
}

/* One bucket, whose chain never ends: no hash in a hole has the bit that ends it. */
static void test_endless_chain(void)
{
	static const uint32_t words[4] = { 1, 1, 0, 0 };

	(void)alarm(DEADLINE_S);
	check_refused(open_with(words, 16, 2), -EFBIG);
	(void)alarm(0);
}

TEST_MAIN({ "many_buckets", test_many_buckets }, { "endless_chain", test_endless_chain })
