/* SPDX-License-Identifier: Apache-2.0 */
#include "target/open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#ifndef BTRFS_SUPER_MAGIC
#define BTRFS_SUPER_MAGIC 0x9123683E
#endif

/* Reopen what @path_fd (O_PATH) stands for, where it is a regular file. Nothing that can
 * block or has side effects is ever opened. */
static int reopen_regular(int path_fd)
{
	char name[64];
	struct stat st;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	return op_open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

static int open_path_below(int root, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : op_fd_move_up(fd);
}

static int open_below(int root, const char *path)
{
	_cleanup_close_ int fd = -1;

	fd = open_path_below(root, path, 0);
	return fd < 0 ? fd : reopen_regular(fd);
}

/* The root directory of a process. */
static int open_root(const char *procfs_root, uint32_t pid)
{
	char name[PATH_MAX];

	if (snprintf(name, sizeof(name), "%s/%u/root", procfs_root, pid) >=
	    (int)sizeof(name))
		return -ENAMETOOLONG;
	return op_open(name, O_PATH | O_DIRECTORY);
}

int op_open_dir_in_root(const char *procfs_root, uint32_t pid, const char *path)
{
	_cleanup_close_ int root = -1;

	root = open_root(procfs_root, pid);
	return root < 0 ? root : open_path_below(root, path, O_DIRECTORY);
}

/*
 * Is the file behind @fd the one that was mapped? btrfs and overlayfs show one device in
 * stat(2) and another in the mapping.
 */
static bool is_same(int fd, const struct op_mapped_file *f)
{
	struct stat st;
	struct statfs fs;

	if (fstat(fd, &st) < 0 || st.st_ino != f->inode)
		return false;
	if (major(st.st_dev) == f->dev_major && minor(st.st_dev) == f->dev_minor)
		return true;
	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == (__typeof__(fs.f_type))BTRFS_SUPER_MAGIC ||
		fs.f_type == (__typeof__(fs.f_type))OVERLAYFS_SUPER_MAGIC);
}

/* The file at @path below @root_fd, if it is @f. Takes @root_fd, which may be -errno. */
static int open_same(int root_fd, const char *path, const struct op_mapped_file *f)
{
	_cleanup_close_ int root = root_fd;
	_cleanup_close_ int fd = -1;

	if (root < 0)
		return root_fd;
	fd = open_below(root, path);
	if (fd >= 0 && !is_same(fd, f))
		return -ESTALE;
	return OP_TAKE_FD(fd);
}

static int open_by_mapping(const char *procfs_root, uint32_t pid,
			   const struct op_mapped_file *f)
{
	_cleanup_close_ int fd = -1;
	char name[PATH_MAX];

	if (snprintf(name, sizeof(name), "%s/%u/map_files/%" PRIx64 "-%" PRIx64,
		     procfs_root, pid, f->start, f->end) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	fd = op_open(name, O_PATH);
	if (fd < 0)
		return fd;
	return reopen_regular(fd);
}

int op_open_mapped(const char *procfs_root, uint32_t pid, const struct op_mapped_file *f)
{
	_cleanup_close_ int fd = -1;

	fd = open_by_mapping(procfs_root, pid, f);
	if (fd >= 0 || fd == -ENOEXEC)
		return OP_TAKE_FD(fd);
	if (f->path[0] != '/')
		return -ENOENT;
	/* A file that was removed may have a successor there: another inode. */
	fd = open_same(open_root(procfs_root, pid), f->path, f);
	if (fd >= 0)
		return OP_TAKE_FD(fd);
	return open_same(op_open("/", O_PATH | O_DIRECTORY), f->path, f);
}
