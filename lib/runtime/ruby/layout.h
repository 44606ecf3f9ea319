/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of Ruby's objects: ruby.layout has a section for each minor version. */
#ifndef OP_RUNTIME_RUBY_LAYOUT_H
#define OP_RUNTIME_RUBY_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/layouts.h"

/* Offsets in bytes. ruby.layout describes each. */
struct op_ruby_layout {
	uint8_t frame_bytes;
	uint8_t ec_thread;
	uint8_t ec_fiber; /* 0: not known */
	uint16_t fiber_prev;
	uint16_t thread_id;
	uint16_t insns;
	uint8_t insn_bytes;
	uint8_t line_shift;
	uint8_t string_embedded;
	uint16_t last_op;
	/* since 3.4, whose labels have the method's class; otherwise 0 */
	uint16_t parent;
	uint16_t class_attached;
	uint16_t class_path;
	uint16_t class_permanent;
};

/* Offsets and values that have been the same since Ruby 2.6. */
enum {
	OP_RUBY_INSNS_POSITIONS = 8, /* behind insns_info.body */
	OP_RUBY_INSNS_SIZE = 16,
	OP_RUBY_INSNS_INDEX = 24,
	OP_RUBY_DEF_ORIGINAL_ID = 32, /* rb_method_definition_t */
	OP_RUBY_SYMBOLS_IDS = 16,     /* rb_symbols_t */
	/* of a body; insns and the members behind it are below */
	OP_RUBY_INSNS_BYTES_MAX = 512,
};

extern const struct op_layouts_schema op_runtime_ruby_layouts;

/* The text of ruby.layout. */
extern const unsigned char op_runtime_ruby_layout_text[];
extern const size_t op_runtime_ruby_layout_text_len;

#endif
