/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and strings of PHP in memory of any bytes. Input: version, then the memory. A
 * name ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "input.h"
#include "runtime/php/function.h"

#include "op_user_types.h"

#include "op_php.h"

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
	op_runtime_php_functions_init(&functions, &in.memory, &layout,
				      OP_PHP_FUNCTION_FOR_CALL);
	for (i = 0; i < TRIES; i++) {
		const struct op_php_function *f;
		uint64_t addr = BASE + (i & 3) * 64;

		functions.window = (uint32_t)i / 4;
		(void)op_runtime_php_functions_add(&functions, addr, (uint32_t)i,
						   &in.memory);
		if (op_runtime_php_functions_get(&functions, addr,
						 (uint32_t)(i & 1 ? i : size), &f) < 0)
			continue;
		if (strlen(f->text) > 2 * OP_PHP_TEXT_MAX + 2 ||
		    strlen(f->text + f->file) > OP_PHP_TEXT_MAX)
			abort();
	}
	op_runtime_php_functions_deinit(&functions);
	return 0;
}
