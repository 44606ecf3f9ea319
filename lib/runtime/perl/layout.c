/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of Perl's layout sections. */
#include "runtime/perl/layout.h"

#include "base/macros.h"

#include "op_user_types.h"

#include "op_perl.h"

#define FIELD(member) OP_LAYOUTS_FIELD(struct op_perl_layout, member)

static const struct op_layouts_field fields[] = {
	FIELD(curcop),	 FIELD(stackinfo), FIELD(top_env), FIELD(si_type),
	FIELD(cx_bytes), FIELD(cx_cv),	   FIELD(cx_sub),  FIELD(hash_aux),
};

static const char *check(const void *layout)
{
	const struct op_perl_layout *l = layout;

	if (!l->curcop || !l->stackinfo || !l->top_env)
		return "curcop, stackinfo and top_env must be given";
	if (l->si_type != 40 && l->si_type != 44)
		return "si_type must be 40 or 44";
	if (l->cx_bytes < OP_PERL_CX_BYTES || l->cx_bytes % 8)
		return "cx_bytes must be 80 to 248, a multiple of 8";
	if (l->cx_cv > OP_PERL_CX_BYTES - 8 || l->cx_cv % 8)
		return "cx_cv must be 0 to 72, a multiple of 8";
	if (!l->cx_sub || l->cx_sub > OP_PERL_CX_TYPE - OP_PERL_CX_EVAL)
		return "cx_sub must be 1 to 13";
	return NULL;
}

const struct op_layouts_schema op_runtime_perl_layouts = {
	.runtime = "perl",
	.title = "Perl",
	.bytes = sizeof(struct op_perl_layout),
	.field = fields,
	.fields = OP_ARRAY_SIZE(fields),
	.built_in = op_runtime_perl_layout_text,
	.check = check,
};
