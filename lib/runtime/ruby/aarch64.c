/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions: Arm ARM, C4.1. */
#include "runtime/ruby/aarch64.h"

#include <errno.h>
#include <string.h>

#include "base/reader.h"
#include "code/decode/decode.h"
#include "code/decode/loads.h"
#include "runtime/ruby/layout.h"

enum {
	OP_BYTES = 4,
	AFTER_OPS_MAX = 64, /* instructions that are followed until a function returns */
	CALLED_BYTES = 64,  /* of a function that only reads the context */
};

enum kind {
	OTHER,
	JUMP,
	CALL,
	IF_ZERO, /* cbz */
	RETURN,
	LOAD_PAIR, /* ldp xn, xm, [sp, #n] */
	STORE,	   /* str xn or wn, [xm, #n] */
};

/* An instruction. */
struct op {
	enum kind kind;
	uint64_t to; /* where it jumps, or calls */
	uint32_t reg[2];
};

static int64_t sign_extend(uint64_t v, unsigned int bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* The instruction at @pos of @code, which is at @addr. */
static struct op op_at(const uint8_t *code, size_t len, uint64_t addr, size_t pos)
{
	struct op_reader r = op_reader_init(code, len);
	struct op op = { .kind = OTHER };
	uint32_t bits;

	op_reader_seek(&r, pos);
	bits = op_read_u32(&r);
	if (r.failed)
		return op;
	if ((bits & 0x7c000000) == 0x14000000) {
		op.kind = bits >> 31 ? CALL : JUMP;
		op.to = addr + pos + (uint64_t)sign_extend(bits & 0x3ffffff, 26) * 4;
	} else if ((bits & 0x7f000000) == 0x34000000) {
		op.kind = IF_ZERO;
		op.to = addr + pos + (uint64_t)sign_extend(bits >> 5 & 0x7ffff, 19) * 4;
	} else if (bits == 0xd65f03c0) {
		op.kind = RETURN;
	} else if ((bits & 0xffc003e0) == 0xa94003e0) {
		op.kind = LOAD_PAIR;
		op.reg[0] = bits & 31;
		op.reg[1] = bits >> 10 & 31;
	} else if ((bits & 0xbfc00000) == 0xb9000000) {
		op.kind = STORE;
	}
	return op;
}

/* Add [@begin, @end). */
static void add(struct op_ruby_loop *loop, uint64_t begin, uint64_t end)
{
	size_t i;

	for (i = 0; i < OP_RUBY_AFTER && loop->after[i][0]; i++)
		if (loop->after[i][1] == end && loop->after[i][0] <= begin)
			return;
	if (i < OP_RUBY_AFTER) {
		loop->after[i][0] = begin;
		loop->after[i][1] = end;
	}
}

/* Follow the code from @pos on until it returns. Jumps are taken, and those of cbz: without an
 * exception the state is 0. Add the code to @ret, or nothing if it does not return or if it
 * stores a value before a jump. */
static void follow(const uint8_t *code, size_t len, uint64_t addr, size_t pos,
		   bool stores, struct op_ruby_loop *ret)
{
	struct op_ruby_loop found = *ret;
	size_t begin = pos;
	size_t i;
	bool stored = false;

	for (i = 0; i < AFTER_OPS_MAX; i++) {
		struct op op = op_at(code, len, addr, pos);

		pos += OP_BYTES;
		stored |= op.kind == STORE;
		if (op.kind != RETURN && op.kind != JUMP && op.kind != IF_ZERO)
			continue;
		add(&found, addr + begin, addr + pos);
		if (op.kind == RETURN) {
			*ret = found;
			return;
		}
		if (op.to - addr >= len || (stored && !stores))
			return;
		begin = pos = (size_t)(op.to - addr);
	}
}

bool op_runtime_ruby_a64_calls(const uint8_t *code, size_t len, uint64_t addr, size_t pos,
			       uint64_t function)
{
	struct op op = op_at(code, len, addr, pos);

	return op.kind == CALL && op.to == function;
}

void op_runtime_ruby_a64_after(const uint8_t *code, size_t len, uint64_t addr, size_t pos,
			       struct op_ruby_loop *ret)
{
	follow(code, len, addr, pos, true, ret);
}

void op_runtime_ruby_a64_leave(const uint8_t *code, size_t len, uint64_t addr,
			       struct op_ruby_loop *ret)
{
	size_t pos;

	for (pos = 0; pos + OP_BYTES <= len; pos += OP_BYTES) {
		struct op op = op_at(code, len, addr, pos);

		/* a place that stores the state of an exception is not on the way of a value */
		if (op.kind == LOAD_PAIR &&
		    (op.reg[0] == OP_RUBY_A64_FRAME || op.reg[1] == OP_RUBY_A64_FRAME))
			follow(code, len, addr, pos + OP_BYTES, false, ret);
	}
}

/* Code of a function. */
struct code {
	uint8_t bytes[OP_DECODE_BYTES];
	size_t len;
	uint64_t addr;
};

static int code_read(struct op_elf *elf, uint64_t addr, struct code *ret)
{
	int r;

	ret->addr = addr;
	ret->len = sizeof(ret->bytes);
	while ((r = op_elf_read_vaddr(elf, addr, ret->bytes, ret->len)) == -ENODATA &&
	       ret->len > OP_BYTES)
		ret->len /= 2;
	return r;
}

/* The dynamic linker has not written the file's slots. */
static int no_memory(const struct op_memory *memory, uint64_t addr, void *buf, size_t len)
{
	return -EFAULT;
}

/* A function reads the variable with a call that has its descriptor's address (TLSDESC), or
 * it does nothing else, and its result is the variable's. */
static bool find_access(const struct code *code, struct op_elf_tls *ret)
{
	static const struct op_memory memory = { no_memory };
	struct op_decode_input in = { .code = code->bytes,
				      .len = code->len,
				      .addr = code->addr,
				      .memory = &memory,
				      .want = OP_DECODE_CALL };
	struct op_decode_value value;

	if (op_decode_aarch64(&in, &value) == 0 && value.kind == OP_DECODE_CONST) {
		ret->form = OP_ELF_TLS_SLOT_DESCRIPTOR;
		ret->slot = value.at;
		ret->offset = 0;
		return true;
	}
	in.want = OP_DECODE_RETURN;
	if (op_decode_aarch64(&in, &value) == 0 && value.kind == OP_DECODE_TP_MEMORY) {
		ret->form = OP_ELF_TLS_STATIC;
		ret->slot = 0;
		ret->offset = (int64_t)value.at;
		return true;
	}
	return false;
}

int op_runtime_ruby_a64_context(struct op_elf *elf, uint64_t frames,
				struct op_elf_tls *ret)
{
	struct op op = { .kind = OTHER };
	struct code code;
	size_t pos;
	int r = code_read(elf, frames, &code);

	if (r < 0)
		return r;
	if (find_access(&code, ret))
		return 1;
	for (pos = 0; pos < code.len && op.kind != CALL; pos += OP_BYTES)
		op = op_at(code.bytes, code.len, frames, pos);
	if (op.kind != CALL)
		return 0;
	r = code_read(elf, op.to, &code);
	return r < 0 ? r : find_access(&code, ret);
}

/* The table {last_id, ..., ids}, whose ids @called loads, and last_id the same code or its
 * @caller; or 0. */
static uint64_t table_in(const struct code *caller, const struct code *called)
{
	struct op_decode_loads narrow = { 0 };
	struct op_decode_loads wide = { 0 };
	size_t i;

	op_decode_loads_aarch64(called->bytes, called->len, called->addr, 8, &wide);
	op_decode_loads_aarch64(called->bytes, called->len, called->addr, 4, &narrow);
	op_decode_loads_aarch64(caller->bytes, caller->len, caller->addr, 4, &narrow);
	for (i = 0; i < narrow.len; i++)
		if (op_decode_loads_has(&wide, narrow.at[i] + OP_RUBY_SYMBOLS_IDS))
			return narrow.at[i];
	return 0;
}

uint64_t op_runtime_ruby_a64_symbols(struct op_elf *elf, uint64_t id2str)
{
	struct code code;
	struct code called;
	uint64_t table = 0;
	size_t pos;

	if (code_read(elf, id2str, &code) < 0)
		return 0;
	for (pos = 0; !table && pos < code.len; pos += OP_BYTES) {
		struct op op = op_at(code.bytes, code.len, code.addr, pos);

		if ((op.kind == CALL || op.kind == JUMP) &&
		    code_read(elf, op.to, &called) == 0)
			table = table_in(&code, &called);
	}
	return table ? table : table_in(&code, &code);
}
