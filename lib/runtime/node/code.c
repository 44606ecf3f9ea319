/* SPDX-License-Identifier: Apache-2.0 */
/* Finds bytecode and machine code in the process, with positions and inlined calls. */
#include "runtime/node/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/node/functions.h"

enum {
	ALIGN = 32, /* alignment of instructions; most versions have 64 */
	CHUNK = 4096,
	HEAD_WORDS = OP_NODE_HEAD_WORDS,
	/* size of InliningPosition: a position, the function's number, padding */
	INLINING_BYTES = 16,
	WEAK = 2, /* bit of a weak reference */
	ADDRESS_BITS = 47,
	DEOPT_WORDS_MAX = 65536,
};

void op_runtime_node_codes_init(struct op_node_codes *codes,
				const struct op_node_heap *heap,
				const struct op_node_opcodes *opcodes)
{
	*codes = (struct op_node_codes){ .heap = heap, .opcodes = opcodes };
}

static void clear_bytecode(struct op_node_bytecode *b)
{
	free(b->table);
	free(b->bytes);
}

static void drop_bytecodes(struct op_node_codes *codes)
{
	struct op_node_bytecode *b;

	op_vec_foreach(b, &codes->bytecodes)
		clear_bytecode(b);
	op_vec_clear(&codes->bytecodes);
	codes->bytecodes_bytes = 0;
	op_map64_clear(&codes->bytecode_by_object);
}

/* Beside the entry itself. */
static size_t bytes_of(const struct op_node_code *code)
{
	return code->table_len + code->inlined_len * sizeof(*code->inlined);
}

static void clear_code(struct op_node_code *code)
{
	free(code->table);
	free(code->inlined);
}

static void drop_codes(struct op_node_codes *codes)
{
	struct op_node_code *code;

	op_vec_foreach(code, &codes->all)
		clear_code(code);
	op_vec_clear(&codes->all);
	codes->all_bytes = 0;
}

void op_runtime_node_codes_clear(struct op_node_codes *codes)
{
	drop_bytecodes(codes);
	drop_codes(codes);
}

void op_runtime_node_codes_window(struct op_node_codes *codes)
{
	codes->window++;
}

/* ---- bytecode ---- */

/* Read the members of a BytecodeArray. */
static int read_bytecode(const struct op_node_heap *heap, uint64_t object,
			 struct op_node_bytecode *ret)
{
	int r = op_runtime_node_type(heap, object);

	if (r >= 0 && (uint32_t)r != heap->layout->type.bytecode)
		r = -EBADMSG;
	if (r >= 0)
		r = op_runtime_node_word(heap, object, heap->layout->array_length,
					 &ret->length);
	if (r >= 0)
		r = op_runtime_node_word(heap, object, heap->layout->array_positions,
					 &ret->positions);
	return r < 0 ? r : 0;
}

static int find_bytecode(struct op_node_codes *codes, uint64_t object, uint64_t owner,
			 struct op_node_bytecode **ret)
{
	const struct op_node_heap *heap = codes->heap;
	struct op_node_bytecode fresh = { .object = object,
					  .owner = owner,
					  .window = codes->window };
	struct op_node_bytecode *b = NULL;
	uint64_t at;
	int r = read_bytecode(heap, object, &fresh);

	if (op_map64_get(&codes->bytecode_by_object, object, &at))
		b = &codes->bytecodes.data[at];
	/* Another function may have been here, with all of the same addresses. */
	if (b && ((r == -ESRCH && owner && b->owner == owner) ||
		  (r == 0 && b->window == codes->window && b->length == fresh.length &&
		   b->positions == fresh.positions &&
		   (!owner || !b->owner || b->owner == owner)))) {
		if (r == 0 && owner)
			b->owner = owner;
		*ret = b;
		return 0;
	}
	if (r < 0)
		return r;
	/* The table may be missing; positions are unknown then. */
	r = op_runtime_node_bytes(heap, fresh.positions, &fresh.table, &fresh.table_len);
	if (r == -ENOMEM)
		return r;
	if (codes->bytecodes.len >= OP_NODE_CODES_MAX ||
	    codes->bytecodes_bytes + fresh.table_len > OP_NODE_CODES_BYTES) {
		drop_bytecodes(codes);
		b = NULL;
	}
	if (b) {
		codes->bytecodes_bytes -= b->table_len + b->bytes_len;
		clear_bytecode(b);
	} else {
		if (op_map64_put(&codes->bytecode_by_object, object,
				 codes->bytecodes.len) == 0)
			b = op_vec_push(&codes->bytecodes);
	}
	if (!b) {
		(void)op_map64_remove(&codes->bytecode_by_object, object);
		free(fresh.table);
		return -ENOMEM;
	}
	codes->bytecodes_bytes += fresh.table_len;
	*b = fresh;
	*ret = b;
	return 0;
}

int op_runtime_node_bytecode_position(struct op_node_codes *codes, uint64_t object,
				      uint64_t owner, uint32_t offset,
				      struct op_node_position *ret)
{
	const struct op_node_layout *l = codes->heap->layout;
	uint32_t first = l->array_bytes - 1; /* offsets count from the tagged pointer */
	struct op_node_bytecode *b;
	int r = find_bytecode(codes, object, owner, &b);

	if (r < 0)
		return r;
	if (!op_node_is_small(b->length) || op_node_small(b->length) <= 0 ||
	    (offset >= first && offset - first >= (uint32_t)op_node_small(b->length)))
		return -EBADMSG;
	*ret = op_runtime_node_position_at(b->table, b->table_len, l->form,
					   offset < first ? 0 : offset - first);
	return 0;
}

/* ---- machine code ---- */

static int read_u32(const struct op_node_heap *heap, uint64_t addr, uint32_t *ret)
{
	return op_memory_read(heap->memory, addr, ret, sizeof(*ret));
}

static bool is_plausible(uint64_t word)
{
	return op_node_is_object(word) && word >> ADDRESS_BITS == 0;
}

/* Make whole words from those of a header: the map, and the Code, which is a trusted
 * object. */
static void expand_head(const struct op_node_heap *heap, uint64_t word[HEAD_WORDS])
{
	uint64_t trusted = heap->layout->trusted ? heap->trusted_cage : heap->cage;

	if (!op_node_is_compressed(heap->layout))
		return;
	word[1] = op_node_whole(trusted, (uint32_t)(word[0] >> 32));
	word[0] = op_node_whole(heap->cage, (uint32_t)word[0]);
	if (!trusted || !heap->cage) /* not known yet */
		word[1] = 0;
}

/* Do the plausible words of the header @word say that instructions begin at @start? Fills
 * @ret->start and end, and *@ret_object. Returns 1, 0, or an error of reading. */
static int is_head(const struct op_node_codes *codes, const uint64_t word[HEAD_WORDS],
		   uint64_t start, struct op_node_code *ret, uint64_t *ret_object)
{
	const struct op_node_layout *l = codes->heap->layout;
	uint64_t begin = start;
	uint32_t size;
	int r;

	*ret_object = !l->code_start ? start - l->code_bytes + 1 : word[1];
	if (l->code_start &&
	    op_memory_read(codes->heap->memory, word[1] - 1 + l->code_start, &begin,
			   sizeof(begin)) < 0)
		return 0;
	if (begin != start)
		return 0;
	if (!l->code_start &&
	    op_runtime_node_type(codes->heap, *ret_object) != (int)l->type.code)
		return 0;
	r = read_u32(codes->heap, *ret_object - 1 + l->code_size, &size);
	if (r < 0)
		return r;
	ret->start = start;
	ret->end = start + size;
	ret->head[0] = word[0];
	ret->head[1] = word[1];
	return 1;
}

/* Search backwards from @pc for the header of its code. */
static int find_head(struct op_node_codes *codes, uint64_t pc, struct op_node_code *ret,
		     uint64_t *ret_object)
{
	const uint32_t head = codes->heap->layout->code_bytes;
	uint64_t start = OP_ALIGN_DOWN(pc, (uint64_t)ALIGN);
	uint8_t bytes[CHUNK];
	uint64_t have = start; /* the first byte in bytes[] is at this address */
	uint32_t heads = 0;    /* words that were examined */

	for (; pc - start < OP_NODE_CODE_MAX; start -= ALIGN) {
		uint64_t word[HEAD_WORDS];
		int r;

		if (start < head + CHUNK)
			return -ENOENT;
		if (start - head < have) {
			/* Read a page at a time, because the page below may not be
			 * mapped. */
			have = OP_ALIGN_DOWN(start - head, (uint64_t)CHUNK);
			r = op_memory_read(codes->heap->memory, have, bytes, CHUNK);
			if (r < 0)
				return r;
		}
		/* A header may cross into the page that was read before. */
		if (start - head - have + sizeof(word) > CHUNK)
			r = op_memory_read(codes->heap->memory, start - head, word,
					   sizeof(word));
		else
			r = 0, memcpy(word, bytes + (start - head - have), sizeof(word));
		if (r == 0)
			expand_head(codes->heap, word);
		if (r == 0 && (!is_plausible(word[0]) || !is_plausible(word[1])))
			continue;
		/* Each costs reads of the process, which may have no such code. */
		if (r == 0 && heads++ >= OP_NODE_HEADS_MAX) {
			codes->heads_lost++;
			return -ENOENT;
		}
		if (r == 0)
			r = is_head(codes, word, start, ret, ret_object);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		return pc < ret->end ? 0 : -ENOENT;
	}
	return -ENOENT;
}

/* Word number @i of the array to which @object points, with a check of its length. */
static int element(const struct op_node_heap *heap, uint64_t object, uint32_t i,
		   uint64_t *ret)
{
	uint32_t len;
	int r = op_runtime_node_length(heap, object, &len);

	if (r < 0)
		return r;
	if (len > DEOPT_WORDS_MAX || i >= len)
		return -EBADMSG;
	return op_runtime_node_word(
		heap, object, op_node_offset(heap->layout, OP_NODE_ELEMENTS + i * 8),
		ret);
}

/* The SharedFunctionInfo to which @word points, directly or through its wrapper; 0:
 * none. */
static uint64_t shared_of(const struct op_node_heap *heap, uint64_t word)
{
	uint64_t in_heap = op_runtime_node_of_heap(heap, word & ~(uint64_t)WEAK);

	word &= ~(uint64_t)WEAK;
	if (op_runtime_node_type(heap, in_heap) == (int)heap->layout->type.shared)
		return in_heap;
	/* the wrapper is a trusted object in versions with such objects */
	if (op_runtime_node_word(heap, word, op_node_offset(heap->layout, 8), &word) < 0)
		return 0;
	word = op_runtime_node_of_heap(heap, word);
	return op_runtime_node_type(heap, word) == (int)heap->layout->type.shared ? word
										  : 0;
}

/* As shared_of(); its shared is 0 if it cannot be read. */
static struct op_node_owner read_owner(const struct op_node_heap *heap, uint64_t word)
{
	struct op_node_owner ret = { shared_of(heap, word), 0 };

	if (ret.shared &&
	    op_runtime_node_function_check(heap, ret.shared, &ret.check) < 0)
		ret.shared = 0;
	return ret;
}

/* Read the inlined calls: their positions and their functions. */
static int read_inlined(const struct op_node_heap *heap, uint64_t deopt,
			struct op_node_code *ret)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint64_t literals;
	uint64_t word;
	struct op_reader reader;
	size_t len;
	size_t i;
	int r = element(heap, deopt, heap->layout->deopt_inlining, &word);

	if (r == 0)
		r = op_runtime_node_bytes(heap, word, &bytes, &len);
	if (r == 0)
		r = element(heap, deopt, heap->layout->deopt_literals, &literals);
	if (r < 0)
		return r;
	len /= INLINING_BYTES;
	if (!len)
		return 0;
	if (len > OP_NODE_INLINED_MAX)
		return -EFBIG;
	ret->inlined = calloc(len, sizeof(*ret->inlined));
	if (!ret->inlined)
		return -ENOMEM;
	ret->inlined_len = len;
	reader = op_reader_init(bytes, len * INLINING_BYTES);
	for (i = 0; i < len; i++) {
		int32_t id;

		ret->inlined[i].call = op_runtime_node_position(op_read_u64(&reader));
		id = op_read_s32(&reader);
		op_read_skip(&reader, INLINING_BYTES - 12);
		if (id >= 0 && element(heap, literals, (uint32_t)id, &word) == 0)
			ret->inlined[i].callee = read_owner(heap, word);
	}
	return 0;
}

/* Read the members of the Code to which @object points. */
static int read_code(const struct op_node_heap *heap, uint64_t object,
		     struct op_node_code *ret)
{
	const struct op_node_layout *l = heap->layout;
	uint64_t deopt;
	uint64_t table;
	uint64_t word;
	int r = op_runtime_node_word(heap, object, l->code_deopt, &deopt);

	if (r == 0)
		r = op_runtime_node_word(heap, object, op_node_code_positions(l), &table);
	if (r < 0)
		return r;
	ret->object = object;
	ret->deopt = deopt;
	r = op_runtime_node_bytes(heap, table, &ret->table, &ret->table_len);
	if (r == -ENOMEM)
		return r;
	r = op_runtime_node_type(heap, deopt);
	if (r == (int)l->type.bytecode) {
		ret->bytecode = deopt;
		return 0;
	}
	if (r < 0 || element(heap, deopt, l->deopt_shared, &word) < 0)
		/* Code without a function: of a regular expression, or a wrapper. */
		return 0;
	ret->owner = read_owner(heap, word);
	if (!ret->owner.shared)
		return 0;
	r = read_inlined(heap, deopt, ret);
	return r == -ENOMEM ? r : 0;
}

/* Is @code unchanged in the process? Other code may have all its addresses but that of its data. */
static bool is_there(const struct op_node_codes *codes, const struct op_node_code *code)
{
	uint64_t head = code->start - codes->heap->layout->code_bytes;
	uint64_t word[HEAD_WORDS];
	uint64_t deopt;

	if (op_memory_read(codes->heap->memory, head, word, sizeof(word)) < 0)
		return false;
	expand_head(codes->heap, word);
	return memcmp(word, code->head, sizeof(word)) == 0 &&
	       op_runtime_node_word(codes->heap, code->object,
				    codes->heap->layout->code_deopt, &deopt) == 0 &&
	       deopt == code->deopt;
}

/* The index of the first code whose end is above @pc. */
static size_t place_of(const struct op_node_codes *codes, uint64_t pc)
{
	return op_first_where(i, codes->all.len, codes->all.data[i].end > pc);
}

static void remove_code(struct op_node_codes *codes, size_t at)
{
	struct op_node_code *code = &codes->all.data[at];

	codes->all_bytes -= bytes_of(code);
	clear_code(code);
	codes->all.len--;
	memmove(code, code + 1, (codes->all.len - at) * sizeof(*code));
}

void op_runtime_node_code_forget(struct op_node_codes *codes, uint64_t pc)
{
	size_t at = place_of(codes, pc);

	if (at < codes->all.len && codes->all.data[at].start <= pc)
		remove_code(codes, at);
}

int op_runtime_node_code(struct op_node_codes *codes, uint64_t pc,
			 const struct op_node_code **ret)
{
	struct op_node_code fresh = { .window = codes->window };
	struct op_node_code *code = NULL;
	uint64_t object = 0;
	size_t at = place_of(codes, pc);
	int r;

	if (at < codes->all.len && codes->all.data[at].start <= pc)
		code = &codes->all.data[at];
	if (code && code->window == codes->window && is_there(codes, code)) {
		*ret = code;
		return 0;
	}
	r = find_head(codes, pc, &fresh, &object);
	if (r == -ESRCH && code) {
		*ret = code;
		return 0;
	}
	if (r == 0)
		r = read_code(codes->heap, object, &fresh);
	if (r < 0) {
		clear_code(&fresh);
		return r;
	}
	if (codes->all.len >= OP_NODE_CODES_MAX ||
	    codes->all_bytes + bytes_of(&fresh) > OP_NODE_CODES_BYTES)
		drop_codes(codes);
	at = place_of(codes, fresh.start);
	while (at < codes->all.len && codes->all.data[at].start < fresh.end)
		remove_code(codes, at);
	if (op_vec_reserve(&codes->all, 1) < 0) {
		clear_code(&fresh);
		return -ENOMEM;
	}
	code = &codes->all.data[at];
	memmove(code + 1, code, (codes->all.len - at) * sizeof(*code));
	codes->all.len++;
	codes->all_bytes += bytes_of(&fresh);
	*code = fresh;
	*ret = code;
	return 0;
}

/* The BytecodeArray of the function @shared: its code, or a member of the object in that
 * place (V8 9: BaselineData); 0 if there is none. */
uint64_t op_runtime_node_bytecode_of(const struct op_node_heap *heap, uint64_t shared)
{
	uint64_t data;
	uint64_t word;
	uint32_t at;

	/* a handle is no pointer */
	if (heap->layout->trusted ||
	    op_runtime_node_word(heap, shared,
				 op_node_offset(heap->layout, OP_NODE_SHARED_CODE),
				 &data) < 0)
		return 0;
	if (op_runtime_node_type(heap, data) == (int)heap->layout->type.bytecode)
		return data;
	for (at = 8; at <= 16; at += 8)
		if (op_runtime_node_word(heap, data, op_node_offset(heap->layout, at),
					 &word) == 0 &&
		    op_runtime_node_type(heap, word) == (int)heap->layout->type.bytecode)
			return word;
	return 0;
}

/* Read the bytecodes of @b, once. */
static int read_bytes(struct op_node_codes *codes, struct op_node_bytecode *b)
{
	int r;

	if (b->bytes)
		return 0;
	r = op_runtime_node_bytecodes(codes->heap, b->object, &b->bytes, &b->bytes_len);
	if (r == 0)
		codes->bytecodes_bytes += b->bytes_len;
	return r;
}

/* The position of the bytecode of @bytecode that baseline code runs at @pc. */
static int baseline_position(struct op_node_codes *codes, const struct op_node_code *code,
			     uint64_t bytecode, uint64_t owner, uint32_t pc,
			     struct op_node_position *ret)
{
	const struct op_node_layout *l = codes->heap->layout;
	struct op_node_bytecode *b;
	int32_t offset;
	int r = find_bytecode(codes, bytecode, owner, &b);

	if (r == 0)
		r = read_bytes(codes, b);
	if (r < 0)
		return r;
	if (!b->bytes_len)
		return -EBADMSG;
	offset = op_runtime_node_baseline(code->table, code->table_len, b->bytes,
					  b->bytes_len, codes->opcodes->size,
					  codes->opcodes->count, pc);
	*ret = op_runtime_node_position_at(b->table, b->table_len, l->form,
					   offset < 0 ? 0 : (uint32_t)offset);
	return 0;
}

int op_runtime_node_code_position(struct op_node_codes *codes,
				  const struct op_node_code *code, uint64_t shared,
				  uint64_t owner, uint64_t pc,
				  struct op_node_position *ret)
{
	uint32_t at = (uint32_t)(pc - code->start);
	uint64_t bytecode = code->bytecode;

	if (code->owner.shared) {
		*ret = op_runtime_node_position_at(code->table, code->table_len,
						   codes->heap->layout->form, at);
		return 0;
	}
	if (!bytecode && shared) {
		bytecode = op_runtime_node_bytecode_of(codes->heap, shared);
		codes->all.data[place_of(codes, pc)].bytecode = bytecode;
	}
	if (!bytecode)
		return -ENOENT;
	return baseline_position(codes, code, bytecode, owner, at, ret);
}
