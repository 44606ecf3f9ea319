/* SPDX-License-Identifier: Apache-2.0 */
/* The list of modules of BEAM in memory of any bytes, which begins with the pointer to the first
 * one. Each name ends. */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "runtime/beam/list.h"

enum {
	BASE = 0x1000,
	TRIES = 8,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { { read_input }, data, size, BASE };
	struct op_beam_list list;
	struct op_beam_function f;
	struct op_beam_module module;
	bool fresh;
	uint64_t i;

	op_runtime_beam_list_init(&list, &in.memory, BASE);
	(void)op_runtime_beam_list_read(&list);
	for (i = 0; i < list.entries.len * TRIES && i < 256; i++) {
		const struct op_beam_entry *e = &list.entries.data[i / TRIES];
		uint64_t at = e->module.base + e->module.size / TRIES * (i % TRIES);

		if (op_runtime_beam_list_find(&list, at, e->guard, &f, &fresh) == 0 &&
		    strlen(f.name) + strlen(f.file) > size)
			abort();
	}
	(void)op_runtime_beam_list_named(&list, "global::process_main", &module, &f);
	op_runtime_beam_list_deinit(&list);
	return 0;
}
