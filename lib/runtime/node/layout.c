/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the numbers that the binary publishes, and those of the version's section. */
#include "runtime/node/layout.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/macros.h"
#include "runtime/exports.h"

enum {
	PUBLISHED_MAX = 4096, /* a larger offset or type is an error */
	OBJECT_BYTES_MAX = 256,
	SHARED_ID_MAX = 60, /* bytes that the step reads of a SharedFunctionInfo */
};

/* A number that the binary publishes, under one of its possible names. */
struct published {
	const char *names[3];
	size_t member; /* of op_node_layout */
	bool optional;
	bool negative; /* the binary counts it downwards from fp */
};

#define NUMBER(m) .member = offsetof(struct op_node_layout, m)

/* The names contain the member's C++ type, which differs between versions. */
static const struct published published[] = {
	{ { "v8dbg_class_JSFunction__shared__SharedFunctionInfo" },
	  NUMBER(function_shared) },
	{ { "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object",
	    "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
	    "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_" },
	  NUMBER(shared_name) },
	{ { "v8dbg_class_SharedFunctionInfo__script_or_debug_info__Object",
	    "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
	    "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_" },
	  NUMBER(shared_script) },
	{ { "v8dbg_class_SharedFunctionInfo__raw_function_token_offset__int16_t" },
	  NUMBER(shared_token) },
	/* the function's id follows its flags, 4 bytes further; see below */
	{ { "v8dbg_class_SharedFunctionInfo__flags__int" }, NUMBER(shared_id) },
	{ { "v8dbg_FirstNonstringType" }, NUMBER(type.first_nonstring) },
	{ { "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE" },
	  NUMBER(type.shared) },
	{ { "v8dbg_type_Script__SCRIPT_TYPE" }, NUMBER(type.script) },
	{ { "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE" }, NUMBER(type.bytecode) },
	{ { "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE" }, NUMBER(type.scope) },
	{ { "v8dbg_type_Code__CODE_TYPE" }, NUMBER(type.code) },
	{ { "v8dbg_type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE" },
	  NUMBER(type.async_function),
	  .optional = true },
	{ { "v8dbg_type_JSAsyncGeneratorObject__JS_ASYNC_GENERATOR_OBJECT_TYPE" },
	  NUMBER(type.async_generator),
	  .optional = true },
	{ { "v8dbg_type_JSPromise__JS_PROMISE_TYPE" },
	  NUMBER(type.promise),
	  .optional = true },
	{ { "v8dbg_type_PromiseReaction__PROMISE_REACTION_TYPE" },
	  NUMBER(type.reaction),
	  .optional = true },
	{ { "v8dbg_type_PromiseCapability__PROMISE_CAPABILITY_TYPE" },
	  NUMBER(type.capability),
	  .optional = true },
	{ { "v8dbg_type_JSFunction__JS_FUNCTION_TYPE" },
	  NUMBER(type.function),
	  .optional = true },
	{ { "v8dbg_scopeinfo_idx_first_vars" }, NUMBER(scope_fixed) },
	{ { "v8dbg_off_fp_bytecode_array" },
	  NUMBER(array_slot),
	  .optional = true,
	  .negative = true },
	{ { "v8dbg_off_fp_bytecode_offset" },
	  NUMBER(offset_slot),
	  .optional = true,
	  .negative = true },
	{ { "v8dbg_DeoptimizationDataLiteralArrayIndex" },
	  NUMBER(deopt_literals),
	  .optional = true },
	{ { "v8dbg_DeoptimizationDataSharedFunctionInfoIndex",
	    "v8dbg_DeoptimizationDataSharedFunctionInfoWrapperIndex",
	    "v8dbg_DeoptimizationDataWrappedSharedFunctionInfoIndex" },
	  NUMBER(deopt_shared),
	  .optional = true },
	{ { "v8dbg_frametype_WasmFrame", "v8dbg_frametype_WasmCompiledFrame" },
	  NUMBER(frame_wasm),
	  .optional = true },
	{ { "v8dbg_DeoptimizationDataInliningPositionsIndex" },
	  NUMBER(deopt_inlining),
	  .optional = true },
};

#undef NUMBER

#define FIELD(member) OP_LAYOUTS_FIELD(struct op_node_layout, member)
#define NAMED(name, member)                                                              \
	{                                                                                \
		name, offsetof(struct op_node_layout, member), sizeof(uint32_t), 1, NULL \
	}
#define TYPE(member) NAMED("type_" #member, type.member)

/* Numbers that V8 does not publish. */
static const struct op_layouts_field fields[] = {
	FIELD(array_slot),
	FIELD(array_bytes),
	FIELD(array_positions),
	FIELD(array_length),
	FIELD(code_bytes),
	FIELD(code_deopt),
	FIELD(code_start),
	FIELD(code_size),
	FIELD(deopt_literals),
	FIELD(deopt_shared),
	FIELD(deopt_inlining),
	FIELD(scope_position),
	FIELD(script_url),
	NAMED("reaction_next", type.reaction_next),
	NAMED("kind_members", initializer.members),
	NAMED("kind_static", initializer.static_members),
	FIELD(early_position),
	FIELD(flag_bits),
	FIELD(tagged),
	FIELD(raw_lengths),
	FIELD(trusted),
	/* also numbers that no version of Node.js needs, because it publishes them */
	FIELD(function_shared),
	FIELD(frame_wasm),
	FIELD(shared_name),
	FIELD(shared_script),
	FIELD(shared_token),
	FIELD(shared_id),
	FIELD(scope_fixed),
	TYPE(first_nonstring),
	TYPE(shared),
	TYPE(script),
	TYPE(bytecode),
	TYPE(scope),
	TYPE(code),
};

enum {
	FUNCTION_BYTES_MAX = 120,
};

/* Does a section have all numbers that are not published? */
static bool is_complete(const struct op_node_layout *l)
{
	return l->function_shared && l->shared_name && l->shared_script &&
	       l->shared_token && l->shared_id && l->scope_fixed &&
	       l->type.first_nonstring && l->type.shared && l->type.script &&
	       l->type.bytecode && l->type.scope && l->type.code;
}

static const char *check(const void *layout)
{
	const struct op_node_layout *l = layout;
	const uint32_t word = op_node_is_compressed(l) ? 4 : 8;

	if (l->tagged && l->tagged != 4 && l->tagged != 8)
		return "tagged must be 4 or 8";
	if (l->function_shared > FUNCTION_BYTES_MAX ||
	    l->shared_name > FUNCTION_BYTES_MAX ||
	    l->shared_script > FUNCTION_BYTES_MAX ||
	    l->shared_token > FUNCTION_BYTES_MAX || l->shared_id > SHARED_ID_MAX ||
	    l->shared_id % 4 || l->shared_name > l->shared_id ||
	    l->shared_script > l->shared_id)
		return "function_shared and shared_* must be at most 120, shared_id 60 and the last of name, script, id";
	if (l->array_length > OBJECT_BYTES_MAX || l->scope_fixed > 64)
		return "array_length must be at most 256, scope_fixed 64";
	if (l->array_slot < 24 || l->array_slot > 120)
		return "array_slot must be 24 to 120";
	if (l->array_bytes < 24 || l->array_bytes > OBJECT_BYTES_MAX ||
	    l->array_positions < word || l->array_positions > OBJECT_BYTES_MAX)
		return "array_bytes and array_positions must be given, at most 256";
	if (l->code_bytes < 16 || l->code_bytes > OBJECT_BYTES_MAX ||
	    l->code_deopt < word || l->code_deopt > OBJECT_BYTES_MAX ||
	    l->code_size < 8 || l->code_size > OBJECT_BYTES_MAX ||
	    l->code_start > OBJECT_BYTES_MAX)
		return "code_bytes, code_deopt and code_size must be given, at most 256";
	if (l->script_url > OBJECT_BYTES_MAX ||
	    l->type.reaction_next > OBJECT_BYTES_MAX - 1)
		return "script_url must be at most 256, reaction_next 255";
	if (l->deopt_literals > 64 || l->deopt_shared > 64 || l->deopt_inlining > 64 ||
	    l->scope_position > 64)
		return "elements must be at most 64";
	return NULL;
}

const struct op_layouts_schema op_runtime_node_layouts = {
	.runtime = "v8",
	.title = "V8",
	.bytes = sizeof(struct op_node_layout),
	.field = fields,
	.fields = OP_ARRAY_SIZE(fields),
	.built_in = op_runtime_node_layout_text,
	.check = check,
};

static const char *const version_names[] = {
	"_ZN2v88internal7Version6major_E",
	"_ZN2v88internal7Version6minor_E",
};
static const char scope_is_array[] = "v8dbg_parent_ScopeInfo__FixedArray";
static const char tagged_size[] = "v8dbg_TaggedSize"; /* bytes of a pointer in the heap */

enum {
	NAMES = OP_ARRAY_SIZE(published) * 3,
	VERSION = NAMES,
	SCOPE = VERSION + 2,
	TAGGED_SIZE,
	SYMBOLS,
};

/* Read the int at a symbol. A variable in .bss is 0. */
static int read_int(struct op_elf *elf, const struct op_elf_symbol *symbol, int32_t *ret)
{
	int r = op_elf_read_vaddr(elf, symbol->value, ret, sizeof(*ret));

	if (r < 0)
		*ret = 0;
	return *ret;
}

/* Read number @i of published[] by its symbol. Returns false if it is not there. */
static bool take(struct op_elf *elf, const struct op_elf_symbol *symbol, size_t i,
		 struct op_node_layout *ret)
{
	const struct published *p = &published[i];
	uint32_t *to = (uint32_t *)((char *)ret + p->member);
	int32_t value;
	size_t k;

	for (k = 0; k < 3; k++)
		if (symbol[i * 3 + k].value)
			break;
	if (k == 3)
		return p->optional;
	value = read_int(elf, &symbol[i * 3 + k], &value);
	if (p->negative)
		value = -value;
	if (value <= 0 || value > PUBLISHED_MAX)
		return false;
	*to = (uint32_t)value;
	return true;
}

static int not_there(struct op_log *log, const char *path, const char *version,
		     const char *what)
{
	op_log(log, OP_LOG_WARNING,
	       "%s: V8 %s does not publish %s; its frames stay native", path, version,
	       what);
	return -ENOTSUP;
}

bool op_runtime_node_may_export(struct op_elf *elf)
{
	return op_runtime_may_export(elf, version_names[0]);
}

static int find_symbols(struct op_elf *elf, struct op_elf_symbol ret[SYMBOLS])
{
	const char *names[SYMBOLS];
	size_t i;
	int r;

	for (i = 0; i < NAMES; i++) {
		const char *name = published[i / 3].names[i % 3];

		names[i] = name ? name : published[i / 3].names[0];
	}
	names[VERSION] = version_names[0];
	names[VERSION + 1] = version_names[1];
	names[SCOPE] = scope_is_array;
	names[TAGGED_SIZE] = tagged_size;
	/* Node.js exports all of them, and its .symtab is large. */
	r = op_elf_find_exported(elf, names, SYMBOLS, ret);
	if (r < 0 || (ret[VERSION].value && ret[TAGGED_SIZE].value))
		return r;
	return op_elf_find_symbols(elf, names, SYMBOLS, ret);
}

/* Numbers that follow from the others. */
static void derive(struct op_node_layout *ret)
{
	ret->tagged = ret->tagged ? ret->tagged : 8;
	ret->offset_slot = ret->array_slot + 8;
	if (!ret->array_length)
		ret->array_length = op_node_offset(ret, OP_NODE_LENGTH);
	ret->scope_slots = op_node_offset(ret, OP_NODE_LENGTH);
	ret->form = (struct op_node_table_form){ .first = ret->early_position ? -1 : 0,
						 .flag_bits = ret->flag_bits };
}

int op_runtime_node_layout_of(const char *version, const char *path,
			      const struct op_layouts *layouts, struct op_log *log,
			      struct op_node_layout *ret)
{
	int r = op_layouts_find(layouts, &op_runtime_node_layouts, version, ret);

	if (r == -ENOENT)
		return op_layouts_unknown(&op_runtime_node_layouts, version, path, log);
	if (r < 0)
		return r;
	if (!is_complete(ret))
		return not_there(log, path, version, "its layout (v8dbg_*)");
	derive(ret);
	return 1;
}

/* Does it publish what debuggers need, and are its pointers whole? Chrome and Electron
 * compress them. So their objects have another layout than in Node.js of the same
 * version, and usually they publish nothing. */
static bool is_node(struct op_elf *elf, const struct op_elf_symbol *symbol,
		    const char *path, const char *version, struct op_log *log)
{
	const char *why =
		"that publishes no layout (v8dbg_*), as in Electron and stripped "
		"files,";
	int32_t bytes;

	if (symbol[TAGGED_SIZE].value) {
		if (read_int(elf, &symbol[TAGGED_SIZE], &bytes) == sizeof(uint64_t))
			return true;
		why = "with compressed pointers, as in Electron,";
	}
	op_log(log, OP_LOG_WARNING,
	       "%s: V8 %s %s is not supported; its frames stay native", path, version,
	       why);
	return false;
}

int op_runtime_node_layout(struct op_elf *elf, const char *path,
			   const struct op_layouts *layouts, struct op_log *log,
			   struct op_node_layout *ret)
{
	struct op_elf_symbol symbol[SYMBOLS];
	char version[OP_LAYOUTS_VERSION_MAX + 1];
	int32_t major;
	int32_t minor;
	size_t i;
	int r = find_symbols(elf, symbol);

	if (r < 0)
		return r;
	if (!symbol[VERSION].value || !symbol[VERSION + 1].value)
		return 0;
	(void)snprintf(version, sizeof(version), "%d.%d",
		       read_int(elf, &symbol[VERSION], &major),
		       read_int(elf, &symbol[VERSION + 1], &minor));
	r = op_layouts_find(layouts, &op_runtime_node_layouts, version, ret);
	if (r == 0 && !symbol[TAGGED_SIZE].value && is_complete(ret)) {
		derive(ret);
		return 1;
	}
	if (!is_node(elf, symbol, path, version, log))
		return -ENOTSUP;
	if (r == -ENOENT)
		return op_layouts_unknown(&op_runtime_node_layouts, version, path, log);
	if (r < 0)
		return r;
	derive(ret);
	for (i = 0; i < OP_ARRAY_SIZE(published); i++)
		if (!take(elf, symbol, i, ret))
			return not_there(log, path, version, published[i].names[0]);
	ret->shared_id += 4;
	if (symbol[SCOPE].value)
		ret->scope_slots = OP_NODE_ELEMENTS;
	return 1;
}
