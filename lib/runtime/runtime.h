/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Language runtimes. Each is one struct op_runtime_ops in one folder, one BPF file and one
 * line of the registry (runtime.c). See docs/adding-a-runtime.md.
 *
 *   probe    once per mapped file: is this the runtime, which version, where is its
 *            interpreter loop? Of a file that is no ELF file: probe_other
 *   attach   once per process and mapped file: make the runtime's struct for the BPF step
 *   update   when what the process has mapped changes: where is the code it made?
 *   describe a frame's words to functions, files and lines; of code that no step walked, its
 *            address: describe_code
 *
 * A step gets control in two ways: at an interpreter loop, whose range probe() gives, or in
 * code that the runtime made (a JIT, a template interpreter), whose ranges update() gives.
 */
#ifndef OP_RUNTIME_RUNTIME_H
#define OP_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/memory.h"
#include "elf/file.h"
#include "op_user_types.h"
#include "runtime/layouts.h"

/* An interpreter loop's place in its file: ELF addresses [first, end). */
struct op_runtime_loop {
	uint32_t count;
	uint64_t range[2][2];
};

/* An executable mapping of no ELF file: code that the process made. */
struct op_runtime_mapping {
	uint64_t start;
	uint64_t end;
	const char *path; /* as the kernel names it, or "". Borrowed. */
};

/* The process a file was met in. Borrowed during the call. */
struct op_runtime_target {
	int pid;
	uint64_t bias; /* of the runtime's executable: process address - ELF address */
	const struct op_memory *memory;
	/* Open the process's mapped file whose base name begins with @prefix ("libc.so",
	 * "ld-musl-"). Caller frees *@ret. Returns 0, -ENOENT or -errno. */
	int (*open_image)(const struct op_runtime_target *target, const char *prefix,
			  struct op_elf **ret, uint64_t *ret_bias);
	/* Open the instance's own file, where the process's user or root owns it. Returns a
	 * descriptor, which the caller closes, or -errno. */
	int (*open_self)(const struct op_runtime_target *target);
	/* Number @i of the process's executable mappings that are of no ELF file, by address.
	 * Returns 0, or -ENOENT behind the last. */
	int (*code_mapping)(const struct op_runtime_target *target, size_t i,
			    struct op_runtime_mapping *ret);
};

/* A function on the stack, for a human. */
struct op_runtime_function {
	const char *name;
	const char *file;    /* "" where unknown */
	uint32_t line;	     /* 0: unknown */
	uint32_t start_line; /* 0: unknown */
};

enum {
	OP_RUNTIME_INLINED_MAX = 32, /* functions of one frame; more are not shown */
	OP_RUNTIME_RANGES_MAX = 16,
};

/*
 * A frame: one function, or the inlined ones of compiled code, innermost first. Strings are
 * valid until the next call on the instance.
 */
struct op_runtime_frame {
	struct op_runtime_function function[OP_RUNTIME_INLINED_MAX];
	size_t len;
	bool approximate; /* which functions and lines: the runtime does not tell of this pc */
	bool fresh; /* met for the first time, or gone: what is met next should be read soon */
	bool again; /* could not be read whole now, but perhaps the next time */
};

/* Code that the runtime made, [start, end) in the process. */
struct op_runtime_range {
	uint64_t start;
	uint64_t end;
	uint64_t value; /* given to the step as u->bias */
	/* Where nothing else is mapped executable, code in that many bytes below start is its
	 * own before it is known to be there: it grows downwards, and runs at once. */
	uint64_t room;
};

/* What update() says. */
struct op_runtime_code {
	struct op_runtime_range range[OP_RUNTIME_RANGES_MAX];
	size_t len;
};

struct op_runtime_ops {
	enum op_runtime id;
	const char *name;	/* "python" */
	const char *frame_type; /* profile.frame.type: "cpython" */
	size_t bpf_size; /* of the runtime's struct in the arena; 0: it has no step */
	/*
	 * How base names of its executable files begin, up to a NULL: such a file is probed
	 * when it is mapped. Any other is probed when a sample first falls into it.
	 */
	const char *const *file_names;
	/* The offsets it takes from data files; NULL: none. */
	const struct op_layouts_schema *layouts;

	/*
	 * Returns 1 with *@ret_image and *@ret_loop where @elf is this runtime; 0 where it is
	 * not; -ENOTSUP for a version that is not known (op_layouts_unknown() tells the user:
	 * its processes get native frames); -errno. @layouts: the user's, for
	 * op_layouts_find(); NULL: none.
	 */
	/* NULL: it is no ELF file. */
	int (*probe)(struct op_elf *elf, const char *path,
		     const struct op_layouts *layouts, struct op_log *log,
		     void **ret_image, struct op_runtime_loop *ret_loop);
	/*
	 * As above, of a mapped regular file that is no ELF file of this machine and is open as
	 * @fd, which is borrowed. It has no loop. NULL: it is an ELF file.
	 */
	int (*probe_other)(int fd, const char *path, struct op_log *log,
			   void **ret_image);
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
	 * Say where the code is that the runtime made, and fill @bpf anew (it holds what the
	 * last call left). Called after attach() and when the process's anonymous executable
	 * mappings changed. Returns 1 where @bpf changed, 0, -EAGAIN where it is to be asked
	 * again soon (*@ret counts), or -errno (the last answer stays). NULL: it makes none.
	 */
	int (*update)(void *instance, const struct op_runtime_target *target, void *bpf,
		      struct op_runtime_code *ret);

	/*
	 * Describe the frame of @len words (op_frame_words()). Returns 0 with *@ret filled as
	 * far as is known, or -errno. Called soon after the sample, so that what the words
	 * point to is likely to be there still. NULL: it has no step.
	 */
	int (*describe)(void *instance, const uint64_t *words, size_t len,
			struct op_runtime_frame *ret);
	/*
	 * Describe code at @addr that is of no ELF file and that no step walked. Returns 1 with
	 * *@ret; 0 where the instance knows nothing of it; -errno. NULL: it never does. Asked
	 * once a window for each address.
	 */
	int (*describe_code)(void *instance, const struct op_runtime_target *target,
			     uint64_t addr, struct op_runtime_frame *ret);
	/* A window ended: forget what the process may have reused since. */
	void (*window_end)(void *instance);
};

/* The runtime with that id, or NULL. */
const struct op_runtime_ops *op_runtime_get(enum op_runtime id);
/* All runtimes; *@ret_len of them. */
const struct op_runtime_ops *const *op_runtimes(size_t *ret_len);

/* The layouts of the user's directory @dir, of all runtimes. Returns 0 or -errno with its
 * sentence. The caller frees *@ret. */
int op_runtimes_layouts(const char *dir, struct op_log *log, struct op_layouts **ret);

/* Does a file of that path look like one of @ops, so that it is worth a probe? */
bool op_runtime_looks_like(const struct op_runtime_ops *ops, const char *path);

#endif
