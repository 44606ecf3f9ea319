/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language runtimes of one process: an instance for each mapped file that is a
 * runtime. It is attached when the file is mapped, usually before a sample needs it, and
 * reports the ranges of its generated code.
 */
#ifndef OP_PROCESS_MAPPINGS_RUNTIMES_H
#define OP_PROCESS_MAPPINGS_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"
#include "process/image/image.h"
#include "process/mappings/mappings.h"
#include "profile/cache.h"
#include "runtime/runtime.h"

struct op_runtime_instance {
	struct op_image *image; /* a counted reference; NULL: the number is free */
	const struct op_runtime_ops *ops;
	void *instance;		/* NULL: not attached */
	struct op_cache frames; /* frames -> locations; valid while attached */
	uint8_t *bpf;		/* the runtime's struct, to write */
	op_ref ref;		/* that struct in the arena */
	uint64_t bias;		/* load bias of the file */
	struct op_runtime_code code;
	uint64_t seen_code; /* op_mappings_made_sum() at the last update() */
	uint64_t retry_ns;
	uint64_t gone_ns; /* when its file was first found unmapped; 0: it is mapped */
	uint32_t failures;
	bool update_again; /* call update() again at retry_ns */
	bool module_seen;  /* update() has been called with ops->module mapped */
	bool unwritten;	   /* the struct did not fit the arena */
	bool given_up;
};

/* The instances of one process, indexed like op_process.instance. */
struct op_program_runtimes {
	struct op_runtime_instance
		*slot;	   /* [OP_INSTANCES_MAX]; NULL while there is no instance */
	uint64_t retry_ns; /* while full is set: when the maps are read again */
	uint32_t failures;
	bool full;   /* a file waits for a number */
	bool gone;   /* an instance's file is no longer mapped */
	bool rescan; /* read its maps before the next attempt */
};

/* What attaching needs. All pointers are borrowed during the call. */
struct op_program_runtimes_context {
	struct op_arena *arena;
	struct op_images *images;
	struct op_log *log;
	uint64_t now_ns;
	/* No more records arrive for mappings that were unmapped before this time. 0: the
	 * list is an earlier state of the process. */
	uint64_t over_ns;
	uint32_t refused;  /* bits of enum op_runtime that must not be attached */
	bool await_chains; /* OTELPROF_AWAIT_CHAINS */
	uint32_t pid;
	const struct op_memory *memory;
	const struct op_mappings *mappings;
	/* Open the file of a mapping; the caller frees *@ret. */
	int (*open_file)(void *ctx, const struct op_mapping *v, struct op_elf **ret,
			 uint64_t *ret_bias);
	/* Open the mapped file itself, if the process's user or root owns it. Returns a
	 * descriptor. */
	int (*open_own)(void *ctx, const struct op_mapping *v);
	void *ctx;
	/* when the earliest next attempt is due; 0: none */
	uint64_t ret_retry_ns;
};

/*
 * Attach the runtimes of the mappings that are not attached yet, and update the others if
 * code was mapped or unmapped. A runtime that has not started up is tried again later.
 * Returns true if the process must be published again.
 */
bool op_program_runtimes_attach(struct op_program_runtimes *r,
				struct op_program_runtimes_context *context);
void op_program_runtimes_detach(struct op_program_runtimes *r, struct op_arena *arena,
				struct op_images *images, uint64_t now_ns);
/* Does an instance, or a file without a number, wait for another attempt? */
bool op_program_runtimes_waiting(const struct op_program_runtimes *r);
/*
 * Set the flags of @v, and for code its bias and room, by which the BPF programs find its
 * instance. The other fields are set already. @below is the end of the mapping below @v,
 * and @above the start of the mapping above it.
 */
void op_program_runtimes_mark(const struct op_program_runtimes *r, struct op_mapping *v,
			      uint64_t below, uint64_t above);
/* Fill in the table of instances for the arena. */
void op_program_runtimes_fill(const struct op_program_runtimes *r,
			      struct op_instance ret[OP_INSTANCES_MAX]);
/* A window ended. */
void op_program_runtimes_window_end(struct op_program_runtimes *r);

/* Find the function at @addr in any instance. Returns 1 and *@ret, or 0. */
int op_program_runtimes_describe_code(const struct op_program_runtimes *r,
				      const struct op_program_runtimes_context *context,
				      uint64_t addr, struct op_runtime_frame *ret);
/* Does an instance have code that the process generated, or may one that has not started
 * up generate some? */
bool op_program_runtimes_generates(const struct op_program_runtimes *r);
/* Instance @number; NULL if there is none or it is not attached. */
struct op_runtime_instance *op_program_runtimes_get(const struct op_program_runtimes *r,
						    uint32_t number);

#endif
