/* SPDX-License-Identifier: Apache-2.0 */
/* Layout files: what is taken passes its runtime's check, what is not leaves nothing. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "runtime/layouts.h"
#include "runtime/node/layout.h"
#include "runtime/php/layout.h"
#include "runtime/python/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const versions[] = {
		"3.6", "3.14", "3.15", "8.4", "8.9", "1"
	};
	_cleanup_(op_layouts_freep) struct op_layouts *layouts = NULL;
	char error[OP_LAYOUTS_ERROR_MAX];
	struct op_python_layout python;
	struct op_php_layout php;
	struct op_node_layout node;
	size_t before;
	size_t i;

	if (op_layouts_new(&layouts) < 0 ||
	    op_layouts_add(layouts, &op_runtime_python_layouts) < 0 ||
	    op_layouts_add(layouts, &op_runtime_php_layouts) < 0 ||
	    op_layouts_add(layouts, &op_runtime_node_layouts) < 0)
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
	for (i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		if (op_layouts_find(layouts, &op_runtime_python_layouts, versions[i],
				    &python) == 0 &&
		    op_runtime_python_layouts.check(&python))
			__builtin_trap();
		if (op_layouts_find(layouts, &op_runtime_php_layouts, versions[i],
				    &php) == 0 &&
		    op_runtime_php_layouts.check(&php))
			__builtin_trap();
		if (op_layouts_find(layouts, &op_runtime_node_layouts, versions[i],
				    &node) == 0 &&
		    op_runtime_node_layouts.check(&node))
			__builtin_trap();
	}
	return 0;
}
