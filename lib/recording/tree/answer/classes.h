/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose code a frame is: that of the person who reads the report, or what it runs on. Frames are
 * told apart by their type, and by the names of modules, source files and functions.
 */
#ifndef OP_RECORDING_TREE_ANSWER_CLASSES_H
#define OP_RECORDING_TREE_ANSWER_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "export/format/collect.h"

/* The order is that in which a stack is charged. */
enum frame_class {
	CLASS_OWN,     /* a program's own code */
	CLASS_LIBRARY, /* code of others that a program chose */
	CLASS_UNNAMED, /* of one of these, without symbols; or a stub that calls another file */
	CLASS_LANGUAGE, /* a language's standard library, where it is in that language */
	CLASS_RUNTIME,	/* interpreter, virtual machine, garbage collector */
	CLASS_LIBC,	/* C library, C++ library, allocator */
	CLASS_KERNEL,
	CLASS_NONE, /* no function: where a stack ends early, or this profiler's own */
};

/* Does a report call it "your code", and not what that runs on? */
static inline bool frame_class_is_own(enum frame_class of)
{
	return of <= CLASS_UNNAMED;
}

enum frame_class frame_class_of(const struct op_collect *c, uint32_t function);

#endif
