/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language runtimes that run in one process: instances, each of one mapped file. They
 * are attached when the file is mapped, which is before a sample needs them as a rule, and
 * say where the code is that they made.
 */
#ifndef OP_PROCESS_RUNTIMES_H
#define OP_PROCESS_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image.h"
#include "op_user_types.h"
#include "process/layout.h"
#include "profile/cache.h"
#include "runtime/runtime.h"

struct op_runtime_instance {
	struct op_image *image; /* a reference; NULL: the number is free */
	const struct op_runtime_ops *ops;
	void *instance;		/* NULL: not attached */
	struct op_cache frames; /* to locations, once attached */
	uint8_t *bpf;		/* of the runtime's struct, as last written */
	op_ref ref;		/* of it in the arena */
	uint64_t bias;		/* of the file */
	struct op_runtime_code code;
	uint64_t seen_code; /* what anonymous code was mapped at the last update() */
	uint64_t retry_ns;
	uint32_t failures;
	bool update_again; /* update() said -EAGAIN */
	bool given_up;
};

/* Those of one process; their numbers are those of op_process.instance. */
struct op_runtimes {
	struct op_runtime_instance
		*slot; /* [OP_INSTANCES_MAX]; NULL while there is none */
};

/* What attaching works with. All is borrowed during the call. */
struct op_runtimes_context {
	struct op_arena *arena;
	struct op_images *images;
	struct op_log *log;
	uint64_t now_ns;
	uint32_t refused; /* bits of enum op_runtime that are not attached */
	uint32_t pid;
	const struct op_memory *memory;
	const struct op_layout *layout;
	/* Open the file of a mapping of the layout; the caller frees *@ret. */
	int (*open_file)(void *ctx, const struct op_vma *v, struct op_elf **ret,
			 uint64_t *ret_bias);
	/* Open the file itself, where the process's user or root owns it: a descriptor. */
	int (*open_own)(void *ctx, const struct op_vma *v);
	void *ctx;
	uint64_t
		ret_retry_ns; /* when the next try is due, 0: none; the earliest stands */
};

/*
 * Attach what the layout has and is not attached yet, and update the others where code came
 * or went. What has not started up is tried again later. Returns true where the process is
 * to be published anew.
 */
bool op_runtimes_attach(struct op_runtimes *r, struct op_runtimes_context *context);
void op_runtimes_detach(struct op_runtimes *r, struct op_arena *arena,
			struct op_images *images, uint64_t now_ns);
/* Does something wait for another try? */
bool op_runtimes_waiting(const struct op_runtimes *r);
/* Set the flags, and the bias and room of code, by which the programs find the instance of
 * @v, whose other fields are set. @below: where the mapping below it ends. */
void op_runtimes_mark(const struct op_runtimes *r, struct op_vma *v, uint64_t below);
/* The table of instances as it goes into the arena. */
void op_runtimes_fill(const struct op_runtimes *r,
		      struct op_instance ret[OP_INSTANCES_MAX]);
/* A window ended. */
void op_runtimes_window_end(struct op_runtimes *r);

/* What an instance says of code at @addr: 1 with *@ret, or 0. */
int op_runtimes_describe_code(const struct op_runtimes *r,
			      const struct op_runtimes_context *context, uint64_t addr,
			      struct op_runtime_frame *ret);
/* Instance @number, or NULL where there is none or it is not attached. */
struct op_runtime_instance *op_runtimes_get(const struct op_runtimes *r, uint32_t number);

#endif
