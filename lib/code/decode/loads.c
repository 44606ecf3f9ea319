/* SPDX-License-Identifier: Apache-2.0 */
#include "code/decode/loads.h"

#include "base/reader.h"

enum {
	/* x86-64: MOV r, [rip + n] */
	MOV = 0x8b,
	MODRM_MASK = 0xc7,
	MODRM_RIP = 0x05,
	MOV_BYTES = 6, /* without its prefix */
	REX_MASK = 0xf8,
	REX_W = 0x48, /* 8 bytes */
	/* aarch64 */
	REGISTERS = 32,
	PAGE_SHIFT = 12,
	WIDE = 8,
};

/* Instructions of aarch64 (Arm ARM, C4.1) without their registers and numbers. */
static const uint32_t ADRP_MASK = 0x9f000000;
static const uint32_t ADRP = 0x90000000;
static const uint32_t ADD_MASK = 0xff800000; /* add a number, 8 bytes */
static const uint32_t ADD = 0x91000000;
static const uint32_t ADD_SHIFTED = 1U << 22;
static const uint32_t LDR_MASK = 0xffc00000; /* load from a register and a number */
static const uint32_t LDR = 0xb9400000;
static const uint32_t LDAR_MASK = 0xfffffc00;
static const uint32_t LDAR = 0x88dffc00;
static const uint32_t WIDE_BIT = 1U << 30; /* of both: 8 bytes, not 4 */

bool op_decode_loads_has(const struct op_decode_loads *l, uint64_t at)
{
	size_t i;

	for (i = 0; i < l->len; i++)
		if (l->at[i] == at)
			return true;
	return false;
}

static void add_address(struct op_decode_loads *l, uint64_t at)
{
	if (op_decode_loads_has(l, at))
		return;
	if (l->len >= OP_DECODE_LOADS_MAX) {
		l->full = true;
		return;
	}
	l->at[l->len++] = at;
}

/*
 * The boundaries of instructions are not known, so each byte is tried. The byte before
 * an instruction of 4 bytes may look like the prefix of one of 8, so those of 8 also
 * count as of 4.
 */
void op_decode_loads_x86_64(const uint8_t *code, size_t len, uint64_t pc,
			    unsigned int width, struct op_decode_loads *add)
{
	struct op_reader r = op_reader_init(code, len);
	size_t i;

	for (i = 0; i < len && len - i >= MOV_BYTES; i++) {
		if (code[i] != MOV || (code[i + 1] & MODRM_MASK) != MODRM_RIP)
			continue;
		if (width == WIDE && (!i || (code[i - 1] & REX_MASK) != REX_W))
			continue;
		op_reader_seek(&r, i + 2);
		add_address(add, pc + i + MOV_BYTES +
					 (uint64_t)(int64_t)(int32_t)op_read_u32(&r));
	}
}

static int64_t sign_extend(uint64_t v, unsigned int bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static uint64_t page_of(uint32_t op, uint64_t pc)
{
	uint64_t n = (op >> 29 & 3) | (uint64_t)(op >> 5 & 0x7ffff) << 2;

	return (pc >> PAGE_SHIFT << PAGE_SHIFT) +
	       ((uint64_t)sign_extend(n, 21) << PAGE_SHIFT);
}

/* Decode instructions one after the other. Jumps do not matter, because the parts of an
 * address are close together. */
void op_decode_loads_aarch64(const uint8_t *code, size_t len, uint64_t pc,
			     unsigned int width, struct op_decode_loads *add)
{
	struct op_reader r = op_reader_init(code, len);
	uint32_t wide = width == WIDE ? WIDE_BIT : 0;
	uint64_t value[REGISTERS] = { 0 };
	bool known[REGISTERS] = { false };

	for (; op_reader_left(&r) >= sizeof(uint32_t); pc += sizeof(uint32_t)) {
		uint32_t op = op_read_u32(&r);
		uint32_t to = op & (REGISTERS - 1);
		uint32_t from = op >> 5 & (REGISTERS - 1);
		uint64_t n = op >> 10 & 0xfff;

		if ((op & ADRP_MASK) == ADRP) {
			value[to] = page_of(op, pc);
			known[to] = true;
			continue;
		}
		if (known[from] && (op & ADD_MASK) == ADD) {
			value[to] =
				value[from] + (op & ADD_SHIFTED ? n << PAGE_SHIFT : n);
			known[to] = true;
			continue;
		}
		if (known[from] && (op & LDR_MASK) == (LDR | wide))
			add_address(add, value[from] + n * width);
		else if (known[from] && (op & LDAR_MASK) == (LDAR | wide))
			add_address(add, value[from]);
		known[to] = false;
	}
}
