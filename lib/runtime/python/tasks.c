/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/python/tasks.h"

#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/reader.h"

/* The section of _asyncio with Py_AsyncioModuleDebugOffsets: three groups of words, each with
 * a size first. */
static const char SECTION[] = ".AsyncioDebug";

enum word {
	TASK_SIZE,
	TASK_NAME,
	TASK_AWAITED_BY,
	TASK_IS_TASK,
	TASK_AWAITED_BY_IS_SET,
	TASK_COROUTINE,
	TASK_NODE,
	INTERPRETER_SIZE,
	INTERPRETER_TASKS,
	STATE_SIZE,
	STATE_LOOP,
	STATE_TASK,
	STATE_TASKS,
	WORDS,
};

_Static_assert((int)WORDS * 8 == OP_PYTHON_TASKS_BYTES, "words of eight bytes");

enum {
	TASK_BYTES_MAX = UINT8_MAX,
	STATE_BYTES_MAX = UINT16_MAX,
};

/* Is a pointer at offset @at within the @size bytes of its object, behind the object's head? */
static bool pointer_ok(uint64_t at, uint64_t size)
{
	return at >= 16 && at % 8 == 0 && size >= 8 && at <= size - 8;
}

int op_runtime_python_tasks_published(const void *bytes, size_t len,
				      struct op_python_tasks *ret)
{
	struct op_reader r = op_reader_init(bytes, len);
	uint64_t word[WORDS];
	uint64_t size;
	int i;

	for (i = 0; i < WORDS; i++)
		word[i] = op_read_u64(&r);
	size = word[TASK_SIZE];
	if (r.failed || size > TASK_BYTES_MAX || word[STATE_SIZE] > INT32_MAX ||
	    word[STATE_TASK] > STATE_BYTES_MAX ||
	    !pointer_ok(word[STATE_TASK], word[STATE_SIZE]) ||
	    !pointer_ok(word[TASK_AWAITED_BY], size) ||
	    !pointer_ok(word[TASK_COROUTINE], size) || word[TASK_IS_TASK] >= size ||
	    word[TASK_AWAITED_BY_IS_SET] >= size)
		return -EBADMSG;
	ret->task_coroutine = (uint8_t)word[TASK_COROUTINE];
	ret->task_awaiter = (uint8_t)word[TASK_AWAITED_BY];
	ret->task_is_task = (uint8_t)word[TASK_IS_TASK];
	ret->task_in_set = (uint8_t)word[TASK_AWAITED_BY_IS_SET];
	ret->state_task = (uint16_t)word[STATE_TASK];
	return 0;
}

int op_runtime_python_tasks(struct op_elf *elf, const struct op_python_layout *layout,
			    struct op_python_tasks *ret)
{
	const struct op_elf_section *section =
		layout->generator_frame ? op_elf_section(elf, SECTION) : NULL;
	uint8_t bytes[OP_PYTHON_TASKS_BYTES];
	int r;

	if (!section || section->size < sizeof(bytes))
		return 0;
	r = op_elf_read(elf, section->offset, bytes, sizeof(bytes));
	if (r < 0)
		return r;
	r = op_runtime_python_tasks_published(bytes, sizeof(bytes), ret);
	return r < 0 ? r : 1;
}

int op_runtime_python_tasks_module(const struct op_runtime_target *target,
				   const struct op_python_layout *layout,
				   struct op_python_tasks *ret)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	uint64_t bias;
	int r;

	if (!target->await_chains || !layout->generator_frame || ret->state_task)
		return 0;
	r = target->open_image(target, OP_PYTHON_TASKS_MODULE, &elf, &bias);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return op_runtime_python_tasks(elf, layout, ret);
}
