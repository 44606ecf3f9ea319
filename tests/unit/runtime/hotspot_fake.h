/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A HotSpot process as far as the library reads one, built word by word: its tables for
 * debuggers, a code cache with an interpreter of six codelets, and one method.
 */
#ifndef HOTSPOT_FAKE_H
#define HOTSPOT_FAKE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "base/memory.h"
#include "runtime/hotspot/layout.h"
#include "runtime/hotspot/machine/machine.h"

enum {
	FAKE_BASE = 0x100000,
	FAKE_BYTES = 32768,
	/* where things are put */
	FAKE_SYMBOLS = FAKE_BASE,
	FAKE_STATICS = FAKE_BASE + 0x100,
	FAKE_QUEUE = FAKE_BASE + 0x180,
	FAKE_HEAP = FAKE_BASE + 0x200,
	FAKE_ARRAY = FAKE_BASE + 0x300,
	FAKE_METHOD = FAKE_BASE + 0x400,
	FAKE_CONST = FAKE_BASE + 0x480,
	FAKE_POOL = FAKE_BASE + 0x600,
	FAKE_KLASS = FAKE_BASE + 0x700,
	FAKE_SEGMAP = FAKE_BASE + 0x780,
	FAKE_NAMES = FAKE_BASE + 0x800,
	FAKE_STRUCTS = FAKE_BASE + 0x1000,
	FAKE_TYPES = FAKE_BASE + 0x2000,
	FAKE_TEXT = FAKE_BASE + 0x3000,
	FAKE_CODE = FAKE_BASE + 0x6000, /* the code heap */
	FAKE_CODELETS = FAKE_CODE + 0x100,
	FAKE_NMETHOD = FAKE_CODE + 0x1008,
	FAKE_IMMUTABLE = FAKE_CODE + 0x1200, /* rows, then scopes */
	FAKE_MUTABLE = FAKE_CODE + 0x1400,
	FAKE_FLAGS = FAKE_CODE + 0x1500,
	FAKE_CODE_END = FAKE_BASE + FAKE_BYTES,

	FAKE_STRIDE = 56,
	FAKE_TYPE_STRIDE = 40,
	FAKE_CODE_BYTES = 10, /* of the method */
	FAKE_QUEUE_END = FAKE_QUEUE + 28,
	FAKE_QUEUE_COUNT = FAKE_QUEUE + 32,
	FAKE_QUEUE_LIMIT = FAKE_QUEUE + 20,
	FAKE_CODELETS_COUNT = 6,
	FAKE_BUFFER_BYTES = 0xe00, /* before it is cut behind the last codelet */
	FAKE_COMPILE_ID = 77,
};

struct fake {
	struct op_memory memory;
	struct op_hotspot_image image;
	uint32_t structs;
	uint32_t types;
	uint32_t text;
	bool gone;
	uint8_t bytes[FAKE_BYTES];
};

static struct fake fake;

static int fake_read(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	(void)m;
	if (fake.gone)
		return -ESRCH;
	if (addr < FAKE_BASE || len > FAKE_BYTES || addr - FAKE_BASE > FAKE_BYTES - len)
		return -EFAULT;
	memcpy(buf, fake.bytes + (addr - FAKE_BASE), len);
	return 0;
}

static void fake_put(uint64_t addr, const void *bytes, size_t len)
{
	memcpy(fake.bytes + (addr - FAKE_BASE), bytes, len);
}

static void fake_u64(uint64_t addr, uint64_t v)
{
	fake_put(addr, &v, sizeof(v));
}

static void fake_u32(uint64_t addr, uint32_t v)
{
	fake_put(addr, &v, sizeof(v));
}

static void fake_u16(uint64_t addr, uint16_t v)
{
	fake_put(addr, &v, sizeof(v));
}

static uint64_t fake_text(const char *text)
{
	uint64_t at = FAKE_TEXT + fake.text;

	fake_put(at, text, strlen(text) + 1);
	fake.text += (uint32_t)strlen(text) + 1;
	return at;
}

/* A row of gHotSpotVMStructs: a member at @value, or a static one at that address. */
static void fake_field(const char *type, const char *field, bool is_static,
		       uint64_t value)
{
	uint64_t at = FAKE_STRUCTS + (uint64_t)fake.structs++ * FAKE_STRIDE;

	fake_u64(at, fake_text(type));
	fake_u64(at + 8, fake_text(field));
	fake_u32(at + 24, is_static);
	fake_u64(at + 32, is_static ? 0 : value);
	fake_u64(at + 40, is_static ? value : 0);
}

static void fake_type(const char *type, uint64_t size)
{
	uint64_t at = FAKE_TYPES + (uint64_t)fake.types++ * FAKE_TYPE_STRIDE;

	fake_u64(at, fake_text(type));
	fake_u64(at + 16, size);
}

/* A Symbol; returns its address. */
static uint64_t fake_symbol(uint32_t number, const char *text)
{
	uint64_t at = FAKE_NAMES + (uint64_t)number * 128;

	fake_u16(at + 4, (uint16_t)strlen(text));
	fake_put(at + 6, text, strlen(text));
	return at;
}

static const struct {
	const char *type;
	const char *field;
	bool is_static;
	uint64_t value;
} fake_fields[] = {
	{ "Abstract_VM_Version", "_vm_major_version", true, FAKE_STATICS },
	{ "AbstractInterpreter", "_code", true, FAKE_STATICS + 8 },
	{ "StubRoutines", "_call_stub_return_address", true, FAKE_STATICS + 16 },
	{ "CodeCache", "_heaps", true, FAKE_STATICS + 24 },
	{ "GrowableArrayBase", "_len", false, 0 },
	{ "GrowableArray<int>", "_data", false, 8 },
	{ "StubQueue", "_stub_buffer", false, 8 },
	{ "StubQueue", "_buffer_limit", false, 20 },
	{ "StubQueue", "_queue_begin", false, 24 },
	{ "StubQueue", "_queue_end", false, 28 },
	{ "StubQueue", "_number_of_stubs", false, 32 },
	{ "InterpreterCodelet", "_size", false, 8 },
	{ "InterpreterCodelet", "_description", false, 0 },
	{ "InterpreterCodelet", "_bytecode", false, 12 },
	{ "CodeHeap", "_memory", false, 0 },
	{ "CodeHeap", "_segmap", false, 112 },
	{ "CodeHeap", "_log2_segment_size", false, 248 },
	{ "VirtualSpace", "_low_boundary", false, 0 },
	{ "VirtualSpace", "_high_boundary", false, 8 },
	{ "CodeBlob", "_name", false, 8 },
	{ "CodeBlob", "_size", false, 24 },
	{ "CodeBlob", "_frame_size", false, 44 },
	{ "CodeBlob", "_frame_complete_offset", false, 54 },
	{ "CodeBlob", "_code_offset", false, 36 },
	{ "CodeBlob", "_header_size", false, 52 },
	{ "CodeBlob", "_data_offset", false, 40 },
	{ "CodeBlob", "_mutable_data", false, 16 },
	{ "CodeBlob", "_mutable_data_size", false, 48 },
	{ "CodeBlob", "_relocation_size", false, 28 },
	{ "nmethod", "_method", false, 80 },
	{ "nmethod", "_compile_id", false, 212 },
	{ "nmethod", "_orig_pc_offset", false, 208 },
	{ "nmethod", "_deopt_handler_offset", false, 176 },
	{ "nmethod", "_deopt_mh_handler_offset", false, 180 },
	{ "nmethod", "_scopes_pcs_offset", false, 196 },
	{ "nmethod", "_scopes_data_offset", false, 200 },
	{ "nmethod", "_immutable_data", false, 96 },
	{ "nmethod", "_immutable_data_size", false, 160 },
	{ "PcDesc", "_pc_offset", false, 0 },
	{ "PcDesc", "_scope_decode_offset", false, 4 },
	{ "JVMFlag", "_name", false, 8 },
	{ "JVMFlag", "_addr", false, 0 },
	{ "JVMFlag", "flags", true, FAKE_STATICS + 32 },
	{ "JVMFlag", "numFlags", true, FAKE_STATICS + 40 },
	{ "Method", "_constMethod", false, 8 },
	{ "ConstMethod", "_constMethod_size", false, 24 },
	{ "ConstMethod", "_constants", false, 8 },
	{ "ConstMethod", "_code_size", false, 34 },
	{ "ConstMethod", "_flags._flags", false, 28 },
	{ "ConstMethod", "_name_index", false, 36 },
	{ "ConstMethod", "_signature_index", false, 38 },
	{ "ConstantPool", "_length", false, 60 },
	{ "ConstantPool", "_pool_holder", false, 24 },
	{ "ConstantPool", "_source_file_name_index", false, 54 },
	{ "Klass", "_name", false, 24 },
	{ "Symbol", "_length", false, 4 },
	{ "Symbol", "_body", false, 6 },
};

static const struct {
	const char *name;
	uint64_t size;
} fake_sizes[] = {
	{ "InterpreterCodelet", 16 },
	{ "HeapBlock", 8 },
	{ "Method", 88 },
	{ "ConstMethod", 56 },
	{ "ConstantPool", 72 },
	{ "nmethod", 224 },
	{ "PcDesc", 16 },
	{ "JVMFlag", 24 },
};

static void fake_tables(void)
{
	static const uint64_t members[OP_HOTSPOT_SYMBOLS] = {
		[OP_HOTSPOT_STRUCTS] = FAKE_STRUCTS,
		[OP_HOTSPOT_STRUCT_STRIDE] = FAKE_STRIDE,
		[OP_HOTSPOT_STRUCT_TYPE] = 0,
		[OP_HOTSPOT_STRUCT_FIELD] = 8,
		[OP_HOTSPOT_STRUCT_STATIC] = 24,
		[OP_HOTSPOT_STRUCT_OFFSET] = 32,
		[OP_HOTSPOT_STRUCT_ADDRESS] = 40,
		[OP_HOTSPOT_TYPES] = FAKE_TYPES,
		[OP_HOTSPOT_TYPE_STRIDE] = FAKE_TYPE_STRIDE,
		[OP_HOTSPOT_TYPE_NAME] = 0,
		[OP_HOTSPOT_TYPE_SIZE] = 16,
	};
	size_t i;

	fake.image.machine = &op_hotspot_x86_64;
	for (i = 0; i < OP_HOTSPOT_SYMBOLS; i++) {
		fake.image.symbol[i] = i * 8;
		fake_u64(FAKE_SYMBOLS + i * 8, members[i]);
	}
	for (i = 0; i < OP_ARRAY_SIZE(fake_fields); i++)
		fake_field(fake_fields[i].type, fake_fields[i].field,
			   fake_fields[i].is_static, fake_fields[i].value);
	for (i = 0; i < OP_ARRAY_SIZE(fake_sizes); i++)
		fake_type(fake_sizes[i].name, fake_sizes[i].size);
}

/* What the VM is; its statics are there, as after start-up. */
static void fake_objects(void)
{
	/* 10 bytecodes, then lines: bci 0 is line 7, bci 4 is line 9 */
	static const uint8_t table[] = { 0xff, 0x01, 0x0f, 4 << 3 | 2, 0 };

	fake_u32(FAKE_STATICS, 25);
	fake_u64(FAKE_STATICS + 8, FAKE_QUEUE);
	fake_u64(FAKE_STATICS + 16, FAKE_CODE + 0x48);
	fake_u64(FAKE_STATICS + 24, FAKE_ARRAY);
	fake_u32(FAKE_ARRAY, 1);
	fake_u64(FAKE_ARRAY + 8, FAKE_ARRAY + 16);
	fake_u64(FAKE_ARRAY + 16, FAKE_HEAP);
	fake_u64(FAKE_HEAP, FAKE_CODE);
	fake_u64(FAKE_HEAP + 8, FAKE_CODE_END);
	fake_u64(FAKE_HEAP + 112, FAKE_SEGMAP);
	fake_u64(FAKE_HEAP + 120, FAKE_SEGMAP + 64);
	fake_u32(FAKE_HEAP + 248, 7);

	fake_u64(FAKE_METHOD + 8, FAKE_CONST);
	fake_u64(FAKE_CONST + 8, FAKE_POOL);
	fake_u32(FAKE_CONST + 24, 16);
	fake_u32(FAKE_CONST + 28, 1);
	fake_u16(FAKE_CONST + 34, FAKE_CODE_BYTES);
	fake_u16(FAKE_CONST + 36, 1);
	fake_u16(FAKE_CONST + 38, 2);
	fake_put(FAKE_CONST + 56 + FAKE_CODE_BYTES, table, sizeof(table));
	fake_u64(FAKE_POOL + 24, FAKE_KLASS);
	fake_u16(FAKE_POOL + 54, 3);
	fake_u32(FAKE_POOL + 60, 4);
	fake_u64(FAKE_POOL + 72 + 8, fake_symbol(0, "work"));
	fake_u64(FAKE_POOL + 72 + 16, fake_symbol(1, "(I)V"));
	fake_u64(FAKE_POOL + 72 + 24, fake_symbol(2, "Known.java"));
	fake_u64(FAKE_KLASS + 24,
		 fake_symbol(3, "org/example/Known$$Lambda+0x00007f2a4c000a00"));
}

static void fake_row(uint32_t i, uint32_t pc, uint32_t scope)
{
	fake_u32(FAKE_IMMUTABLE + 32 + (uint64_t)i * 16, pc);
	fake_u32(FAKE_IMMUTABLE + 32 + (uint64_t)i * 16 + 4, scope);
}

/*
 * A compiled method as JDK 25 has it. Up to offset 0x20 of its code it is the method alone,
 * bytecode 3; from there to 0x40 the method is inlined into it, bytecode 4 called from 7.
 */
static void fake_compiled(void)
{
	/* {scope of the caller, Method's number, bytecode + 1}; all bytes one more */
	static const uint8_t scopes[] = { 0xff, 1, 2, 5, 1, 2, 9, 5, 2, 6 };

	fake_u64(FAKE_NMETHOD + 8, fake_text("nmethod"));
	fake_u64(FAKE_NMETHOD + 16, FAKE_MUTABLE);
	fake_u32(FAKE_NMETHOD + 24, 480);
	fake_u32(FAKE_NMETHOD + 28, 16);
	fake_u32(FAKE_NMETHOD + 36, 224);
	fake_u32(FAKE_NMETHOD + 44, 4);
	fake_u32(FAKE_NMETHOD + 48, 24);
	fake_u16(FAKE_NMETHOD + 52, 224);
	fake_u64(FAKE_NMETHOD + 80, FAKE_METHOD);
	fake_u64(FAKE_NMETHOD + 96, FAKE_IMMUTABLE);
	fake_u32(FAKE_NMETHOD + 160, 32 + 4 * 16 + sizeof(scopes));
	fake_u32(FAKE_NMETHOD + 196, 32);
	fake_u32(FAKE_NMETHOD + 200, 32 + 4 * 16);
	fake_u32(FAKE_NMETHOD + 212, FAKE_COMPILE_ID);
	fake_row(0, UINT32_MAX, 0);
	fake_row(1, 0x20, 1);
	fake_row(2, 0x40, 7);
	fake_row(3, INT32_MAX, 0);
	fake_put(FAKE_IMMUTABLE + 32 + 4 * 16, scopes, sizeof(scopes));
	fake_u64(FAKE_MUTABLE + 16, FAKE_METHOD);
	fake_u64(FAKE_STATICS + 32, FAKE_FLAGS);
	fake_u64(FAKE_STATICS + 40, 2);
	fake_u64(FAKE_FLAGS + 8, fake_text("UseSerialGC"));
	fake_u64(FAKE_FLAGS + 24, FAKE_FLAGS + 64);
	fake_u64(FAKE_FLAGS + 24 + 8, fake_text("DebugNonSafepoints"));
}

/* A codelet behind the last one, and its code. */
static void fake_codelet(const char *description, uint32_t bytecode, const void *code,
			 size_t len)
{
	uint64_t queue_end = 0;
	uint64_t at;
	uint32_t end;
	uint32_t count;

	memcpy(&end, fake.bytes + (FAKE_QUEUE_END - FAKE_BASE), sizeof(end));
	memcpy(&count, fake.bytes + (FAKE_QUEUE_COUNT - FAKE_BASE), sizeof(count));
	at = FAKE_CODELETS + end;
	fake_u64(at, fake_text(description));
	fake_u32(at + 8, (uint32_t)(24 + len));
	fake_u32(at + 12, bytecode);
	fake_put(at + 24, code, len);
	queue_end = end + 24 + len;
	fake_u64(FAKE_QUEUE + 8, FAKE_CODELETS);
	fake_u32(FAKE_QUEUE_END, (uint32_t)queue_end);
	fake_u32(FAKE_QUEUE_COUNT, count + 1);
}

/* The sequences that the generators of JDK 25 write. */
static const uint8_t fake_method_entry[] = {
	0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8, /* pop rax; lea r14, [rsp + rcx * 8 - 8] */
	0x50, 0x55, 0x48, 0x8b, 0xec,	    /* push rax; push rbp; mov rbp, rsp */
	0x41, 0x55, 0x6a, 0x00, 0x53,	    /* push r13; push 0; push rbx */
	0x4c, 0x89, 0x6d, 0xc0, 0xf4,	    /* mov [rbp - 64], r13; hlt */
};
static const uint8_t fake_quick_entry[] = {
	0x90, 0x58, 0x49, 0x8b,
	0xe5, 0xff, 0xe0, /* nop; pop rax; mov rsp, r13; jmp rax */
};
static const uint8_t fake_return[] = {
	0x90, 0xc9, 0x41, 0x5d, 0x48, 0x8b, 0xe3, /* nop; leave; pop r13; mov rsp, rbx */
	0x41, 0xff, 0xe5, 0x90,			  /* jmp r13; nop */
};

/* A process whose VM has made the first @codelets codelets of its interpreter. */
static void fake_make_early(uint32_t codelets)
{
	static const struct {
		const char *description;
		uint32_t bytecode;
		const void *code;
		size_t len;
	} all[FAKE_CODELETS_COUNT] = {
		{ "return entry points", UINT32_MAX, "\x90\x90", 2 },
		{ "method entry point (kind = zerolocals)", UINT32_MAX, fake_method_entry,
		  sizeof(fake_method_entry) },
		{ "method entry point (kind = java_lang_math_sin)", UINT32_MAX,
		  fake_quick_entry, sizeof(fake_quick_entry) },
		{ "return", 177, fake_return, sizeof(fake_return) },
		{ "_shouldnotreachhere", 239, "\xf4", 1 },
		{ "deoptimization entry points", UINT32_MAX, "\xf4", 1 },
	};
	uint32_t i;

	memset(&fake, 0, sizeof(fake));
	fake.memory.read = fake_read;
	fake_tables();
	fake_objects();
	fake_compiled();
	fake_u32(FAKE_QUEUE_LIMIT, FAKE_BUFFER_BYTES);
	for (i = 0; i < codelets; i++)
		fake_codelet(all[i].description, all[i].bytecode, all[i].code,
			     all[i].len);
}

/* JDK 9 and later cut the buffer behind the last codelet. */
static void fake_cut(void)
{
	fake_put(FAKE_QUEUE_LIMIT, fake.bytes + (FAKE_QUEUE_END - FAKE_BASE), 4);
}

static void fake_make(void)
{
	fake_make_early(FAKE_CODELETS_COUNT);
	fake_cut();
}

#endif
