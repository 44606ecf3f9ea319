/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF file that is made of an image of .NET with code that was compiled ahead of time. */
#include <sys/mman.h>
#include <unistd.h>

#include "code/elf/file.h"
#include "code/symbol/symbols.h"
#include "code/unwind/source.h"
#include "runtime/dotnet/pe/elf.h"
#include "runtime/dotnet/pe/pe.h"

#include "bytes.h"

enum {
	PE = 64,
	SECTION = PE + 24 + 240, /* the header of the only one */
	OFFSET = 0x400,		 /* of that section in the file */
	RVA = 0x1000,		 /* of that section */
	/* what is in it */
	CLR = OFFSET,
	READY = OFFSET + 0x80,
	UNWIND = OFFSET + 0x100,
	ENTRIES = OFFSET + 0x120,
	INSTANCES = OFFSET + 0x140,
	FUNCTIONS = OFFSET + 0x200,
	METADATA = OFFSET + 0x300,
	CODE = OFFSET + 0x500,
	CODE_BYTES = 16, /* of a function */
	COUNT = 6,
	BYTES = CODE + COUNT * CODE_BYTES,
	OWNER = INSTANCES + 8, /* the type of the first instance */
};

static uint8_t image[BYTES];

/* The method of table 103: of the first one, function 0. */
static const uint8_t entries[] = { 1 << 3, 1, 0, 0 };

/* A bucket of two: function 2 is an instance of the second method, function 4 of a method of another
 * image. */
static const uint8_t instances[] = {
	0,
	2,
	6, /* one bucket, whose entries are there */
	0,
	3 << 1,
	0,
	18 << 1, /* hash, and how far away the instance is */
	/* Outer<Outer[,]>, row 2, with one argument; function 2 */
	0x44,
	0x15,
	0x12,
	8,
	1,
	0x14,
	0x3f,
	1,
	0x12,
	8,
	2,
	0,
	0,
	2,
	1,
	0x0e,
	(2 << 2 | 1) << 1,
	/* module 3, row 1; function 4 */
	0x80,
	0x90,
	3,
	1,
	4 << 2,
};

static void set_u32(size_t at, uint32_t n)
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
	set_u32(0x3c, PE);
	memcpy(image + PE, "PE\0", 4);
	set_u32(PE + 4, OP_DOTNET_MACHINE_X86_64 | 1 << 16);
	set_u32(PE + 20, 240);
	set_u32(PE + 24 + 112 + 14 * 8, rva(CLR));
	set_u32(SECTION + 8, BYTES - OFFSET);
	set_u32(SECTION + 12, RVA);
	set_u32(SECTION + 16, BYTES - OFFSET);
	set_u32(SECTION + 20, OFFSET);
	set_u32(SECTION + 36, 0x20);
	set_u32(CLR + 8, rva(METADATA));
	set_u32(CLR + 12, sizeof(image) - METADATA);
	set_u32(CLR + 64, rva(READY));
}

static void make_section(uint32_t i, uint32_t type, size_t at, size_t bytes)
{
	set_u32(READY + 16 + i * 12, type);
	set_u32(READY + 20 + i * 12, rva(at));
	set_u32(READY + 24 + i * 12, (uint32_t)bytes);
	set_u32(READY + 12, i + 1);
}

/* COUNT functions that are alike. */
static void make_image(void)
{
	/* push rbp; sub rsp, 16; nops; add rsp, 16; pop rbp; ret */
	static const uint8_t code[CODE_BYTES] = { 0x55, 0x48, 0x83, 0xec, 0x10, 0x90,
						  0x90, 0x90, 0x90, 0x90, 0x48, 0x83,
						  0xc4, 0x10, 0x5d, 0xc3 };
	static const uint8_t info[] = { 1, 5, 2, 0, 5, 0x12, 1, 0x50 };
	struct bytes metadata = { .len = 0 };
	uint32_t i;

	memset(image, 0, sizeof(image));
	make_headers();
	set_u32(READY, 0x00525452);
	make_section(0, 102, FUNCTIONS, (size_t)COUNT * OP_DOTNET_FUNCTION_BYTES);
	make_section(1, 103, ENTRIES, sizeof(entries));
	make_section(2, 109, INSTANCES, sizeof(instances));
	memcpy(image + ENTRIES, entries, sizeof(entries));
	memcpy(image + INSTANCES, instances, sizeof(instances));
	make_metadata(&metadata);
	memcpy(image + METADATA, metadata.bytes, metadata.len);
	memcpy(image + UNWIND, info, sizeof(info));
	for (i = 0; i < COUNT; i++) {
		size_t at = FUNCTIONS + i * OP_DOTNET_FUNCTION_BYTES;

		memcpy(image + CODE + i * CODE_BYTES, code, sizeof(code));
		set_u32(at, rva(CODE + i * CODE_BYTES));
		set_u32(at + 4, rva(CODE + (i + 1) * CODE_BYTES));
		set_u32(at + 8, rva(UNWIND));
	}
}

static struct op_elf *made_of_image(void)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	struct op_elf *elf = NULL;
	int made = -1;

	CHECK(fd >= 0 && write(fd, image, sizeof(image)) == sizeof(image));
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
	struct op_source_direct *direct = NULL;
	struct op_unwind_rule rule;
	struct op_elf *elf;
	uint32_t i;
	size_t k;

	make_image();
	elf = made_of_image();
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

/* Functions that lie in one another would have the same code read again and again. */
static void test_functions_in_functions(void)
{
	struct op_source_direct *direct = NULL;
	struct op_unwind_rule rule;
	struct op_elf *elf;
	uint32_t i;

	make_image();
	for (i = 1; i < COUNT; i++)
		set_u32(FUNCTIONS + i * OP_DOTNET_FUNCTION_BYTES, rva(CODE));
	elf = made_of_image();
	CHECK_INT(op_source_direct_new(elf, &direct), 1);
	for (i = 0; i < COUNT; i++)
		CHECK_INT(
			op_source_direct_find(direct, rva(CODE + i * CODE_BYTES), &rule),
			i == 0);
	(void)op_source_direct_free(direct);
	op_elf_free(elf);
}

/* @name: of each function; NULL: it has none. */
static void check_names(const char *const name[COUNT])
{
	const struct op_symbols_options options = { 0 };
	struct op_elf *elf = made_of_image();
	struct op_symbols *symbols = NULL;
	uint32_t i;

	CHECK_OK(op_symbols_new(elf, &options, NULL, &symbols));
	for (i = 0; i < COUNT; i++) {
		struct op_symbol found = { .name = NULL };
		uint64_t at = rva(CODE + i * CODE_BYTES);

		CHECK_INT(op_symbols_find(symbols, at + 1, &found, 1), name[i] != NULL);
		if (name[i]) {
			CHECK_STR(found.name, name[i]);
			CHECK_INT(found.start, at);
		}
	}
	(void)op_symbols_free(symbols);
	op_elf_free(elf);
}

/* Instances have their method's name, and so have the handlers that follow a method. */
static void test_names(void)
{
	static const char first[] = "A.Outer.First";
	static const char second[] = "A.Outer.Inner.Second";

	make_image();
	check_names(
		(const char *const[COUNT]){ first, first, second, second, NULL, NULL });
}

/* Where not all instances can be read, what follows a method may be one. */
static void test_names_without_instances(void)
{
	static const char *const names[COUNT] = { "A.Outer.First" };
	size_t i;

	make_image();
	for (i = 0; i < 2; i++) {
		image[OWNER] =
			i ? 0x1b : 0x10; /* a function that returns..., a reference */
		memset(image + OWNER + 1, 0x1d, 64); /* a vector of vectors */
		check_names(names);
	}
	make_image();
	image[INSTANCES + 2] = 255; /* the bucket has no end */
	check_names((const char *const[COUNT]){ names[0], NULL, "A.Outer.Inner.Second" });
	make_image();
	make_section(3, 120, ENTRIES,
		     sizeof(entries)); /* some are parts that were split off */
	check_names((const char *const[COUNT]){ names[0], NULL, "A.Outer.Inner.Second" });
}

TEST_MAIN({ "rule_of_one_address", test_rule_of_one_address },
	  { "functions_in_functions", test_functions_in_functions },
	  { "names", test_names },
	  { "names_without_instances", test_names_without_instances })
