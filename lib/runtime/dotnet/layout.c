/* SPDX-License-Identifier: Apache-2.0 */
/* The schema of .NET's layout sections. */
#include "runtime/dotnet/layout.h"

#include "base/macros.h"

#define FIELD(member) OP_LAYOUTS_FIELD(struct op_dotnet_layout, member)

static const struct op_layouts_field fields[] = {
	FIELD(module_base),   FIELD(module_assembly),	FIELD(assembly_image),
	FIELD(image_layout),  FIELD(layout_base),	FIELD(dynamic_name),
	FIELD(image_path),    FIELD(patchpoint_locals), FIELD(patchpoint_rest),
	FIELD(packed_bounds), FIELD(task_continuation), FIELD(task_state),
	FIELD(row_bits),
};

static const char *check(const void *layout)
{
	const struct op_dotnet_layout *l = layout;

	if (!l->module_base && !l->module_assembly)
		return "module_base or module_assembly must be given";
	if (!l->module_base &&
	    (!l->assembly_image || !l->image_layout || !l->layout_base))
		return "without module_base, assembly_image, image_layout and layout_base must "
		       "be given";
	if (l->task_continuation > UINT8_MAX || l->task_state > UINT8_MAX ||
	    l->row_bits > 31)
		return "task_continuation, task_state or row_bits is too large";
	return l->dynamic_name ? NULL : "dynamic_name must be given";
}

const struct op_layouts_schema op_runtime_dotnet_layouts = {
	.runtime = "dotnet",
	.title = ".NET",
	.bytes = sizeof(struct op_dotnet_layout),
	.field = fields,
	.fields = OP_ARRAY_SIZE(fields),
	.built_in = op_runtime_dotnet_layout_text,
	.check = check,
};
