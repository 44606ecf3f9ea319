/* SPDX-License-Identifier: Apache-2.0 */
/* The names of an ELF image, and names themselves (input that begins with '_'). */
#include <stdlib.h>
#include <string.h>

#include "code/symbol/demangle.h"
#include "code/symbol/symbols.h"

enum {
	FINDS = 64
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demangle(const uint8_t *data, size_t size)
{
	char *name = strndup((const char *)data, size);
	enum op_mangling mangling;

	if (name)
		free(op_demangle(name, &mangling));
	free(name);
}

static void find(struct op_symbols *s, uint64_t vaddr)
{
	struct op_symbol found[4];
	int n = op_symbols_find(s, vaddr, found, 4);
	int i;

	for (i = 0; i < n; i++) {
		if (!found[i].name || !found[i].system_name || !found[i].file ||
		    !found[i].frame_type[0])
			abort();
	}
	if (n > 0 && (!found[n - 1].name[0] || found[n - 1].start > vaddr))
		abort();
}

static void find_all(struct op_elf *elf, struct op_symbols *s)
{
	const struct op_elf_segment *segments;
	size_t len;
	size_t i;
	uint64_t k;

	segments = op_elf_segments(elf, &len);
	for (i = 0; i < len && i < 8; i++) {
		for (k = 0; k < FINDS; k++)
			find(s, segments[i].vaddr + segments[i].memsz / FINDS * k + k);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_symbols *symbols = NULL;
	struct op_elf *elf = NULL;
	void *copy;

	if (size && data[0] == '_') {
		demangle(data, size);
		return 0;
	}
	copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (op_elf_open_bytes(copy, size, &elf)) {
		free(copy);
		return 0;
	}
	if (!op_symbols_new(elf, NULL, NULL, &symbols))
		find_all(elf, symbols);
	op_symbols_free(symbols);
	op_elf_free(elf);
	return 0;
}
