/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of PHP's layout sections. */
#include "runtime/php/layout.h"

#include <stddef.h>

#include "base/macros.h"

#include "op_user_types.h"

#include "op_php.h"

#define FIELD(member) OP_LAYOUTS_FIELD(struct op_php_layout, member)

static const struct op_layouts_field fields[] = {
	FIELD(current),	     FIELD(function_bytes), FIELD(last),
	FIELD(opcodes),	     FIELD(filename),	    FIELD(line_start),
	FIELD(active_fiber), FIELD(fiber_context),  FIELD(fiber_caller),
	FIELD(fiber_bottom),
};

static const char *check(const void *layout)
{
	const struct op_php_layout *l = layout;

	if (l->function_bytes < OP_PHP_FUNCTION_COMMON ||
	    l->function_bytes > OP_PHP_FUNCTION_BYTES_MAX)
		return "function_bytes must be 24 to 184";
	if (l->last + 4 > l->function_bytes || l->opcodes + 8 > l->function_bytes ||
	    l->filename + 8 > l->function_bytes || l->line_start + 8 > l->function_bytes)
		return "last, opcodes, filename and line_start must lie below "
		       "function_bytes";
	if (!l->current || !l->last || !l->opcodes || !l->filename || !l->line_start)
		return "current, last, opcodes, filename and line_start must be given";
	if (l->active_fiber &&
	    (!l->fiber_context || !l->fiber_caller || !l->fiber_bottom))
		return "with active_fiber, fiber_context, fiber_caller and fiber_bottom "
		       "must be given";
	return NULL;
}

const struct op_layouts_schema op_runtime_php_layouts = {
	.runtime = "php",
	.title = "PHP",
	.bytes = sizeof(struct op_php_layout),
	.field = fields,
	.fields = OP_ARRAY_SIZE(fields),
	.built_in = op_runtime_php_layout_text,
	.check = check,
};
