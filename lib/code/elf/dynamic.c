/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the dynamic section, found like the dynamic linker does, by PT_DYNAMIC. */
#include <errno.h>

#include "base/checked.h"
#include "base/reader.h"
#include "code/elf/private.h"

enum {
	/* a DT_NEEDED is a file name or a path */
	NEEDED_NAME_MAX = 4096,
};

int op_elf_dynamic_each(struct op_elf *elf,
			int (*fn)(void *data, int64_t tag, uint64_t value), void *data)
{
	const struct op_elf_segment *dynamic = NULL;
	size_t i;

	for (i = 0; i < elf->segments_len && !dynamic; i++) {
		if (elf->segments[i].type == PT_DYNAMIC)
			dynamic = &elf->segments[i];
	}
	if (!dynamic)
		return 0;
	for (i = 0; i < OP_ELF_DYNAMIC_MAX; i++) {
		uint8_t bytes[sizeof(Elf64_Dyn)];
		struct op_reader reader = op_reader_init(bytes, sizeof(bytes));
		uint64_t off = i * sizeof(bytes);
		uint64_t value;
		int64_t tag;
		int r;

		if (!op_range_ok(off, sizeof(bytes), dynamic->filesz) ||
		    op_add_overflow(off, dynamic->offset, &off))
			return 0;
		r = op_elf_read(elf, off, bytes, sizeof(bytes));
		if (r)
			return r;
		tag = op_read_s64(&reader);
		value = op_read_u64(&reader);
		if (tag == DT_NULL)
			return 0;
		r = fn(data, tag, value);
		if (r)
			return r;
	}
	return 0;
}

struct needed {
	struct op_elf *elf;
	uint64_t strings; /* ELF address of the dynamic string table */
	int (*fn)(void *data, const char *name);
	void *data;
};

static int take_strtab(void *data, int64_t tag, uint64_t value)
{
	struct needed *n = data;

	if (tag == DT_STRTAB)
		n->strings = value;
	return 0;
}

static int take_needed(void *data, int64_t tag, uint64_t value)
{
	struct needed *n = data;
	char name[NEEDED_NAME_MAX];
	uint64_t addr;
	int r;

	if (tag != DT_NEEDED || op_add_overflow(n->strings, value, &addr))
		return 0;
	r = op_elf_read_vaddr_str(n->elf, addr, name, sizeof(name));
	if (r == -ENODATA || r == -ENAMETOOLONG)
		return 0;
	return r ? r : n->fn(n->data, name);
}

int op_elf_needed(struct op_elf *elf, int (*fn)(void *data, const char *name), void *data)
{
	struct needed n = { .elf = elf, .fn = fn, .data = data };
	int r;

	r = op_elf_dynamic_each(elf, take_strtab, &n);
	if (r || !n.strings)
		return r;
	return op_elf_dynamic_each(elf, take_needed, &n);
}
