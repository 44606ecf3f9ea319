/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the instructions of call frame information (DWARF 5, section 6.4.2, and GNU's). */
#include <errno.h>

#include "base/checked.h"
#include "base/macros.h"
#include "code/dwarf/entry.h"
#include "code/dwarf/expr.h"

enum {
	/* the low 6 bits are the operand; the same for the next two */
	CFA_advance_loc = 0x40,
	CFA_offset = 0x80,
	CFA_restore = 0xc0,
	CFA_HIGH = 0xc0,
	CFA_LOW = 0x3f,

	CFA_nop = 0x00,
	CFA_set_loc = 0x01,
	CFA_advance_loc1 = 0x02,
	CFA_advance_loc2 = 0x03,
	CFA_advance_loc4 = 0x04,
	CFA_offset_extended = 0x05,
	CFA_restore_extended = 0x06,
	CFA_undefined = 0x07,
	CFA_same_value = 0x08,
	CFA_register = 0x09,
	CFA_remember_state = 0x0a,
	CFA_restore_state = 0x0b,
	CFA_def_cfa = 0x0c,
	CFA_def_cfa_register = 0x0d,
	CFA_def_cfa_offset = 0x0e,
	CFA_def_cfa_expression = 0x0f,
	CFA_expression = 0x10,
	CFA_offset_extended_sf = 0x11,
	CFA_def_cfa_sf = 0x12,
	CFA_def_cfa_offset_sf = 0x13,
	CFA_val_offset = 0x14,
	CFA_val_offset_sf = 0x15,
	CFA_val_expression = 0x16,
	CFA_MIPS_advance_loc8 = 0x1d,
	CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
	CFA_GNU_window_save = 0x2d, /* aarch64: negate_ra_state */
	CFA_GNU_args_size = 0x2e,
	CFA_GNU_negative_offset_extended = 0x2f,
};

/* How a row differs from the previous one. Most differ only in the CFA's offset. */
enum {
	CHANGED_OFFSET = 1,
	CHANGED_RULE = 2,
};

struct machine {
	const struct op_cfi *cfi;
	const struct op_cie *cie;
	const struct op_cfi_fde *fde;	/* NULL while a CIE is run */
	const struct op_cfi_sink *sink; /* NULL while a CIE is run */
	struct op_reader r;
	uint64_t addr; /* ELF address of r.start */
	uint64_t pc;
	uint32_t changed;  /* since the last row: CHANGED_* */
	uint64_t followed; /* bit n: the rule of register n (< 64) is kept */
	size_t depth;
	struct op_cfi_state state;
	struct op_cfi_state saved[OP_CFI_REMEMBER_MAX];
};

/* Read a ULEB128; nearly all have one byte. */
static inline uint64_t read_uleb(struct op_reader *r)
{
	if (!r->failed && op_reader_left(r) && *r->pos < 0x80)
		return *r->pos++;
	return op_read_uleb(r);
}

/* The rule of @reg in @state, or NULL if the register is not followed. */
static const struct op_cfi_value *rule_in(const struct machine *m,
					  const struct op_cfi_state *state, uint64_t reg)
{
	if (reg == m->cie->ra_reg)
		return &state->ra;
	if (reg == m->cfi->fp_reg)
		return &state->fp;
	if (reg == m->cfi->sp_reg)
		return &state->sp;
	if (reg == m->cfi->kept_reg)
		return &state->kept;
	return NULL;
}

static struct op_cfi_value *rule_of(struct machine *m, uint64_t reg)
{
	if (reg == m->cie->ra_reg)
		return &m->state.ra;
	if (reg == m->cfi->fp_reg)
		return &m->state.fp;
	if (reg == m->cfi->sp_reg)
		return &m->state.sp;
	if (reg == m->cfi->kept_reg)
		return &m->state.kept;
	return NULL;
}

static void set(struct machine *m, uint64_t reg, struct op_cfi_value value)
{
	struct op_cfi_value *rule = rule_of(m, reg);

	if (!rule)
		return;
	*rule = value;
	m->changed |= CHANGED_RULE;
}

static void set_off(struct machine *m, uint64_t reg, enum op_cfi_how how, int64_t off)
{
	struct op_cfi_value *rule = rule_of(m, reg);

	if (!rule)
		return;
	if (op_mul_overflow(off, m->cie->data_align, &off))
		m->r.failed = true;
	*rule = (struct op_cfi_value){ .how = (uint16_t)how, .off = off };
	m->changed |= CHANGED_RULE;
}

/* Read an unsigned operand as a signed number. */
static int64_t read_uleb_signed(struct op_reader *r)
{
	uint64_t v = read_uleb(r);

	if (v > INT64_MAX)
		r->failed = true;
	return (int64_t)v;
}

static void restore(struct machine *m, uint64_t reg)
{
	const struct op_cfi_value *initial = rule_in(m, &m->cie->initial, reg);

	if (initial)
		set(m, reg, *initial);
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t off)
{
	if (reg > UINT16_MAX)
		m->r.failed = true;
	m->state.cfa = (struct op_cfi_value){
		.how = OP_CFI_IS_REG,
		.reg = (uint16_t)reg,
		.off = off,
	};
	m->state.cfa_off = off;
	m->changed |= CHANGED_RULE;
}

/* Set only the CFA's offset. For an expression it has no effect until a register is
 * named. */
static void set_cfa_off(struct machine *m, int64_t off)
{
	m->state.cfa_off = off;
	if (m->state.cfa.how == OP_CFI_IS_REG)
		m->state.cfa.off = off;
	m->changed |= CHANGED_OFFSET;
}

static int64_t factored(struct machine *m, int64_t off)
{
	if (op_mul_overflow(off, m->cie->data_align, &off))
		m->r.failed = true;
	return off;
}

/* Read an expression: of the CFA, or of a register's value or address. */
static void read_expression(struct machine *m, uint8_t op)
{
	bool of_cfa = op == CFA_def_cfa_expression;
	uint64_t reg = of_cfa ? 0 : read_uleb(&m->r);
	uint64_t len = read_uleb(&m->r);
	const uint8_t *bytes = op_read_bytes(&m->r, len);
	struct op_cfi_value v;

	if (!bytes || (!of_cfa && !rule_of(m, reg)))
		return;
	v = op_dwarf_expr_value(bytes, (size_t)len, !of_cfa);
	if (of_cfa) {
		m->state.cfa = v;
		m->changed |= CHANGED_RULE;
		return;
	}
	if (op == CFA_expression) { /* the value is the address */
		if (v.how == OP_CFI_IS_REG)
			v.how = OP_CFI_AT_REG;
		else if (v.how == OP_CFI_IS_CFA)
			v.how = OP_CFI_AT_CFA;
		else
			v = (struct op_cfi_value){ .how = OP_CFI_COMPLEX };
	}
	set(m, reg, v);
}

/* Give a row. A pc before the FDE's wanted part counts as that part's start. */
static int give(struct machine *m, const struct op_cfi_state *state)
{
	bool moved = state && m->changed == CHANGED_OFFSET;

	m->changed = 0;
	return m->sink->row(m->sink->data, m->fde, OP_MAX(m->pc, m->fde->start), state,
			    moved);
}

static int give_row(struct machine *m)
{
	if (!m->changed || m->pc >= m->fde->end)
		return 0;
	return give(m, &m->state);
}

/* Advance to a later pc. Returns 0, 1 at the end of the FDE, or a negative value that
 * ends it early. */
static inline int advance_inline(struct machine *m, uint64_t delta)
{
	uint64_t bytes;
	uint64_t pc;
	int r;

	if (!m->fde || op_mul_overflow(delta, m->cie->code_align, &bytes))
		return -EBADMSG;
	if (!bytes)
		return 0;
	r = give_row(m);
	if (r < 0)
		return r;
	if (op_add_overflow(m->pc, bytes, &pc))
		return -EBADMSG;
	m->pc = pc;
	return pc >= m->fde->end;
}

static int advance(struct machine *m, uint64_t delta)
{
	return advance_inline(m, delta);
}

static int set_loc(struct machine *m)
{
	uint64_t addr = m->addr + op_reader_pos(&m->r);
	uint64_t pc = op_cfi_read_pointer(&m->r, m->cie->pointer, addr);
	int r;

	if (!m->fde || m->r.failed || pc < m->pc)
		return -EBADMSG;
	r = pc > m->pc ? give_row(m) : 0;
	if (r < 0)
		return r;
	m->pc = pc;
	return pc >= m->fde->end;
}

static int remember(struct machine *m)
{
	if (m->depth == OP_CFI_REMEMBER_MAX)
		return -EBADMSG;
	m->saved[m->depth++] = m->state;
	return 0;
}

static int restore_state(struct machine *m)
{
	if (m->depth == 0)
		return -EBADMSG;
	m->state = m->saved[--m->depth];
	m->changed |= CHANGED_RULE;
	return 0;
}

/* Run an instruction about a register's rule. Returns false if @op is not one. */
static bool step_register(struct machine *m, uint8_t op)
{
	struct op_reader *r = &m->r;
	uint64_t reg;

	switch (op) {
	case CFA_offset_extended:
	case CFA_offset_extended_sf:
	case CFA_val_offset:
	case CFA_val_offset_sf:
	case CFA_GNU_negative_offset_extended: {
		bool is_signed = op == CFA_offset_extended_sf || op == CFA_val_offset_sf;
		bool is_value = op == CFA_val_offset || op == CFA_val_offset_sf;
		int64_t off;

		reg = read_uleb(r);
		off = is_signed ? op_read_sleb(r) : read_uleb_signed(r);
		if (op == CFA_GNU_negative_offset_extended)
			off = -off;
		set_off(m, reg, is_value ? OP_CFI_IS_CFA : OP_CFI_AT_CFA, off);
		return true;
	}
	case CFA_restore_extended:
		restore(m, read_uleb(r));
		return true;
	case CFA_undefined:
		set(m, read_uleb(r), (struct op_cfi_value){ .how = OP_CFI_UNDEFINED });
		return true;
	case CFA_same_value:
		set(m, read_uleb(r), (struct op_cfi_value){ .how = OP_CFI_SAME });
		return true;
	case CFA_register: {
		struct op_cfi_value v = { .how = OP_CFI_IS_REG };

		reg = read_uleb(r);
		v.reg = (uint16_t)read_uleb(r);
		set(m, reg, v);
		return true;
	}
	case CFA_expression:
	case CFA_val_expression:
		read_expression(m, op);
		return true;
	default:
		return false;
	}
}

/* Run an instruction about the CFA. Returns false if @op is not one. */
static bool step_cfa(struct machine *m, uint8_t op)
{
	struct op_reader *r = &m->r;
	uint64_t reg;

	switch (op) {
	case CFA_def_cfa:
		reg = read_uleb(r);
		set_cfa(m, reg, read_uleb_signed(r));
		return true;
	case CFA_def_cfa_sf:
		reg = read_uleb(r);
		set_cfa(m, reg, factored(m, op_read_sleb(r)));
		return true;
	case CFA_def_cfa_expression:
		read_expression(m, op);
		return true;
	case CFA_def_cfa_register:
		set_cfa(m, read_uleb(r), m->state.cfa_off);
		return true;
	case CFA_def_cfa_offset_sf:
		set_cfa_off(m, factored(m, op_read_sleb(r)));
		return true;
	default:
		return false;
	}
}

static int step_other(struct machine *m, uint8_t op)
{
	struct op_reader *r = &m->r;

	switch (op) {
	case CFA_nop:
	case CFA_GNU_window_save:
	case CFA_AARCH64_negate_ra_state_with_pc:
		return 0; /* the value of a return address shows whether it is signed */
	case CFA_GNU_args_size:
		(void)read_uleb(r);
		return 0;
	case CFA_set_loc:
		return set_loc(m);
	case CFA_advance_loc1:
		return advance(m, op_read_u8(r));
	case CFA_advance_loc2:
		return advance(m, op_read_u16(r));
	case CFA_advance_loc4:
		return advance(m, op_read_u32(r));
	case CFA_MIPS_advance_loc8:
		return advance(m, op_read_u64(r));
	case CFA_remember_state:
		return remember(m);
	case CFA_restore_state:
		return restore_state(m);
	default:
		return step_cfa(m, op) || step_register(m, op) ? 0 : -EBADMSG;
	}
}

static inline int step(struct machine *m, uint8_t op)
{
	uint8_t low = op & CFA_LOW;

	switch (op & CFA_HIGH) {
	case CFA_advance_loc:
		return advance_inline(m, low);
	case CFA_offset:
		if (m->followed >> low & 1)
			set_off(m, low, OP_CFI_AT_CFA, read_uleb_signed(&m->r));
		else /* usually a callee-saved register that no rule needs */
			(void)read_uleb(&m->r);
		return 0;
	case CFA_restore:
		restore(m, low);
		return 0;
	default:
		if (op == CFA_def_cfa_offset) { /* the most frequent one of the rest */
			set_cfa_off(m, read_uleb_signed(&m->r));
			return 0;
		}
		return op == CFA_nop ? 0 : step_other(m, op);
	}
}

static uint64_t bit_of(uint64_t reg)
{
	return reg < 64 ? UINT64_C(1) << reg : 0;
}

static int run(struct machine *m)
{
	m->followed = bit_of(m->cie->ra_reg) | bit_of(m->cfi->fp_reg) |
		      bit_of(m->cfi->sp_reg) | bit_of(m->cfi->kept_reg);
	while (op_reader_left(&m->r)) {
		int r = step(m, *m->r.pos++);

		if (m->r.failed)
			return -EBADMSG;
		if (r)
			return r < 0 ? r : 0;
	}
	return 0;
}

int op_cfi_run_cie(const struct op_cfi *cfi, struct op_cie *cie, struct op_reader *r,
		   uint64_t addr)
{
	struct machine m;
	int error;

	m.cfi = cfi;
	m.cie = cie;
	m.fde = NULL;
	m.sink = NULL;
	m.r = *r;
	m.addr = addr;
	m.pc = 0;
	m.depth = 0;
	m.state = (struct op_cfi_state){ 0 };
	error = run(&m);
	if (error < 0)
		return error;
	cie->initial = m.state;
	return 0;
}

int op_cfi_run_fde(const struct op_cfi *cfi, struct op_cfi_parsed_fde *parsed,
		   const struct op_cfi_sink *sink)
{
	struct machine m; /* not zeroed: saved[] is large */
	int error;

	m.cfi = cfi;
	m.cie = parsed->cie;
	m.fde = &parsed->fde;
	m.sink = sink;
	m.r = parsed->program;
	m.addr = parsed->program_addr;
	m.pc = parsed->pc;
	m.changed = CHANGED_RULE;
	m.depth = 0;
	m.state = parsed->cie->initial;
	error = run(&m);
	if (error == 0)
		return give_row(&m);
	if (error == -EBADMSG && m.pc < m.fde->end) {
		int r = give(&m, NULL);

		if (r < 0)
			return r;
	}
	return error;
}
