/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of Ruby's layout sections. */
#include "runtime/ruby/layout.h"

#include "base/macros.h"

#include "op_user_types.h"

#include "op_ruby.h"

#define FIELD(member) OP_LAYOUTS_FIELD(struct op_ruby_layout, member)

static const struct op_layouts_field fields[] = {
	FIELD(frame_bytes),	FIELD(ec_thread),	FIELD(thread_id),
	FIELD(ec_fiber),	FIELD(fiber_prev),	FIELD(insns),
	FIELD(insn_bytes),	FIELD(line_shift),	FIELD(last_op),
	FIELD(string_embedded), FIELD(parent),		FIELD(class_attached),
	FIELD(class_path),	FIELD(class_permanent),
};

static const char *check(const void *layout)
{
	const struct op_ruby_layout *l = layout;

	if (l->frame_bytes < OP_RUBY_FRAME_EP + 8 ||
	    l->frame_bytes > OP_RUBY_FRAME_BYTES_MAX || l->frame_bytes % 8)
		return "frame_bytes must be 40, 48, 56 or 64";
	if (!l->insns || l->insns > OP_RUBY_INSNS_BYTES_MAX - OP_RUBY_INSNS_INDEX - 8)
		return "insns must be 1 to 480";
	if (l->insn_bytes < 4 || l->insn_bytes > 32)
		return "insn_bytes must be 4 to 32";
	if (l->string_embedded != 16 && l->string_embedded != 24)
		return "string_embedded must be 16 or 24";
	if (l->line_shift > 1 || !l->last_op)
		return "line_shift must be 0 or 1, and last_op must be given";
	if (l->parent && (!l->class_attached || !l->class_path || !l->class_permanent))
		return "with parent, class_attached, class_path and class_permanent "
		       "must be given";
	return NULL;
}

const struct op_layouts_schema op_runtime_ruby_layouts = {
	.runtime = "ruby",
	.title = "Ruby",
	.bytes = sizeof(struct op_ruby_layout),
	.field = fields,
	.fields = OP_ARRAY_SIZE(fields),
	.built_in = op_runtime_ruby_layout_text,
	.check = check,
};
