/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening files of other processes without being led astray: never outside of the
 * process's own root, never a device or a pipe.
 */
#ifndef OP_TARGET_OPEN_H
#define OP_TARGET_OPEN_H

#include <stdint.h>

/* A mapped file, as the kernel told of it. */
struct op_mapped_file {
	uint64_t start; /* of the mapping */
	uint64_t end;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	const char *path;
};

/*
 * Open the regular file mapped in process @pid: by its mapping (needs CAP_SYS_ADMIN or
 * CAP_CHECKPOINT_RESTORE), else by its path below the process's root, else, for a process
 * that is gone, by the same path below ours; by path only where it is the same inode.
 * Returns a descriptor or -errno.
 */
int op_open_mapped(const char *procfs_root, uint32_t pid, const struct op_mapped_file *f);

/* The directory @path below the process's root, as O_PATH. Returns a descriptor or -errno. */
int op_open_dir_in_root(const char *procfs_root, uint32_t pid, const char *path);

#endif
