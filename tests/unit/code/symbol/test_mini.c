/* SPDX-License-Identifier: Apache-2.0 */
/* Mini debug info in which each of many functions has a long name: what is kept is bounded. */
#include <elf.h>

#include "code/elf/file.h"
#include "code/symbol/symbols.h"
#include "tools.h"

enum {
	FUNCTIONS = 3000,
	LONG_BYTES = 8000,
	LIMIT_BYTES = 4 << 20,
	FILE_BYTES_MAX = 1 << 20,
};

static uint64_t shown; /* address of the function that .dynsym names */
static uint64_t other; /* and of one that it lacks */

/* Write what is to be linked: `shown`, one function with a long name, and many others. */
static void write_source(void)
{
	static char name[LONG_BYTES];
	FILE *out = fopen(tools_path("a.S"), "we");
	int i;

	CHECK(out);
	memset(name, 'n', sizeof(name) - 1);
	CHECK(fprintf(out, ".globl shown\n.type shown,@function\nshown: .skip 16\n"
			   ".size shown,16\n") > 0);
	for (i = -1; i < FUNCTIONS; i++) {
		char own[16];
		const char *label = i < 0 ? name : own;

		(void)snprintf(own, sizeof(own), "f%d", i);
		CHECK(fprintf(out, ".type %s,@function\n%s: .skip 16\n.size %s,16\n",
			      label, label, label) > 0);
	}
	CHECK(fprintf(out, ".section .note.GNU-stack,\"\",@progbits\n") > 0);
	CHECK_OK(fclose(out));
}

/* Give the functions of the file "debug" the long name, or each a tail of it. */
static void rename_all(bool tails)
{
	static uint8_t file[FILE_BYTES_MAX];
	FILE *f = fopen(tools_path("debug"), "r+e");
	Elf64_Ehdr *h = (void *)file;
	Elf64_Shdr *s;
	Elf64_Sym *symbol;
	const char *names;
	uint32_t name = 0;
	size_t len;
	size_t i;

	CHECK(f);
	len = fread(file, 1, sizeof(file), f);
	CHECK(len > sizeof(*h) && len < sizeof(file));
	s = (void *)(file + h->e_shoff);
	while (s->sh_type != SHT_SYMTAB)
		s++;
	names = (char *)file +
		((Elf64_Shdr *)(void *)(file + h->e_shoff))[s->sh_link].sh_offset;
	symbol = (void *)(file + s->sh_offset);
	for (i = 0; i < s->sh_size / sizeof(*symbol); i++) {
		if (!strcmp(names + symbol[i].st_name, "shown"))
			shown = symbol[i].st_value;
		if (!strcmp(names + symbol[i].st_name, "f7"))
			other = symbol[i].st_value;
		if (names[symbol[i].st_name] == 'n')
			name = symbol[i].st_name;
	}
	CHECK(shown && other && name);
	for (i = 0; i < s->sh_size / sizeof(*symbol); i++)
		if (names[symbol[i].st_name] == 'f')
			symbol[i].st_name = name + (tails ? (uint32_t)i : 0);
	CHECK_OK(fseek(f, 0, SEEK_SET));
	CHECK(fwrite(file, 1, len, f) == len);
	CHECK_OK(fclose(f));
}

static void make(bool tails)
{
	TOOLS_NEED("gcc");
	TOOLS_NEED("xz");
	write_source();
	TOOLS_RUN(
		"gcc -shared -nostdlib -o full a.S && objcopy --only-keep-debug full debug");
	rename_all(tails);
	TOOLS_RUN("xz -k -f debug && strip -o prog full && "
		  "objcopy --add-section .gnu_debugdata=debug.xz prog");
}

static size_t load(uint64_t at, char *name, size_t size)
{
	const struct op_symbols_options options = { .limit_bytes = LIMIT_BYTES };
	struct op_symbols *symbols;
	struct op_symbol found;
	struct op_elf *elf;
	size_t bytes;

	CHECK_OK(op_elf_open_path(tools_path("prog"), &elf));
	CHECK_OK(op_symbols_new(elf, &options, NULL, &symbols));
	CHECK_INT(op_symbols_find(symbols, at, &found, 1), 1);
	(void)snprintf(name, size, "%s", found.name);
	bytes = op_symbols_bytes(symbols);
	op_symbols_free(symbols);
	op_elf_free(elf);
	return bytes;
}

static void test_one_name(void)
{
	char name[LONG_BYTES + 1];

	make(false);
	CHECK(load(other, name, sizeof(name)) < (1 << 20)); /* it is kept once */
	CHECK_INT(strlen(name), LONG_BYTES - 1);
	(void)load(shown, name, sizeof(name));
	CHECK_STR(name, "shown");
}

static void test_too_many_names(void)
{
	char name[LONG_BYTES + 1];

	make(true);
	CHECK(load(shown, name, sizeof(name)) <= LIMIT_BYTES);
	CHECK_STR(name, "shown");
}

TEST_MAIN({ "one", test_one_name }, { "many", test_too_many_names })
