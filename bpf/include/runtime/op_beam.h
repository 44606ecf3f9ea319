/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BEAM, the virtual machine of Erlang/OTP, with its JIT: what the step needs to know of a process,
 * and the words of its frames.
 *
 * A frame has two words:
 *   word 0  an address in the instruction that runs or has called
 *   word 1  op_beam_guard(): the newest of the modules that were loaded then
 *
 * The runtime lists its modules for debuggers, the newest first (__jit_debug_descriptor).
 */
#ifndef OP_BEAM_H
#define OP_BEAM_H

enum {
	OP_BEAM_FRAME_WORDS = 2,
	/* struct jit_code_entry of GDB's interface: next, previous, address and size of the file */
	OP_BEAM_ENTRY_BYTES = 32,
	/* of __jit_debug_descriptor */
	OP_BEAM_LIST_FIRST = 16,
};

/* Data of a process for the step. */
struct op_beam {
	__u64 list; /* address of the pointer to the first entry */
	/* generated code is in [begin, end); that which modules share, and of this the scheduler's
	 * loop (process_main) */
	__u64 begin;
	__u64 end;
	__u64 shared;
	__u64 shared_end;
	__u64 loop;
	__u64 loop_end;
	/* where the first function of a process returns to, and the end of that code */
	__u64 exit;
	__u64 exit_end;
	/* the C function that calls the loop */
	__u64 caller;
	__u64 caller_end;
	/* A thread's scheduler data is at *(thread pointer + at) + block */
	__s32 at;
	__s32 block;
	__u32 current; /* in it: the process that runs */
	/* The loop keeps the registers of Erlang code on its stack, and C code that Erlang code calls
	 * has its stack below them. From there on, in bytes: where rbx points, and the size */
	__u32 registers_at;
	__u32 registers_bytes;
	__u32 reserved;
};

_Static_assert(sizeof(struct op_beam) == 112, "the size is fixed");

/* 32 bits that distinguish an entry of the list from a later one at its address. */
static inline __attribute__((always_inline)) __u32 op_beam_guard(__u64 entry, __u64 next,
								 __u64 file, __u64 size)
{
	__u64 mix = (entry ^ next << 20) * 0x9e3779b97f4a7c15ULL;

	mix = (mix ^ mix >> 29 ^ file) * 0xbf58476d1ce4e5b9ULL;
	mix = (mix ^ mix >> 32 ^ size) * 0x94d049bb133111ebULL;
	return (__u32)(mix >> 32);
}

#endif
