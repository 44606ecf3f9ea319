/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of known frames and a copy of it, as the programs of bpf/ would send it. */
#ifndef OP_TEST_PROCESS_SNAPSHOT_H
#define OP_TEST_PROCESS_SNAPSHOT_H

#include "world.h"

#if defined(__clang__)
#define KEEP_FRAME __attribute__((noinline))
#else
#define KEEP_FRAME __attribute__((noinline, noipa))
#endif

struct snapshot {
	struct op_registers registers;
	uint8_t stack[(1 + OP_CHUNK_RECORDS) * OP_STACK_COPY_BYTES];
	size_t len;
};

/* The registers of take_snapshot(), and as much of the stack above it as @len asks for. */
extern struct snapshot snapshot;

/* Take the snapshot below three frames: level_one(), level_two(), level_three(). */
int level_one(int x);
/* Check that the last sample's stack is that one, and that function @test called it. */
void check_levels(const struct world *w, const char *test);

#endif
