/* SPDX-License-Identifier: Apache-2.0 */
/* V8's tables: of source positions, and from baseline code to bytecodes. Input: a byte for
 * the form, a byte for the length of the table, the table, bytecodes. */
#include <stdlib.h>

#include "runtime/node/positions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t sizes[] = { 1, 1, 1, 1, 1, 2, 3, 1, 1, 1, 1,
				 1, 3, 5, 1, 1, 1, 1, 1, 5, 9 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_node_table_form form;
	size_t len;
	uint32_t at;

	if (size < 2)
		return 0;
	form.first = data[0] & 1 ? -1 : 0;
	form.flag_bits = data[0] >> 1 & 3;
	len = data[1] < size - 2 ? data[1] : size - 2;
	data += 2;
	size -= 2;
	for (at = 0; at < 64; at += 3) {
		struct op_node_position p =
			op_runtime_node_position_at(data, len, form, at);
		int32_t bytecode = op_runtime_node_baseline(data, len, data + len,
							    size - len, sizes, 7, at);

		if (p.offset < -1 || p.inlining < -1 || bytecode < -1 ||
		    (bytecode >= 0 && (size_t)bytecode >= size - len))
			abort();
	}
	return 0;
}
