/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies frames: the reader's own code, or code on which it runs. The class depends
 * on the type of the frame, and on the names of modules, source files and functions.
 */
#ifndef OP_EXPORT_FORMAT_COLLECT_CLASSES_H
#define OP_EXPORT_FORMAT_COLLECT_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/format/collect/collect.h"

/* In the order in which stacks are charged. */
enum op_frame_class {
	OP_CLASS_OWN,	   /* a program's own code */
	OP_CLASS_LIBRARY,  /* libraries that a program chose */
	OP_CLASS_UNNAMED,  /* of a library without symbols; or a stub for another file */
	OP_CLASS_LANGUAGE, /* a standard library in the language itself */
	OP_CLASS_RUNTIME,  /* interpreter, virtual machine, garbage collector */
	OP_CLASS_LIBC,	   /* C library, C++ library, allocator */
	OP_CLASS_KERNEL,
	OP_CLASS_NONE, /* the end of an incomplete stack, or a frame of this profiler */
};

/* Does a report call it "your code"? */
static inline bool op_frame_class_is_own(enum op_frame_class of)
{
	return of <= OP_CLASS_UNNAMED;
}

/* Is it a BPF program of this profiler? */
bool op_frame_is_ours(const char *name, size_t len);
/* Is @name an address in place of a name? */
bool op_frame_is_unnamed(const char *name, size_t len);

enum op_frame_class op_frame_class_of(const struct op_collect *c, uint32_t function);

#endif
