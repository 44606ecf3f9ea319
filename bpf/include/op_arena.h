/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What user space writes into the arena and the kernel programs read: unwind tables, and the
 * mappings and runtimes of processes.
 */
#ifndef OP_ARENA_H
#define OP_ARENA_H

/*
 * The arena: slabs of 1 MiB that user space writes through mmap and programs only read. A
 * reference counts granules of 8 bytes over all slabs; 0 means "none" (granule 0 is never
 * given out). An object never crosses the end of a slab. Published objects do not change:
 * a new version is written elsewhere, one aligned word is switched to refer to it, and
 * the old version's memory is reused only after a grace period (lib/code/unwind/arena.h).
 */
typedef __u32 op_ref;

enum {
	OP_SLAB_SHIFT = 20,
	OP_SLAB_BYTES = 1 << OP_SLAB_SHIFT,
	OP_SLABS_MAX = 1024,
	OP_REF_SHIFT = 3, /* log2 of the bytes of a granule */
	OP_REF_SLAB_SHIFT = OP_SLAB_SHIFT - OP_REF_SHIFT,
};

/*
 * Unwind rows. The text of an executable is cut into pages of 64 KiB of ELF addresses.
 * A page has rows sorted by `pc`. A row is valid from its own pc up to the next row's.
 * The first row of a page has pc 0.
 */
enum {
	OP_PAGE_SHIFT = 16,
	OP_PAGE_ROWS_MAX = 1 << OP_PAGE_SHIFT,
};

struct op_row {
	__u16 pc;   /* offset in the page */
	__u16 rule; /* index into the rules map */
};

/*
 * A directory entry: the rows of one page. A page without rows has no unwind information.
 */
struct op_page {
	op_ref rows; /* of struct op_row[count] */
	__u32 count;
};

/* How the canonical frame address (CFA) is computed. */
enum op_cfa {
	OP_CFA_INVALID = 0, /* no rule, or one that this unwinder does not support */
	OP_CFA_STOP = 1,    /* the outermost frame: the stack is complete */
	OP_CFA_SP = 2,	    /* sp + cfa_off */
	OP_CFA_FP = 3,	    /* fp + cfa_off */
	/* *(sp + low 16 bits of cfa_off) + high 16 bits, both signed */
	OP_CFA_DEREF_SP = 4,
	/* *(fp + low 16 bits of cfa_off) + high 16 bits, both signed */
	OP_CFA_DEREF_FP = 5,
	OP_CFA_PLT = 6,	   /* x86-64 .plt: sp + 8 + ((pc & 15) >= cfa_off ? 8 : 0) */
	OP_CFA_SIGNAL = 7, /* the kernel's signal frame at sp */
	/* register (cfa_off & 255) + (cfa_off >> 8): in the leaf, or OP_SAVE_KEPT */
	OP_CFA_REG = 8,
	OP_CFA_FRAME = 9,	  /* a frame record at fp, at every pc: Go, JIT code */
	OP_CFA_SP_PUSH = 10,	  /* sp + op_cfa_stepped(): a run of pushes in one row */
	OP_CFA_SP_POP = 11,	  /* the same for a run of pops */
	OP_CFA_FRAME_SWITCH = 12, /* a frame record at fp, perhaps on another stack: Go */
	OP_CFA_LATE = 13,	  /* only user space may know: OP_UNWIND_RULE_LATE */
	OP_CFA_MAX,
};

enum {
	/* a bit of cfa_off under OP_CFA_SP: the caller was interrupted, and pc is no return address */
	OP_CFA_SP_EXACT = 1,
};

/*
 * The CFA's offset from sp under an OP_CFA_SP_PUSH or _POP rule, @distance bytes after
 * the row's pc. The low 16 bits of cfa_off are the offset at the row's pc. If bit i of
 * the high 16 bits is set, the offset is 8 larger (_POP: smaller) from i + 1 bytes
 * after that pc on.
 */
static inline __attribute__((always_inline)) __s32
op_cfa_stepped(__u32 cfa, __s32 cfa_off, __u32 distance)
{
	__u32 steps = (__u32)cfa_off >> 16;
	__s32 bytes;

	if (distance < 16)
		steps &= (1u << distance) - 1;
	steps -= (steps >> 1) & 0x5555;
	steps = (steps & 0x3333) + ((steps >> 2) & 0x3333);
	steps = (steps + (steps >> 4)) & 0x0f0f;
	bytes = (__s32)((steps + (steps >> 8)) & 31) * 8;
	return (__s32)((__u32)cfa_off & 0xffff) + (cfa == OP_CFA_SP_POP ? -bytes : bytes);
}

/* How the caller's frame pointer and return address are found. On x86-64 the return
 * address is always at CFA - 8, and SAVE_PAIR and SAVE_RA do not occur. */
enum op_save {
	OP_SAVE_NONE = 0,     /* fp is unchanged (aarch64: the return address is in lr) */
	OP_SAVE_FP = 1,	      /* fp at CFA + save_off (aarch64: return address in lr) */
	OP_SAVE_FP_AT_FP = 2, /* fp at fp + save_off: stacks realigned by gcc */
	OP_SAVE_PAIR = 3,   /* aarch64: fp at CFA + save_off, return address 8 above it */
	OP_SAVE_RA = 4,	    /* aarch64: return address at CFA + save_off, fp unchanged */
	OP_SAVE_RA_REG = 5, /* leaf only: return address in register save_off, sp = CFA */
	OP_SAVE_MAX,
};

/*
 * The upper bits of op_unwind_rule.save (x86-64): where the caller's rbx is saved. A few files
 * (the dynamic linker's resolver) compute the CFA from rbx in frames that are not the
 * leaf. 0: rbx is not followed; OP_SAVE_KEPT_SAME: it is unchanged; n: it is at CFA - 8 *
 * n.
 */
enum {
	OP_SAVE_MASK = 7,
	/* x86-64: the rule was derived from the machine code, so its result must be
	 * checked */
	OP_SAVE_CHECK = 8,
	OP_SAVE_KEPT_SHIFT = 4,
	OP_SAVE_KEPT_SAME = 15,
};

struct op_unwind_rule {
	__u8 cfa;	/* enum op_cfa */
	__u8 save;	/* enum op_save, OP_SAVE_KEPT_* */
	__s16 save_off; /* bytes */
	__s32 cfa_off;	/* bytes */
};

enum {
	OP_UNWIND_RULES_MAX = 32768,
	OP_UNWIND_RULE_INVALID = 0, /* the numbers of three rules that always exist */
	OP_UNWIND_RULE_STOP = 1,
	OP_UNWIND_RULE_FRAME = 2,
	/* The number of a rule that is not made yet. It is beyond the last rule, so
	 * that no walk takes time to compare it. */
	OP_UNWIND_RULE_LATE = 65535,
};

/* DWARF register numbers of the leaf's registers (OP_CFA_REG, OP_SAVE_RA_REG). */
enum {
	OP_LEAF_REGS = 32,
};

/* One executable segment (PT_LOAD with X) of an ELF file. */
struct op_segment {
	__u64 vaddr;  /* ELF address of page 0, a multiple of 64 KiB */
	op_ref pages; /* struct op_page[page_count] */
	__u32 page_count;
	/* enum op_runtime whose interpreter loop is in this file, or 0 */
	__u32 runtime;
	__u32 loop_count; /* entries used of loop[] */
	__u64 loop[2]
		  [2]; /* ELF addresses [first, end) of the loop; the second is .cold */
};

/* enum flags of struct op_arena_mapping */
enum {
	/* no file: JIT code. Without rules of its own it is walked by frame pointer. */
	OP_MAPPING_ANON = 1 << 0,
	OP_MAPPING_VDSO = 1 << 1,
	/* its table is not made yet: the record contains registers and stack */
	OP_MAPPING_LAZY = 1 << 2,
	/* code that a runtime generated, or op_runtime_ops.switcher, which has a segment:
	 * that runtime's step walks it */
	OP_MAPPING_CODE = 1 << 3,
	/* The mapping has replaced that of another file, and may have been replaced
	 * again since. So the result of each rule is checked. */
	OP_MAPPING_REPLACED = 1 << 4,
	/*
	 * The runtime that the mapping belongs to: an index into op_process.instance,
	 * 0: none. With OP_MAPPING_CODE it is the one whose step walks the code,
	 * otherwise the one whose loop is in the file.
	 */
	OP_MAPPING_INSTANCE_SHIFT = 8,
	OP_MAPPING_INSTANCE_MASK = 7,
	/* With OP_MAPPING_REPLACED: 1 + the index of its mark, 0: it has none. */
	OP_MAPPING_MARK_SHIFT = 12,
	OP_MAPPING_MARK_MASK = 15,
};

/*
 * A word of a file in the memory of a process that has it mapped: the first of its
 * build id. While it is unchanged, the file is still mapped, and the mapping's table is
 * valid.
 */
struct op_mark {
	__u64 at; /* address in the process */
	__u64 word;
};

enum {
	OP_MARKS_MAX = OP_MAPPING_MARK_MASK, /* of one process */
	/* Bits of what a walk has seen of a mark. Shifted, they are the flags of its
	 * mapping that change. */
	OP_MARK_BITS = 4,
	OP_MARK_SEEN_SHIFT = 1,
	OP_MARK_SEEN_HELD = OP_MAPPING_REPLACED >> OP_MARK_SEEN_SHIFT,
	OP_MARK_SEEN_FAILED = OP_MAPPING_LAZY >> OP_MARK_SEEN_SHIFT,
	OP_MARK_SEEN_MASK = OP_MARK_SEEN_HELD | OP_MARK_SEEN_FAILED,
};

enum {
	OP_MAPPINGS_MAX = 16384, /* executable mappings of one process */
};

/* An executable mapping of a process; its start address is in the table of starts. */
struct op_arena_mapping {
	__u64 end;
	/* process address - bias = ELF address; CODE: defined by the runtime */
	__u64 bias;
	op_ref segment; /* struct op_segment; 0: walk by frame pointers */
	__u32 flags;
};

enum op_runtime {
	OP_RUNTIME_NONE = 0,
#define OP_RUNTIME(number, upper, lower, page, tells) OP_RUNTIME_##upper = number,
#include "op_runtimes.def"
	OP_RUNTIME_MAX = 16,
};

enum {
	OP_INSTANCES_MAX = OP_MAPPING_INSTANCE_MASK + 1, /* number 0 stays unused */
};

/* One runtime that runs in a process. Two runtimes of one kind are two instances. */
struct op_instance {
	__u32 runtime; /* enum op_runtime, 0: none */
	op_ref ref;    /* the runtime's own struct */
};

/* A process, as the programs know it. The map `op_processes` leads to it: pid -> struct
 * op_process_key. */
struct op_process {
	__u32 generation;
	__u32 mapping_count;
	op_ref starts;	 /* __u64[mapping_count], ascending */
	op_ref mappings; /* struct op_arena_mapping[mapping_count] */
	struct op_instance instance[OP_INSTANCES_MAX];
	op_ref marks; /* struct op_mark[mark_count] */
	__u32 mark_count;
	/* pages of its executable mappings that it may not write; 0: not known */
	__u64 code_pages;
};

enum {
	OP_PROCESS_MARKS = 80, /* the offset of `marks` and `mark_count` */
	OP_PROCESS_CODE_PAGES = 88,
};

/* Value of the process map. It is one word, so that readers see each change as a whole. */
struct op_process_key {
	op_ref process;
	/* grows with each change; a record has the generation of its table */
	__u32 generation;
};

_Static_assert(sizeof(struct op_row) == 4, "rows are dense");
_Static_assert(sizeof(struct op_unwind_rule) == 8, "rules are one word");
_Static_assert(sizeof(struct op_page) == 8, "layout");
_Static_assert(sizeof(struct op_segment) == 56, "layout");
_Static_assert(sizeof(struct op_arena_mapping) == 24, "layout");
_Static_assert(sizeof(struct op_process) == OP_PROCESS_CODE_PAGES + 8, "layout");
_Static_assert(sizeof(struct op_mark) == 16, "layout");
_Static_assert(OP_MARK_SEEN_MASK < 1 << OP_MARK_BITS, "what was seen fits its bits");
_Static_assert(sizeof(struct op_process_key) == 8, "layout");
_Static_assert((1u << (32 - OP_REF_SLAB_SHIFT)) >= OP_SLABS_MAX,
	       "references reach all slabs");

#endif
