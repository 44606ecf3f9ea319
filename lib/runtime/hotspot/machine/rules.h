/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds at which pcs of the template interpreter a method has a frame. The interpreter
 * consists of codelets, one for each bytecode and one for each kind of method entry.
 * The VM publishes the place and the purpose of each. The machine code shows where a
 * method entry makes and removes the frame: the generators of all versions
 * (templateInterpreterGenerator_x86.cpp, _aarch64.cpp) emit the same few sequences.
 */
#ifndef OP_RUNTIME_HOTSPOT_MACHINE_RULES_H
#define OP_RUNTIME_HOTSPOT_MACHINE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

#include "op_hotspot.h"

enum op_hotspot_codelet_kind {
	OP_HOTSPOT_IS_OTHER,
	OP_HOTSPOT_IS_BYTECODE,
	OP_HOTSPOT_IS_METHOD, /* a method entry */
};

struct op_hotspot_codelet {
	uint32_t at; /* offset from the interpreter's first byte */
	uint32_t bytes;
	enum op_hotspot_codelet_kind kind;
};

/* The rules, and counts of what was found: */
struct op_hotspot_rules {
	uint32_t count;
	uint32_t prologues;   /* prologues found in method entries */
	uint32_t epilogues;   /* epilogues found */
	int bcp_slot;	      /* offset from fp; 0: not found */
	bool has_mirror;      /* by that slot, the frame is one of JDK 9 or later */
	uint8_t entry_sender; /* aarch64: see struct op_hotspot */
	struct op_hotspot_rule rule[OP_HOTSPOT_RULES];
};

/* Scan the interpreter's x86-64 @code. @codelets are ascending. Rules beyond
 * OP_HOTSPOT_RULES are left out, and in their code the frame counts as complete. */
void op_runtime_hotspot_rules(const uint8_t *code, size_t len,
			      const struct op_hotspot_codelet *codelets, size_t count,
			      struct op_hotspot_rules *ret);

/* The same for aarch64. */
void op_runtime_hotspot_rules_aarch64(const uint8_t *code, size_t len,
				      const struct op_hotspot_codelet *codelets,
				      size_t count, struct op_hotspot_rules *ret);

/* Append a rule, if it differs from the last one. */
void op_runtime_hotspot_rules_add(struct op_hotspot_rules *rules, uint32_t at,
				  enum op_hotspot_frame frame, uint32_t where);

#endif
