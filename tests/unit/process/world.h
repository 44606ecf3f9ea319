/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handle of lib/process with a pretended kernel: an arena in plain memory, and a
 * table of what was published. Records are made here; samples are read from the window.
 */
#ifndef OP_TEST_PROCESS_WORLD_H
#define OP_TEST_PROCESS_WORLD_H

#include "process/processes.h"
#include "profile/window_tables.h"
#include "sample/sampler.h"

enum {
	WORLD_SLABS = 64,
	WORLD_PIDS = 1 << 16,
};

struct world {
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	struct op_unwind_rule *rules_memory;
	struct op_window *window;
	struct op_processes *p;
	struct op_sampler *sampler;
	struct op_allowance allowance; /* anything, until a test limits it */
	void *slabs[WORLD_SLABS];
	struct op_map64 keys; /* pid to process << 32 | generation */
	uint64_t published;
	uint64_t unpublished;
	uint64_t now_ns;
	uint64_t drained_ns; /* events until then were passed on; 0: all, always */
	int publish_error;
	uint8_t stack_below; /* bytes of copied stacks that are below sp | OP_STACK_UNREAD */
	uint16_t
		marks; /* op_record.marks of late and first samples, and of announcements */
	uint16_t
		code_pages; /* of first samples, which find others than published; 0: not known */
	bool waits;	    /* samples go through op_sampler_join() */
};

struct world_options {
	const char *procfs_root;
	const char *sysfs_root;
	uint64_t flags;
	uint32_t max_processes;
	uint64_t arena_bytes;
	const char *service_name;
	const char *const *environment;
	size_t environment_len;
	struct op_allowance *allowance; /* NULL: its own */
};

void world_init(struct world *w, const struct world_options *options);
void world_deinit(struct world *w);
/* Let time go by, then settle. */
void world_settle(struct world *w, uint64_t ns);
/* Settle until all that is done in slices is done. */
void world_settle_all(struct world *w);

/* What the kernel knows: the process published for a pid, or NULL. */
const struct op_process *world_process(const struct world *w, uint32_t pid);
uint32_t world_generation(const struct world *w, uint32_t pid);
/* The published mapping that holds @addr, or NULL. */
const struct op_arena_mapping *world_mapping(const struct world *w, uint32_t pid,
					     uint64_t addr, uint64_t *ret_start);

/* Of a record without words. */
#define WORLD_RECORD_HEADER                                                              \
	{                                                                                \
		.type = OP_RECORD_SAMPLE, .version = OP_RECORD_VERSION,                  \
		.bytes = sizeof(struct op_record),                                       \
	}

/* A sample with @words of user stack. Returns op_sampler_add_record()'s value. */
int world_sample(struct world *w, uint32_t pid, const uint64_t *kernel, size_t kernel_len,
		 const uint64_t *words, size_t words_len, unsigned int end);
/* Announce @words of user stack under @hash, and take a sample that names it. */
int world_announce(struct world *w, uint32_t pid, const struct op_hash *hash,
		   const uint64_t *words, size_t words_len);
int world_named_sample(struct world *w, uint32_t pid, const struct op_hash *hash,
		       uint32_t detail);
/* As above, of another generation than the kernel has now. */
int world_late_sample(struct world *w, uint32_t pid, uint32_t generation,
		      uint64_t time_ns, const uint64_t *words, size_t words_len);
/* The stack at @at above the copy of the first sample that follows, of thread @tid. */
int world_above(struct world *w, uint32_t tid, uint64_t at, const void *bytes,
		size_t len);
/* And those of where it begins. */
int world_root(struct world *w, uint32_t tid, uint64_t at, const void *bytes, size_t len);
/* A first sample. */
int world_first_sample(struct world *w, uint32_t pid,
		       const struct op_registers *registers, const void *stack,
		       size_t stack_len);
/* As world_first_sample(); the kernel's walk had got to @end_pc. */
int world_missed_sample(struct world *w, uint32_t pid,
			const struct op_registers *registers, const void *stack,
			size_t stack_len, uint64_t end_pc);

/* As world_first_sample(), in the kernel at @kernel, with no stack to copy. */
int world_exec_sample(struct world *w, uint32_t pid, uint64_t kernel, uint64_t user);

/* As world_missed_sample(); the walk had found @words, and @registers were interrupted. */
int world_resumed_sample(struct world *w, uint32_t pid, uint32_t generation,
			 const uint64_t *words, size_t words_len,
			 const struct op_registers *registers, const void *stack,
			 size_t stack_len);

/* The last sample taken. */
const struct op_identity *world_last(const struct world *w);
const struct op_resource *world_resource(const struct world *w);
size_t world_frames(const struct world *w);
const struct op_location_entry *world_location(const struct world *w, size_t frame);
/* Name of the function of a frame; "" where it has no line. */
const char *world_name(const struct world *w, size_t frame);
const char *world_file(const struct world *w, size_t frame); /* of its mapping */
const char *world_type(const struct world *w, size_t frame);
const char *world_text(const struct world *w, uint32_t string);

/* This process. */
uint32_t world_self(void);
/* Its first sample, and what follows from it. */
void world_learn_self(struct world *w);
/* Code of it whose names are known. */
int known_function(int x);
int other_function(int x);

static inline uint64_t world_native(const void *pc)
{
	return (uint64_t)(uintptr_t)pc;
}

static inline uint64_t world_exact(const void *pc)
{
	return (uint64_t)(uintptr_t)pc | (uint64_t)OP_FRAME_NATIVE_EXACT
						 << OP_FRAME_KIND_SHIFT;
}

#endif
