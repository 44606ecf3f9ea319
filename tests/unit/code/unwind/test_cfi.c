/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>

#include "code/dwarf/cfi.h"

#include "cfi_bytes.h"

enum {
	ROWS_MAX = 64,
	RBP = 6,
	RSP = 7,
	R10 = 10,
};

struct row {
	uint64_t pc;
	bool readable;
	struct op_cfi_state state;
};

struct seen {
	struct op_cfi_fde fde[ROWS_MAX];
	size_t fdes;
	struct row row[ROWS_MAX];
	size_t rows;
	struct op_cfi_stats stats;
};

static int on_fde(void *data, const struct op_cfi_fde *fde)
{
	struct seen *s = data;

	CHECK(s->fdes < ROWS_MAX);
	s->fde[s->fdes++] = *fde;
	return 1;
}

static int on_row(void *data, const struct op_cfi_fde *fde, uint64_t pc,
		  const struct op_cfi_state *state, bool moved)
{
	struct seen *s = data;
	struct row *row = &s->row[s->rows];
	struct op_cfi_state before;

	CHECK(s->rows < ROWS_MAX);
	CHECK(pc >= fde->start && pc < fde->end);
	*row = (struct row){ .pc = pc, .readable = state };
	if (state)
		row->state = *state;
	if (moved) {
		CHECK(state && s->rows > 0);
		before = row[-1].state;
		before.cfa.off = state->cfa.off;
		before.cfa_off = state->cfa_off;
		CHECK(memcmp(&before, state, sizeof(before)) == 0);
	}
	s->rows++;
	return 0;
}

static void walk(struct op_cfi *cfi, const struct op_cfi_sink *sink,
		 struct op_cfi_stats *ret)
{
	struct op_cfi_walk *walk = NULL;

	CHECK_OK(op_cfi_walk_new(cfi, NULL, &walk));
	CHECK_OK(op_cfi_walk_on(walk, sink, NULL, ret));
	op_cfi_walk_free(walk);
}

static void read_all(const struct bytes *b, enum op_cfi_kind kind, uint16_t machine,
		     struct seen *ret)
{
	struct op_cfi_sink sink = { .data = ret, .fde = on_fde, .row = on_row };
	struct op_cfi *cfi = NULL;

	*ret = (struct seen){ 0 };
	CHECK_INT(op_cfi_new_bytes(b->data, b->len, b->addr, kind, machine, &cfi), 1);
	walk(cfi, &sink, &ret->stats);
	op_cfi_free(cfi);
}

static void check_value(const struct op_cfi_value *v, enum op_cfi_how how, int reg,
			int64_t off, int64_t add)
{
	CHECK_INT(v->how, how);
	CHECK_INT(v->reg, reg);
	CHECK_INT(v->off, off);
	CHECK_INT(v->add, add);
}

static void test_common_instructions(void)
{
	struct bytes b = { .addr = 0x5000 };
	size_t cie = put_x86_cie(&b);
	struct seen s;

	PUT_FDE(&b, cie, 0x1000, 0x500, 0x41, 0x0e, 16, 0x86,
		2,				     /* +1: CFA +16, rbp -16 */
		0x43, 0x0d, RBP,		     /* +3: CFA = rbp + 16 */
		0x02, 200, 0x0a, 0x0c, RSP, 8, 0xc6, /* +200: epilogue */
		0x41, 0x0b,			     /* +1: as before it */
		0x03, 0x00, 0x01, 0x2e, 0x20,	     /* +256: args_size only */
		0x04, 0x02, 0x00, 0x00, 0x00, 0x16, RBP, 2, 0x76,
		0x10,		       /* rbp = rbp + 16 */
		0x42, 0x14, RBP, 3,    /* rbp = CFA - 24 */
		0x42, 0x15, RBP, 0x7d, /* rbp = CFA + 24 */
		0x42, 0x07, 16, 0x08, RBP);
	read_all(&b, OP_CFI_EH_FRAME, EM_X86_64, &s);
	CHECK_INT(s.fdes, 1);
	CHECK_INT(s.fde[0].start, 0x1000);
	CHECK_INT(s.fde[0].end, 0x1500);
	CHECK(!s.fde[0].signal);
	CHECK_INT(s.stats.bad_fdes, 0);
	CHECK_INT(s.rows, 9);
	check_value(&s.row[0].state.cfa, OP_CFI_IS_REG, RSP, 8, 0);
	check_value(&s.row[0].state.ra, OP_CFI_AT_CFA, 0, -8, 0);
	CHECK_INT(s.row[0].state.fp.how, OP_CFI_UNSET);
	CHECK_INT(s.row[1].pc, 0x1001);
	check_value(&s.row[1].state.cfa, OP_CFI_IS_REG, RSP, 16, 0);
	check_value(&s.row[1].state.fp, OP_CFI_AT_CFA, 0, -16, 0);
	CHECK_INT(s.row[2].pc, 0x1004);
	check_value(&s.row[2].state.cfa, OP_CFI_IS_REG, RBP, 16, 0);
	CHECK_INT(s.row[3].pc, 0x1004 + 200);
	check_value(&s.row[3].state.cfa, OP_CFI_IS_REG, RSP, 8, 0);
	CHECK_INT(s.row[3].state.fp.how, OP_CFI_UNSET);
	/* The CFA is restored with the registers. */
	CHECK_INT(s.row[4].pc, 0x1005 + 200);
	check_value(&s.row[4].state.cfa, OP_CFI_IS_REG, RBP, 16, 0);
	check_value(&s.row[4].state.fp, OP_CFI_AT_CFA, 0, -16, 0);
	CHECK_INT(s.row[5].pc, 0x1005 + 200 + 258);
	check_value(&s.row[5].state.fp, OP_CFI_IS_REG, RBP, 16, 0);
	check_value(&s.row[6].state.fp, OP_CFI_IS_CFA, 0, -24, 0);
	check_value(&s.row[7].state.fp, OP_CFI_IS_CFA, 0, 24, 0);
	CHECK_INT(s.row[8].state.ra.how, OP_CFI_UNDEFINED);
	CHECK_INT(s.row[8].state.fp.how, OP_CFI_SAME);
	free(b.data);
}

static void test_expressions_by_what_they_compute(void)
{
	struct bytes b = { .addr = 0x5000 };
	size_t cie = put_x86_cie(&b);
	struct seen s;

	PUT_FDE(&b, cie, 0x1000, 0x100, /* gcc realigns: r10, then what it was saved at */
		0x45, 0x0c, R10, 0, 0x49, 0x10, RBP, 2, 0x76, 0, /* rbp at rbp */
		0x46, 0x0f, 3, 0x76, 0x78, 0x06);		 /* CFA = *(rbp - 8) */
	PUT_FDE(&b, cie, 0x2000, 0x100, /* openssl: CFA = *(rsp + 152) + 8, both ways */
		0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 8, 0x41, 0x0f, 6, 0x77, 0x98, 0x01,
		0x06, 0x38, 0x22);
	PUT_FDE(&b, cie, 0x3000, 0x100, /* .plt of ld */
		0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	PUT_FDE(&b, cie, 0x4000, 0x100, /* rsp + 2 * 8 - 4; then not known: rsp + rbp */
		0x0f, 8, 0x77, 0, 0x32, 0x38, 0x1e, 0x22, 0x34, 0x1c, /* */
		0x41, 0x0f, 5, 0x77, 0, 0x76, 0,
		0x22, /* then rbp at CFA - 24, from the CFA */
		0x41, 0x10, RBP, 3, 0x09, 0xe8, 0x22);
	PUT_FDE(&b, cie, 0x5000, 0x100, /* an empty stack, and a deep one */
		0x0f, 1, 0x22, 0x41, 0x0f, 0);
	read_all(&b, OP_CFI_EH_FRAME, EM_X86_64, &s);
	CHECK_INT(s.stats.bad_fdes, 0);
	CHECK_INT(s.rows, 12);
	check_value(&s.row[1].state.cfa, OP_CFI_IS_REG, R10, 0, 0);
	check_value(&s.row[2].state.fp, OP_CFI_AT_REG, RBP, 0, 0);
	check_value(&s.row[3].state.cfa, OP_CFI_AT_REG, RBP, -8, 0);
	check_value(&s.row[4].state.cfa, OP_CFI_AT_REG, RSP, 152, 8);
	check_value(&s.row[5].state.cfa, OP_CFI_AT_REG, RSP, 152, 8);
	check_value(&s.row[6].state.cfa, OP_CFI_PLT, 0, 8, 11);
	check_value(&s.row[7].state.cfa, OP_CFI_IS_REG, RSP, 12, 0);
	CHECK_INT(s.row[8].state.cfa.how, OP_CFI_COMPLEX);
	check_value(&s.row[9].state.fp, OP_CFI_AT_CFA, 0, -24, 0);
	CHECK_INT(s.row[10].state.cfa.how, OP_CFI_COMPLEX);
	CHECK_INT(s.row[11].state.cfa.how, OP_CFI_COMPLEX);
	free(b.data);
}

static void test_a_bad_record_costs_its_own_addresses(void)
{
	struct bytes b = { .addr = 0x5000 };
	size_t cie = put_x86_cie(&b);
	size_t unknown = put_cie(&b, "zX", 0x1b, 16, X86_CIE, sizeof(X86_CIE));
	size_t indirect = put_cie(&b, "zR", 0x9b, 16, X86_CIE, sizeof(X86_CIE));
	struct seen s;
	size_t at;

	PUT_FDE(&b, cie, 0x1000, 0x100, 0x44, 0x3f, 0x44, 0x0e, 32); /* no such opcode */
	PUT_FDE(&b, unknown, 0x2000, 0x100, 0);
	PUT_FDE(&b, indirect, 0x2100, 0x100, 0);
	PUT_FDE(&b, cie, 0x3000, 0x100, 0x44, 0x0b);		 /* nothing remembered */
	PUT_FDE(&b, cie, 0x4000, 0x100, 0x41, 0x0f, 0x7f, 0x77); /* past the end */
	at = put_fde(&b, cie, 0x5000, 0x100, NULL, 0);
	memset(b.data + at + 4, 0x77, 4); /* a CIE before the section */
	PUT_FDE(&b, cie, 0x6000, 0x100, 0x44, 0x0e, 48);
	read_all(&b, OP_CFI_EH_FRAME, EM_X86_64, &s);
	CHECK_INT(s.stats.fdes, 7);
	CHECK_INT(s.stats.bad_fdes, 6);
	CHECK_INT(s.stats.bad_cies, 1);
	CHECK_INT(s.fdes, 4);
	CHECK_INT(s.rows, 8);
	CHECK(s.row[0].readable);
	CHECK_INT(s.row[1].pc, 0x1004);
	CHECK(!s.row[1].readable);
	CHECK_INT(s.row[3].pc, 0x3004);
	CHECK(!s.row[3].readable);
	CHECK(!s.row[5].readable);
	CHECK_INT(s.row[7].pc, 0x6004);
	check_value(&s.row[7].state.cfa, OP_CFI_IS_REG, RSP, 48, 0);
	free(b.data);
}

static void test_states_nest(void)
{
	struct bytes b = { .addr = 0x5000 };
	size_t cie = put_x86_cie(&b);
	uint8_t program[3 * OP_CFI_REMEMBER_MAX + 8];
	struct seen s;
	size_t n = 0;
	size_t i;

	for (i = 0; i < OP_CFI_REMEMBER_MAX; i++) {
		program[n++] = 0x0a;
		program[n++] = 0x0e;
		program[n++] = (uint8_t)(8 + i);
	}
	program[n++] = 0x0b;
	program[n++] = 0x0b;
	put_fde(&b, cie, 0x1000, 0x100, program, n);
	program[n - 2] = 0x0a; /* one too many */
	put_fde(&b, cie, 0x2000, 0x100, program, n);
	read_all(&b, OP_CFI_EH_FRAME, EM_X86_64, &s);
	CHECK_INT(s.stats.bad_fdes, 1);
	CHECK_INT(s.rows, 2);
	check_value(&s.row[0].state.cfa, OP_CFI_IS_REG, RSP, 8 + OP_CFI_REMEMBER_MAX - 3,
		    0);
	CHECK(!s.row[1].readable);
	free(b.data);
}

/* .debug_frame of DWARF 4, 64-bit, on aarch64 with code alignment 4. */
static void test_debug_frame_of_64_bits(void)
{
	static const uint8_t program[] = { 0x42, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x2d };
	struct bytes b = { 0 };
	struct seen s;
	int i;

	put32(&b, UINT32_MAX);
	put64(&b, 8 + 4 + 4 + 3 + 4);
	put64(&b, UINT64_MAX);
	put(&b, "\4\0\10\0\4\x78\36", 7); /* v4, "", 8, 0, 4, -8, x30 */
	put(&b, ARM_CIE, sizeof(ARM_CIE));
	for (i = 0; i < 5; i++)
		put8(&b, 0);
	for (i = 1; i >= 0; i--) { /* the later function first */
		put32(&b, UINT32_MAX);
		put64(&b, 8 + 16 + sizeof(program));
		put64(&b, 0);
		put64(&b, 0x400000 + (uint64_t)i * 0x1000);
		put64(&b, 0x80);
		put(&b, program, sizeof(program));
	}
	read_all(&b, OP_CFI_DEBUG_FRAME, EM_AARCH64, &s);
	CHECK_INT(s.stats.bad_fdes, 0);
	CHECK_INT(s.fdes, 2);
	CHECK_INT(s.fde[0].start, 0x400000);
	CHECK_INT(s.fde[1].start, 0x401000);
	CHECK_INT(s.rows, 4);
	check_value(&s.row[0].state.cfa, OP_CFI_IS_REG, 31, 0, 0);
	CHECK_INT(s.row[1].pc, 0x400008);
	check_value(&s.row[1].state.cfa, OP_CFI_IS_REG, 31, 32, 0);
	check_value(&s.row[1].state.fp, OP_CFI_AT_CFA, 0, -32, 0);
	check_value(&s.row[1].state.ra, OP_CFI_AT_CFA, 0, -24, 0);
	free(b.data);
}

/* A .debug_frame record of the 32-bit form (@is_64: of the 64-bit one) and its id.
 * Returns where it begins; what follows is its content, and end_form() its length. */
static size_t put_form(struct bytes *b, bool is_64, uint64_t id)
{
	size_t at = b->len;

	if (is_64) {
		put32(b, UINT32_MAX);
		put64(b, 0);
		put64(b, id);
	} else {
		put32(b, 0);
		put32(b, (uint32_t)id);
	}
	return at;
}

static void end_form(struct bytes *b, size_t at, bool is_64)
{
	uint64_t len;

	if (!is_64) {
		end_record(b, at);
		return;
	}
	while ((b->len - at) % 8 != 4)
		put8(b, 0); /* DW_CFA_nop */
	len = b->len - at - 12;
	memcpy(b->data + at + 4, &len, sizeof(len));
}

/* The CFA of its functions is rsp + @height. */
static size_t put_form_cie(struct bytes *b, bool is_64, uint8_t height)
{
	size_t at = put_form(b, is_64, UINT64_MAX);

	put(b, "\3\0\1\x78\20", 5); /* v3, "", 1, -8, the return address */
	put(b, (const uint8_t[]){ 0x0c, RSP, height, 0x90, 1 }, 5);
	end_form(b, at, is_64);
	return at;
}

static void put_form_fde(struct bytes *b, bool is_64, size_t cie, uint64_t start)
{
	static const uint8_t program[] = { 0x44, 0x0e, 48 };
	size_t at = put_form(b, is_64, cie);

	put64(b, start);
	put64(b, 0x100);
	put(b, program, sizeof(program));
	end_form(b, at, is_64);
}

/* As a linker joins what compilers with either form made, such as Free Pascal's and
 * gcc's: each record says its own form, and an FDE may have a CIE of the other one. */
static void test_debug_frame_of_both_forms(void)
{
	struct bytes b = { 0 };
	size_t cie[2]; /* of 32, of 64 bits */
	struct seen s;
	size_t i;

	cie[0] = put_form_cie(&b, false, 8);
	put_form_fde(&b, false, cie[0], 0x1000);
	cie[1] = put_form_cie(&b, true, 16);
	put_form_fde(&b, true, cie[1], 0x2000);
	put_form_fde(&b, false, cie[0], 0x3000);
	put_form_fde(&b, true, cie[0], 0x4000);
	put_form_fde(&b, false, cie[1], 0x5000);
	read_all(&b, OP_CFI_DEBUG_FRAME, EM_X86_64, &s);
	CHECK_INT(s.stats.bad_fdes, 0);
	CHECK_INT(s.stats.bad_cies, 0);
	CHECK_INT(s.fdes, 5);
	CHECK_INT(s.rows, 10);
	for (i = 0; i < 5; i++) {
		CHECK_INT(s.fde[i].start, 0x1000 * (i + 1));
		CHECK_INT(s.row[2 * i].pc, s.fde[i].start);
		check_value(&s.row[2 * i].state.cfa, OP_CFI_IS_REG, RSP,
			    i == 1 || i == 4 ? 16 : 8, 0);
		CHECK_INT(s.row[2 * i + 1].pc, s.fde[i].start + 4);
		check_value(&s.row[2 * i + 1].state.cfa, OP_CFI_IS_REG, RSP, 48, 0);
	}
	free(b.data);
}

static void test_pointers_of_other_encodings(void)
{
	struct bytes b = { .addr = 0x5000 };
	size_t cie = put_cie(&b, "zR", 0x00, 16, X86_CIE, sizeof(X86_CIE)); /* absptr */
	size_t signal =
		put_cie(&b, "zRS", 0x03, 16, X86_CIE, sizeof(X86_CIE)); /* udata4 */
	struct seen s;
	size_t at;

	at = b.len;
	put32(&b, 0);
	put32(&b, (uint32_t)(b.len - cie));
	put64(&b, 0x7000);
	put64(&b, 0x10);
	put8(&b, 0);
	end_record(&b, at);
	put32(&b, 0); /* a terminator that a linker left in the middle */
	at = b.len;
	put32(&b, 0);
	put32(&b, (uint32_t)(b.len - signal));
	put32(&b, 0x6000);
	put32(&b, 0x20);
	put8(&b, 3); /* augmentation data */
	put(&b, "abc", 3);
	end_record(&b, at);
	read_all(&b, OP_CFI_EH_FRAME, EM_X86_64, &s);
	CHECK_INT(s.fdes, 2);
	CHECK_INT(s.fde[0].start, 0x6000);
	CHECK_INT(s.fde[0].end, 0x6020);
	CHECK(s.fde[0].signal);
	CHECK_INT(s.fde[1].start, 0x7000);
	CHECK_INT(s.fde[1].end, 0x7010);
	CHECK(!s.fde[1].signal);
	free(b.data);
}

/* Found by fuzz_cfi: the row at which it fails was given with the pc after the overflow. */
static void test_pcs_do_not_wrap(void)
{
	struct bytes b = { .addr = 0x5000 };
	static const uint8_t far_cie[] = { 0x0c, 7, 8, 0x90, 1 };
	size_t cie = put_cie(&b, "zR", 0x00, 16, far_cie, sizeof(far_cie));
	size_t at = b.len;
	struct seen s;

	put32(&b, 0);
	put32(&b, (uint32_t)(b.len - cie));
	put64(&b, UINT64_MAX - 0x100);
	put64(&b, 0x100);
	put8(&b, 0);
	put(&b, "\x44\x03\0\x02", 4); /* advance by 4, by 0x200 */
	end_record(&b, at);
	read_all(&b, OP_CFI_EH_FRAME, EM_X86_64, &s);
	CHECK_INT(s.stats.bad_fdes, 1);
	CHECK_INT(s.rows, 2);
	CHECK_INT(s.row[0].pc, UINT64_MAX - 0x100);
	CHECK_INT(s.row[1].pc, UINT64_MAX - 0x100 + 4);
	CHECK(!s.row[1].readable);
	free(b.data);
}

/* As in libgcrypt: after an expression the CFA is by register again, and the offset is
 * the last one that was said for a register, as in gcc's own unwinder. */
static void test_offset_outlives_an_expression(void)
{
	struct bytes b = { .addr = 0x5000 };
	size_t cie = put_x86_cie(&b);
	struct seen s;

	PUT_FDE(&b, cie, 0x1000, 0x100, 0x41, 0x0e, 56, 0x41, 0x0f, 3, 0x77, 16, 0x06,
		0x41, 0x0d, RSP, 0x41, 0x0f, 3, 0x77, 16, 0x06, 0x41, 0x0e, 48, 0x41,
		0x0d, RBP);
	read_all(&b, OP_CFI_EH_FRAME, EM_X86_64, &s);
	CHECK_INT(s.stats.bad_fdes, 0);
	CHECK_INT(s.rows, 7);
	check_value(&s.row[2].state.cfa, OP_CFI_AT_REG, RSP, 16, 0);
	check_value(&s.row[3].state.cfa, OP_CFI_IS_REG, RSP, 56, 0);
	check_value(&s.row[5].state.cfa, OP_CFI_AT_REG, RSP, 16, 0);
	check_value(&s.row[6].state.cfa, OP_CFI_IS_REG, RBP, 48, 0);
	free(b.data);
}

struct counted {
	uint64_t fdes;
	uint64_t last;
};

static int count_fde(void *data, const struct op_cfi_fde *fde)
{
	struct counted *c = data;

	CHECK(!c->fdes || fde->start > c->last);
	c->last = fde->start;
	c->fdes++;
	return 0;
}

/* More than are sorted in one go, in an order with nothing to gain from. */
static void test_many_in_several_rounds(void)
{
	enum {
		FDES = 3 * OP_CFI_ORDER_MAX / 2
	};
	struct bytes b = { .addr = 0 };
	struct counted c = { 0 };
	struct op_cfi_sink sink = { .data = &c, .fde = count_fde };
	struct op_cfi_stats stats;
	struct op_cfi *cfi = NULL;
	size_t cie = put_x86_cie(&b);
	uint64_t i;

	for (i = 0; i < FDES; i++)
		put_fde(&b, cie, 0x10000000 + (i * 7919 % FDES) * 16, 16, NULL, 0);
	CHECK_INT(
		op_cfi_new_bytes(b.data, b.len, b.addr, OP_CFI_EH_FRAME, EM_X86_64, &cfi),
		1);
	walk(cfi, &sink, &stats);
	CHECK_INT(c.fdes, FDES);
	CHECK_INT(stats.fdes, FDES);
	CHECK_INT(stats.bad_fdes, 0);
	op_cfi_free(cfi);
	free(b.data);
}

TEST_MAIN({ "common", test_common_instructions },
	  { "expressions", test_expressions_by_what_they_compute },
	  { "bad", test_a_bad_record_costs_its_own_addresses },
	  { "nest", test_states_nest }, { "debug_frame", test_debug_frame_of_64_bits },
	  { "both-forms", test_debug_frame_of_both_forms },
	  { "pointers", test_pointers_of_other_encodings },
	  { "offset", test_offset_outlives_an_expression },
	  { "wrap", test_pcs_do_not_wrap }, { "many", test_many_in_several_rounds })
