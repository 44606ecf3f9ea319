/* SPDX-License-Identifier: Apache-2.0 */
/* UNWIND_INFO (x64 exception handling, Microsoft) as frame information of DWARF. */
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "runtime/dotnet/pe/elf.h"

enum {
	PUSH = 0,
	ALLOC_LARGE = 1,
	ALLOC = 2,
	SET_FP = 3,
	SET_FP_LARGE = 11,
	CHAINED = 4, /* a flag */
	OPERATIONS_MAX = 32,
	PUSHES_MAX = 8,
	ALLOC_MAX = 1 << 24,
	CIE_BYTES = 20,

	CFA_ADVANCE = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF = 0x0c,
	CFA_DEF_OFFSET = 0x0e,
	DWARF_RBP = 6,
	DWARF_RSP = 7,
};

/* The DWARF number of each of x86-64's registers. */
static const uint8_t dwarf_number[16] = { 0, 2, 1,  3,	7,  6,	4,  5,
					  8, 9, 10, 11, 12, 13, 14, 15 };

struct operation {
	uint8_t at; /* the end of its instruction, from the function's begin on */
	uint8_t op;
	uint8_t info;
	uint32_t size;
};

struct program {
	struct op_dotnet_bytes *out;
	uint32_t pc;  /* of the last row, from the begin on */
	uint32_t cfa; /* from rsp */
	bool fp;      /* the CFA is found by rbp */
	size_t pushes;
	uint8_t push[PUSHES_MAX];
};

void op_runtime_dotnet_put(struct op_dotnet_bytes *b, const void *bytes, size_t len)
{
	if (b->failed || op_vec_reserve(&b->v, len) < 0) {
		b->failed = 1;
		return;
	}
	memcpy(b->v.data + b->v.len, bytes, len);
	b->v.len += len;
}

void op_runtime_dotnet_put_u32(struct op_dotnet_bytes *b, uint32_t n)
{
	op_runtime_dotnet_put(b, &n, sizeof(n));
}

static void put_u8(struct op_dotnet_bytes *b, uint8_t n)
{
	op_runtime_dotnet_put(b, &n, 1);
}

static void put_uleb(struct op_dotnet_bytes *b, uint32_t n)
{
	for (; n >= 0x80; n >>= 7)
		put_u8(b, (uint8_t)(n | 0x80));
	put_u8(b, (uint8_t)n);
}

void op_runtime_dotnet_cie(struct op_dotnet_bytes *b)
{
	static const uint8_t cie[] = {
		1,	 'z',	    'R', 0,
		1,	 0x78,	    16,	 1,
		0x03, /* addresses of 4 bytes */
		CFA_DEF, DWARF_RSP, 8,	 CFA_OFFSET | 16,
		1,	 0,	    0,
	};

	_Static_assert(sizeof(cie) + 4 == CIE_BYTES, "its length");
	op_runtime_dotnet_put_u32(b, CIE_BYTES);
	op_runtime_dotnet_put_u32(b, 0);
	op_runtime_dotnet_put(b, cie, sizeof(cie));
}

/* Read the operations, the first of the prolog first. Returns their number or -1. */
static int read_operations(const struct op_dotnet_function *f,
			   struct operation ret[OPERATIONS_MAX])
{
	struct op_reader r = op_reader_init(f->info, f->info_len);
	uint8_t version = op_read_u8(&r);
	uint8_t count;
	uint8_t base;
	size_t end;
	int len = 0;
	int i;

	op_read_skip(&r, 1);
	count = op_read_u8(&r);
	base = op_read_u8(&r);
	if ((version & 7) != 1 || version >> 3 & CHAINED)
		return -1;
	end = op_reader_pos(&r) + (size_t)count * 2;
	while (!r.failed && op_reader_pos(&r) < end) {
		struct operation *o = &ret[len];
		uint8_t code;

		if (len++ == OPERATIONS_MAX)
			return -1;
		o->at = op_read_u8(&r);
		code = op_read_u8(&r);
		o->op = code & 15;
		o->info = code >> 4;
		o->size = o->op == ALLOC ? o->info * 8U + 8 : base / 16 * 16U;
		if (o->op == ALLOC_LARGE)
			o->size = o->info ? op_read_u32(&r) : op_read_u16(&r) * 8U;
		else if (o->op == SET_FP_LARGE)
			o->size = op_read_u32(&r) * 16U;
		else if (o->op != PUSH && o->op != ALLOC && o->op != SET_FP)
			return -1;
		if (o->size > ALLOC_MAX)
			return -1;
	}
	if (r.failed || op_reader_pos(&r) != end)
		return -1;
	for (i = 0; i < len / 2; i++) {
		struct operation o = ret[i];

		ret[i] = ret[len - 1 - i];
		ret[len - 1 - i] = o;
	}
	return len;
}

/* What follows holds from @pc on. */
static void advance(struct program *p, uint32_t pc)
{
	uint32_t by = pc - p->pc;
	uint16_t by16 = (uint16_t)by;

	if (by && by < 64) {
		put_u8(p->out, (uint8_t)(CFA_ADVANCE | by));
	} else if (by && by < 1 << 16) {
		put_u8(p->out, CFA_ADVANCE2);
		op_runtime_dotnet_put(p->out, &by16, sizeof(by16));
	} else if (by) {
		put_u8(p->out, CFA_ADVANCE4);
		op_runtime_dotnet_put_u32(p->out, by);
	}
	p->pc = pc;
}

static void grow(struct program *p, uint32_t bytes)
{
	p->cfa += bytes;
	if (p->fp)
		return;
	put_u8(p->out, CFA_DEF_OFFSET);
	put_uleb(p->out, p->cfa);
}

/* Returns false where the operations make no sense. */
static bool put_prolog(struct program *p, const struct operation *o, int len)
{
	int i;

	for (i = 0; i < len; i++) {
		if (o[i].at < p->pc)
			return false;
		advance(p, o[i].at);
		if (o[i].op == PUSH) {
			if (p->pushes == PUSHES_MAX)
				return false;
			p->push[p->pushes++] = o[i].info;
			grow(p, 8);
			put_u8(p->out, CFA_OFFSET | dwarf_number[o[i].info]);
			put_uleb(p->out, p->cfa / 8);
		} else if (o[i].op == ALLOC || o[i].op == ALLOC_LARGE) {
			grow(p, o[i].size);
		} else if (o[i].size <= p->cfa) {
			p->fp = true;
			put_u8(p->out, CFA_DEF);
			put_uleb(p->out, DWARF_RBP);
			put_uleb(p->out, p->cfa - o[i].size);
		} else {
			return false;
		}
	}
	return true;
}

/* Are the instructions at @code, of @left bytes, a return, or a jump that leaves the frame? */
static bool leaves(const uint8_t *code, size_t left)
{
	if (left > 1 && *code == 0x48) {
		code++;
		left--;
	}
	return left && (*code == 0xc3 || *code == 0xe9 ||
			(left > 1 && *code == 0xff && (code[1] & 0x38) == 0x20));
}

/* The epilog that begins at @at pops all that was pushed, and leaves. */
static void put_epilog(struct program *p, uint32_t at, uint32_t end)
{
	size_t i = p->pushes;

	advance(p, at);
	put_u8(p->out, CFA_REMEMBER);
	put_u8(p->out, CFA_DEF);
	put_uleb(p->out, DWARF_RSP);
	put_uleb(p->out, 8 * (uint32_t)(i + 1));
	while (i--) {
		at += p->push[i] < 8 ? 1 : 2;
		advance(p, at);
		put_u8(p->out, CFA_DEF_OFFSET);
		put_uleb(p->out, 8 * (uint32_t)(i + 1));
		put_u8(p->out, CFA_RESTORE | dwarf_number[p->push[i]]);
	}
	advance(p, end);
	put_u8(p->out, CFA_RESTORE_STATE);
}

/* Is there, shortly before @at, the addition to rsp that ends a frame without pushes? */
static bool is_freed(const uint8_t *code, size_t at)
{
	return (at >= 4 && !memcmp(code + at - 4, "\x48\x83\xc4", 3)) ||
	       (at >= 7 && !memcmp(code + at - 7, "\x48\x81\xc4", 3));
}

/* The length of the instruction that leaves(). */
static uint32_t leaving_bytes(const uint8_t *code)
{
	uint32_t prefix = *code == 0x48;

	if (code[prefix] == 0xc3)
		return prefix + 1;
	if (code[prefix] == 0xe9)
		return prefix + 5;
	return prefix + (code[prefix + 1] == 0x25 ? 6 : 2);
}

/*
 * Unwind data does not tell where epilogs are. They are the instructions that pop what the prolog
 * pushed, and then leave.
 */
static void put_epilogs(struct program *p, const struct op_dotnet_function *f)
{
	const size_t size = f->end - f->begin;
	uint8_t pops[2 * PUSHES_MAX];
	size_t len = 0;
	size_t at = p->pc;
	size_t i;

	for (i = p->pushes; i--;) {
		if (p->push[i] >= 8)
			pops[len++] = 0x41;
		pops[len++] = 0x58 + (p->push[i] & 7);
	}
	while (at + len < size) {
		size_t leave = at + len;
		size_t end;

		if ((len && memcmp(f->code + at, pops, len) != 0) ||
		    !leaves(f->code + leave, size - leave) ||
		    (!len && !is_freed(f->code, at))) {
			at++;
			continue;
		}
		end = OP_MIN(leave + leaving_bytes(f->code + leave), size);
		put_epilog(p, (uint32_t)at, (uint32_t)end);
		at = end;
	}
}

void op_runtime_dotnet_fde(struct op_dotnet_bytes *b, const struct op_dotnet_function *f)
{
	struct operation operation[OPERATIONS_MAX];
	struct program p = { .out = b, .cfa = 8 };
	size_t start = b->v.len;
	uint32_t size;
	int len = read_operations(f, operation);

	if (len < 0)
		return;
	op_runtime_dotnet_put_u32(b, 0);
	op_runtime_dotnet_put_u32(b, (uint32_t)start + 4); /* back to the CIE */
	op_runtime_dotnet_put_u32(b, f->begin);
	op_runtime_dotnet_put_u32(b, f->end - f->begin);
	put_u8(b, 0);
	if (!put_prolog(&p, operation, len)) {
		if (!b->failed)
			b->v.len = start;
		return;
	}
	if (len)
		put_epilogs(&p, f);
	while (!b->failed && (b->v.len - start) % 4)
		put_u8(b, 0);
	if (b->failed)
		return;
	size = (uint32_t)(b->v.len - start - 4);
	memcpy(b->v.data + start, &size, sizeof(size));
}
