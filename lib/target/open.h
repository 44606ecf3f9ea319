/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening files of other processes without being led astray: never outside of the process's
 * own root, never a device or a pipe, never another file than the one that was mapped. A file
 * that a program or another machine serves is copied to memory, for each read of it may
 * stall.
 */
#ifndef OP_TARGET_OPEN_H
#define OP_TARGET_OPEN_H

#include <stdbool.h>
#include <stdint.h>

struct op_target;

enum {
	/* A served file that is larger is not read. */
	OP_SERVED_FILE_MAX = 16 << 20,
};

/* A mapped file, as the kernel told of it. */
struct op_mapped_file {
	uint64_t start; /* of the mapping */
	uint64_t end;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	const char *path;
};

/* A file that was opened, as it was then. */
struct op_opened {
	int fd;
	uint32_t uid;
	uint64_t dev;
	uint64_t inode;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
	bool served; /* by a program or another machine: @fd is a copy in memory */
};

/*
 * Open the regular file mapped in process @pid: by its mapping (needs CAP_SYS_ADMIN or
 * CAP_CHECKPOINT_RESTORE), else by its path below the process's root, else, for a process
 * that is gone, by the same path below ours; in each way only where it is the same inode.
 * Returns 0 and *@ret, whose descriptor the caller closes; -ESTALE where another file is
 * there; -ENOEXEC for what is no regular file; -EFBIG past OP_SERVED_FILE_MAX; -errno.
 */
int op_open_mapped(struct op_target *t, uint32_t pid, const struct op_mapped_file *f,
		   struct op_opened *ret);

/*
 * Open the regular file @path below the root of process @pid, through links too, where its
 * owner is @uid or root; -EPERM otherwise.
 */
int op_open_of_owner(struct op_target *t, uint32_t pid, const char *path, uint32_t uid,
		     struct op_opened *ret);

/*
 * Open the regular file @path below the root of process @pid; its last component is no
 * link. As above; -EPERM where its owner is neither the process's user nor root, -EREMOTE
 * where it is served.
 */
int op_open_own(struct op_target *t, uint32_t pid, const char *path,
		struct op_opened *ret);

#endif
