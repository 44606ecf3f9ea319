/* SPDX-License-Identifier: Apache-2.0 */
/* Layout files: what is taken passes its runtime's check, what is not leaves nothing. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "runtime/layouts.h"
#include "runtime/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct op_layouts *layouts,
		  const struct op_layouts_schema *schema)
{
	static const char *const VERSIONS[] = {
		"3.6", "3.14", "3.15", "8.4", "8.9", "1"
	};
	uint64_t layout[512];
	size_t i;

	if (schema->bytes > sizeof(layout))
		__builtin_trap();
	for (i = 0; i < sizeof(VERSIONS) / sizeof(*VERSIONS); i++)
		if (op_layouts_find(layouts, schema, VERSIONS[i], layout) == 0 &&
		    schema->check(layout))
			__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(op_layouts_freep) struct op_layouts *layouts = NULL;
	char error[OP_LAYOUTS_ERROR_MAX];
	size_t before, runtimes, i;
	const struct op_runtime_ops *const *ops = op_runtime_all(&runtimes);

	if (op_layouts_new(&layouts) < 0)
		return 0;
	for (i = 0; i < runtimes; i++)
		if (ops[i]->layouts && op_layouts_add(layouts, ops[i]->layouts) < 0)
			return 0;
	for (i = 0; i < 2; i++) {
		before = op_layouts_count(layouts);
		if (op_layouts_read(layouts, "file", (const char *)data, size, error) ==
		    0)
			continue;
		if (op_layouts_count(layouts) != before ||
		    !memchr(error, 0, sizeof(error)))
			__builtin_trap();
	}
	for (i = 0; i < runtimes; i++)
		if (ops[i]->layouts)
			check(layouts, ops[i]->layouts);
	return 0;
}
