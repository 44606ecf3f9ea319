/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offsets of runtime.g's members in each version of Go. Nothing publishes them, so
 * they are a table by version, from runtime/runtime2.go of each. tests/goroutines
 * compares it with the debug information of programs. Values that are read by it are
 * checked (goroutine.h).
 */
#ifndef OP_RUNTIME_GO_LAYOUT_H
#define OP_RUNTIME_GO_LAYOUT_H

#include <stdint.h>

enum {
	OP_GO_G_BYTES = 384, /* more than the last member that is read */
};

/* Offsets of members that have not moved since Go 1.18. */
enum op_go_fixed {
	OP_GO_STACK = 0, /* lo, hi */
	OP_GO_SCHED = 56,
	OP_GO_SCHED_SP = OP_GO_SCHED,
	OP_GO_SCHED_PC = OP_GO_SCHED + 8,
	OP_GO_SCHED_G = OP_GO_SCHED + 16, /* the g itself */
};

struct op_go_layout {
	uint32_t first; /* minor version of Go 1.x */
	uint16_t sched_lr;
	uint16_t sched_bp;
	uint16_t syscall_sp; /* then syscallpc */
	uint16_t syscall_bp; /* 0: there is none */
	uint16_t status;
	uint16_t goid;
	uint16_t wait_reason; /* a byte */
	uint16_t start_pc;
};

/* The layout of Go 1.@minor; NULL if it is not known. */
const struct op_go_layout *op_go_layout(uint32_t minor);

#endif
