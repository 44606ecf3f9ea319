/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a HotSpot VM's objects. libjvm.so publishes it for debuggers, in the
 * exported tables gHotSpotVMStructs (type, field, offset or address) and gHotSpotVMTypes
 * (type, size). Its constructors fill the tables, so they are read from the process. They
 * are read from each process, because one process could write anything there.
 */
#ifndef OP_RUNTIME_HOTSPOT_LAYOUT_H
#define OP_RUNTIME_HOTSPOT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "code/elf/file.h"

struct op_hotspot_machine; /* machine/machine.h */

/* The exported symbols with the addresses of the tables and the layout of their
 * entries. */
enum op_hotspot_symbol {
	OP_HOTSPOT_STRUCTS,
	OP_HOTSPOT_STRUCT_STRIDE,
	OP_HOTSPOT_STRUCT_TYPE,
	OP_HOTSPOT_STRUCT_FIELD,
	OP_HOTSPOT_STRUCT_STATIC,
	OP_HOTSPOT_STRUCT_OFFSET,
	OP_HOTSPOT_STRUCT_ADDRESS,
	OP_HOTSPOT_TYPES,
	OP_HOTSPOT_TYPE_STRIDE,
	OP_HOTSPOT_TYPE_NAME,
	OP_HOTSPOT_TYPE_SIZE,
	OP_HOTSPOT_SYMBOLS,
};

/* A libjvm.so, in ELF addresses. */
struct op_hotspot_image {
	const struct op_hotspot_machine *machine;
	uint64_t symbol[OP_HOTSPOT_SYMBOLS];
	uint64_t text; /* [text, text_end): its executable segment */
	uint64_t text_end;
	bool warned; /* an unknown layout was reported; once per file */
};

/*
 * Values from the tables: offsets in bytes; _ADDRESS: the address of a static member;
 * _BYTES: the size of a type. Numbers in a comment are the JDK versions that have it.
 */
enum op_hotspot_field {
	OP_HOTSPOT_VERSION_ADDRESS, /* Abstract_VM_Version::_vm_major_version, an int */

	OP_HOTSPOT_INTERPRETER_ADDRESS, /* AbstractInterpreter::_code, a StubQueue * */
	OP_HOTSPOT_QUEUE_BUFFER,
	OP_HOTSPOT_QUEUE_BEGIN,
	OP_HOTSPOT_QUEUE_END,
	OP_HOTSPOT_QUEUE_COUNT,
	OP_HOTSPOT_QUEUE_LIMIT, /* 0: not known */
	OP_HOTSPOT_CODELET_BYTES,
	OP_HOTSPOT_CODELET_SIZE,
	OP_HOTSPOT_CODELET_DESCRIPTION,
	OP_HOTSPOT_CODELET_BYTECODE,
	OP_HOTSPOT_CALL_STUB_ADDRESS, /* StubRoutines::_call_stub_return_address */

	OP_HOTSPOT_HEAPS_ADDRESS, /* CodeCache::_heaps, a GrowableArray<CodeHeap *> *; 9 */
	OP_HOTSPOT_HEAP_ADDRESS,  /* CodeCache::_heap, a CodeHeap *; 8 */
	OP_HOTSPOT_ARRAY_LEN,
	OP_HOTSPOT_ARRAY_DATA,
	OP_HOTSPOT_HEAP_MEMORY,
	OP_HOTSPOT_HEAP_SEGMAP,
	OP_HOTSPOT_HEAP_LOG2_SEGMENT,
	OP_HOTSPOT_SPACE_LOW,
	OP_HOTSPOT_SPACE_HIGH,
	OP_HOTSPOT_BLOCK_BYTES, /* HeapBlock: the header before a blob */
	/* in that header: a byte that is 0 if the blob was freed */
	OP_HOTSPOT_BLOCK_USED,

	OP_HOTSPOT_BLOB_NAME,
	OP_HOTSPOT_BLOB_SIZE,
	OP_HOTSPOT_BLOB_FRAME_SIZE,	/* in words */
	OP_HOTSPOT_BLOB_FRAME_COMPLETE, /* offset from the code's start */
	OP_HOTSPOT_BLOB_CODE_BEGIN,	/* 9 to 22: a pointer */
	OP_HOTSPOT_BLOB_CODE_OFFSET,	/* other versions: an offset from the blob */
	/* the header's size, which identifies the blob's class */
	OP_HOTSPOT_BLOB_HEADER_BYTES,
	OP_HOTSPOT_BLOB_DATA_OFFSET,
	OP_HOTSPOT_BLOB_MUTABLE, /* 25: a pointer to relocations and then metadata */
	OP_HOTSPOT_BLOB_MUTABLE_BYTES,
	OP_HOTSPOT_BLOB_RELOCATION_BYTES,

	OP_HOTSPOT_NMETHOD_BYTES,
	OP_HOTSPOT_NMETHOD_METHOD,
	OP_HOTSPOT_NMETHOD_COMPILE_ID,
	OP_HOTSPOT_NMETHOD_ORIG_PC,
	OP_HOTSPOT_NMETHOD_DEOPT, /* like the code: a pointer or an offset */
	OP_HOTSPOT_NMETHOD_DEOPT_MH,
	OP_HOTSPOT_NMETHOD_METADATA,	   /* 8 to 24: an offset */
	OP_HOTSPOT_NMETHOD_SCOPES_PCS,	   /* offset in the blob; since 23: */
	OP_HOTSPOT_NMETHOD_SCOPES_DATA,	   /* offset in the immutable data */
	OP_HOTSPOT_NMETHOD_SCOPES_POINTER, /* 9 to 22: a pointer to the scopes' data */
	OP_HOTSPOT_NMETHOD_DEPENDENCIES,   /* 8 to 22: the end of the PcDesc rows */
	OP_HOTSPOT_NMETHOD_IMMUTABLE,	   /* since 23: a pointer */
	OP_HOTSPOT_NMETHOD_IMMUTABLE_BYTES,
	OP_HOTSPOT_PC_DESC_BYTES,
	OP_HOTSPOT_PC_DESC_PC,
	OP_HOTSPOT_PC_DESC_SCOPE,

	OP_HOTSPOT_FLAG_BYTES,
	OP_HOTSPOT_FLAG_NAME,
	OP_HOTSPOT_FLAG_VALUE,	  /* a pointer */
	OP_HOTSPOT_FLAGS_ADDRESS, /* address of a pointer to the array */
	OP_HOTSPOT_FLAGS_LEN_ADDRESS,

	OP_HOTSPOT_METHOD_BYTES,
	OP_HOTSPOT_METHOD_CONST,
	OP_HOTSPOT_CONST_BYTES,
	OP_HOTSPOT_CONST_WORDS, /* size of the object with all that follows it */
	OP_HOTSPOT_CONST_CONSTANTS,
	OP_HOTSPOT_CONST_CODE_SIZE,
	OP_HOTSPOT_CONST_FLAGS,
	OP_HOTSPOT_CONST_NAME,
	OP_HOTSPOT_CONST_SIGNATURE,
	OP_HOTSPOT_POOL_BYTES,
	OP_HOTSPOT_POOL_LENGTH,
	OP_HOTSPOT_POOL_HOLDER,
	OP_HOTSPOT_POOL_FILE,  /* the source file's name: since 15 */
	OP_HOTSPOT_KLASS_FILE, /* the same before 15 */
	OP_HOTSPOT_KLASS_NAME,
	OP_HOTSPOT_POOL_TAGS, /* an Array<u1> *: one for each slot */
	OP_HOTSPOT_KLASS_CONSTANTS,
	OP_HOTSPOT_KLASS_METHODS, /* an Array<Method *> * */
	OP_HOTSPOT_METHODS_LEN,	  /* length of any Array */
	OP_HOTSPOT_METHODS_DATA,
	OP_HOTSPOT_SYMBOL_LENGTH, /* 16 bits */
	OP_HOTSPOT_SYMBOL_BODY,
	OP_HOTSPOT_FIELDS,
};

enum {
	/* entries of each table; JDK 11 has the most, 837 */
	OP_HOTSPOT_ENTRIES_MAX = 4096,
	OP_HOTSPOT_STRIDE_MAX = 128,
	OP_HOTSPOT_NAME_MAX = 128,    /* bytes of a type's or a field's name */
	OP_HOTSPOT_OFFSET_MAX = 8192, /* of a field, and the size of a type */
};

struct op_hotspot_layout {
	const struct op_hotspot_machine *machine;
	uint32_t version; /* 8, 11, 17, … */
	uint64_t at[OP_HOTSPOT_FIELDS];
	bool there[OP_HOTSPOT_FIELDS];
};

/* Returns 1 with *@ret if @elf is a libjvm.so, 0 if it is not, or -errno. */
int op_runtime_hotspot_image(struct op_elf *elf, struct op_hotspot_image *ret);

/*
 * Read the tables of a process that maps the image with load bias @bias. Returns 0 with
 * *@ret; -EAGAIN if they are not filled yet; -EBADMSG if they are inconsistent or lack
 * something, with the missing type in *@ret_missing (static, or NULL); or an error of
 * reading.
 */
int op_runtime_hotspot_layout(const struct op_memory *memory,
			      const struct op_hotspot_image *image, uint64_t bias,
			      struct op_hotspot_layout *ret, const char **ret_missing);

/* Read a NUL-terminated string of the process, at most @size bytes with the NUL; longer
 * strings are cut. Returns its length or an error of reading. */
int op_runtime_hotspot_text(const struct op_memory *memory, uint64_t addr, char *ret,
			    size_t size);

#endif
