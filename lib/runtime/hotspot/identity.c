/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/hotspot/identity.h"

#include <errno.h>
#include <stdbool.h>

#include "base/macros.h"
#include "base/reader.h"

enum {
	WORD_BYTES = 8,
	BYTE_MAX = 255,
	/* bytes of text and tables that are copied */
	NAME_BYTES = 256,
	CLASS_BYTES = 512,
	FILE_BYTES = 128,
	CONST_BYTES = 1024,
	SYMBOL_BODY_OF_11 = 8, /* of JDK 8 to 11, later ones have 6 */
};

/* Pieces of a copy; of an nmethod's one stands before them. */
enum {
	METHOD,
	CONST,
	POOL,
	NAME_SLOT,
	NAME,
	KLASS,
	KLASS_NAME,
	FILE_SLOT,
	FILE_NAME,
	CONST_WHOLE,
	PIECES,
};

/* A count of references changes: it has 16 bits, in JDK 8 to 11 the upper ones of the first four
 * bytes. */
static uint64_t symbol_mask(const struct op_hotspot_layout *layout)
{
	return layout->at[OP_HOTSPOT_SYMBOL_BODY] == SYMBOL_BODY_OF_11
		       ? ~UINT64_C(0xffff0000)
		       : ~UINT64_C(0xffff);
}

static bool is_known(const struct op_hotspot_layout *layout)
{
	static const uint8_t fields[] = {
		OP_HOTSPOT_METHOD_CONST, OP_HOTSPOT_CONST_CONSTANTS,
		OP_HOTSPOT_CONST_NAME,	 OP_HOTSPOT_CONST_CODE_SIZE,
		OP_HOTSPOT_POOL_HOLDER,	 OP_HOTSPOT_POOL_BYTES,
		OP_HOTSPOT_KLASS_NAME,	 OP_HOTSPOT_SYMBOL_LENGTH,
		OP_HOTSPOT_CONST_WORDS,
	};
	uint64_t bytes = layout->at[OP_HOTSPOT_CONST_BYTES];
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(fields); i++)
		if (layout->at[fields[i]] > BYTE_MAX - 2 * WORD_BYTES)
			return false;
	return bytes <= OP_HOTSPOT_CONST_BYTES_MAX &&
	       layout->at[OP_HOTSPOT_CONST_CONSTANTS] + WORD_BYTES <= bytes &&
	       layout->at[OP_HOTSPOT_CONST_NAME] + 2 <= bytes &&
	       layout->at[OP_HOTSPOT_CONST_CODE_SIZE] + 2 <= bytes;
}

static struct op_object_step pointer(uint8_t piece, uint64_t at, uint64_t bytes)
{
	return (struct op_object_step){ .piece = piece,
					.at = (uint8_t)at,
					.bytes = (uint8_t)OP_MIN(bytes,
								 (uint64_t)BYTE_MAX) };
}

static struct op_object_step symbol(const struct op_hotspot_layout *layout, uint8_t slot,
				    uint64_t at, uint16_t most)
{
	struct op_object_step step = pointer(slot, at, WORD_BYTES);

	step.length_at = (uint8_t)layout->at[OP_HOTSPOT_SYMBOL_LENGTH];
	step.most = most | OP_OBJECT_SHORT_LENGTH;
	return step;
}

static struct op_object_step element(const struct op_hotspot_layout *layout, uint8_t of,
				     uint64_t index)
{
	struct op_object_step step =
		pointer(POOL, layout->at[OP_HOTSPOT_POOL_BYTES], WORD_BYTES);

	step.tag = of;
	step.width_at = (uint8_t)index;
	step.most = OP_OBJECT_ELEMENT;
	return step;
}

/* The pieces of a Method. Those of the file's name are the last but one: a VM before JDK 15 has it
 * elsewhere. */
static void set_method(const struct op_hotspot_layout *l, struct op_object_step *ret)
{
	const uint64_t *at = l->at;

	ret[METHOD] = pointer(0, 0, at[OP_HOTSPOT_METHOD_CONST] + WORD_BYTES);
	ret[CONST] =
		pointer(METHOD, at[OP_HOTSPOT_METHOD_CONST], at[OP_HOTSPOT_CONST_BYTES]);
	ret[POOL] =
		pointer(CONST, at[OP_HOTSPOT_CONST_CONSTANTS], at[OP_HOTSPOT_POOL_BYTES]);
	ret[NAME_SLOT] = element(l, CONST, at[OP_HOTSPOT_CONST_NAME]);
	ret[NAME] = symbol(l, NAME_SLOT, 0, NAME_BYTES);
	ret[KLASS] = pointer(POOL, at[OP_HOTSPOT_POOL_HOLDER],
			     at[OP_HOTSPOT_KLASS_NAME] + WORD_BYTES);
	ret[KLASS_NAME] = symbol(l, KLASS, at[OP_HOTSPOT_KLASS_NAME], CLASS_BYTES);
	ret[FILE_SLOT] = element(
		l, POOL, l->there[OP_HOTSPOT_POOL_FILE] ? at[OP_HOTSPOT_POOL_FILE] : 0);
	ret[FILE_NAME] = symbol(l, FILE_SLOT, 0, FILE_BYTES);
	ret[CONST_WHOLE] = pointer(METHOD, at[OP_HOTSPOT_METHOD_CONST], WORD_BYTES);
	ret[CONST_WHOLE].length_at = (uint8_t)at[OP_HOTSPOT_CONST_WORDS];
	ret[CONST_WHOLE].most = CONST_BYTES | OP_OBJECT_WORDS;
}

void op_runtime_hotspot_identity_set(const struct op_hotspot_layout *l,
				     struct op_hotspot *bpf)
{
	const uint64_t *at = l->at;
	uint32_t i;

	_Static_assert((int)PIECES < (int)OP_OBJECT_STEPS,
		       "an nmethod has one more piece");
	if (!is_known(l))
		return;
	bpf->identity = (struct op_hotspot_identity){
		.symbol_mask = symbol_mask(l),
		.method_const = (uint8_t)at[OP_HOTSPOT_METHOD_CONST],
		.const_bytes = (uint8_t)at[OP_HOTSPOT_CONST_BYTES],
		.const_pool = (uint8_t)at[OP_HOTSPOT_CONST_CONSTANTS],
		.const_name = (uint8_t)at[OP_HOTSPOT_CONST_NAME],
		.const_code_size = (uint8_t)at[OP_HOTSPOT_CONST_CODE_SIZE],
		.pool_bytes = (uint8_t)at[OP_HOTSPOT_POOL_BYTES],
		.pool_holder = (uint8_t)at[OP_HOTSPOT_POOL_HOLDER],
		.klass_name = (uint8_t)at[OP_HOTSPOT_KLASS_NAME],
	};
	set_method(l, bpf->method);
	if (at[OP_HOTSPOT_NMETHOD_METHOD] > BYTE_MAX - WORD_BYTES)
		return;
	bpf->code[0] = pointer(0, 0, at[OP_HOTSPOT_NMETHOD_METHOD] + WORD_BYTES);
	for (i = METHOD; i < PIECES; i++) {
		struct op_object_step *step = &bpf->code[i + 1];

		*step = bpf->method[i];
		step->piece += i != METHOD;
		step->tag += (step->most & OP_OBJECT_ELEMENT) != 0;
	}
	bpf->code[METHOD + 1].at = (uint8_t)at[OP_HOTSPOT_NMETHOD_METHOD];
}

static int read_word(const struct op_memory *memory, uint64_t addr, uint64_t *ret)
{
	return op_memory_read(memory, addr, ret, sizeof(*ret));
}

static int add_symbol(const struct op_memory *memory,
		      const struct op_hotspot_layout *layout, uint64_t at, uint64_t *id)
{
	uint64_t addr;
	uint64_t word;
	int r = read_word(memory, at, &addr);

	if (r == 0)
		r = read_word(memory, addr & ~UINT64_C(1), &word);
	if (r < 0)
		return r;
	*id = op_object_id(*id, addr);
	*id = op_object_id(*id, word & symbol_mask(layout));
	return 0;
}

int op_runtime_hotspot_identity(const struct op_memory *memory,
				const struct op_hotspot_layout *layout, uint64_t addr,
				uint32_t *ret)
{
	const uint64_t *at = layout->at;
	uint8_t bytes[OP_HOTSPOT_CONST_BYTES_MAX] = { 0 };
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	uint64_t holder;
	uint64_t pool;
	uint64_t name;
	uint64_t of;
	uint64_t id;
	int error;

	if (!is_known(layout) || addr % WORD_BYTES)
		return -EBADMSG;
	error = read_word(memory, addr + at[OP_HOTSPOT_METHOD_CONST], &of);
	if (error == 0)
		error = op_memory_read(memory, of, bytes, at[OP_HOTSPOT_CONST_BYTES]);
	if (error < 0)
		return error;
	op_reader_seek(&r, at[OP_HOTSPOT_CONST_CONSTANTS]);
	pool = op_read_u64(&r);
	op_reader_seek(&r, at[OP_HOTSPOT_CONST_NAME]);
	name = op_read_u16(&r);
	op_reader_seek(&r, at[OP_HOTSPOT_CONST_CODE_SIZE]);
	id = op_object_id(op_object_id(addr, of), pool);
	id = op_object_id(id, name << 16 | op_read_u16(&r));
	error = read_word(memory, pool + at[OP_HOTSPOT_POOL_HOLDER], &holder);
	if (error < 0)
		return error;
	id = op_object_id(id, holder);
	error = add_symbol(memory, layout,
			   pool + at[OP_HOTSPOT_POOL_BYTES] + name * WORD_BYTES, &id);
	if (error == 0)
		error = add_symbol(memory, layout, holder + at[OP_HOTSPOT_KLASS_NAME],
				   &id);
	if (error < 0)
		return error;
	*ret = (uint32_t)(id >> 32) & ~OP_HOTSPOT_IS_CODE;
	return *ret ? 0 : -EBADMSG;
}
