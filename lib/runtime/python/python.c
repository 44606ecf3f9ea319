/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime operations of CPython, for a file, a process and a frame. */
#include "runtime/runtime.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "code/decode/decode.h"
#include "runtime/python/code.h"
#include "runtime/python/image.h"
#include "runtime/python/lines.h"
#include "runtime/python/tasks.h"
#include "runtime/python/traces.h"
#include "runtime/thread_slot.h"

#include "op_python.h"

enum {
	/* Py_tss_t, the key's type since 3.7: int _is_initialized, pthread_key_t _key */
	TSS_KEY = 4,
	TSS_SINCE = 0x0307,
	KEYS_MAX = 1024, /* PTHREAD_KEYS_MAX */
	VARIABLE_SINCE = 0x030f,
	TRACES_SINCE = 0x030d,
};

struct python_instance {
	const struct op_python_image *image;
	struct op_python_codes codes;
	struct op_log *log;
	bool cut; /* it has more code than is searched for traces, and that was logged */
	/* the step's struct has asyncio's offsets, which update() has not reported yet */
	bool untold;
	bool unread; /* asyncio's module could not be read, and that was logged */
	char unknown
		[OP_RUNTIME_GONE_BYTES]; /* the name of a frame whose code object cannot be read */
};

static int python_probe(struct op_elf *elf, const char *path,
			const struct op_layouts *layouts, struct op_log *log,
			void **ret_image, struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ struct op_python_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	r = op_runtime_python_image(elf, path, layouts, log, image, ret_loop);
	if (r == 1)
		*ret_image = OP_TAKE_PTR(image);
	return r;
}

/* Decode the accessor of the thread state, and find @want. */
static int decode_accessor(const struct op_python_image *image,
			   const struct op_runtime_target *target,
			   enum op_decode_want want, struct op_decode_value *ret)
{
	uint8_t code[OP_DECODE_BYTES];
	struct op_decode_input in = { .code = code,
				      .len = OP_MIN(image->state_bytes, sizeof(code)),
				      .addr = image->state_function + target->bias,
				      .memory = target->memory,
				      .want = want };
	int r = op_memory_read(target->memory, in.addr, code, in.len);

	if (r < 0)
		return r;
	return image->machine == EM_AARCH64 ? op_decode_aarch64(&in, ret)
					    : op_decode_x86_64(&in, ret);
}

/* Since 3.15 the thread state is in a thread-local variable: find its offset from the
 * thread pointer. Returns 0, or -ENOENT if the accessor reads no such variable. */
static int find_variable(const struct op_python_image *image,
			 const struct op_runtime_target *target, int32_t *ret)
{
	struct op_decode_value value;
	int r;

	if (image->version < VARIABLE_SINCE)
		return -ENOENT;
	r = decode_accessor(image, target, OP_DECODE_RETURN, &value);
	/* A version that a layout file derives from an earlier one may still use a
	 * pthread key. */
	if (r < 0 || value.kind != OP_DECODE_TP_MEMORY || (int64_t)value.at > INT32_MAX ||
	    (int64_t)value.at < INT32_MIN)
		return -ENOENT;
	*ret = (int32_t)value.at;
	return 0;
}

/* Find the address of the pthread key under which threads keep their PyThreadState. */
static int find_key_address(const struct op_python_image *image,
			    const struct op_runtime_target *target, uint64_t *ret)
{
	struct op_decode_value value;
	int r = decode_accessor(image, target, OP_DECODE_CALL, &value);

	if (r < 0)
		return r;
	if (value.kind == OP_DECODE_MEMORY)
		*ret = value.at;
	else if (value.kind == OP_DECODE_CONST && image->version >= TSS_SINCE)
		*ret = value.at + TSS_KEY;
	else
		return -ENOTSUP;
	return 0;
}

static int read_key(const struct op_python_image *image,
		    const struct op_runtime_target *target, uint32_t *ret)
{
	uint64_t addr;
	int32_t made = 1;
	int32_t key;
	int r = find_key_address(image, target, &addr);

	if (r < 0)
		return r;
	r = op_memory_read(target->memory, addr, &key, sizeof(key));
	if (r == 0 && image->version >= TSS_SINCE)
		r = op_memory_read(target->memory, addr - TSS_KEY, &made, sizeof(made));
	if (r < 0) /* the table that leads there is not relocated yet */
		return r == -EFAULT ? -EAGAIN : r;
	/* Before Py_Initialize() the key is -1 in 3.6; later versions have a flag. */
	if (!made || key < 0)
		return -EAGAIN;
	if (made != 1 || key >= KEYS_MAX)
		return -EBADMSG;
	*ret = (uint32_t)key;
	return 0;
}

/* Find where a thread has its PyThreadState, and fill in @p. */
static int find_state(const struct op_python_image *image,
		      const struct op_runtime_target *target, struct op_python *p)
{
	struct op_thread_slot slot;
	uint32_t key;
	int r = find_variable(image, target, &p->state_at);

	if (r != -ENOENT)
		return r;
	r = read_key(image, target, &key);
	if (r == 0)
		r = op_runtime_thread_slot(target, key, &slot);
	if (r < 0)
		return r;
	p->state_at = slot.at;
	p->state_block = slot.block;
	p->flags |= OP_PYTHON_STATE_INDIRECT;
	return 0;
}

/* Report an accessor that cannot be decoded once per file. Other failures concern one
 * process, which usually has exited. */
static void note_no_state(struct op_python_image *image,
			  const struct op_runtime_target *target, struct op_log *log,
			  int why)
{
	bool news = why == -ENOTSUP && !image->warned;

	if (why == -EAGAIN || why == -ESRCH)
		return;
	image->warned |= news;
	op_log(log, news ? OP_LOG_WARNING : OP_LOG_DEBUG,
	       "process %d: the Python thread state is not found (%s); its frames stay "
	       "native",
	       target->pid, strerror(-why));
}

/* The address in the process of its file's ELF address @addr. 0: unknown. */
static uint64_t placed(const struct op_runtime_target *target, uint64_t addr)
{
	return addr ? addr + target->bias : 0;
}

/* Addresses of types in the process, and offsets of tasks if its executable contains
 * asyncio. */
static void add_tasks(const struct op_python_image *image,
		      const struct op_runtime_target *target, struct op_python_tasks *t)
{
	const struct op_python_tasks *of = &image->tasks;

	t->coroutine_type = placed(target, of->coroutine_type);
	t->generator_type = placed(target, of->generator_type);
	t->asyncgen_type = placed(target, of->asyncgen_type);
	t->asend_type = placed(target, of->asend_type);
	if (!target->await_chains)
		return;
	t->state_task = of->state_task;
	t->task_coroutine = of->task_coroutine;
	t->task_awaiter = of->task_awaiter;
	t->task_is_task = of->task_is_task;
	t->task_in_set = of->task_in_set;
}

static int python_attach(void *image_data, const struct op_runtime_target *target,
			 struct op_log *log, void *bpf, void **ret_instance)
{
	struct op_python_image *image = image_data;
	struct op_python *p = bpf;
	struct python_instance *instance;
	uint32_t i;
	int r;

	op_runtime_python_layout_step(&image->layout, p);
	r = find_state(image, target, p);
	if (r < 0) {
		note_no_state(image, target, log, r);
		return r;
	}
	instance = calloc(1, sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	instance->image = image;
	instance->log = log;
	op_runtime_python_codes_init(&instance->codes, target->memory, &image->layout,
				     placed(target, image->code_type));
	add_tasks(image, target, &p->tasks);
	p->none = placed(target, image->none);
	p->current = placed(target, image->current);
	p->edge_count = (uint8_t)image->edge_count;
	for (i = 0; i < image->edge_count; i++) {
		p->edge[i][0] = image->edge[i][0] + target->bias;
		p->edge[i][1] = image->edge[i][1] + target->bias;
	}
	*ret_instance = instance;
	return 0;
}

static void python_detach(void *data)
{
	struct python_instance *instance = data;

	if (!instance)
		return;
	op_runtime_python_codes_deinit(&instance->codes);
	free(instance);
}

/* Offsets of tasks, if a module with asyncio was mapped. */
static void add_module(struct python_instance *instance,
		       const struct op_runtime_target *target, struct op_python_tasks *t)
{
	int r = op_runtime_python_tasks_module(target, &instance->image->layout, t);

	if (r == 1)
		instance->untold = true;
	if (r < 0 && !instance->unread)
		op_log(instance->log, OP_LOG_WARNING,
		       "process %d: what asyncio publishes of its tasks cannot be read "
		       "(%s); they are not followed",
		       target->pid, strerror(-r));
	instance->unread |= r < 0;
}

static int python_update(void *data, const struct op_runtime_target *target, void *bpf,
			 struct op_runtime_code *ret)
{
	struct python_instance *instance = data;
	const struct op_python_image *image = instance->image;
	struct op_python *p = bpf;
	bool whole = true;
	int r = 0;

	add_module(instance, target, &p->tasks);
	/* On other machines and before that version, compiled code keeps
	 * frame records. */
	if (image->version >= TRACES_SINCE && image->machine == EM_X86_64)
		r = op_runtime_python_traces(target, bpf, ret, &whole);
	if (!whole && !instance->cut)
		op_log(instance->log, OP_LOG_DEBUG,
		       "process %d: not all of its code was searched for traces",
		       target->pid);
	instance->cut = !whole;
	if (r == 0 && instance->untold)
		r = 1;
	if (r == 1)
		instance->untold = false;
	return r;
}

/* The byte offset in the bytecode of @place (op_python.h). Negative: not begun. */
static int64_t bytecode_at(const struct op_python_layout *layout, uint32_t place)
{
	if (layout->flags & OP_PYTHON_RELATIVE)
		return (int64_t)place - layout->code.units;
	if (layout->lines == OP_PYTHON_LINETABLE) /* f_lasti counts code units in 3.10 */
		return (int64_t)(int32_t)place * 2;
	return (int32_t)place;
}

static int python_describe(void *data, const uint64_t *words, size_t len,
			   struct op_runtime_frame *ret)
{
	struct python_instance *instance = data;
	const struct op_python_layout *layout = &instance->image->layout;
	const struct op_python_code *code;
	uint64_t reads = instance->codes.reads;
	uint32_t place;
	uint64_t addr;
	int r;

	if (len != OP_PYTHON_FRAME_WORDS)
		return -EBADMSG;
	addr = words[0] & OP_FRAME_ADDRESS_MASK;
	place = (uint32_t)words[1];
	r = op_runtime_python_codes_get(&instance->codes, addr,
					(uint32_t)(words[1] >> 32), &code);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		op_runtime_frame_gone(&op_runtime_python, addr, r, instance->unknown,
				      ret);
		return 0;
	}
	ret->function[0] = (struct op_runtime_function){ .name = code->text,
							 .file = code->text + code->file,
							 .start_line = code->first_line };
	ret->len = 1;
	ret->fresh = instance->codes.reads != reads;
	if (place != OP_PYTHON_NO_PLACE && code->has_lines)
		ret->function[0].line = op_runtime_python_line(
			layout->lines, code->text + code->lines, code->lines_len,
			code->first_line, bytecode_at(layout, place));
	return 0;
}

static int python_keep_object(void *data, uint64_t addr, uint32_t check,
			      const struct op_memory *copy)
{
	struct python_instance *instance = data;

	return op_runtime_python_codes_add(&instance->codes, addr, check, copy);
}

static void python_window_end(void *data)
{
	struct python_instance *instance = data;

	instance->codes.window++;
}

const struct op_runtime_ops op_runtime_python = {
	.id = OP_RUNTIME_PYTHON,
	.frame_type = "cpython",
	.bpf_size = sizeof(struct op_python),
	.file_names = (const char *const[]){ "python", "libpython", NULL },
	.module = OP_PYTHON_TASKS_MODULE,
	.switcher = "_greenlet.", /* of the package greenlet, which gevent uses */
	.layouts = &op_runtime_python_layouts,
	.probe = python_probe,
	.attach = python_attach,
	.detach = python_detach,
	.update = python_update,
	.describe = python_describe,
	.keep_object = python_keep_object,
	.window_end = python_window_end,
};
