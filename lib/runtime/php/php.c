/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime operations of PHP, for a file, a process and a frame. */
#include "runtime/runtime.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "code/decode/decode.h"
#include "runtime/php/function.h"
#include "runtime/php/image.h"

#include "op_php.h"

enum {
	NEW_BITS_SINCE = 0x0704, /* of frames and functions, in zend_compile.h */
	COPIED_BYTES = 512,	 /* of each name */
	CACHE_CODE_BYTES = 32,	 /* of tsrm_get_ls_cache_tcb_offset() */
	GLOBALS_BYTES_MAX = 1 << 24,
};

/* DWARF numbers of ZEND_VM_FP_GLOBAL_REG, of ZEND_VM_IP_GLOBAL_REG and of the first
 * argument's register. */
struct registers {
	uint8_t frame;
	uint8_t opline;
	uint8_t argument;
};

static const struct registers x86_64 = { 14, 15, 5 }; /* r14, r15, rdi */
static const struct registers aarch64 = { 27, 28, 0 };

struct php_instance {
	struct op_php_functions functions;
	char unknown
		[OP_RUNTIME_GONE_BYTES]; /* the name of a frame whose function cannot be read */
};

static int php_probe(struct op_elf *elf, const char *path,
		     const struct op_layouts *layouts, struct op_log *log,
		     void **ret_image, struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ struct op_php_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	r = op_runtime_php_image(elf, path, layouts, log, image, ret_loop);
	if (r == 1)
		*ret_image = OP_TAKE_PTR(image);
	return r;
}

/* How to name a function: itself, its name, its class and that one's name, its file's
 * name. */
static void set_object(const struct op_php_layout *layout, struct op_object_step *ret)
{
	const struct op_object_step name = { .at = OP_PHP_FUNCTION_NAME,
					     .bytes = OP_PHP_STRING_TEXT,
					     .length_at = OP_PHP_STRING_LENGTH,
					     .most = COPIED_BYTES };

	ret[0].bytes = layout->function_bytes;
	ret[1] = name;
	ret[2] = (struct op_object_step){ .at = OP_PHP_FUNCTION_SCOPE,
					  .bytes = OP_PHP_CLASS_NAME + 8 };
	ret[3] = name;
	ret[3].piece = 2;
	ret[3].at = OP_PHP_CLASS_NAME;
	ret[4] = name;
	ret[4].at = layout->filename;
}

/* Where the executor's globals are: their address, or their offset in the block of a
 * thread's globals, to which *@ret_at leads. */
static int find_globals(const struct op_php_image *image,
			const struct op_runtime_target *target, uint64_t *ret,
			int16_t *ret_at)
{
	uint64_t executor = image->executor + target->bias;
	struct op_decode_value value;
	uint8_t code[CACHE_CODE_BYTES];
	struct op_decode_input in = { .code = code,
				      .len = sizeof(code),
				      .addr = image->threads + target->bias,
				      .memory = target->memory,
				      .want = OP_DECODE_RETURN };
	int r;

	*ret = executor;
	*ret_at = 0;
	if (!image->threads)
		return 0;
	r = op_memory_read(target->memory, in.addr, code, sizeof(code));
	if (r == 0)
		r = op_memory_read(target->memory, executor, ret, sizeof(*ret));
	if (r < 0)
		return r;
	if (!*ret) /* PHP has not begun */
		return -EAGAIN;
	r = image->machine == EM_AARCH64 ? op_decode_aarch64(&in, &value)
					 : op_decode_x86_64(&in, &value);
	if (r < 0)
		return r;
	*ret_at = (int16_t)value.at;
	return value.kind == OP_DECODE_CONST && value.at &&
			       (int64_t)value.at == *ret_at && *ret <= GLOBALS_BYTES_MAX
		       ? 0
		       : -ENOTSUP;
}

static int php_attach(void *image_data, const struct op_runtime_target *target,
		      struct op_log *log, void *bpf, void **ret_instance)
{
	const struct op_php_image *image = image_data;
	const struct op_php_layout *layout = &image->layout;
	const struct registers *registers =
		image->machine == EM_AARCH64 ? &aarch64 : &x86_64;
	struct php_instance *instance = calloc(1, sizeof(*instance));
	struct op_php *php = bpf;
	uint64_t executor;
	int16_t globals;
	uint32_t i;
	int r;

	if (!instance)
		return -ENOMEM;
	r = find_globals(image, target, &executor, &globals);
	if (r < 0) {
		free(instance);
		return r;
	}
	op_runtime_php_functions_init(&instance->functions, target->memory, layout,
				      image->version < NEW_BITS_SINCE
					      ? OP_PHP_FUNCTION_FOR_CALL_73
					      : OP_PHP_FUNCTION_FOR_CALL);
	*php = (struct op_php){
		.current = executor + layout->current,
		.body = image->body ? image->body + target->bias : 0,
		.flags =
			(uint8_t)((image->registers ? OP_PHP_REGISTERS : 0) |
				  (image->body_fp ? OP_PHP_BODY_FP : 0) |
				  (image->threads ? OP_PHP_THREADS : 0) |
				  (image->version < NEW_BITS_SINCE ? OP_PHP_BITS_73 : 0)),
		.body_cfa = image->body_cfa,
		.frame_opline = OP_PHP_FRAME_OPLINE,
		.frame_function = OP_PHP_FRAME_FUNCTION,
		.frame_info = OP_PHP_FRAME_INFO,
		.frame_previous = OP_PHP_FRAME_PREVIOUS,
		.frame_register = registers->frame,
		.opline_register = registers->opline,
		.argument_register = registers->argument,
		.function_file = layout->filename,
		.op_line = OP_PHP_OP_LINE,
		.function_opcodes = layout->opcodes,
		.function_last = layout->last,
		.globals = globals,
		.fiber_context = layout->fiber_context,
		.fiber_caller = layout->fiber_caller,
		.fiber_bottom = layout->fiber_bottom,
	};
	set_object(layout, php->object);
	/* The place of the return address is known only on x86-64. */
	for (i = 0; i < OP_PHP_BEGINNERS && image->machine == EM_X86_64; i++) {
		if (!image->beginner[i][0])
			continue;
		php->beginner[i][0] = image->beginner[i][0] + target->bias;
		php->beginner[i][1] = image->beginner[i][1] + target->bias;
	}
	if (layout->active_fiber)
		php->fiber = executor + layout->active_fiber;
	*ret_instance = instance;
	return 0;
}

/* Is the mapping OPcache's shared memory? OPcache has several ways to get it
 * (opcache.preferred_memory_model), and the first is the usual one. */
static bool is_shared_memory(const void *data, const struct op_runtime_target *target,
			     const struct op_runtime_mapping *m)
{
	static const char *const names[] = { "/dev/zero", "/SYSV",
					     "/dev/shm/ZendAccelerator" };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(names); i++)
		if (strncmp(m->path, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* JIT code is the executable part of OPcache's shared memory. */
static int php_update(void *data, const struct op_runtime_target *target, void *bpf,
		      struct op_runtime_code *ret)
{
	op_runtime_claim_code(target, is_shared_memory, NULL, ret);
	return 0;
}

static void php_detach(void *data)
{
	struct php_instance *instance = data;

	if (!instance)
		return;
	op_runtime_php_functions_deinit(&instance->functions);
	free(instance);
}

/* The function's name as in PHP's own backtraces. */
static const char *name_of(const struct op_php_function *f, uint32_t call)
{
	if (f->text[0])
		return f->text;
	if (f->type == OP_PHP_FUNCTION_EVAL)
		return "eval";
	return call & OP_PHP_CALL_TOP ? "{main}" : "include";
}

static int php_describe(void *data, const uint64_t *words, size_t len,
			struct op_runtime_frame *ret)
{
	struct php_instance *instance = data;
	const struct op_php_function *f;
	uint64_t reads = instance->functions.reads;
	uint64_t addr;
	uint32_t low;
	int r;

	if (len != OP_PHP_FRAME_WORDS)
		return -EBADMSG;
	addr = words[0] & OP_FRAME_ADDRESS_MASK;
	r = op_runtime_php_functions_get(&instance->functions, addr,
					 (uint32_t)(words[1] >> 32), &f);
	if (r == -ENOMEM)
		return r;
	ret->len = 1;
	if (r < 0) {
		op_runtime_frame_gone(&op_runtime_php, addr, r, instance->unknown, ret);
		return 0;
	}
	low = (uint32_t)words[1];
	ret->function[0] = (struct op_runtime_function){
		.name = name_of(f, low >> OP_PHP_CALL_SHIFT),
		.file = f->text + f->file,
		.line = low & OP_PHP_LINE_MASK,
		.start_line = f->first_line,
	};
	ret->fresh = instance->functions.reads != reads;
	return 0;
}

static int php_keep_object(void *data, uint64_t addr, uint32_t check,
			   const struct op_memory *copy)
{
	struct php_instance *instance = data;

	return op_runtime_php_functions_add(&instance->functions, addr, check, copy);
}

static void php_window_end(void *data)
{
	struct php_instance *instance = data;

	instance->functions.window++;
}

const struct op_runtime_ops op_runtime_php = {
	.id = OP_RUNTIME_PHP,
	.frame_type = "php",
	.bpf_size = sizeof(struct op_php),
	.file_names = (const char *const[]){ "php", "libphp", NULL },
	.layouts = &op_runtime_php_layouts,
	.probe = php_probe,
	.attach = php_attach,
	.detach = php_detach,
	.update = php_update,
	.describe = php_describe,
	.keep_object = php_keep_object,
	.window_end = php_window_end,
};
