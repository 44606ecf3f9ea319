/* SPDX-License-Identifier: Apache-2.0 */
/* Parses jitdump records, and finds entries and lines by address. */
#include "runtime/jitdump/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"

enum {
	MAGIC = 0x4a695444, /* "JiTD", in the writer's byte order */
	VERSION = 1,
	HEADER_MAX = 4096,
	RECORD_BYTES_MIN = 16,
	/* kinds of records */
	CODE_LOAD = 0,
	CODE_MOVE = 1,
	CODE_DEBUG_INFO = 2,
	CODE_CLOSE = 3,
	NAME_BYTES_MAX = 1024,
	CODE_BYTES_MAX = 1 << 30, /* limit of one entry */
	/* V8 adds 64 to the addresses of line records: the size of the ELF header that
	 * perf inject will put before the code. */
	ELF_HEADER_BYTES = 64,
	/* Entries before an address that are searched for one that covers it. */
	LINE_BYTES_MIN = 8 + 4 + 4 + 1,
	NESTING_MAX = 64,
};

/* This file name stands for the file name of the line before. */
static const char same_file[] = "\xff";

void op_jitdump_init(struct op_jitdump *d)
{
	memset(d, 0, sizeof(*d));
}

void op_jitdump_deinit(struct op_jitdump *d)
{
	op_vec_clear(&d->entries);
	op_vec_clear(&d->lines);
	op_vec_clear(&d->text);
	op_vec_clear(&d->places);
	op_map64_clear(&d->by_index);
}

size_t op_jitdump_bytes(const struct op_jitdump *d)
{
	return d->entries.cap * sizeof(*d->entries.data) +
	       d->lines.cap * sizeof(*d->lines.data) + d->text.cap +
	       d->places.cap * sizeof(*d->places.data);
}

uint32_t op_jitdump_header(const void *bytes, size_t len)
{
	struct op_reader r = op_reader_init(bytes, len);
	uint32_t magic = op_read_u32(&r);
	uint32_t version = op_read_u32(&r);
	uint32_t size = op_read_u32(&r);

	if (len < OP_JITDUMP_HEADER_BYTES || magic != MAGIC || version != VERSION ||
	    size < OP_JITDUMP_HEADER_BYTES || size > HEADER_MAX)
		return 0;
	return size;
}

/* Store a copy of @text. Returns 1 with its offset; 0 past the limit; -ENOMEM. */
static int keep_text(struct op_jitdump *d, const char *text, uint32_t *ret)
{
	size_t len = strnlen(text, NAME_BYTES_MAX - 1);

	if (d->text.len + len + 1 > OP_JITDUMP_TEXT_MAX) {
		d->dropped++;
		return 0;
	}
	if (op_vec_reserve(&d->text, len + 1) < 0)
		return -ENOMEM;
	memcpy(d->text.data + d->text.len, text, len);
	d->text.data[d->text.len + len] = 0;
	*ret = (uint32_t)d->text.len;
	d->text.len += len + 1;
	return 1;
}

/* Add an entry at its start address. Returns 0 or -ENOMEM. */
static int add_entry(struct op_jitdump *d, const struct op_jitdump_entry *entry)
{
	struct op_jitdump_place *place;
	struct op_jitdump_entry *e;
	uint32_t number = (uint32_t)d->entries.len;

	place = op_vec_push(&d->places);
	if (!place)
		return -ENOMEM;
	*place = (struct op_jitdump_place){ .start = entry->start, .entry = number };
	e = op_vec_push(&d->entries);
	if (!e) {
		d->places.len--;
		return -ENOMEM;
	}
	*e = *entry;
	d->unsorted = true;
	return op_map64_put(&d->by_index, e->index, number);
}

/* ---- limits ---- */

/* May one more record not fit? */
static bool is_full(const struct op_jitdump *d)
{
	return d->entries.len >= OP_JITDUMP_ENTRIES_MAX ||
	       d->text.len + OP_JITDUMP_RECORD_BYTES > OP_JITDUMP_TEXT_MAX ||
	       d->lines.len + OP_JITDUMP_RECORD_BYTES / LINE_BYTES_MIN >
		       OP_JITDUMP_LINES_MAX;
}

/* Append @lines lines of @from, from number @line on. Returns 1; 0 past the limit; -ENOMEM. */
static int copy_lines(struct op_jitdump *to, const struct op_jitdump *from, uint32_t line,
		      uint32_t lines)
{
	uint32_t old = UINT32_MAX;
	uint32_t file = 0;
	uint32_t i;

	for (i = 0; i < lines; i++) {
		struct op_jitdump_line l = from->lines.data[line + i];
		struct op_jitdump_line *copy;
		int r = l.file == old ? 1
				      : keep_text(to, from->text.data + l.file, &file);

		if (r <= 0)
			return r;
		copy = op_vec_push(&to->lines);
		if (!copy)
			return -ENOMEM;
		old = l.file;
		l.file = file;
		*copy = l;
	}
	return 1;
}

/* Drop the older half of the entries, with their lines and texts. Returns 0 or -ENOMEM. */
static int drop_older(struct op_jitdump *d)
{
	_cleanup_(op_jitdump_deinit) struct op_jitdump kept = {
		.debug_addr = d->debug_addr,
		.debug_lines = d->debug_lines,
		.closed = d->closed,
		.dropped = d->dropped,
	};
	size_t first = (d->entries.len + 1) / 2;
	struct op_jitdump old = *d;
	int r = 1;
	size_t i;

	for (i = first; i < d->entries.len && r >= 0; i++) {
		struct op_jitdump_entry e = d->entries.data[i];
		uint32_t line = (uint32_t)kept.lines.len;

		if (!e.size)
			continue;
		r = keep_text(&kept, d->text.data + e.name, &e.name);
		if (r > 0)
			r = copy_lines(&kept, d, e.line, e.lines);
		e.line = line;
		if (r > 0)
			r = add_entry(&kept, &e);
	}
	kept.debug_line = (uint32_t)kept.lines.len;
	if (r >= 0)
		r = copy_lines(&kept, d, d->debug_line, d->debug_lines);
	if (r < 0)
		return r;
	kept.dropped += first;
	*d = kept;
	kept = old;
	return 0;
}

static int take_load(struct op_jitdump *d, struct op_reader *reader)
{
	struct op_jitdump_entry e = { 0 };
	const char *name;
	int r;

	op_read_skip(reader, 8 + 8); /* pid, tid, the address it is linked at */
	e.start = op_read_u64(reader);
	e.size = op_read_u64(reader);
	e.index = op_read_u64(reader);
	name = op_read_cstr(reader);
	if (reader->failed || !name)
		return -EBADMSG;
	if (!*name || !e.size || e.size > CODE_BYTES_MAX || e.start > UINT64_MAX - e.size)
		return 0;
	if (d->entries.len >= OP_JITDUMP_ENTRIES_MAX) {
		d->dropped++;
		return 0;
	}
	if (d->debug_lines && d->debug_addr == e.start) {
		e.line = d->debug_line;
		e.lines = d->debug_lines;
	}
	d->debug_lines = 0;
	r = keep_text(d, name, &e.name);
	return r <= 0 ? r : add_entry(d, &e);
}

static int take_move(struct op_jitdump *d, struct op_reader *r)
{
	struct op_jitdump_entry e;
	uint64_t number;
	uint64_t index;
	uint64_t from;
	uint64_t to;

	op_read_skip(r, 8 + 8);
	from = op_read_u64(r);
	to = op_read_u64(r);
	op_read_skip(r, 8); /* the code's size */
	index = op_read_u64(r);
	if (r->failed)
		return -EBADMSG;
	if (!op_map64_get(&d->by_index, index, &number) ||
	    d->entries.data[number].start != from)
		return 0;
	if (d->entries.len >= OP_JITDUMP_ENTRIES_MAX) {
		d->dropped++;
		return 0;
	}
	e = d->entries.data[number];
	if (to > UINT64_MAX - e.size)
		return 0;
	d->entries.data[number].size = 0;
	e.start = to;
	return add_entry(d, &e);
}

/* Read one line of the debug record for the code at @addr. Returns 1; 0 if the record has
 * no more lines; -ENOMEM. */
static int take_line(struct op_jitdump *d, struct op_reader *reader, uint64_t addr,
		     uint32_t *file)
{
	struct op_jitdump_line *line;
	uint64_t offset = op_read_u64(reader) - addr;
	uint32_t number = op_read_u32(reader);
	const char *name;
	int r = 1;

	op_read_skip(reader, 4); /* the discriminator, which is a column in V8's files */
	name = op_read_cstr(reader);
	if (reader->failed || !name)
		return 0;
	if (d->lines.len >= OP_JITDUMP_LINES_MAX) {
		d->dropped++;
		return 0;
	}
	if (strcmp(name, same_file) != 0 &&
	    (!d->debug_lines || strcmp(name, d->text.data + *file) != 0))
		r = keep_text(d, name, file);
	else if (!d->debug_lines)
		return 0;
	if (r <= 0)
		return r;
	line = op_vec_push(&d->lines);
	if (!line)
		return -ENOMEM;
	*line = (struct op_jitdump_line){ .offset = (uint32_t)offset,
					  .line = number,
					  .file = *file };
	d->debug_lines++;
	/* An address outside the code breaks the specification: no line of the record is
	 * used. */
	return offset <= CODE_BYTES_MAX ? 1 : -EBADMSG;
}

static int take_debug_info(struct op_jitdump *d, struct op_reader *reader)
{
	uint32_t file = 0;
	uint64_t count;
	size_t before;
	uint32_t i;
	int r = 1;

	d->lines.len -= d->debug_lines; /* these lines wait for code that never came */
	before = d->lines.len;
	d->debug_addr = op_read_u64(reader);
	count = op_read_u64(reader);
	if (reader->failed)
		return -EBADMSG;
	d->debug_line = (uint32_t)before;
	d->debug_lines = 0;
	while (count-- && r > 0)
		r = take_line(d, reader, d->debug_addr, &file);
	if (r < 0) {
		d->lines.len = before;
		d->debug_lines = 0;
		return r == -ENOMEM ? r : 0;
	}
	for (i = 0; i < d->debug_lines; i++)
		if (d->lines.data[before + i].offset < ELF_HEADER_BYTES)
			return 0;
	for (i = 0; i < d->debug_lines; i++)
		d->lines.data[before + i].offset -= ELF_HEADER_BYTES;
	return 0;
}

int64_t op_jitdump_record(struct op_jitdump *d, const uint8_t *bytes, size_t len,
			  uint64_t left)
{
	struct op_reader reader = op_reader_init(bytes, len);
	uint32_t id = op_read_u32(&reader);
	uint32_t size = op_read_u32(&reader);
	int r = 0;

	if (left < RECORD_BYTES_MIN)
		return 0;
	if (reader.failed || size < RECORD_BYTES_MIN)
		return -EBADMSG;
	if (size > left)
		return 0;
	while (r == 0 && is_full(d))
		r = drop_older(d);
	if (r < 0)
		return r;
	reader = op_reader_init(bytes, OP_MIN(len, (size_t)size));
	op_read_skip(&reader, RECORD_BYTES_MIN);
	if (id == CODE_LOAD)
		r = take_load(d, &reader);
	else if (id == CODE_MOVE)
		r = take_move(d, &reader);
	else if (id == CODE_DEBUG_INFO)
		r = take_debug_info(d, &reader);
	else if (id == CODE_CLOSE)
		d->closed = true;
	return r < 0 ? r : (int64_t)size;
}

static int compare_places(const void *a, const void *b)
{
	const struct op_jitdump_place *x = a;
	const struct op_jitdump_place *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* Sort by address; of several entries at one address keep only the last written. */
static void sort(struct op_jitdump *d)
{
	struct op_jitdump_place *p = d->places.data;
	size_t len = 0;
	size_t i;

	d->unsorted = false;
	if (!d->places.len)
		return;
	qsort(p, d->places.len, sizeof(*p), compare_places);
	for (i = 0; i < d->places.len; i++) {
		if (!d->entries.data[p[i].entry].size)
			continue;
		if (len && p[len - 1].start == p[i].start)
			len--;
		p[len++] = p[i];
	}
	d->places.len = len;
}

/* Find the line of byte @offset of the code @e: the last line that begins before it. */
static void find_line(const struct op_jitdump *d, const struct op_jitdump_entry *e,
		      uint64_t offset, struct op_jitdump_found *ret)
{
	const struct op_jitdump_line *best = NULL;
	uint32_t i;

	for (i = 0; i < e->lines; i++) {
		const struct op_jitdump_line *l = &d->lines.data[e->line + i];

		if (l->offset <= offset && (!best || l->offset >= best->offset))
			best = l;
	}
	if (!best)
		return;
	ret->line = best->line;
	ret->file = d->text.data + best->file;
}

int op_jitdump_find(struct op_jitdump *d, uint64_t addr, struct op_jitdump_found *ret)
{
	const struct op_jitdump_entry *found = NULL;
	size_t above;
	size_t i;

	if (d->unsorted)
		sort(d);
	above = op_first_where(k, d->places.len, d->places.data[k].start > addr);
	for (i = above; i > 0 && above - i < NESTING_MAX; i--) {
		const struct op_jitdump_entry *e =
			&d->entries.data[d->places.data[i - 1].entry];

		if (addr - e->start < e->size && (!found || e > found))
			found = e;
	}
	if (!found)
		return 0;
	*ret = (struct op_jitdump_found){ .name = d->text.data + found->name,
					  .file = "" };
	find_line(d, found, addr - found->start, ret);
	return 1;
}
