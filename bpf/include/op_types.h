/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel programs and user space share: the layout of the arena, and the records
 * in the ring buffer. All members have fixed widths; there are no holes and no pointers.
 * Each runtime adds its own header beside this one (op_python.h).
 *
 * Includers provide the fixed-width types: bpf/kernel.h in programs, <stdint.h> through
 * op_user_types.h in user space.
 */
#ifndef OP_TYPES_H
#define OP_TYPES_H

#include "op_context.h"
#include "op_events.h"
#include "op_heap.h"

enum {
	OP_COMM_BYTES = 16,
	OP_FRAMES_MAX = 1024,	    /* user frames of a stack */
	OP_KERNEL_FRAMES_MAX = 127, /* kernel.perf_event_max_stack's default */
	OP_USER_WORDS_MAX = 2 * OP_FRAMES_MAX,
	/* bytes copied of the user stack of an unknown process */
	OP_STACK_COPY_BYTES = 12288,
	/* records with more of that stack, of as many bytes each */
	OP_ABOVE_RECORDS = 4,
	OP_MAPPINGS_MAX = 16384, /* executable mappings of one process */
	OP_CPUS_MAX = 4096,
};

/*
 * The arena: slabs of 1 MiB that user space writes through mmap and programs only read. A
 * reference counts granules of 8 bytes over all slabs; 0 means "none" (granule 0 is never
 * given out). An object never crosses the end of a slab. Published objects do not change:
 * a new version is written elsewhere, one aligned word is switched to refer to it, and
 * the old version's memory is reused only after a grace period (lib/unwind/arena.h).
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
 * Unwind rows. The text of an executable is cut into pages of 64 KiB of ELF addresses. A
 * page has rows sorted by `pc`; a row holds from its own pc up to the next row's. The
 * first row of a page has pc 0.
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
	OP_CFA_MAX,
};

/*
 * The CFA's offset from sp under an OP_CFA_SP_PUSH or _POP rule, @distance bytes after
 * the row's pc. The low 16 bits of cfa_off are the offset at the row's pc. Bit i of the
 * high 16 bits says that the offset is 8 larger (_POP: smaller) from i + 1 bytes after
 * that pc on.
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
 * The upper bits of op_rule.save (x86-64): where the caller's rbx is saved. A few files
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

struct op_rule {
	__u8 cfa;	/* enum op_cfa */
	__u8 save;	/* enum op_save, OP_SAVE_KEPT_* */
	__s16 save_off; /* bytes */
	__s32 cfa_off;	/* bytes */
};

enum {
	OP_RULES_MAX = 32768,
	OP_RULE_INVALID = 0, /* the numbers of three rules that always exist */
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
	op_ref pages; /* struct op_page[page_count] */
	__u32 page_count;
	/* enum op_runtime whose interpreter loop is in this file, or 0 */
	__u32 runtime;
	__u32 loop_count; /* entries used of loop[] */
	__u64 loop[2]
		  [2]; /* ELF addresses [first, end) of the loop; the second is .cold */
};

/* enum flags of struct op_mapping */
enum {
	OP_MAPPING_ANON = 1 << 0, /* no file: JIT code; walked by frame pointer */
	OP_MAPPING_VDSO = 1 << 1,
	/* its table is not made yet: the record carries registers and stack */
	OP_MAPPING_LAZY = 1 << 2,
	/* code that a runtime generated: that runtime's step walks it */
	OP_MAPPING_CODE = 1 << 3,
	/* The mapping has replaced that of another file, and may have been replaced again
	 * since: what a rule leads to is checked. */
	OP_MAPPING_REPLACED = 1 << 4,
	/*
	 * The runtime that the mapping belongs to: an index into op_process.instance, 0:
	 * none. With OP_MAPPING_CODE it is the one that generated the code, else the one
	 * whose loop is in the file.
	 */
	OP_MAPPING_INSTANCE_SHIFT = 8,
	OP_MAPPING_INSTANCE_MASK = 7,
};

/* An executable mapping of a process; its start address is in the table of starts. */
struct op_mapping {
	__u64 end;
	/* process address - bias = ELF address; CODE: defined by the runtime */
	__u64 bias;
	op_ref segment; /* struct op_segment; 0: walk by frame pointers */
	__u32 flags;
};

enum op_runtime {
	OP_RUNTIME_NONE = 0,
	OP_RUNTIME_PYTHON = 1,
	OP_RUNTIME_PHP = 2,
	OP_RUNTIME_HOTSPOT = 3,
	OP_RUNTIME_NODE = 4,
	OP_RUNTIME_JITDUMP = 5, /* names code; it has no step */
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

/* What the programs know of a process. The map `op_processes` leads to it: pid -> struct
 * op_process_key. */
struct op_process {
	__u32 generation;
	__u32 mapping_count;
	op_ref starts;	 /* __u64[mapping_count], ascending */
	op_ref mappings; /* struct op_mapping[mapping_count] */
	struct op_instance instance[OP_INSTANCES_MAX];
};

/* Value of the process map. It is one word, so that readers see a change as a whole. */
struct op_process_key {
	op_ref process;
	/* grows with each change; a record names the generation of its table */
	__u32 generation;
};

/* ---- records ---- */

/*
 * The first word of a frame: its kind in the top byte, and an address. A native frame has
 * one word. A runtime's frame has one to eight; its kind is the number of the instance
 * and the number of words after the first. Their meaning is the runtime's (op_python.h).
 */
enum op_frame_kind {
	OP_FRAME_NATIVE = 0, /* the address is a return address */
	/* No call precedes the address: it is the leaf's pc, a pc that a signal
	 * interrupted, or the code that a signal handler returns to. */
	OP_FRAME_NATIVE_EXACT = 1,
	OP_FRAME_NATIVE_GUESSED = 2, /* a return address that was found by guessing */
	/* no frame: of a deep stack, frames are left out here (fold.h) */
	OP_FRAME_LEFT_OUT = 3,
	OP_FRAME_NATIVE_KINDS = 8, /* from here on: runtimes */
};

#define OP_FRAME_KIND_SHIFT   56
#define OP_FRAME_ADDRESS_MASK ((1ULL << OP_FRAME_KIND_SHIFT) - 1)

enum {
	OP_FRAME_WORDS_MAX = 8,
	OP_FRAME_INSTANCE_SHIFT = 3, /* in a kind, above the count of words */
	OP_FRAME_WORDS_MASK = OP_FRAME_WORDS_MAX - 1,
};

/* The kind of a runtime's frame of @words words. */
static inline __attribute__((always_inline)) __u32 op_frame_kind_of(__u32 instance,
								    __u32 words)
{
	return instance << OP_FRAME_INSTANCE_SHIFT | ((words - 1) & OP_FRAME_WORDS_MASK);
}

/* The number of words of the frame whose first word is @word. */
static inline __attribute__((always_inline)) __u32 op_frame_words(__u64 word)
{
	__u32 kind = (__u32)(word >> OP_FRAME_KIND_SHIFT);

	return kind < OP_FRAME_NATIVE_KINDS ? 1 : (kind & OP_FRAME_WORDS_MASK) + 1;
}

/* The instance that the frame whose first word is @word belongs to, 0: native. */
static inline __attribute__((always_inline)) __u32 op_frame_instance(__u64 word)
{
	return (__u32)(word >> (OP_FRAME_KIND_SHIFT + OP_FRAME_INSTANCE_SHIFT));
}

/* Why a user stack ends where it ends. Numbers above OP_END_MAX are errors of
 * op_errors.def. */
enum op_end {
	OP_END_COMPLETE = 0,
	/* the limit max_frames was reached: the outer frames are missing */
	OP_END_TRUNCATED = 1,
	OP_END_NO_USER = 2, /* a kernel thread */
	/* the process is not known yet: registers and stack follow instead */
	OP_END_UNKNOWN = 3,
	OP_END_OFF = 4, /* user stacks are turned off */
	/* The kind sends no copy of the stack; the table was requested
	 * (OP_RECORD_REQUEST). */
	OP_END_NO_TABLE = 5,
	/* Set by user space: the announcement of a named stack did not arrive. */
	OP_END_NO_STACK = 6,
	/* OP_EVENT_THREADS: the thread is on a CPU, or got there while its stack was
	 * read. */
	OP_END_RUNNING = 7,
	OP_END_MAX = 16,
};

/* The type of a record in the ring. */
enum op_record_type {
	OP_RECORD_SAMPLE = 1,  /* struct op_record: a sample with its stack */
	OP_RECORD_STACK = 2,   /* struct op_record: a stack and its hash, no sample */
	OP_RECORD_NAMED = 3,   /* struct op_named: a sample of a stack announced before */
	OP_RECORD_REQUEST = 4, /* struct op_table_request: a table is wanted */
	/* struct op_exec_record: an interpreter is being executed */
	OP_RECORD_EXEC = 5,
	/* struct op_above_record: more of a stack; its sample follows */
	OP_RECORD_ABOVE = 6,
	/* struct op_labels_record: labels that samples after it name */
	OP_RECORD_LABELS = 7,
	OP_RECORD_TYPES = 16,
};

/*
 * The version of the record format: a reader refuses versions that it was not built for.
 */
enum {
	OP_RECORD_VERSION = 1,
};

/* The hash of a stack's words, its process and generation, and how it ended. */
struct op_hash {
	__u64 word[2];
};

/* Every record of the ring begins with this header. */
struct op_record_header {
	__u16 type; /* enum op_record_type */
	__u16 version;
	__u32 bytes; /* of the whole record */
};

/* What pc and the registers are in a record whose walk user space resumes. */
enum op_resumed {
	OP_RESUMED_CALLER = 0,
	OP_RESUMED_EXACT = 1, /* the pc was interrupted: it is below a signal frame */
};

/*
 * OP_RECORD_SAMPLE. It is followed by `kernel_count` words (leaf first), then
 * `user_words` words (leaf first), then `context_bytes` bytes, which are a struct
 * op_thread_context or nothing. If `end` is OP_END_UNKNOWN, a struct op_registers
 * follows, and then `stack_bytes` bytes of the stack, beginning `stack_below` bytes below
 * the sp of those registers. If there are user words too, the registers are those of the
 * first frame that the walk could not unwind; that frame is not among the words.
 */
struct op_record {
	struct op_record_header header;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 value;   /* by kind of event: ns, bytes, ...; of a tick its period */
	__u64 cgroup;  /* cgroup v2 id */
	__u64 end_pc;  /* the pc at which the stack ended */
	__u32 pid;     /* process, in the profiler's PID namespace */
	__u32 tid;
	__u16 cpu;
	__u16 context_bytes;
	__u32 generation; /* of the process's table; 0 with OP_END_UNKNOWN */
	__u16 kernel_count;
	__u16 user_words;
	__u16 user_frames;
	__u16 end;   /* enum op_end, or an error */
	__u16 event; /* enum op_event */
	__u16 stack_bytes;
	/* of the kind, to tell its samples apart, such as enum op_off_reason */
	__u16 detail;
	__u8 resumed; /* OP_END_UNKNOWN with user words: enum op_resumed */
	__u8 stack_below;
	union {
		char comm[OP_COMM_BYTES];
		struct op_hash hash; /* OP_RECORD_STACK */
	};
};

/* OP_RECORD_NAMED: a sample whose stack and process an OP_RECORD_STACK of the same hash
 * has announced, in this window or the one before. It is followed by `context_bytes`
 * bytes, which are a struct op_thread_context or nothing. */
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
	__u32 extra; /* more detail: of OP_EVENT_BLOCK_IO the device */
	__u32 context_bytes;
};

/*
 * OP_RECORD_LABELS: what a thread says besides its ids, once a window. It is followed by
 * `bytes` bytes: with OP_CONTEXT_OTEL the attributes as the process wrote them, otherwise
 * struct op_label.
 */
struct op_labels_record {
	struct op_record_header header;
	struct op_hash hash; /* of all below; with a seed of this run */
	__u32 pid;
	__u32 place; /* op_context_place.number */
	__u32 form;
	__u32 bytes;
};

/* OP_RECORD_REQUEST: the walk met code whose table is not made. Not every sample sends
 * one. */
struct op_table_request {
	struct op_record_header header;
	__u64 time_ns;
	__u64 pc;
	__u32 pid;
	__u32 generation; /* 0: the process is not known at all */
};

/*
 * OP_RECORD_EXEC: a process to be examined before its first sample. Nothing follows it.
 */
struct op_exec_record {
	struct op_record_header header;
	__u32 pid;
	__u32 tid;
};

/*
 * OP_RECORD_ABOVE: bytes of a stack above those in a record of OP_END_UNKNOWN. These
 * records precede that record, in ascending order, from the same CPU. They are left out
 * if a quarter of the ring is full, and where the stack ends.
 */
struct op_above_record {
	struct op_record_header header;
	__u64 time_ns; /* that of its sample */
	__u64 at;      /* address of the first byte */
	__u32 tid;
	__u32 cpu;
};

/* The user registers at the interruption, under their DWARF numbers. */
struct op_registers {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 lr;
	__u64 thread_pointer; /* base of the thread's static TLS */
	/* aarch64: end of the process's address space; 0: unknown */
	__u64 task_size;
	__u64 reg[OP_LEAF_REGS];
};

/* ---- counters: one struct op_counts for each CPU and kind of event ---- */
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
	OP_COUNT_NO_TABLE,  /* samples whose stack ends in code whose table is not made */
	OP_COUNT_NO_MEMORY, /* dropped: a map of the kind was full */
	OP_COUNT_SPENT_NS,  /* from the entry to the end of a sample */
	/* Not a sum: the threshold T of a kind that thins out by duration (off/off.h). */
	OP_COUNT_THRESHOLD_NS,
	OP_COUNT_RATE, /* dropped: more than the kind takes in a second */
	/* OP_EVENT_HEAP: allocations that are not tracked as in use */
	OP_COUNT_UNTRACKED,
	/* of OP_COUNT_FILTERED: ticks that a lower rate leaves out */
	OP_COUNT_THINNED,
	OP_COUNT_CONTEXTS,	 /* samples with a context */
	OP_COUNT_CONTEXT_UNREAD, /* the memory of a context could not be read */
	OP_COUNT_CONTEXT_CUT,	 /* more labels, or longer ones, than are taken */
	OP_COUNT_ERRORS = 32,	 /* the first error; its number is OP_ERROR_FIRST */
	OP_COUNTERS = 160,
};

struct op_counts {
	__u64 value[OP_COUNTERS];
};

enum {
	/* different rates at a time; number 0 is the rate where no rule sets another */
	OP_RATES_MAX = 16,
	OP_INTERPRETERS_MAX = 16,
	OP_FILTER_EMPTY = 2, /* a flag: the filter has no rules and is skipped */
};

/* The first bytes of the base name of an interpreter's file: `bytes` under `mask`. */
struct op_interpreter {
	__u64 bytes;
	__u64 mask; /* 0: none */
};

/* What user space sets while the programs run, and what they set for user space. Each
 * member is one aligned word. */
struct op_control {
	__u32 filter_active; /* the index of op_filters in force, and OP_FILTER_EMPTY */
	__u32 window;	 /* grows; stacks announced in an earlier window are forgotten */
	__u32 pid_level; /* depth of the profiler's PID namespace; 0: not known yet */
	struct op_interpreter interpreter[OP_INTERPRETERS_MAX];
	/*
	 * What rules op_targets has: a bit for each enum op_target_kind among them; a bit
	 * for each depth of their cgroups; and whether one of them includes, so that a
	 * sample that no rule and no filter includes is left out.
	 */
	__u32 target_kinds;
	__u32 cgroup_depths;
	__u32 targets_include;
	__u32 rules_changed; /* grows with each change of the filter or of a rule */
	/* For each rate: the period of its samples in ns, << 32; and the share of the
	 * clock's ticks that it takes, in units of 2^-32, 0: all. */
	__u64 rate[OP_RATES_MAX];
};

/* Settings that are known before the programs are loaded: constants for the verifier. */
struct op_settings {
	__u64 runtimes_on; /* bit 1 << enum op_runtime: the walker has its step */
	/* user space is woken when this much of the ring is waiting */
	__u64 wakeup_bytes;
	__u64 hash_seed;
	__u32 max_frames;
	/*
	 * The slots of programs of this type. `slots` is how many of their walks may be
	 * under way on one CPU, 1 to OP_SLOTS_MAX; `slot_first` is the number of the
	 * first slot; `slot_alone` is set for programs that never interrupt each other.
	 */
	__u32 slots;
	__u32 slot_first;
	__u32 slot_alone;
	__u32 detail; /* op_record.detail of this entry's samples */
	/* inode of the profiler's PID namespace; 0: the initial one */
	__u32 pid_namespace;
	__u8 kernel_stacks;
	__u8 user_stacks;
	__u8 keep_idle;
	/*
	 * The kernel has bpf_get_current_ancestor_cgroup_id() for tracing programs
	 * (5.16). Without it a cgroup rule matches the cgroup itself, but not its
	 * descendants.
	 */
	__u8 cgroup_ancestors;
	__u8 holds; /* samples wait in op_held until their event ends */
	__u8 reserved0[7];
	/* samples per second and CPU, of kinds that thin out (off/off.h) */
	__u32 event_budget;
	__u64 min_ns; /* shorter intervals are filtered out */
	struct op_argument argument[OP_ARGUMENTS_MAX]; /* of the kind heap's probe */
};

/* The position of a CPU in the pieces of one rate (rules/thin.h), in units of 2^-32 of a
 * piece. */
struct op_thinning {
	__u32 at;
	__u32 point; /* the tick that contains it is taken */
	__u32 owed;  /* two points were in one tick: the next tick is taken, too */
	__u32 reserved0;
};

enum {
	/* a walk of a task, and walks that may interrupt it and each other */
	OP_SLOTS_MAX = 4,
};

/* ---- copies of stacks ---- */
enum {
	OP_COPIERS = 64, /* entries; a process uses entry pid % OP_COPIERS */
	OP_COPIES_MAX = 64,
};

/*
 * The budget of stack copies of a process on one CPU. A copy that does not help is made
 * again at the next sample, so each process may have a few at once, and ten per second
 * then.
 */
struct op_copier {
	__u64 time_ns; /* when the last copy was added to the budget */
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
	__u32 random; /* a rule keeps one in keep_one_in samples */
	__u32 reserved0;
	struct op_filter_rule rules[OP_FILTER_RULES];
};

/* ---- rules by what they are of ---- */

/* The kinds of targets by which rules are found. */
enum op_target_kind {
	OP_TARGET_PID = 0,
	OP_TARGET_CGROUP,
	OP_TARGET_COMM,
	OP_TARGET_UID,
	OP_TARGET_KINDS,
};

struct op_target_key {
	__u64 word[2]; /* the number and 0, or the command name */
	__u32 kind;    /* enum op_target_kind */
	__u32 reserved0;
};

/* The verdict of a rule on a sample. */
enum op_verdict {
	OP_VERDICT_NONE = 0, /* the rule does not match */
	OP_VERDICT_KEEP,
	OP_VERDICT_DROP,
};

enum {
	OP_TARGET_SHIFT = 8,
	OP_TARGET_MASK = 0xff,
	OP_CGROUP_DEPTHS = 16, /* cgroups of rules are less deep than this */
};

/*
 * What the rules of one key say. Each member has a rule's number << OP_TARGET_SHIFT, and
 * an enum op_verdict or an index of op_control.rate. The largest of several values is
 * that of the latest rule.
 */
struct op_target_says {
	__u64 verdict;
	__u64 rate;
};

_Static_assert(sizeof(struct op_target_key) == 24, "layout");
_Static_assert(sizeof(struct op_target_says) == 16, "layout");
_Static_assert(sizeof(struct op_row) == 4, "rows are dense");
_Static_assert(sizeof(struct op_rule) == 8, "rules are one word");
_Static_assert(sizeof(struct op_page) == 8, "layout");
_Static_assert(sizeof(struct op_segment) == 56, "layout");
_Static_assert(sizeof(struct op_mapping) == 24, "layout");
_Static_assert(sizeof(struct op_process) == 80, "layout");
_Static_assert(sizeof(struct op_process_key) == 8, "layout");
_Static_assert(sizeof(struct op_record) == 88, "layout");
_Static_assert(sizeof(struct op_named) == 88, "layout");
_Static_assert(sizeof(struct op_labels_record) == 40, "layout");
_Static_assert(sizeof(struct op_table_request) == 32, "layout");
_Static_assert(sizeof(struct op_above_record) == 32, "layout");
_Static_assert(sizeof(struct op_registers) == 304, "layout");
_Static_assert(sizeof(struct op_filter_rule) == 40, "layout");
_Static_assert((1u << (32 - OP_REF_SLAB_SHIFT)) >= OP_SLABS_MAX,
	       "references reach all slabs");

#endif
