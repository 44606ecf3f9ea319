/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code sequences that are searched for, with any registers (f, tstate and f_back are 8
 * bytes at offset 0x18 of their structs in 3.6 to 3.10):
 *
 *   entry:  push …; sub $FRAME,%rsp; …; mov f,0x18(tstate)
 *   exit:   mov 0x18(f),back; …; mov back,0x18(tstate); call check; add $FRAME,%rsp; pop …
 *           or, for the last part: jmp to an add $FRAME,%rsp
 *
 * Bytes are compared at every offset, not instruction by instruction. A chance match is next
 * to impossible, because each exit must end in the same FRAME as the entry.
 */
#include "runtime/python/image.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"

enum {
	FUNCTION_BYTES_MAX = 1 << 20,
	ENTRY_BYTES = 64,	 /* largest distance from the start to the sub */
	ENTRY_STORE_BYTES = 320, /* largest distance from the start to the store */
	EXIT_LOAD_BYTES = 64,	 /* largest distance from load to store */
	EXIT_LEAVE_BYTES = 48,	 /* largest distance from store to add or jmp */
	FRAME_OFFSET = 0x18,
	RSP = 4,
	ADD_BYTES = 7, /* 48 81 c4 imm32 */
	MOV_STORE = 0x89,
	MOV_LOAD = 0x8b,
};

struct code {
	const uint8_t *bytes;
	size_t len;
};

struct move {
	uint8_t reg;
	uint8_t base;
	uint8_t len; /* bytes of the instruction */
};

/* Is there at @at a `mov reg,0x18(base)`, or its load, with 64-bit registers? */
static bool is_move(const struct code *c, size_t at, uint8_t opcode, struct move *ret)
{
	struct op_reader r = op_reader_init(c->bytes, c->len);
	uint8_t rex;
	uint8_t modrm;
	bool sib;

	op_reader_seek(&r, at);
	rex = op_read_u8(&r);
	if ((rex & 0xf8) != 0x48 || op_read_u8(&r) != opcode)
		return false;
	modrm = op_read_u8(&r);
	sib = (modrm & 7) == RSP;
	if (modrm >> 6 != 1 || (sib && op_read_u8(&r) != 0x24) ||
	    op_read_u8(&r) != FRAME_OFFSET || r.failed)
		return false;
	ret->reg = (modrm >> 3 & 7) | (rex & 4 ? 8 : 0);
	ret->base = (modrm & 7) | (rex & 1 ? 8 : 0);
	ret->len = sib ? 5 : 4;
	return ret->base != RSP; /* with RSP it is a local variable */
}

/* Is there at @at an `add $@frame,%rsp` (or, with @opcode 0xec, a sub)? */
static bool is_frame(const struct code *c, size_t at, uint8_t opcode, uint32_t *frame)
{
	struct op_reader r = op_reader_init(c->bytes, c->len);
	uint32_t n;

	op_reader_seek(&r, at);
	if (op_read_u8(&r) != 0x48 || op_read_u8(&r) != 0x81 || op_read_u8(&r) != opcode)
		return false;
	n = op_read_u32(&r);
	if (r.failed || (opcode == 0xc4 && n != *frame))
		return false;
	*frame = n;
	return true;
}

static bool find_entry(const struct code *c, uint32_t *ret_frame, size_t *ret_end)
{
	struct move move;
	size_t at;

	for (at = 0; at < ENTRY_BYTES && !is_frame(c, at, 0xec, ret_frame); at++)
		;
	if (at == ENTRY_BYTES)
		return false;
	for (; at < ENTRY_STORE_BYTES; at++) {
		if (!is_move(c, at, MOV_STORE, &move))
			continue;
		*ret_end = at + move.len;
		return true;
	}
	return false;
}

/* Was the register stored by @store at @at loaded from another object shortly before? */
static bool is_back(const struct code *c, size_t at, const struct move *store)
{
	size_t first = at > EXIT_LOAD_BYTES ? at - EXIT_LOAD_BYTES : 0;
	struct move load;

	while (at-- > first)
		if (is_move(c, at, MOV_LOAD, &load) && load.reg == store->reg)
			return load.base != store->base;
	return false;
}

/* The target of the jump at @at, and its length in *@ret_len; SIZE_MAX: there is
 * no jump. */
static size_t jump_to(const struct code *c, size_t at, size_t *ret_len)
{
	struct op_reader r = op_reader_init(c->bytes, c->len);
	uint8_t opcode;
	int64_t rel;

	op_reader_seek(&r, at);
	opcode = op_read_u8(&r);
	if (opcode != 0xe9 && opcode != 0xeb)
		return SIZE_MAX;
	rel = opcode == 0xeb ? op_read_s8(&r) : op_read_s32(&r);
	if (r.failed || rel < -(int64_t)op_reader_pos(&r))
		return SIZE_MAX;
	*ret_len = op_reader_pos(&r) - at;
	return op_reader_pos(&r) + (size_t)rel;
}

/* The end of the exit whose store ends at @at. 0: there is no exit. */
static size_t exit_end(const struct code *c, size_t at, uint32_t frame)
{
	size_t end = OP_MIN(at + EXIT_LEAVE_BYTES, c->len);
	size_t len;

	for (; at < end; at++) {
		size_t to = jump_to(c, at, &len);

		if (is_frame(c, at, 0xc4, &frame))
			return at + ADD_BYTES;
		if (to != SIZE_MAX && is_frame(c, to, 0xc4, &frame))
			return at + len;
	}
	return 0;
}

static int find_edges(const struct code *c, uint64_t start,
		      uint64_t ret[OP_PYTHON_EDGES][2])
{
	struct move store;
	uint32_t frame = 0;
	size_t at;
	size_t end;
	int len = 0;

	if (!find_entry(c, &frame, &end))
		return 0;
	ret[len][0] = start;
	ret[len++][1] = start + end;
	for (at = end; at < c->len && len < OP_PYTHON_EDGES; at++) {
		if (!is_move(c, at, MOV_STORE, &store) || !is_back(c, at, &store))
			continue;
		end = exit_end(c, at + store.len, frame);
		if (!end)
			continue;
		ret[len][0] = start + at + store.len;
		ret[len++][1] = start + end;
	}
	return len > 1 ? len : 0; /* without an exit the loop was not understood */
}

int op_runtime_python_edges(struct op_elf *elf, uint64_t start, uint64_t end,
			    uint64_t ret[OP_PYTHON_EDGES][2])
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct code code;
	int r;

	if (op_elf_machine(elf) != EM_X86_64 || end <= start ||
	    end - start > FUNCTION_BYTES_MAX)
		return 0;
	bytes = malloc(end - start);
	if (!bytes)
		return -ENOMEM;
	r = op_elf_read_vaddr(elf, start, bytes, end - start);
	if (r < 0)
		return r;
	code = (struct code){ bytes, end - start };
	return find_edges(&code, start, ret);
}
