/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HotSpot: what the step needs to know of a process, and the words of its frames.
 *
 * A frame has two words. Word 0 has the runtime's kind and an address. Word 1 says in its
 * highest 4 bits what the address is (enum op_hotspot_kind), and in its other bits the position
 * in that object.
 */
#ifndef OP_HOTSPOT_H
#define OP_HOTSPOT_H

#include "op_records.h"

enum {
	OP_HOTSPOT_FRAME_WORDS = 2,
	OP_HOTSPOT_KIND_SHIFT = 60,
	OP_HOTSPOT_HEAPS = 5,	     /* code heaps: three, or one more for hot code */
	OP_HOTSPOT_RULES = 480,	     /* of one interpreter */
	OP_HOTSPOT_RULES_ALL = 4096, /* with those of the stubs */
	OP_HOTSPOT_RULES_STEPS = 12,
	OP_HOTSPOT_PC_BITS = 26,  /* bits of an offset in a compiled method's code */
	OP_HOTSPOT_ID_BITS = 30,  /* bits above it: the compilation's number */
	OP_HOTSPOT_BCP_BITS = 25, /* the low bits of a bytecode's address; above it: */
	OP_HOTSPOT_CHECK_BITS = 31,
	/* of an object's identity: it is an nmethod, and the rest is its number */
	OP_HOTSPOT_IS_CODE = 1U << 31,
	/* bytes of a ConstMethod that identify it */
	OP_HOTSPOT_CONST_BYTES_MAX = 128,
	/* entries of a segment map followed for one pc: each costs the verifier up to 38
	 * instructions */
	OP_HOTSPOT_HOPS = 32,
};

/* The kind of address in word 0, and the meaning of the low bits of word 1. */
enum op_hotspot_kind {
	/* a Method; of the address of the running bytecode the low bits, or 0; and above that which
	 * one it is: struct op_hotspot_identity, or 0 if that could not be read */
	OP_HOTSPOT_METHOD = 0,
	OP_HOTSPOT_ENTERED = 1, /* the same at its entry: 0 */
	OP_HOTSPOT_CODELET = 2, /* a pc in one of the interpreter's codelets */
	OP_HOTSPOT_STUB = 3,	/* a pc in other code; its offset in the CodeBlob, or 0 */
	/* an nmethod; an offset in its code, and above that the compilation's number */
	OP_HOTSPOT_COMPILED = 4,
	OP_HOTSPOT_CALLED = 5, /* the same; the offset is that of a call's last byte */
};

/*
 * How to find the caller of code at a pc of the interpreter. A Java method's frame
 * (frame_x86.hpp, frame_aarch64.hpp) is, downwards from fp: {return address, caller's fp
 * <- fp, caller's sp, last sp, Method, ...}.
 */
enum op_hotspot_frame {
	OP_HOTSPOT_SLOT = 0,  /* the frame is complete, and has the bytecode's address */
	OP_HOTSPOT_BCP = 1,   /* the same; a register has the bytecode's address, too */
	OP_HOTSPOT_BEGUN = 2, /* the frame is complete; no bytecode has run */
	OP_HOTSPOT_HALF = 3,  /* fp is the frame's; only a register has the Method */
	OP_HOTSPOT_ENTRY = 4, /* there is no frame yet: fp is the caller's */
	OP_HOTSPOT_GONE = 5,  /* the frame was removed: fp is the caller's */
	OP_HOTSPOT_NO_RULE = 6,
	/* of stubs: the caller's frame begins so many words above sp or fp */
	OP_HOTSPOT_FROM_SP = 7,
	OP_HOTSPOT_FROM_FP = 8,
	/* + n: above the address in the slot n words above sp */
	OP_HOTSPOT_FROM_SLOT = 128,
	OP_HOTSPOT_SLOTS = 128,
};

/* Of a stub: where its caller's fp is, in words below the caller's frame. */
enum {
	OP_HOTSPOT_FP_SAME = 0,
	OP_HOTSPOT_FP_LOST = 255,
};

/* The place of the return address while there is no frame. */
enum op_hotspot_return {
	OP_HOTSPOT_RETURN_UNKNOWN = 0,
	OP_HOTSPOT_RETURN_SP = 1,    /* at sp */
	OP_HOTSPOT_RETURN_BELOW = 2, /* at sp + 8 */
	OP_HOTSPOT_RETURN_LR = 3,    /* in lr */
	OP_HOTSPOT_RETURN_REG = 16,  /* 16 + a register's DWARF number */
};

/* A rule is valid from its address up to that of the next rule. */
struct op_hotspot_rule {
	__u32 at;    /* offset from the code cache's first byte */
	__u8 frame;  /* enum op_hotspot_frame */
	__u8 where;  /* enum op_hotspot_return; of a stub: OP_HOTSPOT_FP_* */
	__u16 words; /* of a stub */
};

struct op_hotspot_heap {
	__u64 low;
	__u64 high;
	__u64 segmap;
};

/*
 * Identity of a Method, to distinguish it from another one at the same address. When a
 * class is unloaded, the next class gets its memory with the same places, but not the
 * same names. Offsets are in bytes.
 */
struct op_hotspot_identity {
	__u64 symbol_mask; /* of a Symbol's first word, without its count of references */
	__u8 method_const;
	__u8 const_bytes; /* size of a ConstMethod without its trailing parts */
	__u8 const_pool;
	__u8 const_name;      /* index of a slot, 16 bits */
	__u8 const_code_size; /* 16 bits */
	__u8 pool_bytes;      /* where the slots begin */
	__u8 pool_holder;
	__u8 klass_name; /* all 0: they are not known */
};

/* Data of a process for the step. Offsets are in bytes. */
struct op_hotspot {
	__u64 interpreter; /* [interpreter, interpreter_end) */
	__u64 interpreter_end;
	__u64 call_stub; /* where Java code returns to the VM */
	__u64 vm;	 /* [vm, vm_end): code of libjvm.so */
	__u64 vm_end;
	__u64 cache; /* [cache, cache_end): the address space that the heaps share */
	__u64 cache_end;
	struct op_hotspot_heap heap[OP_HOTSPOT_HEAPS];
	__s16 bcp_slot; /* offset from fp */
	__u8 log2_segment;
	__u8 block_bytes;
	__u8 blob_frame_size; /* offsets in a CodeBlob */
	__u8 blob_frame_complete;
	__u8 blob_code;
	__u8 blob_code_is_pointer;
	__u32 rule_count;
	__u8 blob_header_bytes; /* offset of the header's size, 16 bits */
	__u8 nmethod_deopt; /* offset of the address that a deoptimised frame returns to */
	__u8 nmethod_deopt_mh;	  /* offset of a second such address; 0: none */
	__u8 blob_name;		  /* offset of the address of a CodeBlob's name */
	__u16 nmethod_bytes;	  /* a blob with a header of this size is an nmethod */
	__u16 nmethod_compile_id; /* offsets in an nmethod */
	__u16 nmethod_orig_pc;
	__u8 entry_sender; /* aarch64: register of the caller's sp when a method is entered */
	__u8 reserved1;
	struct op_hotspot_identity identity;
	/* how to find the names of a Method, and of an nmethod */
	struct op_object_step method[OP_OBJECT_STEPS];
	struct op_object_step code[OP_OBJECT_STEPS];
	struct op_hotspot_rule rule[OP_HOTSPOT_RULES_ALL];
};

_Static_assert(sizeof(struct op_hotspot_rule) == 8, "layout");
_Static_assert(sizeof(struct op_hotspot_identity) == 16, "layout");
_Static_assert(sizeof(struct op_hotspot) == 96 + OP_HOTSPOT_HEAPS * 24 +
						    2 * OP_OBJECT_STEPS * 8 +
						    OP_HOTSPOT_RULES_ALL * 8,
	       "layout");
_Static_assert(1 << OP_HOTSPOT_RULES_STEPS >= OP_HOTSPOT_RULES_ALL,
	       "the search reaches all");

#endif
