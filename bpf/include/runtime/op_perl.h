/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Perl: the data that the step needs for a process, and the words of its frames.
 *
 * A frame has three words:
 *   word 0  of a sub the address of its glob (GV), or with OP_PERL_NAMED of the CV itself, which
 *           then has its name. With OP_PERL_FILE that of the file's name. 0 for other frames. Any of
 *           these may be freed soon, so the first frame sends it (OP_RECORD_OBJECT)
 *   word 1  low half: the line; high half: the identity of what word 0 names, op_perl_check(), or 0
 *   word 2  the address of the file's name: its text, or its glob in a Perl without threads; from
 *           bit OP_PERL_KIND_SHIFT on, enum op_perl_kind and OP_PERL_NAMED, _TEXT
 */
#ifndef OP_PERL_H
#define OP_PERL_H

#include "op_records.h"

enum {
	OP_PERL_FRAME_WORDS = 3,
	OP_PERL_KIND_SHIFT = 48,

	/* The rest is the same since Perl 5.24. OP, COP: */
	OP_PERL_COP_READ =
		32, /* the word with the line in its high half; then 8 bytes, the file */
	OP_PERL_COP_BYTES = 24,
	/* PERL_SI */
	OP_PERL_SI_CXSTACK = 8, /* then si_prev */
	OP_PERL_SI_CXIX = 32,
	OP_PERL_SI_BYTES = 48,
	/* PERL_CONTEXT */
	OP_PERL_CX_OLDCOP = 16,
	OP_PERL_CX_RETOP = 48,
	OP_PERL_CX_BYTES = 80, /* bytes read of a context */
	/* the body of a CV, from its package on: stash, ..., name, ..., flags */
	OP_PERL_CV_STASH = 32,
	OP_PERL_CV_NAME = 56,
	OP_PERL_CV_FLAGS = 88, /* in the high half */
	OP_PERL_CV_BYTES = 64,
	/* the body of a GV: its name, a HEK, whose text begins with "_<" if it is a
	 * file's */
	OP_PERL_GV_NAME = 32, /* then its package */
	OP_PERL_GV_FILE = 10,
	/* the head of an SV: its body, its type, a pointer: a glob's GP, a hash's array */
	OP_PERL_SV_POINTER = 16,
	OP_PERL_SV_BYTES = 24,
	OP_PERL_GP_EFFECTIVE =
		56, /* the glob of which this one is a copy, or itself, or 0 */
	/* a hash's body: the number of its array's last element */
	OP_PERL_HV_MAX = 24,
	OP_PERL_FILE_BYTES = 64, /* bytes of a file's name that are hashed */
	OP_PERL_FILE_COPIED = 255,

	/* a context's type is enum op_perl_cx + struct op_perl.cx_sub, with these bits */
	OP_PERL_CX_TYPE = 0xf,
	OP_PERL_CX_SUB = 0,
	OP_PERL_CX_FORMAT = 1,
	OP_PERL_CX_EVAL = 2,
	OP_PERL_CX_DEFER = 4,	      /* since 5.36 */
	OP_PERL_CX_REGEX = 0x40,      /* of a sub: code in a regular expression */
	OP_PERL_CX_REGEX_FAKE = 0x80, /* the same, without a sub of its own */
	OP_PERL_CX_REAL = 0x20,	      /* of an eval: of a string */
	OP_PERL_CX_BLOCK = 0x40,      /* eval {}; neither: a file */
	OP_PERL_CX_TRY = 0x80,	      /* try {} */
	/* PERL_SI.si_type */
	OP_PERL_SI_SORT = 3,
	OP_PERL_SI_MULTICALL = 10,
	/* a CV's flags */
	OP_PERL_CV_NAMED = 0x8000,
	OP_PERL_CV_LEXICAL = 0x10000,

	OP_PERL_TYPE_CV = 13, /* the low byte of an SV's flags, which follow 12 bytes */

	OP_PERL_NAMED = 0x10,
	OP_PERL_TEXT = 0x40, /* the file is "(eval N)" */
	OP_PERL_KIND_MASK = 0xf,
};

enum op_perl_kind {
	OP_PERL_SUB = 0,
	OP_PERL_EVAL = 1, /* eval {} and eval of a string */
	OP_PERL_FILE = 2, /* require, use, do FILE */
	OP_PERL_FORMAT = 3,
	OP_PERL_MAIN = 4,
};

/* What word 0 names, in the low bits of its identity. */
enum op_perl_named {
	OP_PERL_OBJECT_FILE = 1,
	OP_PERL_OBJECT_GLOB = 2,
	OP_PERL_OBJECT_CV = 3,
	OP_PERL_OBJECT_MASK = 3,
};

/* "(eval " in the file name of an evaluated string, followed by a number that is
 * different for each */
#define OP_PERL_EVAL_TEXT    0x206c61766528ULL
#define OP_PERL_EVAL_MASK    0xffffffffffffULL
#define OP_PERL_ADDRESS_MASK ((1ULL << OP_PERL_KIND_SHIFT) - 1)

/* The place of a thread's interpreter. */
enum op_perl_where {
	OP_PERL_TLS = 0,     /* a thread-local pointer, at `at` */
	OP_PERL_KEY = 1,     /* the same, at *(thread pointer + at) + block */
	OP_PERL_POINTER = 2, /* all threads share the pointer at `at` */
	OP_PERL_GLOBALS = 3, /* its members are variables */
};

/* The data that the step needs for a process. Offsets are in bytes. */
struct op_perl {
	/* the thread pointer + at, or if there is a module, its block + at */
	__s64 at;
	__u32 module;
	__s16 dtv_at;
	__u16 dtv_step;
	__u8 where;
	__u8 cx_bytes; /* of a PERL_CONTEXT */
	__u8 cx_sub;   /* CXt_SUB; CXt_FORMAT and CXt_EVAL follow it */
	__u8 cx_cv;    /* in PERL_CONTEXT: the sub's CV */
	__u8 si_type;  /* in PERL_SI, a multiple of 4 */
	/* a COP's file name is in a glob: Perl was built without threads */
	__u8 globs;
	__u8 hash_aux; /* in a hash's body: its package's name; 0: behind the array */
	__u8 reserved;
	__s64 block;
	/* offsets from the interpreter, or addresses of the variables: PL_op, ... */
	__u64 op;
	__u64 curcop;
	__u64 stackinfo; /* PL_curstackinfo */
	__u64 top_env;
	__u64 first; /* where the first interpreter's address is; 0: there is one */
	/* the last step of each is zero */
	struct op_object_step file[2];
	struct op_object_step glob[OP_OBJECT_STEPS];
	struct op_object_step effective[OP_OBJECT_STEPS]; /* of a glob that is a copy */
	struct op_object_step cv[OP_OBJECT_STEPS];
};

/* The identity of an object from its hash. */
static inline __attribute__((always_inline)) __u32 op_perl_check(__u64 id,
								 enum op_perl_named is)
{
	return ((__u32)(id >> 32) & ~(__u32)OP_PERL_OBJECT_MASK) | is;
}

/* The hash of a sub's name: the hash and length that its HEK begins with, its package's
 * address, and the same of the package's name. */
static inline __attribute__((always_inline)) __u64
op_perl_name_id(__u64 name, __u64 package, __u64 package_name)
{
	return op_object_id(op_object_id(op_object_id(0, name), package), package_name);
}

_Static_assert(sizeof(struct op_perl) == 424, "layout");

#endif
