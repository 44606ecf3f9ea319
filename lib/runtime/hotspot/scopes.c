/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the PcDesc rows around a pc, and decodes the scopes to which they refer. */
#include "runtime/hotspot/scopes.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "runtime/hotspot/lines.h"
#include "runtime/hotspot/machine/flow.h"

#include "op_types.h"

#include "op_hotspot.h"

enum {
	HEAD_BYTES_MAX = 512,
	ROW_BYTES_MAX = 64,
	SCOPE_BYTES = 15, /* three numbers */
	WORD_BYTES = 8,
	NO_ZERO_SINCE = 20,
	FLAGS_MAX = 4096,
	FLAG_NAME_BYTES = 64,
	ID_MASK = (1 << OP_HOTSPOT_ID_BITS) - 1,
};

/* A compiled method; addresses are those in the process. */
struct code {
	const struct op_memory *memory;
	const struct op_hotspot_layout *layout;
	uint64_t addr;
	uint64_t method;
	uint64_t code;
	uint64_t pcs;
	uint64_t pcs_end;
	uint64_t data;
	uint64_t data_end;
	uint64_t metadata;
	uint64_t metadata_end;
	uint8_t head[HEAD_BYTES_MAX];
	size_t head_len;
};

/* A PcDesc. */
struct row {
	int32_t pc;
	int32_t scope; /* 0: none */
};

static struct op_reader member(const struct code *c, enum op_hotspot_field field)
{
	struct op_reader r = op_reader_init(c->head, c->head_len);

	op_reader_seek(&r, c->layout->at[field]);
	return r;
}

static uint64_t pointer_of(const struct code *c, enum op_hotspot_field field)
{
	struct op_reader r = member(c, field);

	return op_read_u64(&r);
}

static uint64_t int_of(const struct code *c, enum op_hotspot_field field)
{
	struct op_reader r = member(c, field);

	return op_read_u32(&r);
}

static uint64_t short_of(const struct code *c, enum op_hotspot_field field)
{
	struct op_reader r = member(c, field);

	return op_read_u16(&r);
}

/* JDK 8 has all data in the blob. JDK 9 to 22 have it too, with a pointer to
 * the scopes. */
static void find_in_blob(struct code *c)
{
	uint64_t pcs = int_of(c, OP_HOTSPOT_NMETHOD_SCOPES_PCS);

	c->pcs = c->addr + pcs;
	c->pcs_end = c->addr + int_of(c, OP_HOTSPOT_NMETHOD_DEPENDENCIES);
	c->data = c->layout->there[OP_HOTSPOT_NMETHOD_SCOPES_POINTER]
			  ? pointer_of(c, OP_HOTSPOT_NMETHOD_SCOPES_POINTER)
			  : c->addr + int_of(c, OP_HOTSPOT_NMETHOD_SCOPES_DATA);
	c->data_end = c->pcs;
	c->metadata = c->addr + int_of(c, OP_HOTSPOT_NMETHOD_METADATA);
	c->metadata_end = c->data;
}

/* Since JDK 23 the data is in a separate allocation; since 25 the metadata is too. */
static void find_apart(struct code *c)
{
	uint64_t all = pointer_of(c, OP_HOTSPOT_NMETHOD_IMMUTABLE);
	uint64_t data = int_of(c, OP_HOTSPOT_NMETHOD_SCOPES_DATA);

	c->pcs = all + int_of(c, OP_HOTSPOT_NMETHOD_SCOPES_PCS);
	c->pcs_end = c->data = all + data;
	c->data_end = all + int_of(c, OP_HOTSPOT_NMETHOD_IMMUTABLE_BYTES);
	if (c->layout->there[OP_HOTSPOT_BLOB_MUTABLE]) {
		uint64_t mutable_data = pointer_of(c, OP_HOTSPOT_BLOB_MUTABLE);

		c->metadata = mutable_data + int_of(c, OP_HOTSPOT_BLOB_RELOCATION_BYTES);
		c->metadata_end = mutable_data + int_of(c, OP_HOTSPOT_BLOB_MUTABLE_BYTES);
	} else {
		c->metadata = c->addr + int_of(c, OP_HOTSPOT_BLOB_DATA_OFFSET) +
			      short_of(c, OP_HOTSPOT_NMETHOD_METADATA);
		c->metadata_end = c->addr + int_of(c, OP_HOTSPOT_BLOB_SIZE);
	}
}

static int read_code(struct code *c, uint32_t id)
{
	const struct op_hotspot_layout *l = c->layout;
	int r;

	c->head_len = l->at[OP_HOTSPOT_NMETHOD_BYTES];
	if (!c->head_len || c->head_len > sizeof(c->head))
		return -EBADMSG;
	r = op_memory_read(c->memory, c->addr, c->head, c->head_len);
	if (r < 0)
		return r;
	if ((int_of(c, OP_HOTSPOT_NMETHOD_COMPILE_ID) & ID_MASK) != id ||
	    short_of(c, OP_HOTSPOT_BLOB_HEADER_BYTES) != c->head_len)
		return -ESTALE;
	c->method = pointer_of(c, OP_HOTSPOT_NMETHOD_METHOD);
	c->code = l->there[OP_HOTSPOT_BLOB_CODE_BEGIN]
			  ? pointer_of(c, OP_HOTSPOT_BLOB_CODE_BEGIN)
			  : c->addr + int_of(c, OP_HOTSPOT_BLOB_CODE_OFFSET);
	if (l->there[OP_HOTSPOT_NMETHOD_IMMUTABLE])
		find_apart(c);
	else
		find_in_blob(c);
	return c->method ? 0 : -ESTALE;
}

/* The members of a code header that never change until the code is freed. */
static const enum op_hotspot_field constant[] = {
	OP_HOTSPOT_NMETHOD_COMPILE_ID,
	OP_HOTSPOT_NMETHOD_METHOD,
	OP_HOTSPOT_NMETHOD_IMMUTABLE,
};

/*
 * Was the code still alive after its rows and scopes were read? The header of freed code
 * stays the same until its memory is reused, except for the pointer to the separate data
 * (JDK 25).
 */
static int check_code(const struct code *c)
{
	const struct op_hotspot_layout *l = c->layout;
	uint8_t head[HEAD_BYTES_MAX];
	uint8_t used = 1;
	size_t i;
	int r = op_memory_read(c->memory, c->addr, head, c->head_len);

	if (r == 0 && l->there[OP_HOTSPOT_BLOCK_USED])
		r = op_memory_read(c->memory,
				   c->addr - l->at[OP_HOTSPOT_BLOCK_BYTES] +
					   l->at[OP_HOTSPOT_BLOCK_USED],
				   &used, sizeof(used));
	if (r < 0)
		return r;
	if (!used || (l->there[OP_HOTSPOT_NMETHOD_IMMUTABLE] &&
		      int_of(c, OP_HOTSPOT_NMETHOD_IMMUTABLE_BYTES) &&
		      pointer_of(c, OP_HOTSPOT_NMETHOD_IMMUTABLE) ==
			      c->addr + int_of(c, OP_HOTSPOT_BLOB_SIZE)))
		return -ESTALE;
	for (i = 0; i < OP_ARRAY_SIZE(constant); i++)
		if (l->there[constant[i]] &&
		    memcmp(head + l->at[constant[i]], c->head + l->at[constant[i]],
			   sizeof(uint32_t)) != 0)
			return -ESTALE;
	return 0;
}

static int read_row(const struct code *c, uint64_t i, struct row *ret)
{
	const uint64_t *at = c->layout->at;
	uint8_t bytes[ROW_BYTES_MAX];
	uint64_t size = at[OP_HOTSPOT_PC_DESC_BYTES];
	struct op_reader reader = op_reader_init(bytes, size);
	int r = op_memory_read(c->memory, c->pcs + i * size, bytes, size);

	if (r < 0)
		return r;
	op_reader_seek(&reader, at[OP_HOTSPOT_PC_DESC_PC]);
	ret->pc = (int32_t)op_read_u32(&reader);
	op_reader_seek(&reader, at[OP_HOTSPOT_PC_DESC_SCOPE]);
	ret->scope = (int32_t)op_read_u32(&reader);
	return reader.failed ? -EBADMSG : 0;
}

/* The number of rows, or 0 if there are none or they are inconsistent. */
static uint64_t count_rows(const struct code *c)
{
	uint64_t size = c->layout->at[OP_HOTSPOT_PC_DESC_BYTES];
	uint64_t bytes = c->pcs_end - c->pcs;

	if (!size || size > ROW_BYTES_MAX || c->pcs_end < c->pcs ||
	    bytes / size > OP_HOTSPOT_PCS_MAX)
		return 0;
	return bytes / size;
}

/*
 * The rows around offset @at: *@ret_next is the first whose pc is after it, *@ret_last
 * the one before. The first and the last row of all have no scope. Returns 0, -ENOENT if
 * there are no rows, or an error of reading.
 */
static int find_rows(const struct code *c, uint32_t at, struct row *ret_last,
		     struct row *ret_next)
{
	uint64_t count = count_rows(c);
	uint64_t low = 0;
	uint64_t high = count;
	int r;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		r = read_row(c, middle, ret_next);
		if (r < 0)
			return r;
		if (ret_next->pc > (int64_t)at)
			high = middle;
		else
			low = middle + 1;
	}
	if (!low || low >= count)
		return -ENOENT;
	r = read_row(c, low, ret_next);
	return r < 0 ? r : read_row(c, low - 1, ret_last);
}

/* Method number @i of @c; numbers begin at 1. */
static int read_method(const struct code *c, uint64_t i, uint64_t *ret)
{
	uint64_t at = c->metadata + (i - 1) * WORD_BYTES;

	if (!i || at < c->metadata || at >= c->metadata_end)
		return -EBADMSG;
	return op_memory_read(c->memory, at, ret, sizeof(*ret));
}

/* Read the scope at offset @at of the scopes' data. *@ret_caller: its caller's offset, or
 * 0. */
static int read_scope(const struct code *c, uint64_t at, struct op_hotspot_scope *ret,
		      uint64_t *ret_caller)
{
	bool no_zero = c->layout->version >= NO_ZERO_SINCE;
	uint64_t left = c->data_end - c->data;
	uint8_t bytes[SCOPE_BYTES];
	struct op_reader reader;
	uint64_t method;
	size_t len;
	int r;

	if (c->data_end < c->data || at >= left)
		return -EBADMSG;
	len = OP_MIN(left - at, sizeof(bytes));
	r = op_memory_read(c->memory, c->data + at, bytes, len);
	if (r < 0)
		return r;
	reader = op_reader_init(bytes, len);
	*ret_caller = op_runtime_hotspot_unsigned5(&reader, no_zero);
	method = op_runtime_hotspot_unsigned5(&reader, no_zero);
	ret->bci = (int32_t)(op_runtime_hotspot_unsigned5(&reader, no_zero) - 1);
	return reader.failed ? -EBADMSG : read_method(c, method, &ret->method);
}

/* Read the chain of scopes from offset @at of the scopes' data on; 0: only the method
 * itself. */
static int read_chain(const struct code *c, int32_t at, struct op_hotspot_scopes *ret)
{
	uint64_t scope = (uint32_t)at;

	ret->len = 0;
	if (!scope)
		ret->scope[ret->len++] = (struct op_hotspot_scope){ c->method, -1 };
	while (scope && ret->len < OP_HOTSPOT_SCOPES_MAX) {
		uint64_t caller;
		int r = read_scope(c, scope, &ret->scope[ret->len], &caller);

		if (r < 0)
			return r;
		/* A scope is written after its caller's; this also ends a loop. */
		if (caller >= scope)
			return -EBADMSG;
		scope = caller;
		ret->len++;
	}
	return 0;
}

/* Keep only the outermost scopes of @scopes that @other has, too. */
static void keep_shared(struct op_hotspot_scopes *scopes,
			const struct op_hotspot_scopes *other)
{
	size_t most = OP_MIN(scopes->len, other->len);
	size_t shared = 0;

	while (shared < most) {
		const struct op_hotspot_scope *a =
			&scopes->scope[scopes->len - 1 - shared];
		const struct op_hotspot_scope *b = &other->scope[other->len - 1 - shared];

		if (a->method != b->method)
			break;
		shared++;
		if (a->bci != b->bci) /* inlined at different call sites */
			break;
	}
	shared = shared ? shared : 1;
	memmove(scopes->scope, scopes->scope + scopes->len - shared,
		shared * sizeof(scopes->scope[0]));
	scopes->len = shared;
}

/* Which of the two rows probably covers the instruction at offset @at: 1 the next, -1 the
 * last, 0 neither. */
static int choose(const struct code *c, uint32_t at, const struct row *last,
		  const struct row *next)
{
	uint8_t bytes[OP_HOTSPOT_FLOW_BYTES];
	struct op_hotspot_flow flow;
	uint64_t len = (uint64_t)((int64_t)next->pc - at);

	if (next->pc <= (int64_t)at || len > sizeof(bytes) ||
	    op_memory_read(c->memory, c->code + at, bytes, len) < 0 ||
	    !op_runtime_hotspot_flow(c->layout->machine, bytes, len, &flow))
		return 0;
	if (!flow.branches && !flow.leaves)
		return 1;
	if (!flow.loops || (int64_t)at + flow.loop < last->pc)
		return 0;
	return flow.leaves ? -1 : 1;
}

/* Read the scopes of an offset between two rows. */
static int read_between(const struct code *c, uint32_t at, const struct row *last,
			const struct row *next, struct op_hotspot_scopes *ret)
{
	struct op_hotspot_scopes other;
	int chosen = choose(c, at, last, next);
	int r = read_chain(c, chosen < 0 ? last->scope : next->scope, ret);

	if (r < 0 || chosen)
		return r;
	r = read_chain(c, last->scope, &other);
	if (r == 0)
		keep_shared(ret, &other);
	return r;
}

/* Read the scopes of the code whose header is in @c. */
static int read_scopes(const struct code *c, const struct op_hotspot_place *place,
		       bool all_code, struct op_hotspot_scopes *ret)
{
	struct row last = { 0 };
	struct row next = { 0 };
	int r = find_rows(c, place->at, &last, &next);

	if (r < 0 && r != -ENOENT)
		return r;
	ret->approximate = false;
	if (r == -ENOENT)
		return read_chain(c, 0, ret);
	if (all_code || (place->called && next.pc == (int64_t)place->at + 1))
		return read_chain(c, next.scope, ret);
	ret->approximate = true;
	return read_between(c, place->at + place->called, &last, &next, ret);
}

int op_runtime_hotspot_scopes(const struct op_memory *memory,
			      const struct op_hotspot_layout *layout,
			      const struct op_hotspot_place *place, bool all_code,
			      struct op_hotspot_scopes *ret)
{
	struct code c = { .memory = memory, .layout = layout, .addr = place->nmethod };
	int r = read_code(&c, place->id);

	if (r == 0)
		r = read_scopes(&c, place, all_code, ret);
	return r < 0 ? r : check_code(&c);
}

int op_runtime_hotspot_flag(const struct op_memory *memory,
			    const struct op_hotspot_layout *layout, const char *name,
			    uint64_t *ret)
{
	const uint64_t *at = layout->at;
	char text[FLAG_NAME_BYTES];
	uint64_t flags;
	uint64_t len;
	uint64_t i;
	int r;

	for (i = OP_HOTSPOT_FLAG_BYTES; i <= OP_HOTSPOT_FLAGS_LEN_ADDRESS; i++)
		if (!layout->there[i])
			return -ENOENT;
	r = op_memory_read(memory, at[OP_HOTSPOT_FLAGS_ADDRESS], &flags, sizeof(flags));
	if (r == 0)
		r = op_memory_read(memory, at[OP_HOTSPOT_FLAGS_LEN_ADDRESS], &len,
				   sizeof(len));
	for (i = 0; r == 0 && i < OP_MIN(len, (uint64_t)FLAGS_MAX); i++) {
		uint64_t flag = flags + i * at[OP_HOTSPOT_FLAG_BYTES];
		uint64_t text_at;

		r = op_memory_read(memory, flag + at[OP_HOTSPOT_FLAG_NAME], &text_at,
				   sizeof(text_at));
		if (r < 0 || !text_at)
			break;
		r = op_runtime_hotspot_text(memory, text_at, text, sizeof(text));
		if (r < 0)
			break;
		r = 0;
		if (strcmp(text, name) == 0)
			return op_memory_read(memory, flag + at[OP_HOTSPOT_FLAG_VALUE],
					      ret, sizeof(*ret));
	}
	return r < 0 ? r : -ENOENT;
}

int op_runtime_hotspot_scopes_check(const struct op_memory *memory,
				    const struct op_hotspot_layout *layout,
				    const struct op_hotspot_place *place)
{
	const uint64_t *at = layout->at;
	uint8_t used = 1;
	uint32_t id = 0;
	int r = op_memory_read(memory, place->nmethod + at[OP_HOTSPOT_NMETHOD_COMPILE_ID],
			       &id, sizeof(id));

	if (r == 0 && layout->there[OP_HOTSPOT_BLOCK_USED])
		r = op_memory_read(memory,
				   place->nmethod - at[OP_HOTSPOT_BLOCK_BYTES] +
					   at[OP_HOTSPOT_BLOCK_USED],
				   &used, sizeof(used));
	if (r < 0)
		return r;
	return used && id == place->id ? 0 : -ESTALE;
}
