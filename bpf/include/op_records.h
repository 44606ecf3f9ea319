/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records that the kernel programs write into the ring buffer. */
#ifndef OP_RECORDS_H
#define OP_RECORDS_H

#include "op_arena.h"
#include "op_events.h"

enum {
	OP_COMM_BYTES = 16,
	OP_FRAMES_MAX = 1024, /* user frames of a stack */
	OP_FRAME_WORDS_MAX = 8,
	OP_KERNEL_FRAMES_MAX = 127, /* kernel.perf_event_max_stack's default */
	/* OP_FRAMES_MAX frames of two words, and one of the largest size */
	OP_USER_WORDS_MAX = 2 * OP_FRAMES_MAX + OP_FRAME_WORDS_MAX,
	/* bytes copied of the user stack of an unknown process */
	OP_STACK_COPY_BYTES = 12288,
	/* records with more of that stack, each with as many bytes */
	OP_CHUNK_RECORDS = 4,
	/* the programs copy it page by page */
	OP_COPY_PAGE_BYTES = 4096,
	/* pages at the beginning of that stack */
	OP_ROOT_PAGES = 18,
	/* of the string that a probe reads, with its NUL; a longer one is cut */
	OP_TEXT_BYTES = 64,
};

/*
 * The first word of a frame: its kind in the top byte, and an address. A native frame
 * has one word. A runtime's frame has one to eight. Its kind is the number of the
 * instance and the number of words after the first. The runtime defines their meaning
 * (op_python.h).
 */
enum op_frame_kind {
	OP_FRAME_NATIVE = 0, /* the address is a return address */
	/* No call precedes the address: it is the leaf's pc, a pc that a signal
	 * interrupted, or the code to which a signal handler returns. */
	OP_FRAME_NATIVE_EXACT = 1,
	OP_FRAME_NATIVE_GUESSED = 2, /* a return address that was found by guessing */
	/* no frame: frames of a deep stack are left out here (fold.h) */
	OP_FRAME_LEFT_OUT = 3,
	OP_FRAME_NATIVE_KINDS = 8, /* from here on: runtimes */
};

#define OP_FRAME_KIND_SHIFT   56
#define OP_FRAME_ADDRESS_MASK ((1ULL << OP_FRAME_KIND_SHIFT) - 1)

enum {
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

/* The instance to which the frame whose first word is @word belongs. 0: native. */
static inline __attribute__((always_inline)) __u32 op_frame_instance(__u64 word)
{
	return (__u32)(word >> (OP_FRAME_KIND_SHIFT + OP_FRAME_INSTANCE_SHIFT));
}

/* Why a user stack ends. Numbers above OP_END_MAX are errors of op_errors.def. */
enum op_end {
	OP_END_COMPLETE = 0,
	/* the limit max_frames was reached: the outer frames are missing */
	OP_END_TRUNCATED = 1,
	OP_END_NO_USER = 2, /* a kernel thread */
	/* the process is not known yet: registers and stack follow instead */
	OP_END_UNKNOWN = 3,
	OP_END_OFF = 4, /* user stacks are turned off */
	/* The kind sends no copy of the stack. The table was requested
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
	OP_RECORD_NAMED = 3,   /* struct op_named: a sample of an announced stack */
	OP_RECORD_REQUEST = 4, /* struct op_unwind_table_request: a table is wanted */
	/* struct op_exec_record: an exec that user space examines at once */
	OP_RECORD_EXEC = 5,
	/* struct op_stack_chunk_record: more of a stack; its sample follows */
	OP_RECORD_CHUNK = 6,
	/* struct op_labels_record: labels that samples after it name */
	OP_RECORD_LABELS = 7,
	/* struct op_stack_chunk_record: the base of a stack; its sample follows */
	OP_RECORD_ROOT = 8,
	/* struct op_object_record: the data that names a function; samples of it follow */
	OP_RECORD_OBJECT = 9,
	/* struct op_stack_chunk_record: a runtime's chain of frames; its sample follows */
	OP_RECORD_CHAIN = 10,
	OP_RECORD_TYPES = 16,
};

/*
 * The version of the record format: a reader refuses versions that it was not built for.
 */
enum {
	OP_RECORD_VERSION = 2,
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

/* The state of pc and the registers in a record whose walk user space resumes. */
enum op_resumed {
	OP_RESUMED_CALLER = 0,
	OP_RESUMED_EXACT = 1, /* the pc was interrupted: it is below a signal frame */
	OP_RESUMED_MASK = 0x7f,
};

/* A rule keeps at least one in so many samples. */
#define OP_HITS_MAX 65535u

/* In op_record.resumed of any record: the process has other code mapped than its table
 * has. */
#define OP_REMAPPED 0x80

/* In op_record.stack_below: the copy is zero up to the end of sp's page, which could not be
 * read. */
#define OP_STACK_UNREAD 0x80

/*
 * OP_RECORD_SAMPLE. It is followed by `kernel_count` words (leaf first), then
 * `user_words` words (leaf first), then `context_bytes` bytes, which are a struct
 * op_thread_context or nothing. The context may have OP_TEXT_BYTES bytes of text behind
 * it, which end at their first NUL. If `end` is OP_END_UNKNOWN, a struct op_registers
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
	/* of the kind, to distinguish its samples, such as enum op_off_reason */
	__u16 detail;
	__u8 resumed; /* OP_END_UNKNOWN with user words: enum op_resumed; | OP_REMAPPED */
	__u8 stack_below; /* | OP_STACK_UNREAD */
	__u32 hits;	  /* number of samples that it stands for */
	/* op_process.code_pages at that time, low bits; 0: not compared */
	__u16 code_pages;
	__u16 marks; /* bit i: mark number i + 1 of the process held at that time */
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
	__u16 cpu;
	__u16 hits;
	__u16 event;
	__u16 detail;
	char comm[OP_COMM_BYTES];
	__u32 extra; /* more detail: of OP_EVENT_BLOCK_IO the device */
	__u32 context_bytes;
};

/*
 * OP_RECORD_LABELS: the labels of a thread, once a window. It is followed by `bytes`
 * bytes: with OP_CONTEXT_OTEL the attributes as the process wrote them, otherwise
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
struct op_unwind_table_request {
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
	/* an interpreter; otherwise rules by executable or environment must be
	 * evaluated */
	__u32 interpreter;
	__u32 reserved0;
};

/*
 * OP_RECORD_CHUNK: bytes of a stack above those in a record of OP_END_UNKNOWN. These
 * records precede that record, in ascending order, from the same CPU. They are left out
 * if a quarter of the ring is full, and where the stack ends. In the copy that a record of
 * OP_END_UNKNOWN itself has, a page that was never written to is all zero.
 *
 * OP_RECORD_ROOT: of the last pages below the place where a stack begins. These records
 * follow those of OP_RECORD_CHUNK, in ascending order, if those do not reach so far. Pages
 * that were never written to are all zero, or left out.
 *
 * OP_RECORD_CHAIN: what the step of a runtime reads of the heap, which may change before
 * user space walks the stack. It is followed by pieces, each a struct op_chain_piece and
 * its bytes, padded to a multiple of 8. `at` is 0. These records come first. The walk of
 * their sample begins at the leaf.
 */
struct op_stack_chunk_record {
	struct op_record_header header;
	__u64 time_ns; /* that of its sample */
	__u64 at;      /* address of the first byte */
	__u32 tid;
	__u32 cpu;
};

/*
 * OP_RECORD_OBJECT: the objects of a runtime that name a function, copied when a walk
 * first met it, because they may be gone before user space can read them. It is
 * followed by pieces of memory, each a struct op_object_piece and its bytes, padded
 * with zeros to a multiple of 8.
 */
struct op_object_record {
	struct op_record_header header;
	__u64 time_ns; /* that of its sample */
	__u64 frame;   /* the first word of its frames */
	__u32 pid;
	__u32 generation; /* as in struct op_record */
	__u32 check;	  /* identity of the object at that address: op_object_id() */
	__u32 reserved0;
};

struct op_object_piece {
	__u64 at; /* address of the first byte */
	__u32 bytes;
	__u32 reserved0;
};

struct op_chain_piece {
	__u64 at; /* address of the first byte; without bytes: the first word of a frame, */
	__u32 bytes;
	__u32 check; /* whose object had this identity */
};

enum {
	OP_CHAIN_RECORDS = 4, /* of one sample, each with OP_STACK_COPY_BYTES at most */
};

enum {
	OP_OBJECT_STEPS = 14,	    /* pieces of one record */
	OP_OBJECT_CHARS_MAX = 2048, /* of op_object_step.most */
	OP_OBJECT_PIECE_MAX = sizeof(struct op_object_piece) + 256 + OP_OBJECT_CHARS_MAX,
	OP_OBJECT_BYTES = 4096, /* of all pieces */
};

/*
 * How to find the pieces, from a runtime's struct in the arena. The first piece is the
 * object that the frame names. A pointer to each further one is in a piece before it.
 * Or, with OP_OBJECT_ELEMENT, it is an element of 8 bytes (of 16 with OP_OBJECT_PAIRS):
 * the array begins `at` bytes into the object of `piece`, and the index is the 16 bits
 * at `width_at` of piece number `tag`.
 */
struct op_object_step {
	__u8 piece; /* number of the piece with the pointer */
	__u8 at;    /* and where */
	__u8 bytes; /* bytes that are always copied; 0: no more steps */
	/* place of the number of characters that follow: 4 bytes. 0: none follow */
	__u8 length_at;
	/* the byte with the bytes of a character, in its bits 2 to 4; 0: it is one */
	__u8 width_at;
	__u8 tag;   /* subtracted from the pointer */
	__u16 most; /* most bytes of characters that are copied, and OP_OBJECT_* */
};

enum {
	OP_OBJECT_MOST = 0xfff, /* of op_object_step.most */
	OP_OBJECT_ELEMENT = 1 << 15,
	OP_OBJECT_SHORT_LENGTH = 1 << 14, /* the count of characters has 16 bits */
	OP_OBJECT_WORDS = 1 << 13, /* it is the object's size in words of 8 bytes */
	OP_OBJECT_PAIRS = 1 << 12, /* an element has two words */
};

/* Add @word to the identity of an object, whose first value is its address. */
static inline __attribute__((always_inline)) __u64 op_object_id(__u64 id, __u64 word)
{
	id = (id ^ word) * 0x9e3779b97f4a7c15ULL;
	return id ^ id >> 29;
}

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

_Static_assert(sizeof(struct op_record) == 96, "layout");
_Static_assert(sizeof(struct op_named) == 88, "layout");
_Static_assert(sizeof(struct op_labels_record) == 40, "layout");
_Static_assert(sizeof(struct op_unwind_table_request) == 32, "layout");
_Static_assert(sizeof(struct op_stack_chunk_record) == 32, "layout");
_Static_assert(sizeof(struct op_chain_piece) == 16, "layout");
_Static_assert(sizeof(struct op_object_record) == 40, "layout");
_Static_assert(sizeof(struct op_object_step) == 8, "layout");
_Static_assert(sizeof(struct op_registers) == 304, "layout");

#endif
