/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads .note.stapsdt: notes of owner "stapsdt", type 3. Each has the address of a probe,
 * the address that .stapsdt.base had when the file was linked, the address of the
 * semaphore or 0, and three strings: provider, name, arguments.
 */
#include "parts/probes/usdt.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "parts/probes/argument.h"

enum {
	NOTE_TYPE = 3,
	NOTE_ALIGN = 4,
	NOTES_BYTES_MAX = 4 << 20,
	ADDRESSES_BYTES = 3 * 8,
};

static const char OWNER[] = "stapsdt"; /* and the NUL of the note */

struct note {
	uint64_t address;
	uint64_t base;
	uint64_t semaphore;
	const char *provider;
	const char *name;
	const char *arguments; /* "" if the note has none */
};

int op_probe_offset(struct op_elf *elf, uint64_t vaddr, uint64_t *ret)
{
	size_t len;
	const struct op_elf_segment *segment = op_elf_segments(elf, &len);
	size_t i;

	for (i = 0; i < len; i++) {
		if (segment[i].type != PT_LOAD || vaddr < segment[i].vaddr ||
		    vaddr - segment[i].vaddr >= segment[i].filesz)
			continue;
		*ret = segment[i].offset + (vaddr - segment[i].vaddr);
		return 0;
	}
	return -ENOENT;
}

/* Parse the content of a note. Returns false if it is not complete. */
static bool take_desc(const uint8_t *bytes, size_t len, struct note *ret)
{
	struct op_reader r = op_reader_init(bytes, len);
	const uint8_t *end = bytes + len;
	const uint8_t *at;

	if (len < ADDRESSES_BYTES)
		return false;
	ret->address = op_read_u64(&r);
	ret->base = op_read_u64(&r);
	ret->semaphore = op_read_u64(&r);
	ret->provider = (const char *)bytes + ADDRESSES_BYTES;
	at = memchr(bytes + ADDRESSES_BYTES, 0, len - ADDRESSES_BYTES);
	if (!at)
		return false;
	ret->name = (const char *)at + 1;
	at = memchr(at + 1, 0, (size_t)(end - at) - 1);
	if (!at)
		return false;
	ret->arguments =
		memchr(at + 1, 0, (size_t)(end - at) - 1) ? (const char *)at + 1 : "";
	return true;
}

/* Add the site of @note, moved as far as its base was moved (prelink). */
static int add_site(struct op_elf *elf, const struct note *note,
		    struct op_probe_place *ret)
{
	const struct op_elf_section *base = op_elf_section(elf, ".stapsdt.base");
	uint64_t moved = base && note->base ? base->addr - note->base : 0;
	uint64_t *semaphore = &ret->semaphore[ret->sites_len];
	int r;

	if (ret->sites_len == OP_PROBE_SITES_MAX)
		return 0;
	*semaphore = 0;
	r = op_probe_offset(elf, note->address + moved, &ret->site[ret->sites_len]);
	if (r == 0 && note->semaphore)
		r = op_probe_offset(elf, note->semaphore + moved, semaphore);
	if (r < 0)
		return r;
	ret->arguments_len[ret->sites_len] = op_probe_arguments_parse(
		note->arguments, op_elf_machine(elf), ret->argument[ret->sites_len]);
	ret->sites_len++;
	return 0;
}

/* Parse the next note of @r. Returns 1 if it describes a static probe, 0 if not,
 * -ENODATA at the end. */
static int next_note(struct op_reader *r, struct note *ret)
{
	uint32_t name_len = op_read_u32(r);
	uint32_t desc_len = op_read_u32(r);
	uint32_t type = op_read_u32(r);
	const uint8_t *name = op_read_bytes(r, name_len);
	const uint8_t *desc;

	op_read_skip(r, OP_ALIGN_UP((size_t)name_len, NOTE_ALIGN) - name_len);
	desc = op_read_bytes(r, desc_len);
	if (!name || !desc)
		return -ENODATA;
	op_read_skip(r, OP_MIN(OP_ALIGN_UP((size_t)desc_len, NOTE_ALIGN) - desc_len,
			       op_reader_left(r)));
	return type == NOTE_TYPE && name_len == sizeof(OWNER) &&
	       !memcmp(name, OWNER, sizeof(OWNER)) && take_desc(desc, desc_len, ret);
}

int op_probe_usdt_find(struct op_elf *elf, const struct op_probe_spec *spec,
		       struct op_probe_place *ret)
{
	const struct op_elf_section *section = op_elf_section(elf, ".note.stapsdt");
	_cleanup_free_ void *bytes = NULL;
	struct op_reader reader;
	struct note note;
	size_t len = 0;
	int r = -ENOENT;

	ret->sites_len = 0;
	if (section)
		r = op_elf_section_data(elf, section, NOTES_BYTES_MAX, &bytes, &len);
	if (r < 0)
		return r;
	reader = op_reader_init(bytes, len);
	while (op_reader_left(&reader)) {
		int is = next_note(&reader, &note);

		if (is < 0)
			break;
		if (!is || strcmp(note.provider, spec->provider) != 0 ||
		    strcmp(note.name, spec->symbol) != 0)
			continue;
		r = add_site(elf, &note, ret);
		if (r < 0)
			return r;
	}
	return ret->sites_len ? 0 : -ENOENT;
}
