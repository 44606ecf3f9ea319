/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts words of a stack to locations of the window.
 *
 * A native location has the ELF address with which its name was looked up: the
 * instruction itself for the leaf, and the last byte of the call for a caller (return
 * address - 1). So consumers who symbolize find the call without correcting it. The
 * mapping is the executable segment in ELF addresses. Kernel addresses count from the
 * start of their module, so the machine's secret offset is not exported.
 */
#ifndef OP_SAMPLE_FRAMES_H
#define OP_SAMPLE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "op_user_types.h"
#include "process/image/names.h"

struct op_kind;
struct op_mappings;
struct op_sampler;
struct op_program;
struct op_window;

/* Values of profile.frame.type from this folder. Runtimes name their own. */
enum op_frame_type {
	OP_FRAME_TYPE_NATIVE = 0,
	OP_FRAME_TYPE_KERNEL,
	OP_FRAME_TYPE_RUST,
	OP_FRAME_TYPE_GO,
	OP_FRAME_TYPE_MAX,
};

struct op_frames {
	uint32_t epoch;			   /* of types[] */
	uint32_t types[OP_FRAME_TYPE_MAX]; /* attributes of the window */
	struct op_map64 kernel;		   /* address to epoch << 32 | location */
	/* Of the kernel image, kept over windows. A name is stored with its build id. */
	struct op_names kernel_names;
	uint64_t kernel_start; /* of a name */
};

enum {
	OP_FRAMES_UNKNOWN = 1,
	OP_FRAMES_REPEATS = 2,
};

/* The process and program of the frames. */
struct op_frames_of {
	struct op_program *program;   /* NULL: not tracked */
	struct op_mappings *mappings; /* NULL: not tracked */
	struct op_window *window;
	uint64_t time_ns; /* of the sample that the kernel walked; 0: it did not */
};

/* Each returns one location number in *@ret, and 0, -ENOMEM or -ENOSPC.
 * OP_FRAMES_UNKNOWN: the frame could not be described in full, but may be the next time.
 * OP_FRAMES_REPEATS: the frame is code that calls one function of a runtime, and has
 * its name. */
int op_frames_native(struct op_sampler *sampler, const struct op_frames_of *of,
		     uint64_t pc, enum op_frame_kind kind, uint32_t *ret);
int op_frames_kernel(struct op_sampler *sampler, struct op_window *window, uint64_t pc,
		     bool exact, uint32_t *ret);
/* The index of the thread's first frame in the @len kernel frames of a sample of @kind,
 * which may be NULL. Frames before it are the sampler's. */
size_t op_frames_kernel_begin(struct op_sampler *sampler, const struct op_kind *kind,
			      const uint64_t *words, size_t len);
/* A runtime's frame of @len words. */
int op_frames_runtime(struct op_sampler *sampler, const struct op_frames_of *of,
		      const uint64_t *words, size_t len, uint32_t *ret);
/* The location in place of the frames that were left out in the middle of a stack. */
int op_frames_left_out(struct op_sampler *sampler, struct op_window *window,
		       uint32_t *ret);
/* The outermost frame of an incomplete stack, which names the reason. *@ret is 0 for a
 * complete one. */
int op_frames_end(struct op_sampler *sampler, struct op_window *window, unsigned int end,
		  uint32_t *ret);

void op_frames_deinit(struct op_frames *f);

#endif
