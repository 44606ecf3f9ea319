/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one instruction of x86-64: its length, and its effects on the stack pointer,
 * the saved frame pointer and the flow of control. Lengths follow Intel's manual,
 * volume 2, chapter 2 and appendix A, and AMD's XOP.
 */
#ifndef OP_CODE_UNWIND_HEIGHTS_INSTRUCTION_H
#define OP_CODE_UNWIND_HEIGHTS_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

enum op_insn_kind {
	OP_INSN_OTHER,
	OP_INSN_PUSH,	  /* reg, or a value that is not in a register */
	OP_INSN_POP,	  /* reg, or a value that is not in a register */
	OP_INSN_ADD_SP,	  /* sp += value */
	OP_INSN_AND_SP,	  /* sp is aligned */
	OP_INSN_SET_SP,	  /* sp = reg + value */
	OP_INSN_LOAD_SP,  /* sp = *(sp + value) */
	OP_INSN_LOSE_SP,  /* sp = something else */
	OP_INSN_COPY_SP,  /* reg = sp + value */
	OP_INSN_STORE,	  /* *(sp + value) = reg */
	OP_INSN_LOAD,	  /* reg = *(sp + value) */
	OP_INSN_LOAD_FP,  /* reg = *(fp + value) */
	OP_INSN_CLEAR_FP, /* fp = 0 */
	OP_INSN_LEAVE,	  /* sp = fp, pop fp */
	OP_INSN_CALL,	  /* calls the address `value` bytes after its end */
	OP_INSN_CALL_FAR, /* calls an address that the instruction does not contain */
	OP_INSN_JUMP,	  /* like OP_INSN_CALL */
	OP_INSN_JUMP_FAR,
	OP_INSN_JUMP_IF,
	OP_INSN_RETURN,
	OP_INSN_TRAP, /* control does not continue */
	OP_INSN_PAD,  /* does nothing */
};

enum {
	OP_INSN_BX = 3, /* rbx, in the numbering of instructions */
	OP_INSN_FP = 5, /* rbp, in the numbering of instructions */
	OP_INSN_SP = 4,
	OP_INSN_NO_REG = 16,
	OP_INSN_BYTES_MAX = 15,
};

struct op_insn {
	int32_t value;
	uint16_t regs; /* a bit for each register that it may write to */
	uint8_t len;
	uint8_t kind; /* enum op_insn_kind */
	uint8_t reg;  /* in the numbering of instructions; OP_INSN_NO_REG: none */
};

/* Read the instruction at @code. Returns its length; 0 if there is none in @len bytes. */
size_t op_insn_read(const uint8_t *code, size_t len, struct op_insn *ret);

#endif
