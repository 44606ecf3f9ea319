/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process under test: started with pipes, stopped with ptrace, its stack walked by the
 * sources of bpf/ compiled for the host over tables made as the library makes them.
 */
#ifndef TEST_LIVE_H
#define TEST_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "code/unwind/host.h"
#include "runtime/runtime.h"
#include "runtime/thread_slot.h"

enum {
	LIVE_FILES_MAX = 256,
	LIVE_SLABS_MAX = 64,
	LIVE_MADE_MAX = 256,
};

struct live_file {
	char path[512];
	uint64_t start; /* of its first mapping: what its bias is told from */
	uint64_t bias;
	struct op_elf *elf;
};

struct live {
	int pid;
	int to;	    /* its stdin */
	FILE *from; /* its stdout */
	struct op_memory memory;
	struct live_file file[LIVE_FILES_MAX];
	size_t files;
	const struct op_runtime_ops *ops;
	void *image;
	void *instance;
	struct op_runtime_loop loop;
	uint64_t loop_bias;
	char runtime_path[512];
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	struct op_unwind_rule *rules_memory;
	op_ref process;
	void *slab[LIVE_SLABS_MAX];
	struct op_runtime_code code;
	uint64_t made[LIVE_MADE_MAX][2]; /* executable mappings of no file: start, end */
	size_t made_len;
	bool heap_moved; /* walk as if the process had gone on since */
	bool keeps;	 /* what a walk reads is kept in `chain`, */
	bool has_chain;	 /* and walks use that */
	struct op_memory kept;
	uint8_t *chain;
	size_t chain_len;
};

/* Start @argv. */
struct live *live_start(char *const *argv);
/* Read its mappings and make its tables; what op_runtime_all() finds in it is attached.
 * Call when it has started up and does not change. */
void live_open(struct live *live);
/* As op_runtime_thread_slot() of it. */
int live_thread_slot(struct live *live, uint32_t key, struct op_thread_slot *ret);
/* Stop its thread @tid, walk its stack, let it go on. */
void live_walk(struct live *live, int tid, struct op_unwind_result *ret);
/* Stop its thread @tid by ptrace, for the caller to go on with. */
void live_stop(int tid);
/* Walk the stack of a thread that is stopped. */
void live_walk_stopped(struct live *live, int tid, struct op_unwind_result *ret);
/* Is @word a native frame in the interpreter's loop? */
bool live_in_loop(const struct live *live, uint64_t word);
/* Its threads; returns how many. */
size_t live_threads(const struct live *live, int *ret, size_t max);
/* End it and free all. */
void live_free(struct live *live);

#endif
