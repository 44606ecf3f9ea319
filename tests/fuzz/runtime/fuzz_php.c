/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and strings of PHP in memory of any bytes. Input: version, then the memory. A
 * line is a line or 0, a name ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "input.h"
#include "runtime/php/function.h"

enum {
	BASE = 0x1000,
	TRIES = 8,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t versions[] = { 0x0703, 0x0704, 0x0802, 0x0803, 0x0804 };
	struct input in = { { read_input }, data + 1, size ? size - 1 : 0, BASE };
	struct op_php_functions functions;
	struct op_php_layout layout;
	uint64_t i;

	if (!size || op_layouts_find_number(NULL, &op_runtime_php_layouts,
					    versions[data[0] % 5], &layout) < 0)
		return 0;
	op_runtime_php_functions_init(&functions, &in.memory, &layout);
	for (i = 0; i < TRIES; i++) {
		const struct op_php_function *f;
		const struct op_php_names names = { .name = BASE + i * 8,
						    .scope = i & 1 ? BASE + 64 : 0,
						    .file = BASE + i * 16,
						    .file_guard = i & 2 ? 0 : i,
						    .is_eval = i & 4 };
		uint64_t opline = i & 1 ? BASE + i * 64 : 0;

		functions.window = (uint32_t)i / 4;
		if (op_runtime_php_functions_by_names(&functions, &names, &f) == 0 &&
		    strlen(f->name) > 2 * OP_PHP_TEXT_MAX + 2)
			abort();
		if (op_runtime_php_functions_get(&functions, BASE + (i & 3) * 64, i & 4,
						 opline, &f) < 0)
			continue;
		if (op_runtime_php_line(f, opline) > INT32_MAX ||
		    strlen(f->name) + strlen(f->file) > 4 * OP_PHP_TEXT_MAX)
			abort();
	}
	op_runtime_php_functions_deinit(&functions);
	return 0;
}
