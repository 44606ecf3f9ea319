/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in the template interpreter a method has its frame, and where not yet or no more.
 * The interpreter is made of codelets, one a bytecode and one a kind of method entry; the
 * VM publishes where each is and what it is for. Where in a method entry the frame is made,
 * and where it is taken down, is told from the machine code: the generators of all versions
 * (templateInterpreterGenerator_x86.cpp) write the same few sequences.
 */
#ifndef OP_RUNTIME_HOTSPOT_RULES_H
#define OP_RUNTIME_HOTSPOT_RULES_H

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
	uint32_t at; /* from the interpreter's first byte */
	uint32_t bytes;
	enum op_hotspot_codelet_kind kind;
};

/* What was found. */
struct op_hotspot_rules {
	uint32_t count;
	uint32_t prologues; /* frames made, in method entries */
	uint32_t epilogues; /* frames taken down */
	int bcp_slot;	    /* from fp; 0 where it was not found */
	struct op_hotspot_rule rule[OP_HOTSPOT_RULES];
};

/* Look through the interpreter's x86-64 @code. @codelets are ascending. Rules beyond
 * OP_HOTSPOT_RULES are left out: there the frame counts as made. */
void op_runtime_hotspot_rules(const uint8_t *code, size_t len,
			      const struct op_hotspot_codelet *codelets, size_t count,
			      struct op_hotspot_rules *ret);

#endif
