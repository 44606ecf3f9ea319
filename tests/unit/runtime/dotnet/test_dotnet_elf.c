/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF file that is made of an image of .NET with code that was compiled ahead of time. */
#include <sys/mman.h>
#include <unistd.h>

#include "code/elf/file.h"
#include "code/unwind/source.h"
#include "runtime/dotnet/pe/elf.h"
#include "runtime/dotnet/pe/pe.h"

#include "test.h"

enum {
	PE = 64,
	SECTION = PE + 24 + 240, /* the header of the only one */
	OFFSET = 0x400,		 /* of that section in the file */
	RVA = 0x1000,		 /* of that section */
	CLR = OFFSET,		 /* what is in it */
	METADATA = OFFSET + 0x80,
	READY = OFFSET + 0x100,
	UNWIND = OFFSET + 0x180,
	FUNCTIONS = OFFSET + 0x200,
	CODE = OFFSET + 0x300,
	CODE_BYTES = 16, /* of a function */
	COUNT = 20,
	BYTES = CODE + COUNT * CODE_BYTES,
};

static uint8_t image[BYTES];

static void put_u32(size_t at, uint32_t n)
{
	memcpy(image + at, &n, sizeof(n));
}

static uint32_t rva(size_t at)
{
	return (uint32_t)(at - OFFSET + RVA);
}

static void make_headers(void)
{
	memcpy(image, "MZ", 2);
	put_u32(0x3c, PE);
	memcpy(image + PE, "PE\0", 4);
	put_u32(PE + 4, OP_DOTNET_MACHINE_X86_64 | 1 << 16);
	put_u32(PE + 20, 240);
	put_u32(PE + 24 + 112 + 14 * 8, rva(CLR));
	put_u32(SECTION + 8, BYTES - OFFSET);
	put_u32(SECTION + 12, RVA);
	put_u32(SECTION + 16, BYTES - OFFSET);
	put_u32(SECTION + 20, OFFSET);
	put_u32(SECTION + 36, 0x20);
	put_u32(CLR + 8, rva(METADATA));
	put_u32(CLR + 12, 16);
	put_u32(CLR + 64, rva(READY));
	put_u32(METADATA, 0x424a5342);
}

/* COUNT functions that are alike. */
static int make_image(void)
{
	/* push rbp; sub rsp, 16; nops; add rsp, 16; pop rbp; ret */
	static const uint8_t code[CODE_BYTES] = { 0x55, 0x48, 0x83, 0xec, 0x10, 0x90,
						  0x90, 0x90, 0x90, 0x90, 0x48, 0x83,
						  0xc4, 0x10, 0x5d, 0xc3 };
	static const uint8_t info[] = { 1, 5, 2, 0, 5, 0x12, 1, 0x50 };
	int fd = memfd_create("image", MFD_CLOEXEC);
	uint32_t i;

	make_headers();
	put_u32(READY, 0x00525452);
	put_u32(READY + 12, 1);
	put_u32(READY + 16, 102);
	put_u32(READY + 20, rva(FUNCTIONS));
	put_u32(READY + 24, COUNT * OP_DOTNET_FUNCTION_BYTES);
	memcpy(image + UNWIND, info, sizeof(info));
	for (i = 0; i < COUNT; i++) {
		size_t at = FUNCTIONS + i * OP_DOTNET_FUNCTION_BYTES;

		memcpy(image + CODE + i * CODE_BYTES, code, sizeof(code));
		put_u32(at, rva(CODE + i * CODE_BYTES));
		put_u32(at + 4, rva(CODE + (i + 1) * CODE_BYTES));
		put_u32(at + 8, rva(UNWIND));
	}
	CHECK(fd >= 0 && write(fd, image, sizeof(image)) == sizeof(image));
	return fd;
}

static struct op_elf *made_of(int fd)
{
	struct op_elf *elf = NULL;
	int made = -1;

	CHECK_OK(op_runtime_dotnet_elf(fd, &made));
	CHECK_OK(op_elf_open(made, &elf));
	close(fd);
	return elf;
}

/* A large image's table takes a while: until then the rule of one address is found by the search
 * table. */
static void test_rule_of_one_address(void)
{
	static const int32_t cfa[] = {
		8, 16, 16, 16, 16, 32
	}; /* above sp, at each byte */
	struct op_elf *elf = made_of(make_image());
	struct op_source_direct *direct = NULL;
	struct op_unwind_rule rule;
	uint32_t i;
	size_t k;

	CHECK_INT(op_source_direct_new(elf, &direct), 1);
	for (i = 0; i < COUNT; i++)
		for (k = 0; k < OP_ARRAY_SIZE(cfa); k++) {
			uint64_t at = rva(CODE + i * CODE_BYTES) + k;

			CHECK_INT(op_source_direct_find(direct, at, &rule), 1);
			CHECK_INT(rule.cfa, OP_CFA_SP);
			CHECK_INT(rule.cfa_off, cfa[k]);
		}
	CHECK_INT(op_source_direct_find(direct, rva(CODE) - 1, &rule), 0);
	CHECK_INT(op_source_direct_find(direct, rva(BYTES), &rule), 0);
	(void)op_source_direct_free(direct);
	op_elf_free(elf);
}

TEST_MAIN({ "rule_of_one_address", test_rule_of_one_address })
