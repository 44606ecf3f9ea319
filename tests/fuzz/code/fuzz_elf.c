/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is read of an ELF image. */
#include <stdlib.h>
#include <string.h>

#include "code/elf/file.h"
#include "code/elf/gopclntab.h"

enum {
	SECTION_MAX = 1 << 20,
	FUNCTIONS_MAX = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_symbol(void *data, const struct op_elf_symbol *symbol, uint32_t name)
{
	size_t *total = data;

	*total += symbol->size + name;
	return 0;
}

struct go {
	struct op_gopclntab *t;
	int count;
};

static int take_function(void *data, const struct op_go_function *f)
{
	static struct op_go_line lines[4];
	struct op_go_function found;
	struct go *go = data;
	char name[64];

	if (f->end < f->entry)
		abort();
	(void)op_gopclntab_name(go->t, f, name, sizeof(name));
	(void)op_gopclntab_lines(go->t, f, f->entry + (f->end - f->entry) / 2, lines, 4);
	(void)op_gopclntab_lines(go->t, f, f->end - 1, lines, 4);
	(void)op_gopclntab_find(go->t, f->entry, &found);
	return ++go->count >= FUNCTIONS_MAX;
}

static void read_go(struct op_elf *elf)
{
	struct go go = { 0 };

	if (op_gopclntab_open(elf, &go.t))
		return;
	(void)op_gopclntab_each(go.t, take_function, &go);
	op_gopclntab_free(go.t);
}

static void read_elf(struct op_elf *elf)
{
	static const char *const names[] = { "main", "a", "_start", "runtime.text" };
	struct op_elf_symbol symbols[4];
	struct op_elf_symtab table;
	struct op_build_ids ids;
	uint64_t words[4];
	size_t total = 0;
	size_t len;
	size_t i;
	const struct op_elf_section *sections = op_elf_sections(elf, &len);
	const struct op_elf_segment *segments;

	for (i = 0; i < len; i++) {
		void *bytes = NULL;
		size_t n;

		if (op_elf_section_data(elf, &sections[i], SECTION_MAX, &bytes, &n) ==
			    0 &&
		    n > SECTION_MAX)
			abort();
		free(bytes);
	}
	segments = op_elf_segments(elf, &len);
	for (i = 0; i < len && i < 8; i++)
		(void)op_elf_read_words(elf, segments[i].vaddr, words, 4);
	(void)op_elf_build_ids(elf, &ids);
	(void)op_elf_find_symbols(elf, names, 4, symbols);
	if (op_elf_symtab(elf, OP_ELF_DYNSYM, &table) > 0)
		(void)op_elf_symbol_each(elf, &table, take_symbol, &total);
	read_go(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_elf *elf = NULL;
	void *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (op_elf_open_bytes(copy, size, &elf)) {
		free(copy);
		return 0;
	}
	read_elf(elf);
	op_elf_free(elf);
	return 0;
}
