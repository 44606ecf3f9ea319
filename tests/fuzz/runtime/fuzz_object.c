/* SPDX-License-Identifier: Apache-2.0 */
/* Records of objects that the kernel copied, of any bytes, as code objects of CPython. */
#include <stdlib.h>

#include "runtime/python/code.h"
#include "sample/kept/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_none(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	(void)m;
	(void)addr;
	(void)buf;
	(void)len;
	return -1;
}

static void as_python(const struct op_copied_object *copied, uint16_t version)
{
	const struct op_memory none = { .read = read_none };
	const uint64_t addr = copied->record.frame & OP_FRAME_ADDRESS_MASK;
	const struct op_python_code *code;
	struct op_python_layout layout;
	struct op_python_codes codes;

	if (op_layouts_find_number(NULL, &op_runtime_python_layouts, version, &layout) <
	    0)
		abort();
	op_runtime_python_codes_init(&codes, &none, &layout, 0);
	if (op_runtime_python_codes_add(&codes, addr, copied->record.check,
					&copied->memory) == 0 &&
	    op_runtime_python_codes_get(&codes, addr, copied->record.check, &code) < 0)
		abort();
	op_runtime_python_codes_deinit(&codes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_copied_object copied;

	if (op_copied_object_read(data, size, &copied) < 0)
		return 0;
	as_python(&copied, 0x0306);
	as_python(&copied, 0x030b);
	as_python(&copied, 0x030e);
	return 0;
}
