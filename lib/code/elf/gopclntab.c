/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the header of Go's function table, and its functions. */
#include "code/elf/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/elf/gopclntab_private.h"
#include "code/elf/stream.h"

enum {
	HEADER_BYTES = 72,
	HEADER_TEXT = 24,      /* offset of the start of the text; since 1.18 */
	RECORD_BYTES_MAX = 44, /* bytes of a function record without its pcdata */
	STREAM_BYTES = 16 << 10,
};

static int set_version(struct op_gopclntab *t, uint32_t magic)
{
	switch (magic) {
	case 0xfffffffb:
		t->version = OP_GO_1_2;
		return 0;
	case 0xfffffffa:
		t->version = OP_GO_1_16;
		return 0;
	case 0xfffffff0:
		t->version = OP_GO_1_18;
		return 0;
	case 0xfffffff1:
		t->version = OP_GO_1_20;
		return 0;
	default:
		return -ENOTSUP;
	}
}

/* The size of a field of the function table: an address, or an offset from the text. */
static size_t field_bytes(const struct op_gopclntab *t)
{
	return t->version >= OP_GO_1_18 ? 4 : 8;
}

/* The file offset of the part that begins @off bytes into the table. */
static int part(const struct op_gopclntab *t, uint64_t off, uint64_t *ret)
{
	if (off >= t->end - t->start)
		return -EBADMSG;
	*ret = t->start + off;
	return 0;
}

static int read_parts(struct op_gopclntab *t, struct op_reader *reader)
{
	int r;

	op_read_skip(reader, 8); /* files */
	if (t->version >= OP_GO_1_18)
		t->text = op_read_u64(reader);
	r = part(t, op_read_u64(reader), &t->names);
	if (!r)
		r = part(t, op_read_u64(reader), &t->cutab);
	if (!r)
		r = part(t, op_read_u64(reader), &t->files);
	if (!r)
		r = part(t, op_read_u64(reader), &t->values);
	if (!r)
		r = part(t, op_read_u64(reader), &t->functab);
	t->funcs = t->functab;
	return r;
}

/* Check that the function table is inside: pairs of address and record, and the end of
 * the text. */
static int check_functab(struct op_gopclntab *t)
{
	uint64_t fields;
	uint64_t bytes;

	if (op_mul_overflow(t->len, UINT64_C(2), &fields) ||
	    op_add_overflow(fields, UINT64_C(1), &fields) ||
	    op_mul_overflow(fields, (uint64_t)field_bytes(t), &bytes) ||
	    !op_range_ok(t->functab, bytes, t->end))
		return -EBADMSG;
	return 0;
}

static int read_header(struct op_gopclntab *t)
{
	uint8_t bytes[HEADER_BYTES] = { 0 };
	struct op_reader reader = op_reader_init(bytes, sizeof(bytes));
	uint32_t offset;
	int r;

	r = op_elf_read(t->elf, t->start, bytes,
			(size_t)OP_MIN(t->end - t->start, (uint64_t)HEADER_BYTES));
	if (!r)
		r = set_version(t, op_read_u32(&reader));
	if (r)
		return r == -ENODATA ? -EBADMSG : r;
	if (!op_gopclntab_is_header(bytes))
		return -EBADMSG;
	op_read_skip(&reader, 2);
	t->quantum = op_read_u8(&reader);
	op_read_skip(&reader, 1); /* pointer size */
	t->len = op_read_u64(&reader);
	if (t->version != OP_GO_1_2) {
		r = read_parts(t, &reader);
		return r ? r : check_functab(t);
	}

	t->functab = t->start + 16;
	t->funcs = t->names = t->values = t->start;
	r = check_functab(t);
	if (!r)
		r = op_elf_read(t->elf, t->functab + 16 * t->len + 8, &offset,
				sizeof(offset));
	return r ? r : part(t, offset, &t->files);
}

/* Find the start of the text, which functions are relative to. Until 1.25 it is in the
 * header (subject to relocation), since 1.26 in the module data. */
static int find_text(struct op_gopclntab *t)
{
	struct op_elf_symbol symbol;
	int r;

	if (t->version < OP_GO_1_18)
		return 0;
	if (!t->text) {
		r = op_elf_read_words(t->elf, t->vaddr + HEADER_TEXT, &t->text, 1);
		if (r)
			t->text = 0;
		if (r && r != -ENODATA)
			return r;
	}
	r = op_gopclntab_read_module(t);
	if (r || t->text)
		return r;
	r = op_elf_find_symbol(t->elf, "runtime.text", &symbol);
	if (r > 0)
		t->text = symbol.value;
	return r < 0 ? r : r > 0 ? 0 : -EBADMSG;
}

/* Read field number @i of the function table, an address. */
static int read_pc(struct op_gopclntab *t, uint64_t i, uint64_t *ret)
{
	uint64_t value = 0;
	int r;

	r = op_elf_read(t->elf, t->functab + i * field_bytes(t), &value, field_bytes(t));
	if (!r)
		*ret = t->text + value;
	return r;
}

int op_gopclntab_open(struct op_elf *elf, struct op_gopclntab **ret)
{
	_cleanup_(op_gopclntab_freep) struct op_gopclntab *t = NULL;
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->elf = elf;
	t->steps_left = UINT64_MAX;
	r = op_gopclntab_locate(t);
	if (!r)
		r = read_header(t);
	if (!r)
		r = find_text(t);
	if (!r)
		r = read_pc(t, 0, &t->first_pc);
	if (!r)
		r = read_pc(t, 2 * t->len, &t->last_pc);
	if (r)
		return r;
	*ret = OP_TAKE_PTR(t);
	return 0;
}

struct op_gopclntab *op_gopclntab_free(struct op_gopclntab *t)
{
	if (!t)
		return NULL;
	free(t->index);
	free(t);
	return NULL;
}

unsigned int op_gopclntab_version(const struct op_gopclntab *t)
{
	return t->version;
}

void op_gopclntab_range(const struct op_gopclntab *t, uint64_t *ret_start,
			uint64_t *ret_end)
{
	*ret_start = t->first_pc;
	*ret_end = OP_MAX(t->last_pc, t->first_pc);
}

size_t op_gopclntab_bytes(const struct op_gopclntab *t)
{
	return sizeof(*t) + t->index_len * sizeof(*t->index);
}

/* Parse a function record; @bytes are those at t->funcs + @offset. */
static void parse_record(const struct op_gopclntab *t, const uint8_t *bytes,
			 struct op_go_function *ret)
{
	struct op_reader r = op_reader_init(bytes, op_gopclntab_record_bytes(t));

	op_read_skip(&r, field_bytes(t)); /* entry */
	ret->name = op_read_u32(&r);
	op_read_skip(&r, 8); /* args, deferreturn */
	ret->pcsp = op_read_u32(&r);
	ret->pcfile = op_read_u32(&r);
	ret->pcln = op_read_u32(&r);
	ret->npcdata = op_read_u32(&r);
	if (t->version >= OP_GO_1_16)
		ret->cu = op_read_u32(&r);
	if (t->version >= OP_GO_1_20)
		ret->start_line = op_read_u32(&r);
	if (t->version < OP_GO_1_16)
		return;
	ret->id = op_read_u8(&r);
	ret->flags = op_read_u8(&r);
	op_read_skip(&r, 1);
	ret->nfuncdata = op_read_u8(&r);
}

/* Read function number @i, which has (address, record, next address) at @fields. */
static int read_function(struct op_gopclntab *t, const uint8_t *fields,
			 struct op_elf_stream *records, struct op_go_function *ret)
{
	bool narrow = field_bytes(t) == 4;
	struct op_reader reader = op_reader_init(fields, 3 * field_bytes(t));
	struct op_go_function f = { 0 };
	uint8_t buf[RECORD_BYTES_MAX];
	const uint8_t *bytes = buf;
	uint64_t offset;
	int r;

	f.entry = t->text + (narrow ? op_read_u32(&reader) : op_read_u64(&reader));
	offset = narrow ? op_read_u32(&reader) : op_read_u64(&reader);
	f.end = t->text + (narrow ? op_read_u32(&reader) : op_read_u64(&reader));
	if (!op_range_ok(offset, op_gopclntab_record_bytes(t), t->end - t->funcs) ||
	    f.end < f.entry)
		return -EBADMSG;
	f.at = t->funcs + offset;
	r = records ? op_elf_stream_get(records, f.at, op_gopclntab_record_bytes(t),
					&bytes)
		    : op_elf_read(t->elf, f.at, buf, op_gopclntab_record_bytes(t));
	if (r)
		return r;
	parse_record(t, bytes, &f);
	*ret = f;
	return 0;
}

int op_gopclntab_each(struct op_gopclntab *t,
		      int (*fn)(void *data, const struct op_go_function *f), void *data)
{
	uint64_t at = 0;

	return op_gopclntab_each_from(t, &at, NULL, fn, data);
}

int op_gopclntab_each_from(struct op_gopclntab *t, uint64_t *at,
			   struct op_allowance *allowance,
			   int (*fn)(void *data, const struct op_go_function *f),
			   void *data)
{
	_cleanup_(op_elf_stream_deinit) struct op_elf_stream fields = { 0 };
	_cleanup_(op_elf_stream_deinit) struct op_elf_stream records = { 0 };
	int r;

	r = op_elf_stream_init(&fields, t->elf, STREAM_BYTES);
	if (!r)
		r = op_elf_stream_init(&records, t->elf, STREAM_BYTES);
	if (r)
		return r;
	for (; *at < t->len; (*at)++) {
		size_t field = field_bytes(t);
		struct op_go_function f;
		const uint8_t *bytes;

		r = op_elf_stream_get(&fields, t->functab + 2 * *at * field, 3 * field,
				      &bytes);
		if (r)
			return r;
		r = read_function(t, bytes, &records, &f);
		if (r == -EBADMSG || r == -ENODATA)
			continue;
		if (!r)
			r = fn(data, &f);
		if (r)
			return r;
		if (op_allowance_step(allowance)) {
			(*at)++;
			return -EINPROGRESS;
		}
	}
	return 0;
}

static int make_index(struct op_gopclntab *t)
{
	_cleanup_(op_elf_stream_deinit) struct op_elf_stream s = { 0 };
	_cleanup_free_ uint64_t *index = NULL;
	size_t field = field_bytes(t);
	uint64_t step;
	size_t len;
	size_t i;
	int r;

	step = OP_MAX(t->len / OP_GO_INDEX_MAX + 1, (uint64_t)OP_GO_STEP_MIN);
	len = (size_t)((t->len + step - 1) / step);
	index = calloc(len, sizeof(*index));
	if (!index)
		return -ENOMEM;
	r = op_elf_stream_init(&s, t->elf, STREAM_BYTES);
	for (i = 0; i < len && !r; i++) {
		const uint8_t *bytes;
		uint64_t value = 0;

		r = op_elf_stream_get(&s, t->functab + 2 * i * step * field, field,
				      &bytes);
		if (!r)
			memcpy(&value, bytes, field);
		index[i] = t->text + value;
	}
	if (r)
		return r;
	t->index = OP_TAKE_PTR(index);
	t->index_len = len;
	t->index_step = step;
	return 0;
}

/* The last index entry at or below @vaddr; 0 if all are above. */
static size_t find_in_index(const struct op_gopclntab *t, uint64_t vaddr)
{
	size_t above = op_first_where(i, t->index_len, t->index[i] > vaddr);

	return above ? above - 1 : 0;
}

int op_gopclntab_find(struct op_gopclntab *t, uint64_t vaddr, struct op_go_function *ret)
{
	uint8_t fields[3 * sizeof(uint64_t)];
	uint64_t low;
	uint64_t high;
	int r;

	if (!t->len || vaddr < t->first_pc || vaddr >= t->last_pc)
		return 0;
	if (!t->index) {
		r = make_index(t);
		if (r)
			return r;
	}
	low = find_in_index(t, vaddr) * t->index_step;
	high = OP_MIN(low + t->index_step, t->len);
	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;
		uint64_t pc;

		r = read_pc(t, 2 * mid, &pc);
		if (r)
			return r;
		if (pc <= vaddr)
			low = mid;
		else
			high = mid;
	}
	r = op_elf_read(t->elf, t->functab + 2 * low * field_bytes(t), fields,
			3 * field_bytes(t));
	if (!r)
		r = read_function(t, fields, NULL, ret);
	if (r)
		return r == -EBADMSG ? 0 : r;
	return vaddr >= ret->entry && vaddr < ret->end;
}
