/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything the kernel programs and user space share: the layout of the arena, and of
 * the records in the ring buffer. Fixed widths, no holes, no pointers. A runtime adds its
 * own header beside this one (op_python.h).
 *
 * Includers provide the fixed-width types: bpf/kernel.h in programs, <stdint.h> through
 * op_user_types.h in user space.
 */
#ifndef OP_TYPES_H
#define OP_TYPES_H

#include "op_events.h"
#include "op_heap.h"

enum {
	OP_COMM_BYTES = 16,
	OP_FRAMES_MAX = 1024,	    /* user frames of a stack */
	OP_KERNEL_FRAMES_MAX = 127, /* kernel.perf_event_max_stack's default */
	OP_USER_WORDS_MAX = 2 * OP_FRAMES_MAX,
	OP_STACK_COPY_BYTES = 12288, /* of the user stack of an unknown process */
	OP_ABOVE_RECORDS = 4,	     /* of so many bytes each, above that copy */
	OP_MAPPINGS_MAX = 16384,     /* executable mappings of one process */
	OP_CPUS_MAX = 4096,
};

/*
 * The arena: slabs of 1 MiB that user space writes through mmap and programs only read.
 * A reference counts 8-byte granules over all slabs; 0 is "none" (granule 0 is never
 * given out). An object never crosses a slab. Published objects do not change: a new
 * version is written elsewhere, one aligned word is switched to it, and the old one is
 * reused only after a grace period (lib/unwind/arena.h).
 */
typedef __u32 op_ref;

enum {
	OP_SLAB_SHIFT = 20,
	OP_SLAB_BYTES = 1 << OP_SLAB_SHIFT,
	OP_SLABS_MAX = 1024,
	OP_REF_SHIFT = 3, /* bytes of a granule */
	OP_REF_SLAB_SHIFT = OP_SLAB_SHIFT - OP_REF_SHIFT,
};

/*
 * Unwind rows. The text of an executable is cut in pages of 64 KiB of ELF address; a page
 * has rows sorted by `pc`, and a row holds from its pc to the next row's. The first row
 * of a page has pc 0.
 */
enum {
	OP_PAGE_SHIFT = 16,
	OP_PAGE_ROWS_MAX = 1 << OP_PAGE_SHIFT,
};

struct op_row {
	__u16 pc;   /* offset in the page */
	__u16 rule; /* index into the rules map */
};

/* A directory entry: the rows of one page. No rows: nothing is known there. */
struct op_page {
	op_ref rows; /* of struct op_row[count] */
	__u32 count;
};

/* How the canonical frame address (CFA) is found. */
enum op_cfa {
	OP_CFA_INVALID = 0, /* no rule, or one this unwinder does not know */
	OP_CFA_STOP = 1,    /* the outermost frame: the stack is complete */
	OP_CFA_SP = 2,	    /* sp + cfa_off */
	OP_CFA_FP = 3,	    /* fp + cfa_off */
	OP_CFA_DEREF_SP =
		4, /* *(sp + low 16 bits of cfa_off) + high 16 bits, both signed */
	OP_CFA_DEREF_FP =
		5,	/* *(fp + low 16 bits of cfa_off) + high 16 bits, both signed */
	OP_CFA_PLT = 6, /* x86-64 .plt: sp + 8 + ((pc & 15) >= cfa_off ? 8 : 0) */
	OP_CFA_SIGNAL = 7, /* the kernel's signal frame at sp */
	OP_CFA_REG = 8,	   /* register (cfa_off & 255) + (cfa_off >> 8): leaf, or kept */
	OP_CFA_FRAME = 9,  /* a frame record at fp, whatever the pc: Go, JIT code */
	OP_CFA_SP_PUSH = 10,	  /* sp + op_cfa_stepped(): a run of pushes in one row */
	OP_CFA_SP_POP = 11,	  /* the same of pops */
	OP_CFA_FRAME_SWITCH = 12, /* a frame record at fp, maybe of another stack: Go */
	OP_CFA_MAX,
};

/*
 * The offset from sp of an OP_CFA_SP_PUSH or _POP rule, @distance bytes after its row's
 * pc (both of the address looked up). Low 16 bits of cfa_off: the offset at the row's pc.
 * High 16 bits: bit i says that 8 more (_POP: less) hold from i + 1 bytes after it on.
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

/*
 * How the caller's frame pointer and return address are found. x86-64: the return address
 * is at CFA - 8 and SAVE_PAIR, SAVE_RA do not occur.
 */
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
 * The upper half of op_rule.save (x86-64): where the caller's rbx is, for the few files that
 * find a CFA by it in frames which are not the leaf (the dynamic linker's resolver). 0: not
 * followed; OP_SAVE_KEPT_SAME: unchanged; else at CFA - 8 * that.
 */
enum {
	OP_SAVE_MASK = 7,
	OP_SAVE_CHECK =
		8, /* x86-64: read from the code; what it leads to is to be checked */
	OP_SAVE_KEPT_SHIFT = 4,
	OP_SAVE_KEPT_SAME = 15,
};

struct op_rule {
	__u8 cfa;	/* enum op_cfa */
	__u8 save;	/* enum op_save, OP_SAVE_KEPT_* */
	__s16 save_off; /* bytes */
	__s32 cfa_off;	/* bytes */
};

enum {
	OP_RULES_MAX = 32768,
	OP_RULE_INVALID = 0, /* these three are always in the table */
	OP_RULE_STOP = 1,
	OP_RULE_FRAME = 2,
};

/* DWARF register numbers of the leaf's registers (OP_CFA_REG, OP_SAVE_RA_REG). */
enum {
	OP_LEAF_REGS = 32,
};

/* One executable segment (PT_LOAD with X) of an ELF file. */
struct op_segment {
	__u64 vaddr;  /* ELF address of page 0, a multiple of 64 KiB */
	op_ref pages; /* of struct op_page[page_count] */
	__u32 page_count;
	__u32 runtime;	  /* enum op_runtime whose interpreter loop stands here, or 0 */
	__u32 loop_count; /* of loop[] */
	__u64 loop[2]
		  [2]; /* ELF addresses [first, end) of the loop; the second is .cold */
};

/* enum flags of struct op_mapping */
enum {
	OP_MAPPING_ANON = 1 << 0, /* no file: JIT code; walked by frame pointer */
	OP_MAPPING_VDSO = 1 << 1,
	OP_MAPPING_LAZY =
		1 << 2, /* its table is not made yet: give registers and stack */
	OP_MAPPING_CODE = 1 << 3, /* code that a runtime made: its step walks it */
	/* Another file was mapped here before, and the next may be by now: what a rule leads
	 * to is checked. */
	OP_MAPPING_REPLACED = 1 << 4,
	/* Which of the process's runtimes: an index into op_process.instance, 0: none. With
	 * OP_MAPPING_CODE the one that made the code, else the one whose loop is in the file. */
	OP_MAPPING_INSTANCE_SHIFT = 8,
	OP_MAPPING_INSTANCE_MASK = 7,
};

/* An executable mapping of a process; its start stands in the table of starts. */
struct op_mapping {
	__u64 end;
	__u64 bias; /* process address - bias = ELF address; CODE: what the runtime says */
	op_ref segment; /* of struct op_segment; 0: frame pointers */
	__u32 flags;
};

enum op_runtime {
	OP_RUNTIME_NONE = 0,
	OP_RUNTIME_PYTHON = 1,
	OP_RUNTIME_PHP = 2,
	OP_RUNTIME_HOTSPOT = 3,
	OP_RUNTIME_NODE = 4,
	OP_RUNTIME_JITDUMP = 5, /* names code; has no step */
	OP_RUNTIME_MAX = 16,
};

enum {
	OP_INSTANCES_MAX = OP_MAPPING_INSTANCE_MASK + 1, /* number 0 stays empty */
};

/* One runtime that runs in a process. Two of one kind are two instances. */
struct op_instance {
	__u32 runtime; /* enum op_runtime, 0: none */
	op_ref ref;    /* of the runtime's own struct */
};

/* What the programs know of a process. Found by `op_processes`: pid -> struct op_process_key. */
struct op_process {
	__u32 generation;
	__u32 mapping_count;
	op_ref starts;	 /* of __u64[mapping_count], ascending */
	op_ref mappings; /* of struct op_mapping[mapping_count] */
	struct op_instance instance[OP_INSTANCES_MAX];
};

/* Value of the process map: one word, so that a change is seen whole. */
struct op_process_key {
	op_ref process;
	__u32 generation; /* grows with every change; names the table a record was made with */
};

/* ---- records ---- */

/*
 * The first word of a frame: its kind in the top byte, and an address. A native frame has
 * one word. A runtime's has one to eight: the kind is then the number of the instance and
 * how many words follow the first. What they mean is the runtime's (op_python.h).
 */
enum op_frame_kind {
	OP_FRAME_NATIVE = 0, /* the address is a return address */
	/* No call stands before it: the leaf, what a signal interrupted, the code that a
	 * handler returns to. */
	OP_FRAME_NATIVE_EXACT = 1,
	OP_FRAME_NATIVE_GUESSED = 2, /* a return address that was found by a guess */
	OP_FRAME_NATIVE_KINDS = 8,   /* from here on: runtimes */
};

#define OP_FRAME_KIND_SHIFT   56
#define OP_FRAME_ADDRESS_MASK ((1ULL << OP_FRAME_KIND_SHIFT) - 1)

enum {
	OP_FRAME_WORDS_MAX = 8,
	OP_FRAME_INSTANCE_SHIFT = 3, /* of a kind */
	OP_FRAME_WORDS_MASK = OP_FRAME_WORDS_MAX - 1,
};

/* The kind of a runtime's frame of @words words. */
static inline __attribute__((always_inline)) __u32 op_frame_kind_of(__u32 instance,
								    __u32 words)
{
	return instance << OP_FRAME_INSTANCE_SHIFT | ((words - 1) & OP_FRAME_WORDS_MASK);
}

/* How many words the frame has that begins with @word. */
static inline __attribute__((always_inline)) __u32 op_frame_words(__u64 word)
{
	__u32 kind = (__u32)(word >> OP_FRAME_KIND_SHIFT);

	return kind < OP_FRAME_NATIVE_KINDS ? 1 : (kind & OP_FRAME_WORDS_MASK) + 1;
}

/* The instance whose frame begins with @word, 0: native. */
static inline __attribute__((always_inline)) __u32 op_frame_instance(__u64 word)
{
	return (__u32)(word >> (OP_FRAME_KIND_SHIFT + OP_FRAME_INSTANCE_SHIFT));
}

/* Why a user stack ends where it ends. Above OP_END_MAX: an error of op_errors.def. */
enum op_end {
	OP_END_COMPLETE = 0,
	OP_END_TRUNCATED = 1, /* max_frames: the leaf side is there */
	OP_END_NO_USER = 2,   /* a kernel thread */
	OP_END_UNKNOWN =
		3,	/* process not known yet: registers and stack follow instead */
	OP_END_OFF = 4, /* user stacks are turned off */
	/* Kinds that send no copy: the table was asked for (OP_RECORD_REQUEST). */
	OP_END_NO_TABLE = 5,
	/* User space: the announcement of a named stack did not arrive. */
	OP_END_NO_STACK = 6,
	/* OP_EVENT_THREADS: it is on a CPU, or was while its stack was read. */
	OP_END_RUNNING = 7,
	OP_END_MAX = 16,
};

/* What a record of the ring is. */
enum op_record_type {
	OP_RECORD_SAMPLE = 1,  /* struct op_record: a sample with its stack */
	OP_RECORD_STACK = 2,   /* struct op_record: a stack and its hash, no sample */
	OP_RECORD_NAMED = 3,   /* struct op_named: a sample of a stack announced before */
	OP_RECORD_REQUEST = 4, /* struct op_table_request: a table is wanted */
	OP_RECORD_EXEC = 5,    /* struct op_exec_record: an interpreter is executed */
	OP_RECORD_ABOVE =
		6, /* struct op_above_record: more of a stack, its sample follows */
	OP_RECORD_TYPES = 16,
};

/* The form of the records: a reader refuses what it was not built for. */
enum {
	OP_RECORD_VERSION = 1,
};

/* Of a stack's words, its process and generation, and how it ended. */
struct op_hash {
	__u64 word[2];
};

/* Every record of the ring begins with it. */
struct op_record_header {
	__u16 type; /* enum op_record_type */
	__u16 version;
	__u32 bytes; /* of the whole record */
};

/* What the registers of a walk that is to be resumed are. */
enum op_resumed {
	OP_RESUMED_CALLER = 0,
	OP_RESUMED_EXACT = 1, /* pc was interrupted: below a signal */
};

/*
 * OP_RECORD_SAMPLE. After it stand `kernel_count` words (leaf first), then `user_words` words
 * (leaf first); where end is OP_END_UNKNOWN, after them a struct op_registers and
 * `stack_bytes` bytes of stack from `stack_below` bytes below its sp. With user words those
 * are of the frame that the walk came to and could not leave, which is not among the words.
 */
struct op_record {
	struct op_record_header header;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 value;   /* of the event: nanoseconds, bytes; 0 for CPU */
	__u64 cgroup;  /* cgroup v2 id */
	__u64 end_pc;  /* where the stack ended */
	__u32 pid;     /* process, in the profiler's PID namespace */
	__u32 tid;
	__u32 cpu;
	__u32 generation; /* of the process's table; 0 with OP_END_UNKNOWN */
	__u16 kernel_count;
	__u16 user_words;
	__u16 user_frames;
	__u16 end;   /* enum op_end, or an error */
	__u16 event; /* enum op_event */
	__u16 stack_bytes;
	__u16 detail; /* what the kind tells its samples apart by, such as enum op_page_fault */
	__u8 resumed; /* OP_END_UNKNOWN with user words: enum op_resumed */
	__u8 stack_below;
	union {
		char comm[OP_COMM_BYTES];
		struct op_hash hash; /* OP_RECORD_STACK */
	};
};

/*
 * OP_RECORD_NAMED: a sample whose stack, and with it the process, was announced by an
 * OP_RECORD_STACK of this hash before, in this window or the one before.
 */
struct op_named {
	struct op_record_header header;
	__u64 time_ns; /* as in struct op_record */
	__u64 value;
	__u64 cgroup;
	struct op_hash hash;
	__u32 pid;
	__u32 tid;
	__u32 cpu;
	__u16 event;
	__u16 detail;
	char comm[OP_COMM_BYTES];
	__u32 extra; /* beside detail: of OP_EVENT_BLOCK_IO the device */
	__u32 reserved0;
};

/* OP_RECORD_REQUEST: the walk met code whose table is not made. Not for every sample. */
struct op_table_request {
	struct op_record_header header;
	__u64 time_ns;
	__u64 pc;
	__u32 pid;
	__u32 generation; /* 0: the process is not known at all */
};

/* OP_RECORD_EXEC: to be looked at before its first sample. Nothing stands after it. */
struct op_exec_record {
	struct op_record_header header;
	__u32 pid;
	__u32 tid;
};

/*
 * OP_RECORD_ABOVE: bytes of a stack above those that a record of OP_END_UNKNOWN has. They go
 * out before it, in ascending order, from the same CPU; where a quarter of the ring is full, or
 * the stack ends, they do not.
 */
struct op_above_record {
	struct op_record_header header;
	__u64 time_ns; /* its sample's */
	__u64 at;      /* address of the first byte */
	__u32 tid;
	__u32 cpu;
};

/* User registers at the interruption, numbered as DWARF numbers them. */
struct op_registers {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 lr;
	__u64 thread_pointer; /* base of the thread's static TLS */
	__u64 task_size;      /* aarch64: where the process's addresses end; 0: unknown */
	__u64 reg[OP_LEAF_REGS];
};

/* ---- counters: a struct op_counts for each CPU and kind of event ---- */
enum op_counter {
	OP_COUNT_TAKEN = 0,
	OP_COUNT_IDLE,	    /* filtered: the idle task */
	OP_COUNT_FILTERED,  /* filtered: by rule */
	OP_COUNT_RING_FULL, /* dropped */
	OP_COUNT_NESTED,    /* dropped: all of the CPU's slots were in use */
	OP_COUNT_OUTPUT,    /* records put in the ring */
	OP_COUNT_COMPLETE,
	OP_COUNT_TRUNCATED,
	OP_COUNT_BROKEN,
	OP_COUNT_UNKNOWN,   /* records with registers and stack */
	OP_COUNT_ANNOUNCED, /* stacks put in the ring */
	OP_COUNT_REQUESTED, /* requests put in the ring */
	OP_COUNT_NO_TABLE,  /* samples whose stack ends where a table is not made */
	OP_COUNT_NO_MEMORY, /* dropped: a map of the kind was full */
	OP_COUNT_SPENT_NS,  /* from the entry to the end of a sample */
	/* No sum: the threshold T of a kind that thins out by duration (off/off.h). */
	OP_COUNT_THRESHOLD_NS,
	OP_COUNT_RATE,	      /* dropped: more than the kind takes in a second */
	OP_COUNT_UNTRACKED,   /* OP_EVENT_HEAP: whether it is in use is not followed */
	OP_COUNT_ERRORS = 32, /* + error number - OP_ERROR_FIRST */
	OP_COUNTERS = 160,
};

struct op_counts {
	__u64 value[OP_COUNTERS];
};

enum {
	OP_INTERPRETERS_MAX = 16,
	OP_FILTER_EMPTY = 2, /* the filter has no rules, and need not be looked at */
};

/* How the base name of an interpreter's file begins: `bytes` where `mask` is set. */
struct op_interpreter {
	__u64 bytes;
	__u64 mask; /* 0: none */
};

/* What user space sets and the programs read while they run, and the other way round. Each
 * is one aligned word. */
struct op_control {
	__u32 filter_active; /* which of op_filters is in force, and OP_FILTER_EMPTY */
	__u32 window;	 /* grows: stacks announced under another number are forgotten */
	__u32 pid_level; /* depth of the profiler's PID namespace; 0: not learnt yet */
	struct op_interpreter interpreter[OP_INTERPRETERS_MAX];
};

/* What is known before the programs are loaded, and is a constant to the verifier. */
struct op_settings {
	__u64 runtimes_on;  /* a bit a runtime: steps of the walker */
	__u64 wakeup_bytes; /* of the ring, waiting, that wake user space */
	__u64 hash_seed;
	__u32 max_frames;
	/* Slots that are for programs of this type: walks of them that may be under way on
	 * one CPU, 1 to OP_SLOTS_MAX; the number of the first; and whether it is one, for
	 * programs that never interrupt each other. */
	__u32 slots;
	__u32 slot_first;
	__u32 slot_alone;
	__u32 detail;	     /* op_record.detail of this entry's samples */
	__u32 pid_namespace; /* the profiler's, by its inode; 0: the first one */
	__u8 kernel_stacks;
	__u8 user_stacks;
	__u8 keep_idle;
	/* Does this kernel have bpf_get_current_ancestor_cgroup_id() for tracing (5.16)?
	 * Without it a cgroup rule matches the cgroup itself and not its children. */
	__u8 cgroup_ancestors;
	__u8 holds; /* samples wait in op_held until their event ends */
	__u8 reserved0[7];
	__u32 event_budget; /* samples a second and CPU, of kinds that thin out (off/off.h) */
	__u64 min_ns;	    /* shorter intervals are filtered */
	struct op_argument argument[OP_ARGUMENTS_MAX]; /* of the kind heap's probe */
};

enum {
	OP_SLOTS_MAX = 4, /* a task, and what may interrupt it and each other */
};

/* ---- copies of stacks ---- */
enum {
	OP_COPIERS = 64, /* processes, by their number modulo that */
	OP_COPIES_MAX = 64,
};

/* A process that has its stack copied at its samples, on one CPU. A copy that does not help
 * is made again: so each process has a few at once and then ten a second. */
struct op_copier {
	__u64 time_ns; /* of the last one that was earned */
	__u32 pid;
	__u32 left;
};

/* ---- filter ---- */
enum {
	OP_FILTER_RULES = 32,
};

struct op_filter_rule {
	__u64 number;
	char comm[OP_COMM_BYTES];
	__u32 kind;   /* OTELPROF_FILTER_* */
	__u32 action; /* OTELPROF_FILTER_INCLUDE, _EXCLUDE */
	__u32 keep_one_in;
	__u32 reserved0;
};

struct op_filter {
	__u32 count;
	__u32 default_action;
	__u32 random; /* a rule keeps one in some */
	__u32 reserved0;
	struct op_filter_rule rules[OP_FILTER_RULES];
};

_Static_assert(sizeof(struct op_row) == 4, "rows are dense");
_Static_assert(sizeof(struct op_rule) == 8, "rules are one word");
_Static_assert(sizeof(struct op_page) == 8, "layout");
_Static_assert(sizeof(struct op_segment) == 56, "layout");
_Static_assert(sizeof(struct op_mapping) == 24, "layout");
_Static_assert(sizeof(struct op_process) == 80, "layout");
_Static_assert(sizeof(struct op_process_key) == 8, "layout");
_Static_assert(sizeof(struct op_record) == 88, "layout");
_Static_assert(sizeof(struct op_named) == 88, "layout");
_Static_assert(sizeof(struct op_table_request) == 32, "layout");
_Static_assert(sizeof(struct op_above_record) == 32, "layout");
_Static_assert(sizeof(struct op_registers) == 304, "layout");
_Static_assert(sizeof(struct op_filter_rule) == 40, "layout");
_Static_assert((1u << (32 - OP_REF_SLAB_SHIFT)) >= OP_SLABS_MAX,
	       "references reach all slabs");

#endif
