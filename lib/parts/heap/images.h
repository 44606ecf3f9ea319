/* SPDX-License-Identifier: Apache-2.0 */
/* Files that have the probes of allocations, and the programs attached to them. */
#ifndef OP_PARTS_HEAP_IMAGES_H
#define OP_PARTS_HEAP_IMAGES_H

#include "base/vec.h"
#include "kernel/capture.h"
#include "parts/probes/spec.h"
#include "process/image/new_files.h"

enum {
	OP_HEAP_IMAGES_MAX = 64,
	/* programs, which differ in the places of their arguments */
	OP_HEAP_PROGRAMS_MAX = 32,
};

/* The programs in the kernel, one for each set of places of arguments. */
struct op_heap_program {
	bool is_free;
	struct op_argument argument[OP_ARGUMENTS_MAX];
	int fd;
};

/*
 * Which file it is in the kernel, whose probes go by that. Mappings name an overlay's inode
 * and device, which differ in each container, though the file is one: of a file on an
 * overlay, the device is left out, and so are the inode's bits for the layer.
 */
struct op_heap_file {
	bool overlay;
	uint64_t dev; /* 0 if it is on an overlay */
	uint64_t inode;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

struct op_heap_image {
	struct op_heap_file file;
	bool stays; /* attached whether or not a process maps the file */
	OP_VEC(struct op_executable *) exes; /* references: mappings name it so */
	int fd[2 * OP_PROBE_SITES_MAX];	     /* attachments, or -1 */
};

struct op_heap_images {
	struct op_log *log;
	struct op_capture *capture;
	struct op_executables *executables;
	const char *sysfs_root;
	struct op_capture_heap maps;
	struct op_heap_program program[OP_HEAP_PROGRAMS_MAX];
	size_t programs_len;
	struct op_heap_image image[OP_HEAP_IMAGES_MAX];
	size_t len;
	uint64_t refused; /* files beyond OP_HEAP_IMAGES_MAX */
};

void op_heap_images_init(struct op_heap_images *x);
/* Load the programs for the arguments of libotelprof-heap, which takes the kernel some tens of
 * milliseconds: no file with its probes needs another one. Without them a file loads its own. */
void op_heap_images_prepare(struct op_heap_images *x);
/* Detach from all files and unload the programs; the maps stay. */
void op_heap_images_clear(struct op_heap_images *x);
void op_heap_images_deinit(struct op_heap_images *x);

/*
 * Attach to the file @fd if it has the probes; takes ownership of @fd. @exe: NULL to stay
 * attached whether or not a process maps the file. Returns 1: attached; 0: it has no
 * probes, or it is one that is attached already; or -errno.
 */
int op_heap_images_add(struct op_heap_images *x, struct op_executable *exe, int fd);
/* Detach from files that no process maps any more. */
void op_heap_images_trim(struct op_heap_images *x);

#endif
