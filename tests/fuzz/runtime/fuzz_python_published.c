/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets that an interpreter publishes, of any bytes. Input: version (2 bytes; 0: the module
 * _asyncio's), what is published. What is taken leads the step to no byte that it does not read.
 */
#include <stdlib.h>

#include "base/reader.h"
#include "runtime/python/layout.h"
#include "runtime/python/tasks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void layout_of(uint16_t version, const uint8_t *bytes, size_t len)
{
	struct op_python_layout layout;
	struct op_python step = { 0 };
	const uint8_t *words = &step.frame_code;
	size_t i;

	if (op_layouts_find_number(NULL, &op_runtime_python_layouts, version, &layout) <
		    0 ||
	    op_runtime_python_layout_published(bytes, len, version, &layout) < 0)
		return;
	op_runtime_python_layout_step(&layout, &step);
	if (op_runtime_python_layouts.check(&layout) ||
	    step.read_bytes > OP_PYTHON_READ_MAX || step.frame_mark >= step.read_bytes)
		abort();
	for (i = 0; i < 4; i++) /* frame_code, _previous, _place, _globals */
		if (words[i] % 8 || words[i] + 8 > step.read_bytes)
			abort();
	if (step.tasks.generator_frame &&
	    (step.tasks.frame_stack % 8 || step.tasks.frame_stack + 8 > step.read_bytes))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_reader r = op_reader_init(data, size);
	struct op_python_tasks tasks = { 0 };
	uint16_t version = op_read_u16(&r);
	size_t len = op_reader_left(&r);
	const uint8_t *bytes = op_read_bytes(&r, len);

	if (!bytes)
		return 0;
	if (version)
		layout_of(version, bytes, len);
	else if (op_runtime_python_tasks_published(bytes, len, &tasks) == 0 &&
		 (!tasks.state_task || tasks.task_coroutine % 8 ||
		  tasks.task_awaiter % 8))
		abort();
	return 0;
}
