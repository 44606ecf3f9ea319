/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps windows of a section and replaces the least recently used one. */
#include "code/dwarf/entry.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/macros.h"

int op_dwarf_section_init(struct op_dwarf_section *s, struct op_elf *elf,
			  const char *name, size_t limit)
{
	const struct op_elf_section *section = op_elf_section(elf, name);
	void *bytes = NULL;
	size_t len;
	int r;

	if (!section || !section->size || section->type == SHT_NOBITS)
		return 0;
	op_dwarf_section_init_range(s, elf, section->offset, section->size,
				    section->addr);
	if (!(section->flags & SHF_COMPRESSED))
		return 1;
	r = op_elf_section_data(elf, section, limit, &bytes, &len);
	if (r < 0)
		return r;
	op_dwarf_section_init_bytes(s, bytes, len, section->addr);
	s->owned = bytes;
	return 1;
}

void op_dwarf_section_init_range(struct op_dwarf_section *s, struct op_elf *elf,
				 uint64_t offset, uint64_t size, uint64_t addr)
{
	*s = (struct op_dwarf_section){
		.elf = elf,
		.offset = offset,
		.size = size,
		.addr = addr,
	};
}

void op_dwarf_section_init_bytes(struct op_dwarf_section *s, const void *bytes,
				 size_t len, uint64_t addr)
{
	*s = (struct op_dwarf_section){ .bytes = bytes, .size = len, .addr = addr };
}

void op_dwarf_section_deinit(struct op_dwarf_section *s)
{
	size_t i;

	for (i = 0; i < OP_DWARF_WINDOWS; i++)
		free(s->windows[i].bytes);
	free(s->owned);
	*s = (struct op_dwarf_section){ 0 };
}

/* Fill @w from @off on: at least @len bytes, and up to @want. */
static int fill(struct op_dwarf_section *s, struct op_dwarf_window *w, uint64_t off,
		size_t len, size_t want)
{
	int r;

	want = OP_MIN(OP_MAX(want, len), OP_DWARF_WINDOW_MAX);
	want = (size_t)OP_MIN(want, s->size - off);
	w->len = 0;
	if (want > w->cap) {
		uint8_t *grown = realloc(w->bytes, want);

		if (!grown)
			return -ENOMEM;
		w->bytes = grown;
		w->cap = want;
	}
	r = op_elf_read(s->elf, s->offset + off, w->bytes, want);
	if (r < 0)
		return r;
	w->start = off;
	w->len = want;
	return 0;
}

int op_dwarf_section_load(struct op_dwarf_section *s, uint64_t off, size_t len,
			  const uint8_t **ret)
{
	struct op_dwarf_window *oldest = &s->windows[0];
	struct op_dwarf_window *w;
	size_t want = OP_DWARF_WINDOW_MIN;
	int r;

	if (!op_range_ok(off, len, s->size))
		return -EBADMSG;
	if (s->bytes) {
		*ret = s->bytes + off;
		return 0;
	}
	if (len > OP_DWARF_WINDOW_MAX)
		return -E2BIG;
	for (w = s->windows; w < s->windows + OP_DWARF_WINDOWS; w++) {
		uint64_t in = off - w->start;

		if (w->len && off >= w->start && in <= w->len) {
			if (len <= w->len - in)
				goto found;
			want = w->len * 2; /* continue at the window's end */
			break;
		}
		if (w->used < oldest->used)
			oldest = w;
	}
	if (w == s->windows + OP_DWARF_WINDOWS)
		w = oldest;
	s->last = NULL;
	r = fill(s, w, off, len, want);
	if (r < 0)
		return r;
found:
	w->used = ++s->clock;
	s->last = w;
	*ret = w->bytes + (off - w->start);
	return 0;
}

size_t op_dwarf_section_bytes(const struct op_dwarf_section *s)
{
	size_t bytes = s->owned ? (size_t)s->size : 0;
	size_t i;

	for (i = 0; i < OP_DWARF_WINDOWS; i++)
		bytes += s->windows[i].cap;
	return bytes;
}
