/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the dynamic section. PT_DYNAMIC locates it, as for the dynamic linker. */
#include <errno.h>

#include "base/checked.h"
#include "base/reader.h"
#include "code/elf/private.h"

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
