/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the machine code of an architecture. */
#ifndef OP_RUNTIME_HOTSPOT_MACHINE_MACHINE_H
#define OP_RUNTIME_HOTSPOT_MACHINE_MACHINE_H

#include "runtime/hotspot/machine/flow.h"
#include "runtime/hotspot/machine/rules.h"
#include "runtime/hotspot/machine/stack.h"

struct op_hotspot_machine {
	uint16_t elf;  /* EM_* */
	int16_t entry; /* bytes of the return address that a call pushes */
	/* the rules of an interpreter (rules.h) */
	void (*rules)(const uint8_t *code, size_t len,
		      const struct op_hotspot_codelet *codelets, size_t count,
		      struct op_hotspot_rules *ret);
	/* as op_runtime_hotspot_instruction() */
	bool (*instruction)(const uint8_t *code, size_t len,
			    struct op_hotspot_instruction *ret);

	/* of stubs: the same without what is data; apply an instruction to the state */
	bool (*decode)(const uint8_t *code, size_t len,
		       struct op_hotspot_instruction *ret);
	void (*follow)(const struct op_hotspot_instruction *in,
		       struct op_hotspot_stack *s);
	bool (*is_return)(const struct op_hotspot_instruction *in);
	bool (*is_padding)(const struct op_hotspot_instruction *in);
	/* Does a routine begin at @at that makes a frame record at once? */
	bool (*is_prologue)(const uint8_t *code, size_t len, size_t at);
};

extern const struct op_hotspot_machine op_hotspot_x86_64;
extern const struct op_hotspot_machine op_hotspot_aarch64;

#endif
