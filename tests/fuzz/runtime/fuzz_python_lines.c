/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of any bytes. Input: kind, where (2 bytes), table. A line is a line or 0. */
#include <stdlib.h>

#include "base/reader.h"
#include "runtime/python/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_reader r = op_reader_init(data, size);
	uint8_t kind = op_read_u8(&r) % 3;
	int64_t at = op_read_s16(&r);
	size_t len = op_reader_left(&r);
	uint32_t line = op_runtime_python_line((enum op_python_lines)kind,
					       op_read_bytes(&r, len), len, 10, at);

	if (line > INT32_MAX || (at < 0 && line != 10))
		abort();
	return 0;
}
