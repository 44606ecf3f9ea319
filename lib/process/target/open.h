/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files of other processes safely: never outside the process's own root, never a
 * device or a pipe, never a file other than the mapped one. A file that a program or
 * another machine serves is copied to memory, because each read of it may stall.
 */
#ifndef OP_PROCESS_TARGET_OPEN_H
#define OP_PROCESS_TARGET_OPEN_H

#include <stdbool.h>
#include <stdint.h>

struct op_target;

enum {
	/* Larger served files are not read. */
	OP_SERVED_FILE_MAX = 16 << 20,
	OP_FILE_HANDLE_BYTES = 24, /* ext4, xfs: 8 to 12; a longer one is not used */
};

/* The kernel's struct file_handle: an inode with its generation, so never another file. */
struct op_file_handle {
	uint32_t bytes; /* 0: none */
	int32_t type;
	uint8_t byte[OP_FILE_HANDLE_BYTES];
};

/* A mapped file, as described by /proc/PID/maps. */
struct op_mapped_file {
	uint64_t start; /* of the mapping */
	uint64_t end;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	const char *path;
};

/* An opened file, with its attributes at that time. */
struct op_opened {
	int fd;
	uint32_t uid;
	uint64_t dev;
	uint64_t inode;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
	bool served; /* a program or another machine serves it: @fd is a copy in memory */
	/* opened through the mapping, so it is the mapped file; otherwise by a path */
	bool mapped;
	uint64_t
		mount; /* op_target_stat_mapped(): unique number of the mount; 0: unknown */
	/* op_target_open_mapped(): none if the file is not on the disk of our root */
	struct op_file_handle handle;
};

/*
 * Open the regular file mapped in process @pid: through its mapping (needs CAP_SYS_ADMIN
 * or CAP_CHECKPOINT_RESTORE), else by its path below the process's root. If the process
 * has exited, by the same path below our root. Each way counts only if it leads to the
 * same inode. Returns 0 and *@ret, whose descriptor the caller closes, -ESTALE if another
 * file is there, -ENOEXEC if it is not a regular file, -EFBIG past OP_SERVED_FILE_MAX, or
 * -errno.
 */
int op_target_open_mapped(struct op_target *t, uint32_t pid,
			  const struct op_mapped_file *f, struct op_opened *ret);

/*
 * Get the attributes of the file mapped in process @pid without opening it, and without
 * asking a program that serves it. Returns 0 and *@ret without a descriptor, or -errno.
 */
int op_target_stat_mapped(struct op_target *t, uint32_t pid,
			  const struct op_mapped_file *f, struct op_opened *ret);

/* The same of the file @h, which needs no process, mapping or path. Needs
 * CAP_DAC_READ_SEARCH. -ESTALE: the file is gone. */
int op_target_stat_handle(struct op_target *t, const struct op_file_handle *h,
			  struct op_opened *ret);

/* Open the regular file @path below the root of process @pid, following links. -EPERM if
 * its owner is neither @uid nor root. */
int op_target_open_of_owner(struct op_target *t, uint32_t pid, const char *path,
			    uint32_t uid, struct op_opened *ret);

/*
 * Open the regular file @path below the root of process @pid. The last component must not
 * be a link. Also returns -EPERM if its owner is neither the process's user nor root, and
 * -EREMOTE if the file is served.
 */
int op_target_open_own(struct op_target *t, uint32_t pid, const char *path,
		       struct op_opened *ret);

#endif
