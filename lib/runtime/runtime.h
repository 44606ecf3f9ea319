/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Language runtimes. Each is one struct op_runtime_ops in one file pair, one BPF file and
 * one line of the registry (runtime.c). See docs/adding-a-runtime.md.
 *
 *   probe    once per executable file: is this the runtime, which version, where is its
 *            interpreter loop?
 *   attach   once per process: make the runtime's struct for the BPF step
 *   describe a frame's words to a function, file and line
 */
#ifndef OP_RUNTIME_RUNTIME_H
#define OP_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/memory.h"
#include "elf/file.h"
#include "op_user_types.h"

/* An interpreter loop's place in its file: ELF addresses [first, end). */
struct op_runtime_loop {
	uint32_t count;
	uint64_t range[2][2];
};

/* The process an executable was met in. Borrowed during the call. */
struct op_runtime_target {
	int pid;
	uint64_t bias; /* of the runtime's executable: process address - ELF address */
	const struct op_memory *memory;
	/* Open the process's mapped file whose base name begins with @prefix ("libc.so",
	 * "ld-musl-"). Caller frees *@ret. Returns 0, -ENOENT or -errno. */
	int (*open_image)(const struct op_runtime_target *target, const char *prefix,
			  struct op_elf **ret, uint64_t *ret_bias);
};

/* A frame for a human. Strings are valid until the next call on the instance. */
struct op_runtime_frame {
	const char *name;
	const char *file;    /* "" where unknown */
	uint32_t line;	     /* 0: unknown */
	uint32_t start_line; /* 0: unknown */
	bool fresh; /* met for the first time, or gone: what is met next should be read soon */
};

struct op_runtime_ops {
	enum op_runtime id;
	const char *name;	/* "python" */
	const char *frame_type; /* profile.frame.type: "cpython" */
	size_t bpf_size;	/* of the runtime's struct in the arena */

	/*
	 * Returns 1 with *@ret_image and *@ret_loop where @elf is this runtime; 0 where it is
	 * not; -ENOTSUP for a version that is not known (logged as a warning: its processes
	 * get native frames); -errno.
	 */
	int (*probe)(struct op_elf *elf, const char *path, struct op_log *log,
		     void **ret_image, struct op_runtime_loop *ret_loop);
	void (*image_free)(void *image);

	/*
	 * Fill @bpf (bpf_size bytes, zeroed) for @target. Returns 0 with *@ret_instance;
	 * -EAGAIN where the runtime has not started up yet (tried again later); -errno.
	 * @image is borrowed and outlives the instance; target->memory too.
	 */
	int (*attach)(void *image, const struct op_runtime_target *target,
		      struct op_log *log, void *bpf, void **ret_instance);
	void (*detach)(void *instance);

	/*
	 * Describe the frame whose words begin at @words. Returns how many words it has
	 * (1 or more) with *@ret filled as far as is known, or -errno. Called soon after the
	 * sample, so that what the words point to is likely to be there still.
	 */
	int (*describe)(void *instance, const uint64_t *words, size_t len,
			struct op_runtime_frame *ret);
	/* A window ended: forget what the process may have reused since. */
	void (*window_end)(void *instance);
};

/* The runtime with that id, or NULL. */
const struct op_runtime_ops *op_runtime_get(enum op_runtime id);
/* All runtimes; *@ret_len of them. */
const struct op_runtime_ops *const *op_runtimes(size_t *ret_len);

#endif
