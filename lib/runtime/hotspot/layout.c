/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the VM's tables and takes the offsets that are needed, under the names of all
 * JDK versions. */
#include "runtime/hotspot/layout.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "runtime/exports.h"
#include "runtime/hotspot/machine/machine.h"

enum {
	OPTIONAL = 1 << 0,
	STATIC = 1 << 1,

	/* Before JDK 9 the VM had a version of its own: HotSpot 25 is JDK 8's. */
	HOTSPOT_OF_8 = 25,
};

/* One of the names of a member. If the field name is NULL, the member is the
 * type's size. */
struct name {
	uint8_t id; /* enum op_hotspot_field */
	uint8_t flags;
	uint8_t add;
	const char *type;
	const char *field;
};

#define CODELET "InterpreterCodelet"

static const struct name names[] = {
	{ OP_HOTSPOT_VERSION_ADDRESS, STATIC, 0, "Abstract_VM_Version",
	  "_vm_major_version" },
	{ OP_HOTSPOT_INTERPRETER_ADDRESS, STATIC, 0, "AbstractInterpreter", "_code" },
	{ OP_HOTSPOT_QUEUE_BUFFER, 0, 0, "StubQueue", "_stub_buffer" },
	{ OP_HOTSPOT_QUEUE_BEGIN, 0, 0, "StubQueue", "_queue_begin" },
	{ OP_HOTSPOT_QUEUE_END, 0, 0, "StubQueue", "_queue_end" },
	{ OP_HOTSPOT_QUEUE_COUNT, 0, 0, "StubQueue", "_number_of_stubs" },
	{ OP_HOTSPOT_QUEUE_LIMIT, OPTIONAL, 0, "StubQueue", "_buffer_limit" },
	{ OP_HOTSPOT_CODELET_BYTES, 0, 0, CODELET, NULL },
	{ OP_HOTSPOT_CODELET_SIZE, 0, 0, CODELET, "_size" },
	{ OP_HOTSPOT_CODELET_DESCRIPTION, 0, 0, CODELET, "_description" },
	{ OP_HOTSPOT_CODELET_BYTECODE, 0, 0, CODELET, "_bytecode" },
	{ OP_HOTSPOT_CALL_STUB_ADDRESS, STATIC, 0, "StubRoutines",
	  "_call_stub_return_address" },
	{ OP_HOTSPOT_HEAPS_ADDRESS, STATIC | OPTIONAL, 0, "CodeCache", "_heaps" },
	{ OP_HOTSPOT_HEAP_ADDRESS, STATIC | OPTIONAL, 0, "CodeCache", "_heap" },
	{ OP_HOTSPOT_ARRAY_LEN, OPTIONAL, 0, "GenericGrowableArray", "_len" },
	{ OP_HOTSPOT_ARRAY_LEN, OPTIONAL, 0, "GrowableArrayBase", "_len" },
	{ OP_HOTSPOT_ARRAY_DATA, OPTIONAL, 0, "GrowableArray<int>", "_data" },
	{ OP_HOTSPOT_HEAP_MEMORY, 0, 0, "CodeHeap", "_memory" },
	{ OP_HOTSPOT_HEAP_SEGMAP, 0, 0, "CodeHeap", "_segmap" },
	{ OP_HOTSPOT_HEAP_LOG2_SEGMENT, 0, 0, "CodeHeap", "_log2_segment_size" },
	{ OP_HOTSPOT_SPACE_LOW, 0, 0, "VirtualSpace", "_low_boundary" },
	{ OP_HOTSPOT_SPACE_HIGH, 0, 0, "VirtualSpace", "_high_boundary" },
	{ OP_HOTSPOT_BLOCK_BYTES, 0, 0, "HeapBlock", NULL },
	{ OP_HOTSPOT_BLOCK_USED, OPTIONAL, 0, "HeapBlock::Header", "_used" },
	{ OP_HOTSPOT_BLOB_NAME, 0, 0, "CodeBlob", "_name" },
	{ OP_HOTSPOT_BLOB_SIZE, 0, 0, "CodeBlob", "_size" },
	{ OP_HOTSPOT_BLOB_FRAME_SIZE, 0, 0, "CodeBlob", "_frame_size" },
	{ OP_HOTSPOT_BLOB_FRAME_COMPLETE, 0, 0, "CodeBlob", "_frame_complete_offset" },
	{ OP_HOTSPOT_BLOB_CODE_BEGIN, OPTIONAL, 0, "CodeBlob", "_code_begin" },
	{ OP_HOTSPOT_BLOB_CODE_OFFSET, OPTIONAL, 0, "CodeBlob", "_code_offset" },
	{ OP_HOTSPOT_BLOB_HEADER_BYTES, 0, 0, "CodeBlob", "_header_size" },
	{ OP_HOTSPOT_BLOB_DATA_OFFSET, 0, 0, "CodeBlob", "_data_offset" },
	{ OP_HOTSPOT_BLOB_MUTABLE, OPTIONAL, 0, "CodeBlob", "_mutable_data" },
	{ OP_HOTSPOT_BLOB_MUTABLE_BYTES, OPTIONAL, 0, "CodeBlob", "_mutable_data_size" },
	{ OP_HOTSPOT_BLOB_RELOCATION_BYTES, OPTIONAL, 0, "CodeBlob", "_relocation_size" },
	{ OP_HOTSPOT_NMETHOD_BYTES, 0, 0, "nmethod", NULL },
	{ OP_HOTSPOT_NMETHOD_METHOD, 0, 0, "nmethod", "_method" },
	{ OP_HOTSPOT_NMETHOD_METHOD, 0, 0, "CompiledMethod", "_method" }, /* 9 to 22 */
	{ OP_HOTSPOT_NMETHOD_COMPILE_ID, 0, 0, "nmethod", "_compile_id" },
	{ OP_HOTSPOT_NMETHOD_ORIG_PC, 0, 0, "nmethod", "_orig_pc_offset" },
	{ OP_HOTSPOT_NMETHOD_DEOPT, 0, 0, "nmethod", "_deoptimize_offset" }, /* 8 */
	{ OP_HOTSPOT_NMETHOD_DEOPT, 0, 0, "CompiledMethod", "_deopt_handler_begin" },
	{ OP_HOTSPOT_NMETHOD_DEOPT, 0, 0, "nmethod", "_deopt_handler_offset" },
	{ OP_HOTSPOT_NMETHOD_DEOPT, 0, 0, "nmethod", "_deopt_handler_entry_offset" },
	{ OP_HOTSPOT_NMETHOD_DEOPT_MH, OPTIONAL, 0, "nmethod", "_deoptimize_mh_offset" },
	{ OP_HOTSPOT_NMETHOD_DEOPT_MH, OPTIONAL, 0, "CompiledMethod",
	  "_deopt_mh_handler_begin" },
	{ OP_HOTSPOT_NMETHOD_DEOPT_MH, OPTIONAL, 0, "nmethod",
	  "_deopt_mh_handler_offset" },
	{ OP_HOTSPOT_NMETHOD_METADATA, OPTIONAL, 0, "nmethod", "_metadata_offset" },
	{ OP_HOTSPOT_NMETHOD_SCOPES_PCS, 0, 0, "nmethod", "_scopes_pcs_offset" },
	{ OP_HOTSPOT_NMETHOD_SCOPES_DATA, OPTIONAL, 0, "nmethod", "_scopes_data_offset" },
	{ OP_HOTSPOT_NMETHOD_SCOPES_POINTER, OPTIONAL, 0, "CompiledMethod",
	  "_scopes_data_begin" },
	{ OP_HOTSPOT_NMETHOD_DEPENDENCIES, OPTIONAL, 0, "nmethod",
	  "_dependencies_offset" },
	{ OP_HOTSPOT_NMETHOD_IMMUTABLE, OPTIONAL, 0, "nmethod", "_immutable_data" },
	{ OP_HOTSPOT_NMETHOD_IMMUTABLE_BYTES, OPTIONAL, 0, "nmethod",
	  "_immutable_data_size" },
	{ OP_HOTSPOT_PC_DESC_BYTES, 0, 0, "PcDesc", NULL },
	{ OP_HOTSPOT_PC_DESC_PC, 0, 0, "PcDesc", "_pc_offset" },
	{ OP_HOTSPOT_PC_DESC_SCOPE, 0, 0, "PcDesc", "_scope_decode_offset" },
	{ OP_HOTSPOT_FLAG_BYTES, OPTIONAL, 0, "Flag", NULL }, /* 8 */
	{ OP_HOTSPOT_FLAG_BYTES, OPTIONAL, 0, "JVMFlag", NULL },
	{ OP_HOTSPOT_FLAG_NAME, OPTIONAL, 0, "Flag", "_name" },
	{ OP_HOTSPOT_FLAG_NAME, OPTIONAL, 0, "JVMFlag", "_name" },
	{ OP_HOTSPOT_FLAG_VALUE, OPTIONAL, 0, "Flag", "_addr" },
	{ OP_HOTSPOT_FLAG_VALUE, OPTIONAL, 0, "JVMFlag", "_addr" },
	{ OP_HOTSPOT_FLAGS_ADDRESS, STATIC | OPTIONAL, 0, "Flag", "flags" },
	{ OP_HOTSPOT_FLAGS_ADDRESS, STATIC | OPTIONAL, 0, "JVMFlag", "flags" },
	{ OP_HOTSPOT_FLAGS_LEN_ADDRESS, STATIC | OPTIONAL, 0, "Flag", "numFlags" },
	{ OP_HOTSPOT_FLAGS_LEN_ADDRESS, STATIC | OPTIONAL, 0, "JVMFlag", "numFlags" },
	{ OP_HOTSPOT_METHOD_BYTES, 0, 0, "Method", NULL },
	{ OP_HOTSPOT_METHOD_CONST, 0, 0, "Method", "_constMethod" },
	{ OP_HOTSPOT_CONST_BYTES, 0, 0, "ConstMethod", NULL },
	{ OP_HOTSPOT_CONST_WORDS, 0, 0, "ConstMethod", "_constMethod_size" },
	{ OP_HOTSPOT_CONST_CONSTANTS, 0, 0, "ConstMethod", "_constants" },
	{ OP_HOTSPOT_CONST_CODE_SIZE, 0, 0, "ConstMethod", "_code_size" },
	{ OP_HOTSPOT_CONST_FLAGS, 0, 0, "ConstMethod", "_flags" },
	{ OP_HOTSPOT_CONST_FLAGS, 0, 0, "ConstMethod", "_flags._flags" }, /* 21 */
	{ OP_HOTSPOT_CONST_NAME, 0, 0, "ConstMethod", "_name_index" },
	{ OP_HOTSPOT_CONST_SIGNATURE, 0, 0, "ConstMethod", "_signature_index" },
	{ OP_HOTSPOT_POOL_BYTES, 0, 0, "ConstantPool", NULL },
	{ OP_HOTSPOT_POOL_LENGTH, 0, 0, "ConstantPool", "_length" },
	{ OP_HOTSPOT_POOL_HOLDER, 0, 0, "ConstantPool", "_pool_holder" },
	{ OP_HOTSPOT_POOL_FILE, OPTIONAL, 0, "ConstantPool", "_source_file_name_index" },
	{ OP_HOTSPOT_KLASS_FILE, OPTIONAL, 0, "InstanceKlass",
	  "_source_file_name_index" },
	{ OP_HOTSPOT_KLASS_NAME, 0, 0, "Klass", "_name" },
	{ OP_HOTSPOT_POOL_TAGS, OPTIONAL, 0, "ConstantPool", "_tags" },
	{ OP_HOTSPOT_KLASS_CONSTANTS, OPTIONAL, 0, "InstanceKlass", "_constants" },
	{ OP_HOTSPOT_KLASS_METHODS, OPTIONAL, 0, "InstanceKlass", "_methods" },
	{ OP_HOTSPOT_METHODS_LEN, OPTIONAL, 0, "Array<int>", "_length" },
	{ OP_HOTSPOT_METHODS_DATA, OPTIONAL, 0, "Array<Method*>", "_data" },
	{ OP_HOTSPOT_SYMBOL_LENGTH, 0, 0, "Symbol", "_length" },
	/* JDK 12 to 14: the upper half. */
	{ OP_HOTSPOT_SYMBOL_LENGTH, 0, 2, "Symbol", "_length_and_refcount" },
	{ OP_HOTSPOT_SYMBOL_BODY, 0, 0, "Symbol", "_body" },
};

static const char *const symbols[OP_HOTSPOT_SYMBOLS] = {
	[OP_HOTSPOT_STRUCTS] = "gHotSpotVMStructs",
	[OP_HOTSPOT_STRUCT_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[OP_HOTSPOT_STRUCT_TYPE] = "gHotSpotVMStructEntryTypeNameOffset",
	[OP_HOTSPOT_STRUCT_FIELD] = "gHotSpotVMStructEntryFieldNameOffset",
	[OP_HOTSPOT_STRUCT_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[OP_HOTSPOT_STRUCT_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[OP_HOTSPOT_STRUCT_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[OP_HOTSPOT_TYPES] = "gHotSpotVMTypes",
	[OP_HOTSPOT_TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[OP_HOTSPOT_TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[OP_HOTSPOT_TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
};

static void find_text(struct op_elf *elf, struct op_hotspot_image *ret)
{
	size_t len;
	const struct op_elf_segment *s = op_elf_segments(elf, &len);
	size_t i;

	for (i = 0; i < len; i++) {
		if (s[i].type != PT_LOAD || !(s[i].flags & PF_X))
			continue;
		ret->text = s[i].vaddr;
		ret->text_end = s[i].vaddr + s[i].memsz;
		return;
	}
}

int op_runtime_hotspot_image(struct op_elf *elf, struct op_hotspot_image *ret)
{
	struct op_elf_symbol found[OP_HOTSPOT_SYMBOLS];
	int i;
	int r;

	if (!op_runtime_may_export(elf, symbols[OP_HOTSPOT_STRUCTS]))
		return 0;
	r = op_elf_find_symbols(elf, symbols, OP_HOTSPOT_SYMBOLS, found);
	if (r < OP_HOTSPOT_SYMBOLS)
		return r < 0 ? r : 0;
	*ret = (struct op_hotspot_image){
		.machine = op_elf_machine(elf) == EM_AARCH64 ? &op_hotspot_aarch64
							     : &op_hotspot_x86_64,
	};
	for (i = 0; i < OP_HOTSPOT_SYMBOLS; i++)
		ret->symbol[i] = found[i].value;
	find_text(elf, ret);
	return 1;
}

/* State of reading one of the tables. */
struct table {
	const struct op_memory *memory;
	const uint64_t *member; /* by enum op_hotspot_symbol */
	uint64_t at;
	uint64_t stride;
	uint8_t entry[OP_HOTSPOT_STRIDE_MAX];
	/* cached name at the last address: neighbouring entries have the same type */
	uint64_t name_at;
	char name[OP_HOTSPOT_NAME_MAX];
};

static uint64_t member_of(const struct table *t, enum op_hotspot_symbol symbol)
{
	struct op_reader r = op_reader_init(t->entry, t->stride);

	op_reader_seek(&r, t->member[symbol]);
	return op_read_u64(&r);
}

static uint32_t int_of(const struct table *t, enum op_hotspot_symbol symbol)
{
	struct op_reader r = op_reader_init(t->entry, t->stride);

	op_reader_seek(&r, t->member[symbol]);
	return op_read_u32(&r);
}

static int read_entry(struct table *t, uint64_t i)
{
	return op_memory_read(t->memory, t->at + i * t->stride, t->entry, t->stride);
}

int op_runtime_hotspot_text(const struct op_memory *memory, uint64_t addr, char *ret,
			    size_t size)
{
	enum {
		PAGE = 4096
	};
	size_t len = 0;

	while (len < size - 1) {
		uint64_t at = addr + len;
		size_t more = OP_MIN(size - 1 - len, PAGE - at % PAGE);
		const char *end;
		int r;

		more = OP_MIN(more, (size_t)64);
		r = op_memory_read(memory, at, ret + len, more);
		if (r < 0)
			return r;
		end = memchr(ret + len, '\0', more);
		if (end)
			return (int)(end - ret);
		len += more;
	}
	ret[len] = '\0';
	return (int)len;
}

/* Read the string at @at into t->name. Returns 1, 0 at the table's end, or -errno. */
static int read_name(struct table *t, uint64_t at)
{
	int r;

	if (!at)
		return 0;
	if (at == t->name_at)
		return 1;
	t->name_at = 0;
	r = op_runtime_hotspot_text(t->memory, at, t->name, sizeof(t->name));
	if (r < 0)
		return r;
	t->name_at = at;
	return 1;
}

static void take(struct op_hotspot_layout *l, const struct name *n, uint64_t value)
{
	if (!(n->flags & STATIC) && value > OP_HOTSPOT_OFFSET_MAX)
		return;
	if (l->there[n->id])
		return;
	l->at[n->id] = value + n->add;
	l->there[n->id] = true;
}

/* Is a field of @type, or its size, needed? */
static bool is_wanted(const char *type, bool sizes)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(names); i++)
		if (!names[i].field == sizes && strcmp(names[i].type, type) == 0)
			return true;
	return false;
}

static void take_field(struct op_hotspot_layout *l, const char *type, const char *field,
		       const struct table *t)
{
	bool is_static = int_of(t, OP_HOTSPOT_STRUCT_STATIC) != 0;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(names); i++) {
		const struct name *n = &names[i];

		if (n->field && !(n->flags & STATIC) != is_static &&
		    strcmp(n->type, type) == 0 && strcmp(n->field, field) == 0)
			take(l, n,
			     member_of(t, is_static ? OP_HOTSPOT_STRUCT_ADDRESS
						    : OP_HOTSPOT_STRUCT_OFFSET));
	}
}

static int read_structs(struct table *t, struct op_hotspot_layout *l)
{
	struct table fields = { .memory = t->memory };
	uint64_t i;

	for (i = 0; i < OP_HOTSPOT_ENTRIES_MAX; i++) {
		int r = read_entry(t, i);

		if (r == 0)
			r = read_name(t, member_of(t, OP_HOTSPOT_STRUCT_TYPE));
		if (r <= 0)
			return r;
		if (!is_wanted(t->name, false))
			continue;
		r = read_name(&fields, member_of(t, OP_HOTSPOT_STRUCT_FIELD));
		if (r < 0)
			return r;
		if (r > 0)
			take_field(l, t->name, fields.name, t);
	}
	return -EBADMSG; /* the table has no end */
}

static int read_types(struct table *t, struct op_hotspot_layout *l)
{
	uint64_t i;
	size_t k;

	for (i = 0; i < OP_HOTSPOT_ENTRIES_MAX; i++) {
		int r = read_entry(t, i);

		if (r == 0)
			r = read_name(t, member_of(t, OP_HOTSPOT_TYPE_NAME));
		if (r <= 0)
			return r;
		for (k = 0; k < OP_ARRAY_SIZE(names); k++)
			if (!names[k].field && strcmp(names[k].type, t->name) == 0)
				take(l, &names[k], member_of(t, OP_HOTSPOT_TYPE_SIZE));
	}
	return -EBADMSG;
}

/* Read the variables that the symbols name: addresses of the tables, strides
 * and members. */
static int read_members(const struct op_memory *memory,
			const struct op_hotspot_image *image, uint64_t bias,
			uint64_t *ret)
{
	int i;

	for (i = 0; i < OP_HOTSPOT_SYMBOLS; i++) {
		bool is_table = i == OP_HOTSPOT_STRUCTS || i == OP_HOTSPOT_TYPES;
		int r = op_memory_read(memory, image->symbol[i] + bias, &ret[i],
				       sizeof(ret[i]));

		if (r < 0)
			return r;
		if (!is_table && ret[i] > OP_HOTSPOT_STRIDE_MAX)
			return -EBADMSG;
	}
	/* The constructors run in any order, but the tables' pointers are initialised
	 * statically. */
	if (!ret[OP_HOTSPOT_STRUCT_STRIDE] || !ret[OP_HOTSPOT_TYPE_STRIDE] ||
	    !ret[OP_HOTSPOT_STRUCT_ADDRESS] || !ret[OP_HOTSPOT_TYPE_SIZE])
		return -EAGAIN;
	return 0;
}

/* The first type that lacks a needed member, or NULL. */
static const char *find_missing(const struct op_hotspot_layout *l)
{
	const bool *there = l->there;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(names); i++)
		if (!(names[i].flags & OPTIONAL) && !there[names[i].id])
			return names[i].type;
	if (!there[OP_HOTSPOT_HEAP_ADDRESS] &&
	    !(there[OP_HOTSPOT_HEAPS_ADDRESS] && there[OP_HOTSPOT_ARRAY_LEN] &&
	      there[OP_HOTSPOT_ARRAY_DATA]))
		return "CodeCache";
	if (!there[OP_HOTSPOT_BLOB_CODE_BEGIN] && !there[OP_HOTSPOT_BLOB_CODE_OFFSET])
		return "CodeBlob";
	return NULL;
}

static int read_version(const struct op_memory *memory, struct op_hotspot_layout *l)
{
	uint32_t major;
	int r = op_memory_read(memory, l->at[OP_HOTSPOT_VERSION_ADDRESS], &major,
			       sizeof(major));

	if (r < 0)
		return r;
	l->version = major;
	if (major == HOTSPOT_OF_8 && l->there[OP_HOTSPOT_HEAP_ADDRESS])
		l->version = 8;
	return l->version ? 0 : -EAGAIN;
}

int op_runtime_hotspot_layout(const struct op_memory *memory,
			      const struct op_hotspot_image *image, uint64_t bias,
			      struct op_hotspot_layout *ret, const char **ret_missing)
{
	uint64_t member[OP_HOTSPOT_SYMBOLS] = { 0 };
	struct op_hotspot_layout l = { .machine = image->machine };
	struct table t = { .memory = memory, .member = member };
	int r = read_members(memory, image, bias, member);

	*ret_missing = NULL;
	if (r == 0) {
		t.at = member[OP_HOTSPOT_STRUCTS];
		t.stride = member[OP_HOTSPOT_STRUCT_STRIDE];
		r = read_structs(&t, &l);
	}
	if (r == 0) {
		t.at = member[OP_HOTSPOT_TYPES];
		t.stride = member[OP_HOTSPOT_TYPE_STRIDE];
		r = read_types(&t, &l);
	}
	if (r < 0)
		return r;
	*ret_missing = find_missing(&l);
	if (*ret_missing)
		return -EBADMSG;
	r = read_version(memory, &l);
	if (r == 0)
		*ret = l;
	return r;
}
