/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime operations of HotSpot, for a file, a process and a frame. */
#include "runtime/runtime.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/macros.h"
#include "runtime/hotspot/code.h"
#include "runtime/hotspot/layout.h"
#include "runtime/hotspot/lines.h"
#include "runtime/hotspot/methods.h"
#include "runtime/hotspot/scopes.h"
#include "runtime/hotspot/stubs.h"
#include "runtime/readahead.h"

#include "op_hotspot.h"

enum {
	NO_ZERO_SINCE = 20, /* compressed numbers exclude the byte 0 since JDK 20 */
	NAME_MAX_BYTES = 96,
	/* after 2 ms, 4 ms, ... 8 s: compilers make their stubs when they start */
	STUBS_LOOKS_MAX = 13,
};

struct hotspot_instance {
	const struct op_memory *memory;
	struct op_hotspot_layout layout;
	struct op_hotspot_heap heap[OP_HOTSPOT_HEAPS];
	uint64_t call_stub;
	uint64_t stubs_end;   /* where the next stub may be made; 0: not known */
	uint32_t stubs_looks; /* at stubs_end */
	struct op_hotspot_methods methods;
	/* of nmethods: what op_runtime_hotspot_methods_find() takes */
	struct op_map64 roots;
	uint32_t roots_len;
	uint64_t non_safepoints; /* address of the flag; 0: unknown */
	bool all_code;		 /* all of a method's compiled code has PcDesc rows */
	struct op_hotspot_scopes scopes;
	char name[NAME_MAX_BYTES]; /* of a frame that is not a Java method's */
};

static int hotspot_probe(struct op_elf *elf, const char *path,
			 const struct op_layouts *layouts, struct op_log *log,
			 void **ret_image, struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ struct op_hotspot_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	r = op_runtime_hotspot_image(elf, image);
	if (r <= 0)
		return r;
	*ret_loop = (struct op_runtime_loop){ .count = 0 };
	*ret_image = OP_TAKE_PTR(image);
	return 1;
}

/* Report a VM that is not understood once per file. Other failures concern one process,
 * which usually has exited. */
static void note_unknown(struct op_hotspot_image *image,
			 const struct op_runtime_target *target, struct op_log *log,
			 uint32_t version, const char *missing, int why)
{
	bool news = (why == -ENOTSUP || why == -EBADMSG) && !image->warned;

	if (why == -EAGAIN || why == -ESRCH)
		return;
	image->warned |= news;
	op_log(log, news ? OP_LOG_WARNING : OP_LOG_DEBUG,
	       "process %d: HotSpot %" PRIu32
	       " is not understood (%s%s%s); its frames stay native",
	       target->pid, version, missing ? missing : "", missing ? ": " : "",
	       strerror(-why));
}

static void read_flag(struct hotspot_instance *instance)
{
	uint8_t flag = 0;

	if (instance->non_safepoints &&
	    op_memory_read(instance->memory, instance->non_safepoints, &flag, 1) == 0)
		instance->all_code = flag;
}

/* If this fails, the step guesses in stubs without rules. */
static int read_stubs(struct hotspot_instance *instance, struct op_hotspot *bpf)
{
	int r = op_runtime_hotspot_stubs(instance->memory, &instance->layout, bpf,
					 &instance->stubs_end);

	return r == -ENOMEM ? r : 0;
}

static int hotspot_attach(void *image_data, const struct op_runtime_target *target,
			  struct op_log *log, void *ret_bpf, void **ret_instance)
{
	_cleanup_free_ struct hotspot_instance *instance = calloc(1, sizeof(*instance));
	_cleanup_free_ struct op_readahead *ahead = malloc(sizeof(*ahead));
	struct op_hotspot_image *image = image_data;
	struct op_hotspot *bpf = ret_bpf;
	const char *missing = NULL;
	int r;

	if (!instance || !ahead)
		return -ENOMEM;
	/* thousands of entries, flags and their names, a few bytes each */
	op_readahead_init(ahead, target->memory);
	r = op_runtime_hotspot_layout(&ahead->memory, image, target->bias,
				      &instance->layout, &missing);
	if (r == 0)
		r = op_runtime_hotspot_code(target->memory, &instance->layout, bpf);
	instance->memory = target->memory;
	if (r == 0)
		r = read_stubs(instance, bpf);
	if (r == -EFAULT) /* the file is mapped but not relocated yet */
		r = -EAGAIN;
	if (r < 0) {
		note_unknown(image, target, log, instance->layout.version, missing, r);
		return r;
	}
	bpf->vm = image->text + target->bias;
	bpf->vm_end = image->text_end + target->bias;
	memcpy(instance->heap, bpf->heap, sizeof(bpf->heap));
	instance->call_stub = bpf->call_stub;
	op_runtime_hotspot_methods_init(&instance->methods, target->memory,
					&instance->layout);
	if (op_runtime_hotspot_flag(&ahead->memory, &instance->layout,
				    "DebugNonSafepoints", &instance->non_safepoints) < 0)
		instance->non_safepoints = 0;
	read_flag(instance);
	*ret_instance = OP_TAKE_PTR(instance);
	return 0;
}

static void hotspot_detach(void *data)
{
	struct hotspot_instance *instance = data;

	if (!instance)
		return;
	op_runtime_hotspot_methods_deinit(&instance->methods);
	op_map64_clear(&instance->roots);
	free(instance);
}

/* A code heap's address space is reserved once; the committed part of it grows. */
static int hotspot_update(void *data, const struct op_runtime_target *target, void *bpf,
			  struct op_runtime_code *ret)
{
	struct hotspot_instance *instance = data;
	int changed = 0;
	size_t i;

	(void)target;
	if (instance->stubs_looks < STUBS_LOOKS_MAX) {
		ret->again = ++instance->stubs_looks < STUBS_LOOKS_MAX;
		changed = op_runtime_hotspot_stubs_grew(instance->memory,
							instance->stubs_end);
		if (changed && read_stubs(instance, bpf) < 0)
			changed = 0;
	}
	ret->len = 0;
	for (i = 0; i < OP_HOTSPOT_HEAPS; i++) {
		const struct op_hotspot_heap *heap = &instance->heap[i];

		if (heap->low)
			ret->range[ret->len++] =
				(struct op_runtime_range){ .start = heap->low,
							   .end = heap->high };
	}
	return changed;
}

/* Describe @method at the bytecode index @bci; -1: at the method's entry. */
static int describe_at(struct hotspot_instance *instance,
		       const struct op_hotspot_method *method, int32_t bci,
		       struct op_runtime_function *ret)
{
	uint32_t at = bci < 0 ? 0 : (uint32_t)bci;
	struct op_hotspot_line line;

	if (at && at >= method->code_bytes)
		return -EBADMSG;
	line = op_runtime_hotspot_line(method->text + method->lines, method->lines_len,
				       instance->layout.version >= NO_ZERO_SINCE, at);
	*ret = (struct op_runtime_function){ .name = method->text,
					     .file = method->text + method->file,
					     .line = line.line,
					     .start_line = line.first };
	return 0;
}

/* @where: identity of the Method, and the low bits of the bytecode's address, or 0. */
static int describe_method(struct hotspot_instance *instance, uint64_t addr,
			   uint64_t where, bool begins, struct op_runtime_function *ret)
{
	const uint32_t mask = (1U << OP_HOTSPOT_BCP_BITS) - 1;
	const struct op_hotspot_method *method;
	uint32_t check = (uint32_t)(where >> OP_HOTSPOT_BCP_BITS);
	uint32_t bcp = (uint32_t)where & mask;
	int r = op_runtime_hotspot_methods_get(&instance->methods, addr, check, &method);

	if (r == 0)
		r = describe_at(
			instance, method,
			bcp ? (int32_t)((bcp - (uint32_t)method->code) & mask) : -1, ret);
	if (!bcp && !begins)
		ret->line = 0;
	return r;
}

/* The code was gone before its scopes were read. Its method is known, but not the
 * methods inlined into it. */
static int describe_root(struct hotspot_instance *instance,
			 const struct op_hotspot_place *place, int why,
			 struct op_runtime_frame *ret)
{
	const struct op_hotspot_method *method = NULL;
	uint64_t key;
	int r;

	if (op_map64_get(&instance->roots, op_object_id(place->nmethod, place->id), &key))
		method = op_runtime_hotspot_methods_find(&instance->methods, key);
	if (!method)
		return why;
	op_runtime_frame_gone(&op_runtime_hotspot, place->nmethod, why, instance->name,
			      ret);
	r = describe_at(instance, method, -1, &ret->function[1]);
	ret->function[1].line = 0;
	ret->len = 2;
	ret->again = false;
	return r;
}

/* Describe compiled code: the methods that are inlined at this place. */
static int describe_compiled(struct hotspot_instance *instance, uint64_t addr,
			     uint64_t where, bool called, struct op_runtime_frame *ret)
{
	struct op_hotspot_place place = { .nmethod = addr,
					  .id = (uint32_t)(where >> OP_HOTSPOT_PC_BITS),
					  .at = where & ((1 << OP_HOTSPOT_PC_BITS) - 1),
					  .called = called };
	struct op_hotspot_scopes *scopes = &instance->scopes;
	size_t i;
	int r = op_runtime_hotspot_scopes(instance->memory, &instance->layout, &place,
					  instance->all_code, scopes);

	for (i = 0; r == 0 && i < OP_MIN(scopes->len, (size_t)OP_RUNTIME_INLINED_MAX);
	     i++) {
		const struct op_hotspot_scope *scope = &scopes->scope[i];
		const struct op_hotspot_method *method;

		r = op_runtime_hotspot_methods_get(&instance->methods, scope->method, 0,
						   &method);
		if (r == 0)
			r = describe_at(instance, method, scope->bci, &ret->function[i]);
	}
	/* its Methods live as long as the code does */
	if (r == 0)
		r = op_runtime_hotspot_scopes_check(instance->memory, &instance->layout,
						    &place);
	if (r < 0 && r != -ENOMEM)
		return describe_root(instance, &place, r, ret);
	ret->len = i;
	ret->approximate = r == 0 && scopes->approximate;
	return r;
}

static int describe_blob(struct hotspot_instance *instance, uint64_t blob,
			 struct op_runtime_function *ret)
{
	int r = op_runtime_hotspot_blob_name(instance->memory, &instance->layout, blob,
					     instance->name);

	*ret = (struct op_runtime_function){ .name = instance->name, .file = "" };
	return r < 0 ? r : r ? 0 : -EBADMSG;
}

static int describe_stub(struct hotspot_instance *instance, uint64_t pc, uint64_t offset,
			 struct op_runtime_function *ret)
{
	if (pc == instance->call_stub) {
		*ret = (struct op_runtime_function){ .name = "call_stub", .file = "" };
		return 0;
	}
	return describe_blob(instance, pc - offset, ret);
}

static int describe_codelet(struct hotspot_instance *instance, uint64_t pc,
			    struct op_runtime_function *ret)
{
	int r = op_runtime_hotspot_codelet_name(instance->memory, &instance->layout, pc,
						instance->name, sizeof(instance->name));

	*ret = (struct op_runtime_function){ .name = instance->name, .file = "" };
	return r < 0 ? r : 0;
}

static int hotspot_describe(void *data, const uint64_t *words, size_t len,
			    struct op_runtime_frame *ret)
{
	struct hotspot_instance *instance = data;
	uint64_t reads = instance->methods.reads;
	uint64_t addr = words[0] & OP_FRAME_ADDRESS_MASK;
	uint64_t where;
	int r = -EBADMSG;

	if (len != OP_HOTSPOT_FRAME_WORDS)
		return -EBADMSG;
	where = words[1] & OP_FRAME_ADDRESS_MASK;
	op_runtime_hotspot_methods_begin(&instance->methods);
	ret->len = 1;
	ret->approximate = false;
	switch (words[1] >> OP_HOTSPOT_KIND_SHIFT) {
	case OP_HOTSPOT_METHOD:
		r = describe_method(instance, addr, where, false, &ret->function[0]);
		break;
	case OP_HOTSPOT_ENTERED:
		r = describe_method(instance, addr, where, true, &ret->function[0]);
		break;
	case OP_HOTSPOT_CODELET:
		r = describe_codelet(instance, addr, &ret->function[0]);
		break;
	case OP_HOTSPOT_STUB:
		r = describe_stub(instance, addr, where, &ret->function[0]);
		break;
	case OP_HOTSPOT_COMPILED:
		r = describe_compiled(instance, addr, where, false, ret);
		break;
	case OP_HOTSPOT_CALLED:
		r = describe_compiled(instance, addr, where, true, ret);
		break;
	default:
		break;
	}
	if (r == -ENOMEM)
		return r;
	ret->fresh = instance->methods.reads != reads;
	if (r < 0) {
		op_runtime_frame_gone(&op_runtime_hotspot, addr, r, instance->name, ret);
		/* A compilation's number is never reused. */
		ret->again &= r != -ESTALE;
	}
	return 0;
}

static int keep_code(struct hotspot_instance *instance, uint64_t addr, uint32_t id,
		     const struct op_memory *copy)
{
	uint64_t at = instance->layout.at[OP_HOTSPOT_NMETHOD_METHOD];
	uint64_t method;
	uint64_t key;
	int r = op_memory_read(copy, addr + at, &method, sizeof(method));

	if (r == 0)
		r = op_runtime_hotspot_methods_add(&instance->methods, method, copy,
						   &key);
	if (r < 0)
		return r;
	if (instance->roots_len >= OP_HOTSPOT_METHODS_MAX) {
		op_map64_clear(&instance->roots);
		instance->roots_len = 0;
	}
	instance->roots_len++;
	return op_map64_put(&instance->roots, op_object_id(addr, id), key);
}

static int hotspot_keep_object(void *data, uint64_t addr, uint32_t check,
			       const struct op_memory *copy)
{
	struct hotspot_instance *instance = data;
	uint64_t key;

	op_runtime_hotspot_methods_begin(&instance->methods);
	if (check & OP_HOTSPOT_IS_CODE)
		return keep_code(instance, addr, check & ~OP_HOTSPOT_IS_CODE, copy);
	return op_runtime_hotspot_methods_add(&instance->methods, addr, copy, &key);
}

static void hotspot_window_end(void *data)
{
	struct hotspot_instance *instance = data;

	instance->methods.window++;
	read_flag(instance);
}

const struct op_runtime_ops op_runtime_hotspot = {
	.id = OP_RUNTIME_HOTSPOT,
	.frame_type = "jvm",
	.bpf_size = sizeof(struct op_hotspot),
	.file_names = (const char *const[]){ "libjvm.so", NULL },
	.probe = hotspot_probe,
	.attach = hotspot_attach,
	.detach = hotspot_detach,
	.update = hotspot_update,
	.describe = hotspot_describe,
	.keep_object = hotspot_keep_object,
	.window_end = hotspot_window_end,
};
