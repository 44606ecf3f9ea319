/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime operations of Node.js, for a file, a process and a frame. */
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/node/code.h"
#include "runtime/node/functions.h"
#include "runtime/node/image.h"

#include "op_node.h"

enum {
	/* V8 reserves one range of addresses for its code, of 128 MiB to 512 MiB. */
	CODE_SPAN = 512 << 20,
	GAP = 512 << 10,   /* less than the builtins take up */
	AT_START = -2,	   /* in place of a character offset: the start of the function */
	BEGIN_BYTES = 256, /* of a text, that are compared */
};

struct node_instance {
	struct op_node_heap heap;
	struct op_node_maps maps;
	struct op_node_functions functions;
	struct op_node_codes codes;
	struct op_node bpf; /* as published */
	char unknown
		[OP_RUNTIME_GONE_BYTES]; /* the name of a frame whose function cannot be read */
};

/* The words of a frame, decoded. */
struct words {
	uint64_t shared; /* points to the SharedFunctionInfo, or 0 */
	uint64_t address;
	enum op_node_kind kind;
	uint32_t offset;
	uint32_t check;
};

static int node_probe(struct op_elf *elf, const char *path,
		      const struct op_layouts *layouts, struct op_log *log,
		      void **ret_image, struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ struct op_node_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	r = op_runtime_node_image(elf, path, layouts, log, image, ret_loop);
	if (r == 1)
		*ret_image = OP_TAKE_PTR(image);
	return r;
}

/* Where V8 does not publish them all, nothing is followed. */
static void take_types(const struct op_node_types *types, struct op_node *ret)
{
	if (!types->reaction_next || !types->async_function || !types->async_generator ||
	    !types->promise || !types->reaction || !types->capability || !types->function)
		return;
	ret->type_async_function = (uint16_t)types->async_function;
	ret->type_async_generator = (uint16_t)types->async_generator;
	ret->type_promise = (uint16_t)types->promise;
	ret->type_reaction = (uint16_t)types->reaction;
	ret->type_capability = (uint16_t)types->capability;
	ret->type_function = (uint16_t)types->function;
	ret->reaction_next = (uint8_t)types->reaction_next;
}

static int node_attach(void *image_data, const struct op_runtime_target *target,
		       struct op_log *log, void *bpf, void **ret_instance)
{
	const struct op_node_image *image = image_data;
	const struct op_node_layout *l = &image->layout;
	struct node_instance *instance = calloc(1, sizeof(*instance));

	if (!instance)
		return -ENOMEM;
	instance->heap = (struct op_node_heap){ .memory = target->memory,
						.layout = l,
						.maps = &instance->maps };
	op_runtime_node_functions_init(&instance->functions, &instance->heap);
	op_runtime_node_codes_init(&instance->codes, &instance->heap, &image->opcodes);
	instance->bpf = (struct op_node){
		.builtins = image->builtins + target->bias,
		.builtins_end = image->builtins_end + target->bias,
		.prologue = image->prologue ? image->prologue + target->bias : 0,
		.prologue_end = image->prologue ? image->prologue_end + target->bias : 0,
		.array_slot = (uint8_t)l->array_slot,
		.offset_slot = (uint8_t)l->offset_slot,
		.function_shared = (uint8_t)l->function_shared,
		.shared_id = (uint8_t)l->shared_id,
		.shared_data = (uint8_t)op_node_offset(l, OP_NODE_SHARED_CODE),
		.compressed = op_node_is_compressed(l),
		.shared_name = (uint8_t)l->shared_name,
		.shared_script = (uint8_t)l->shared_script,
		.script_number = (uint8_t)op_node_script_number(l),
	};
	if (target->await_chains)
		take_types(&l->type, &instance->bpf);
	op_runtime_node_copies(l, instance->bpf.object);
	memcpy(bpf, &instance->bpf, sizeof(instance->bpf));
	*ret_instance = instance;
	return 0;
}

static void node_detach(void *data)
{
	struct node_instance *instance = data;

	if (!instance)
		return;
	op_runtime_node_functions_deinit(&instance->functions);
	op_runtime_node_codes_clear(&instance->codes);
	free(instance);
}

/*
 * All anonymous code is V8's. Mappings within the span of V8's code range become one
 * range, because pages come and go in it. The step also gets the largest piece without
 * a gap in which V8 could have mapped its builtins, which saves it a search.
 */
static int node_update(void *data, const struct op_runtime_target *target, void *bpf,
		       struct op_runtime_code *ret)
{
	struct node_instance *instance = data;
	struct op_runtime_range *last = NULL;
	struct op_runtime_range piece = { 0 };
	struct op_node *published = bpf;
	struct op_node now = instance->bpf;
	struct op_runtime_mapping m;
	size_t i;

	now.code = now.code_end = 0;
	for (i = 0; target->code_mapping && target->code_mapping(target, i, &m) == 0;
	     i++) {
		if (!last ||
		    (m.end - last->start > CODE_SPAN && ret->len < OP_RUNTIME_RANGES_MAX))
			last = &ret->range[ret->len++];
		if (!last->start)
			last->start = m.start;
		last->end = m.end;
		if (!piece.end || m.start < piece.end || m.start - piece.end > GAP)
			piece.start = m.start;
		piece.end = m.end;
		if (piece.end - piece.start > now.code_end - now.code) {
			now.code = piece.start;
			now.code_end = piece.end;
		}
	}
	if (memcmp(&now, published, sizeof(now)) == 0)
		return 0;
	instance->bpf = now;
	memcpy(published, &now, sizeof(now));
	return 1;
}

static bool parse_words(const uint64_t *words, size_t len, struct words *ret)
{
	uint64_t shared;

	if (len != OP_NODE_FRAME_WORDS)
		return false;
	shared = words[0] & OP_FRAME_ADDRESS_MASK;
	*ret = (struct words){
		.shared = shared ? shared + 1 : 0,
		.address = words[2] & OP_FRAME_ADDRESS_MASK,
		.kind = (enum op_node_kind)(words[1] >> OP_NODE_KIND_SHIFT),
		.offset =
			(uint32_t)(words[1] >> OP_NODE_OFFSET_SHIFT) & OP_NODE_OFFSET_MAX,
		.check = (uint32_t)words[1],
	};
	return true;
}

/* Append the function @object, at character @at of its script, to the frame. */
static int add_function(struct node_instance *instance, uint64_t object, uint32_t check,
			int32_t at, struct op_runtime_frame *ret)
{
	struct op_runtime_function *to = &ret->function[ret->len];
	const struct op_node_function *f;
	const struct op_node_script *script;
	int r = op_runtime_node_function(&instance->functions, object, check, &f);

	if (r < 0)
		return r;
	*to = (struct op_runtime_function){ .name = f->name, .file = "" };
	if (at >= 0 && !op_node_function_has(f, at)) {
		at = AT_START;
		ret->approximate = true;
	}
	r = op_runtime_node_script(&instance->functions.scripts, f->script,
				   f->script_id ? &f->script_id : NULL, &script);
	if (r == -ENOMEM)
		return r;
	if (r == 0) {
		to->file = script->name;
		struct op_node_place place = op_runtime_node_place(script, at);

		to->start_line = op_runtime_node_place(script, f->start).line;
		to->line = at == AT_START ? to->start_line : place.line;
		to->column = at == AT_START ? 0 : place.column;
	}
	ret->len++;
	return 0;
}

/* A number for the function of a frame. */
static uint64_t owner_of(uint64_t shared, uint32_t check)
{
	return op_object_id(shared, check) | 1;
}

static int describe_interpreted(struct node_instance *instance, const struct words *w,
				struct op_runtime_frame *ret)
{
	struct op_node_position at = { AT_START, -1 };
	uint64_t array = w->address ? w->address + 1 : 0;
	int r;

	if (!w->shared)
		return -EBADMSG;
	if (w->kind == OP_NODE_AWAITS)
		array = op_runtime_node_bytecode_of(&instance->heap, w->shared);
	if (array) {
		r = op_runtime_node_bytecode_position(&instance->codes, array,
						      owner_of(w->shared, w->check),
						      w->offset, &at);
		if (r == -ENOMEM)
			return r;
	}
	return add_function(instance, w->shared, w->check, at.offset, ret);
}

/* Append the functions inlined at @at of @code, and then the function that @code belongs
 * to. */
static int add_inlined(struct node_instance *instance, const struct op_node_code *code,
		       struct op_node_position at, struct op_runtime_frame *ret)
{
	int r = 0;

	while (r == 0 && at.inlining >= 0 && ret->len < OP_RUNTIME_INLINED_MAX - 1) {
		const struct op_node_inlined *inlined;

		if ((size_t)at.inlining >= code->inlined_len)
			return -EBADMSG;
		inlined = &code->inlined[at.inlining];
		r = add_function(instance, inlined->callee.shared, inlined->callee.check,
				 at.offset, ret);
		/* An outer call has a smaller number; checking it ends loops
		 * in garbage. */
		if (inlined->call.inlining >= at.inlining)
			return -EBADMSG;
		at = inlined->call;
	}
	if (r < 0)
		return r;
	return add_function(instance, code->owner.shared, code->owner.check, at.offset,
			    ret);
}

/* Is @code of the function of a frame? Other code may have its place by now. A frame
 * that is not made yet tells no function. */
static bool may_be_of(const struct op_node_code *code, const struct words *w)
{
	return !w->shared ||
	       (w->shared == code->owner.shared && w->check == code->owner.check);
}

/* Did the collector move what the function of @w is known by, since @code was read? */
static bool was_moved(struct node_instance *instance, const struct op_node_code *code,
		      const struct words *w)
{
	uint32_t check;

	return w->shared && w->shared == code->owner.shared &&
	       w->check != code->owner.check &&
	       op_runtime_node_function_check(&instance->heap, w->shared, &check) == 0 &&
	       check == w->check;
}

static int describe_code(struct node_instance *instance, const struct words *w,
			 struct op_runtime_frame *ret)
{
	uint64_t look = w->kind == OP_NODE_CODE ? w->address - 1 : w->address;
	struct op_node_position at = { -1, -1 };
	const struct op_node_code *code;
	int r;

	if (!w->shared && w->offset) /* the frame is V8's own */
		return -EBADMSG;
	r = op_runtime_node_code(&instance->codes, look, &code);
	if (r == 0 && was_moved(instance, code, w)) {
		op_runtime_node_code_forget(&instance->codes, look);
		r = op_runtime_node_code(&instance->codes, look, &code);
	}
	if (r == 0)
		r = op_runtime_node_code_position(&instance->codes, code, w->shared,
						  owner_of(w->shared, w->check), look,
						  &at);
	if (r == -ENOMEM)
		return r;
	if (r == 0 && code->owner.shared && may_be_of(code, w)) {
		/* Optimised code has no position before its first call. */
		if (at.offset < 0) {
			at = (struct op_node_position){ AT_START, -1 };
			ret->approximate = true;
		}
		r = add_inlined(instance, code, at, ret);
		if (r == 0 || r == -ENOMEM)
			return r;
		ret->len = 0;
	}
	if (!w->shared)
		return -EBADMSG;
	/* inlined functions are not known then */
	if (r < 0 || code->owner.shared) {
		at.offset = -1;
		ret->approximate = true;
	}
	return add_function(instance, w->shared, w->check, at.offset, ret);
}

/* The name for code without a known function. */
static const char *name_of_type(const struct node_instance *instance,
				const struct words *w)
{
	uint32_t wasm = instance->heap.layout->frame_wasm;

	return w->offset && w->offset == wasm ? "[WebAssembly]" : "[V8 code]";
}

/* Frames have whole addresses, of which compressed pointers are the lower halves. */
static void note_cages(struct op_node_heap *heap, const struct words *w)
{
	if (!op_node_is_compressed(heap->layout))
		return;
	if (w->shared)
		heap->cage = op_node_cage(w->shared);
	if (w->kind == OP_NODE_INTERPRETED && w->address)
		heap->trusted_cage = op_node_cage(w->address);
}

static int node_describe(void *data, const uint64_t *words, size_t len,
			 struct op_runtime_frame *ret)
{
	struct node_instance *instance = data;
	uint64_t reads = instance->functions.reads;
	struct words w;
	int r;

	if (!parse_words(words, len, &w))
		return -EBADMSG;
	note_cages(&instance->heap, &w);
	op_runtime_node_functions_trim(&instance->functions);
	ret->len = 0;
	r = w.kind == OP_NODE_INTERPRETED || w.kind == OP_NODE_AWAITS
		    ? describe_interpreted(instance, &w, ret)
		    : describe_code(instance, &w, ret);
	if (r == -ENOMEM)
		return r;
	ret->fresh = instance->functions.reads != reads;
	if (r < 0 && !w.shared) {
		/* Code without a function: nothing distinguishes one from another. */
		ret->function[0] =
			(struct op_runtime_function){ .name = name_of_type(instance, &w),
						      .file = "" };
		ret->len = 1;
	} else if (r < 0) {
		/* Or the garbage collector is moving it. */
		op_runtime_frame_gone(&op_runtime_node, w.shared - 1, r,
				      instance->unknown, ret);
	}
	return 0;
}

/* Read the kernel's copy, and the rest from the process. */
struct copied {
	struct op_memory memory;
	const struct op_memory *copy;
	const struct op_memory *process;
};

/* If the copy has only the beginning of a text, the process's text must still begin
 * with it. */
static int copied_read(const struct op_memory *memory, uint64_t addr, void *buf,
		       size_t len)
{
	const struct copied *c = (const struct copied *)memory;
	uint8_t begin[BEGIN_BYTES];
	size_t n = OP_MIN(len, sizeof(begin));
	int r = op_memory_read(c->copy, addr, buf, len);

	if (r == 0)
		return 0;
	r = op_memory_read(c->process, addr, buf, len);
	if (r == 0 && op_memory_read(c->copy, addr, begin, n) == 0 &&
	    memcmp(begin, buf, n) != 0)
		return -ESTALE;
	return r;
}

static int node_keep_object(void *data, uint64_t addr, uint32_t check,
			    const struct op_memory *copy)
{
	struct node_instance *instance = data;
	const struct op_memory *process = instance->heap.memory;
	struct copied both = { { copied_read }, copy, process };
	const struct op_node_function *f;
	struct op_node_position at;
	uint64_t bytecode;
	int r;

	op_runtime_node_functions_trim(&instance->functions);
	instance->heap.memory = &both.memory;
	r = op_runtime_node_function(&instance->functions, addr + 1, check, &f);
	bytecode = op_runtime_node_bytecode_of(&instance->heap, addr + 1);
	if (bytecode && r != -ENOMEM)
		r = op_runtime_node_bytecode_position(&instance->codes, bytecode,
						      owner_of(addr + 1, check), 0, &at);
	instance->heap.memory = process;
	return r;
}

static void node_window_end(void *data)
{
	struct node_instance *instance = data;

	op_runtime_node_codes_window(&instance->codes);
}

const struct op_runtime_ops op_runtime_node = {
	.id = OP_RUNTIME_NODE,
	.frame_type = "v8js",
	.bpf_size = sizeof(struct op_node),
	.file_names = (const char *const[]){ "node", "libnode", "deno", "workerd",
					     "chrom", "electron", NULL },
	.layouts = &op_runtime_node_layouts,
	.probe = node_probe,
	.attach = node_attach,
	.detach = node_detach,
	.update = node_update,
	.describe = node_describe,
	.keep_object = node_keep_object,
	.window_end = node_window_end,
};
