/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable files as mappings name them: by device and inode. Counted by the mappings;
 * one that nobody maps is kept a while, since the next process is likely to run the same
 * file. While a file is mapped its inode is not given to another; one that comes back
 * after nobody mapped it may be another file, and is compared when it is next needed.
 */
#ifndef OP_IMAGE_EXECUTABLE_H
#define OP_IMAGE_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "image/image.h"

struct op_opened;
struct op_target;

enum {
	OP_EXECUTABLE_BUCKETS = 2048,
	OP_EXECUTABLES_IDLE_MAX = 256, /* nobody maps them; more are forgotten */
	OP_EXECUTABLES_MAX = 65536,    /* more are walked as memory without a file */
};

enum op_executable_state {
	OP_EXECUTABLE_NEW = 0,	 /* not opened yet, or could not be */
	OP_EXECUTABLE_READY = 1, /* has an image */
	/* No ELF file of this machine. Where a runtime knows it, it has an image. */
	OP_EXECUTABLE_FOREIGN = 2,
};

struct op_executable {
	TAILQ_ENTRY(op_executable) idle;
	struct op_executable *next; /* of the bucket */
	uint32_t refs;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t state; /* enum op_executable_state */
	uint64_t inode;
	char *path;
	struct op_image *image;
	struct op_file_stamp stamp;
	bool check; /* compare the stamp before use */
	bool vdso;
	uint32_t failures;
	uint64_t retry_ns; /* could not be opened: not before */
	uint32_t noted;	   /* in which round of op_executables.news */
	uint32_t
		context_misses; /* of its processes, in a row, without a process context */
};

TAILQ_HEAD(op_executable_list, op_executable);

/* Where a mapping of the file can be found, to open it. */
struct op_executable_place {
	uint32_t pid; /* or a thread of it */
	uint64_t start;
	uint64_t end;
	bool gone; /* the process runs no more: that it fails says nothing of the file */
};

struct op_executable_new {
	struct op_executable *exe; /* a reference */
	struct op_executable_place place;
};

/* Files that were mapped for the first time, for who wants to look into each (news.h). */
struct op_executable_news {
	uint32_t round;	 /* 0: nobody does */
	uint32_t rounds; /* that there were */
	OP_VEC(struct op_executable_new) queue;
	size_t taken;  /* of the queue */
	uint64_t lost; /* there was no room */
};

struct op_executables {
	struct op_executable_news news;
	struct op_images images;
	struct op_target *target; /* borrowed */
	struct op_arena *arena;
	struct op_executable *buckets[OP_EXECUTABLE_BUCKETS];
	struct op_executable_list idle; /* longest idle first */
	struct op_executable *vdso;
	size_t len;
	size_t idle_len;
	uint64_t now_ns;
	uint64_t open_failed;
	uint64_t refused; /* OP_EXECUTABLES_MAX */
};

/* The file, new or known; *@ret is a reference. 0, -ENOMEM, -ENFILE at the limit. */
int op_executable_get(struct op_executables *x, uint32_t dev_major, uint32_t dev_minor,
		      uint64_t inode, const char *path, struct op_executable **ret);
/* The kernel's vDSO; as above. */
int op_executable_get_vdso(struct op_executables *x, struct op_executable **ret);
struct op_executable *op_executable_ref(struct op_executable *e);
void op_executable_put(struct op_executables *x, struct op_executable *e);

/*
 * Open it where that was not done: after it e->image is there. With @need_file the image's
 * file is open, too. Returns 0; -ENOEXEC, -ENOTSUP for what is no ELF file of this
 * machine; -EAGAIN where it failed a while ago; -errno.
 */
int op_executable_open(struct op_executables *x, struct op_executable *e,
		       const struct op_executable_place *place, bool need_file);

/* Open the file of @e as it is mapped at @place, as op_open_mapped() of target/open.h. */
int op_executable_open_mapped(struct op_target *t, const struct op_executable *e,
			      const struct op_executable_place *place,
			      struct op_opened *ret);

void op_executables_init(struct op_executables *x);
/* Forget all; nobody holds one. */
void op_executables_deinit(struct op_executables *x);

#endif
