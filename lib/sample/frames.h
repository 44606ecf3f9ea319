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

struct op_attribute_set;
struct op_kind;
struct op_location;
struct op_mapping;
struct op_mappings;
struct op_program;
struct op_runtime_frame;
struct op_sampler;
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

/* Parts of locations that frames of the kernel, of files and of generated code share. */

/* Values of the attribute "guessed": the frame was guessed; its caller may be missing
 * or wrong. */
#define OP_FRAMES_GUESSED	 "true"
#define OP_FRAMES_GUESSED_CALLER "caller"

/* Add an attribute, unless @value is empty. Returns 0, -ENOMEM or -ENOSPC. */
int op_frames_attribute(struct op_window *window, const char *key, const char *value,
			struct op_attribute_set *set);
/* The attributes of a location with frames of @type. Returns 0, -ENOMEM or -ENOSPC. */
int op_frames_type(struct op_sampler *sampler, struct op_window *window,
		   enum op_frame_type type, struct op_attribute_set *ret);
/* The number of a function in @window; NULL and "" mean that a string is absent. Returns
 * 0, -ENOMEM or -ENOSPC. */
int op_frames_function(struct op_window *window, const char *name,
		       const char *system_name, const char *file, uint32_t start_line,
		       uint32_t *ret);
/* Set the functions of @frame, innermost first, as the lines of @location. Returns as
 * above. */
int op_frames_functions(struct op_window *window, const struct op_runtime_frame *frame,
			struct op_location *location);
/* Make a location without a mapping that is named @name. @guess: value of the attribute
 * "guessed", or NULL. Returns as above. */
int op_frames_nameless(struct op_sampler *sampler, struct op_window *window,
		       uint64_t address, const char *name, const char *guess,
		       uint32_t *ret);
/* The part of a key for the window's epoch, at an address without a name. Names may
 * come late, for example from a program that buffers its perf map or a file that could
 * not be opened, so they are looked up four times a second. */
uint64_t op_frames_nameless_epoch(const struct op_sampler *sampler, uint64_t epoch);
/*
 * Make the location of generated code, in memory without a file (@file: NULL) or in a
 * file that is not executable. The process's runtimes or perf map may describe it.
 * Returns as op_frames_native().
 */
int op_frames_made(struct op_sampler *sampler, const struct op_frames_of *of,
		   const struct op_mapping *v, const char *file, uint64_t addr,
		   bool guessed, uint32_t *ret);

#endif
