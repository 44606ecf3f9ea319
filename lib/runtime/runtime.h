/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of language runtimes. Each is one struct op_runtime_ops in one folder,
 * one BPF header and a row of op_runtimes.def. See docs/adding-a-runtime.md.
 *
 *   probe    once per mapped file: is it this runtime, in which version, and where is its
 *            interpreter loop? For a file that is not ELF: probe_other
 *   attach   once per process and mapped file: make the runtime's struct for the BPF step
 *   update   when the process's mappings changed: where is the code that it generated, and
 *            what does a module tell that came after attach()?
 *   describe turn a frame's words into functions, files and lines; describe_code does so
 *            for an address in code that no step walked
 *
 * A step gets control in two ways: at an interpreter loop, whose range probe() gives, or
 * in code that the runtime generated (by a JIT, or a template interpreter), whose ranges
 * update() gives.
 */
#ifndef OP_RUNTIME_RUNTIME_H
#define OP_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/memory.h"
#include "code/elf/file.h"
#include "op_user_types.h"
#include "runtime/layouts.h"

/* The interpreter loop in its file, as ELF addresses [first, end). */
struct op_runtime_loop {
	uint32_t count;
	uint64_t range[2][2];
};

/* An executable mapping without an ELF file: code that the process generated. */
struct op_runtime_mapping {
	uint64_t start;
	uint64_t end;
	const char *path; /* as in /proc/PID/maps, or "". Borrowed. */
};

/* The process that maps the file. Borrowed during the call. */
struct op_runtime_target {
	int pid;
	/* load bias of the runtime's executable: process address - ELF address */
	uint64_t bias;
	const struct op_memory *memory;
	bool await_chains; /* OTELPROF_AWAIT_CHAINS */
	/* Open the process's mapped file whose base name begins with @prefix ("libc.so",
	 * "ld-musl-"), or with NULL the instance's own. The caller frees *@ret. Returns 0,
	 * -ENOENT or -errno. */
	int (*open_image)(const struct op_runtime_target *target, const char *prefix,
			  struct op_elf **ret, uint64_t *ret_bias);
	/* Open the instance's own file, if the process's user or root owns it. Returns a
	 * descriptor, which the caller closes, or -errno. */
	int (*open_self)(const struct op_runtime_target *target);
	/* Executable mapping number @i, in order of addresses, of those without an ELF
	 * file. Returns 0, or -ENOENT after the last. */
	int (*code_mapping)(const struct op_runtime_target *target, size_t i,
			    struct op_runtime_mapping *ret);
};

/* A function on the stack, in source terms. */
struct op_runtime_function {
	const char *name;
	const char *file;    /* "" if unknown */
	uint32_t line;	     /* 0: unknown */
	uint32_t column;     /* counted from 1; 0: unknown */
	uint32_t start_line; /* 0: unknown */
};

enum {
	OP_RUNTIME_INLINED_MAX = 32, /* functions of one frame; more are not shown */
	OP_RUNTIME_RANGES_MAX = 16,
	OP_RUNTIME_GONE_BYTES = 40, /* of the name of a function that is gone */
};

/* A frame: one function, or the functions that are inlined in compiled code, innermost
 * first. The strings are valid until the next call on the instance. */
struct op_runtime_frame {
	struct op_runtime_function function[OP_RUNTIME_INLINED_MAX];
	size_t len;
	/* functions and lines are a guess: the runtime has no record for this pc */
	bool approximate;
	bool fresh; /* met for the first time, or gone: read the following frames soon */
	bool again; /* could not be read completely now, but perhaps the next time */
	/* A file of the process, by its path there, that would complete the
	 * description, or NULL. The caller passes it to take_file(), and describes the
	 * frame again. */
	const char *file;
};

/* Code that the runtime generated, [start, end) in the process. */
struct op_runtime_range {
	uint64_t start;
	uint64_t end;
	uint64_t value; /* the step gets it as u->map.bias */
	/*
	 * New code may run before update() has seen it, because a code area grows
	 * downwards. So this many bytes below start count as the runtime's, if no other
	 * executable mapping is there.
	 */
	uint64_t room;
	uint64_t above; /* the same above end, where code areas grow upwards */
};

/* The result of update(). */
struct op_runtime_code {
	struct op_runtime_range range[OP_RUNTIME_RANGES_MAX];
	size_t len;
	bool again; /* call update() again soon */
};

struct op_runtime_ops {
	enum op_runtime id;
	const char *frame_type; /* profile.frame.type: "cpython" */
	/* bytes of the runtime's struct in the arena; 0: it has no step */
	size_t bpf_size;
	/*
	 * The beginnings of the base names of its executable files, up to a NULL. Such
	 * a file is probed when it is mapped, any other file at the first sample in it.
	 */
	const char *const *file_names;
	/*
	 * The beginning of the base name of a file that a process may map after
	 * attach(). With target->await_chains, update() is called after that. NULL:
	 * none.
	 */
	const char *module;
	/*
	 * The beginning of the base name of a file whose functions begin and switch
	 * coroutines, each with stack and frames of its own. The step gets control at
	 * these functions, too. NULL: none.
	 */
	const char *switcher;
	/* Schema of the offsets that it takes from layout files; NULL: none. */
	const struct op_layouts_schema *layouts;

	/*
	 * Examine an ELF file. Returns 1 with *@ret_image, which free(3) frees, and
	 * *@ret_loop if @elf is this runtime; 0 if it is not; -ENOTSUP for an unknown
	 * version (op_layouts_unknown() warns the user, and its processes get native
	 * frames); or -errno. @layouts: the user's, for op_layouts_find(); NULL: none.
	 * The member is NULL for a runtime without an ELF file.
	 */
	int (*probe)(struct op_elf *elf, const char *path,
		     const struct op_layouts *layouts, struct op_log *log,
		     void **ret_image, struct op_runtime_loop *ret_loop);
	/*
	 * The same for a mapped regular file that is not an ELF file of this machine. It
	 * is open as @fd, which is borrowed, and has no loop. NULL: the runtime has an
	 * ELF file.
	 */
	int (*probe_other)(int fd, const char *path, struct op_log *log,
			   void **ret_image);

	/*
	 * Make an ELF file of @fd, a file of this runtime's code in another format. The
	 * result is then used like an ELF file, without an instance. Returns 0 and a
	 * descriptor of a file in memory; -ENOEXEC if it is not such a file; or -errno.
	 * NULL: the runtime has no such files.
	 */
	int (*as_elf)(int fd, int *ret_fd);

	/*
	 * Fill @bpf (bpf_size bytes, zeroed) for @target. Returns 0 with *@ret_instance;
	 * -EAGAIN if the runtime has not started up yet (the caller tries again later);
	 * or -errno. @image and target->memory are borrowed and outlive the instance.
	 */
	int (*attach)(void *image, const struct op_runtime_target *target,
		      struct op_log *log, void *bpf, void **ret_instance);
	void (*detach)(void *instance);

	/*
	 * Find the code that the runtime generated, and update @bpf, which has the
	 * state of the last call. Called after attach(), when the process's anonymous
	 * executable mappings changed, and when `module` was mapped. Returns 1 if @bpf
	 * changed; 0; -EAGAIN to be called again soon (*@ret is valid); or -errno (the
	 * last result stays). NULL: it generates no code.
	 */
	int (*update)(void *instance, const struct op_runtime_target *target, void *bpf,
		      struct op_runtime_code *ret);

	/*
	 * Describe the frame of @len words (op_frame_words()). Returns 0 with *@ret
	 * filled as far as possible, or -errno. Called soon after the sample, while the
	 * objects of the words probably still exist. NULL: it has no step.
	 */
	int (*describe)(void *instance, const uint64_t *words, size_t len,
			struct op_runtime_frame *ret);
	/* The file that describe() wanted is open as @fd, which the instance takes; or
	 * -errno. NULL: it wants none. */
	void (*take_file)(void *instance, int fd);
	/*
	 * Describe the code at @addr, which is in no ELF file and which no step walked.
	 * Returns 1 with *@ret; 0 if the instance does not know it; or -errno. Called
	 * once a window for each address. NULL: the runtime never knows any.
	 */
	int (*describe_code)(void *instance, const struct op_runtime_target *target,
			     uint64_t addr, struct op_runtime_frame *ret);
	/*
	 * The kernel met the object at @addr for the first time, with the identity
	 * @check, and copied the data that names it. @copy reads only that. The sample
	 * follows. Returns 0 or -errno. NULL: its struct in the arena has no struct
	 * op_object_step.
	 */
	int (*keep_object)(void *instance, uint64_t addr, uint32_t check,
			   const struct op_memory *copy);
	/* A window ended: forget everything that the process may have reused since
	 * then. */
	void (*window_end)(void *instance);
};

#define OP_RUNTIME(number, upper, lower, page, tells)                                    \
	extern const struct op_runtime_ops op_runtime_##lower;
#include "op_runtimes.def"

/* The runtime's word. */
const char *op_runtime_name(const struct op_runtime_ops *ops);
/* The runtime with that id, or NULL. */
const struct op_runtime_ops *op_runtime_get(enum op_runtime id);
/* All runtimes; *@ret_len is their number. */
const struct op_runtime_ops *const *op_runtime_all(size_t *ret_len);

/* Make an ELF file of @fd by the first runtime that knows its format. Returns as
 * as_elf(). @off: bits of enum op_runtime that are left out. */
int op_runtime_as_elf(int fd, uint64_t off, int *ret_fd);

/* Read the layouts of all runtimes from the user's directory @dir. Returns 0, or -errno
 * with a sentence. The caller frees *@ret. */
int op_runtime_layouts(const char *dir, struct op_log *log, struct op_layouts **ret);

/* Claim the mappings of generated code that @is_own accepts, until *@ret is full. @data is
 * passed to @is_own. */
void op_runtime_claim_code(const struct op_runtime_target *target,
			   bool (*is_own)(const void *data,
					  const struct op_runtime_target *target,
					  const struct op_runtime_mapping *m),
			   const void *data, struct op_runtime_code *ret);

/* A function was gone before it could be read, for the reason @r. Fill in @ret, with
 * its address as the name, so that different functions stay different. @name is the
 * memory for it. */
void op_runtime_frame_gone(const struct op_runtime_ops *ops, uint64_t addr, int r,
			   char name[static OP_RUNTIME_GONE_BYTES],
			   struct op_runtime_frame *ret);

/* Does the base name of @path look like an executable file of @ops, so that it is worth a
 * probe? */
bool op_runtime_looks_like(const struct op_runtime_ops *ops, const char *path);

#endif
