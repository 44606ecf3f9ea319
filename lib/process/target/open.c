/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files of other processes, in a task if that can stall, and checks that each is
 * the file that was mapped. */
#include "process/target/open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/macros.h"
#include "process/target/target.h"
#include "process/target/task/syscalls.h"

#ifndef BTRFS_SUPER_MAGIC
#define BTRFS_SUPER_MAGIC 0x9123683E
#endif
#ifndef __NR_openat2
#define __NR_openat2 437
#endif
#define LOOP_MAJOR	   7
#define STATX_MOUNT_UNIQUE 0x4000u /* STATX_MNT_ID_UNIQUE, Linux 6.8 */
#define STATX_WORDS_MOUNT                                                                \
	18 /* place of stx_mnt_id in struct statx, in words of 8 bytes */

enum {
	/* overlayfs may put the layer's number into the bits of an inode number above
	 * these. */
	OVERLAY_INODE_BITS = 32,
};

struct request {
	char mapping[OP_TARGET_PATH_MAX]; /* path of the mapping in map_files, or "" */
	char process[OP_TARGET_PATH_MAX]; /* /proc/PID */
	char root[OP_TARGET_PATH_MAX];	  /* /proc/PID/root */
	char path[OP_TARGET_PATH_MAX];
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	uint32_t uid;
	struct op_opened opened;
};

_Static_assert(sizeof(struct request) <= OP_TASK_DATA_BYTES, "a request fits");

/* ---- in the child task (task/task.h) ---- */

static OP_TASK_CODE long close_with(long fd, long error)
{
	(void)op_syscall(SYS_close, fd);
	return error;
}

/* Other types of file are never opened, because that can block or have side effects. */
static OP_TASK_CODE long reopen_regular(long path_fd)
{
	uint32_t mode;

	return op_task_reopen_regular(path_fd, &mode);
}

/* Is the file of @path_fd (O_PATH) on the disk that it was mapped from? Only attributes
 * cached by the kernel are read, because a server of the file may stall. */
static OP_TASK_CODE bool is_on_disk(const struct request *q, long path_fd)
{
	struct statx st;

	return op_syscall(SYS_statx, path_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
			  STATX_INO, &st) == 0 &&
	       st.stx_dev_major && st.stx_dev_major == q->dev_major &&
	       st.stx_dev_minor == q->dev_minor && st.stx_ino == q->inode;
}

static OP_TASK_CODE bool has_type(const struct statfs *fs, uint32_t type)
{
	return (uint32_t)fs->f_type == type;
}

/* Can another file system get this one's device number after it is unmounted? */
static OP_TASK_CODE bool is_number_reused(const struct request *q)
{
	return !q->dev_major || q->dev_major == LOOP_MAJOR;
}

/* The attributes of @path, or of @fd if that is "". */
static OP_TASK_CODE long take_attributes(struct request *q, long fd, const char *path)
{
	struct op_opened *o = &q->opened;
	union {
		struct statx st;
		uint64_t word[sizeof(struct statx) / sizeof(uint64_t)];
	} u;
	long r = op_syscall(SYS_statx, fd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
			    STATX_BASIC_STATS | STATX_MOUNT_UNIQUE, &u.st);

	if (r < 0)
		return r;
	o->uid = u.st.stx_uid;
	o->dev = gnu_dev_makedev(u.st.stx_dev_major, u.st.stx_dev_minor);
	o->inode = u.st.stx_ino;
	o->size = u.st.stx_size;
	o->mtime_ns =
		u.st.stx_mtime.tv_sec * INT64_C(1000000000) + u.st.stx_mtime.tv_nsec;
	o->ctime_ns =
		u.st.stx_ctime.tv_sec * INT64_C(1000000000) + u.st.stx_ctime.tv_nsec;
	o->mount = u.st.stx_mask & STATX_MOUNT_UNIQUE && is_number_reused(q)
			   ? u.word[STATX_WORDS_MOUNT]
			   : 0;
	return 0;
}

static OP_TASK_CODE int stat_mapped(void *data, int *ret_fd)
{
	struct request *q = data;

	*ret_fd = -1;
	q->opened.fd = -1;
	q->opened.served = false;
	q->opened.mapped = true;
	return (int)take_attributes(q, AT_FDCWD, q->mapping);
}

/* Get the handle of the open file @fd, if it is on the disk of our root. That disk is never
 * unmounted, so its number stays its own. */
static OP_TASK_CODE void take_handle(struct request *q, long fd)
{
	struct op_file_handle *h = &q->opened.handle;
	struct stat root;
	int mount;

	h->bytes = 0;
	if (is_number_reused(q) ||
	    op_syscall(SYS_newfstatat, AT_FDCWD, "/", &root, 0) < 0 ||
	    root.st_dev != q->opened.dev ||
	    root.st_dev != gnu_dev_makedev(q->dev_major, q->dev_minor))
		return;
	h->bytes = sizeof(h->byte);
	if (op_syscall(SYS_name_to_handle_at, fd, "", h, &mount, AT_EMPTY_PATH) < 0)
		h->bytes = 0;
}

static OP_TASK_CODE int stat_handle(void *data, int *ret_fd)
{
	struct request *q = data;
	long root = op_syscall(SYS_openat, AT_FDCWD, "/",
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long fd;

	*ret_fd = -1;
	q->opened.fd = -1;
	q->opened.served = false;
	q->opened.mapped = true;
	if (root < 0)
		return (int)root;
	fd = op_syscall(SYS_open_by_handle_at, root, &q->opened.handle,
			O_PATH | O_CLOEXEC);
	(void)op_syscall(SYS_close, root);
	return fd < 0 ? (int)fd : (int)close_with(fd, take_attributes(q, fd, ""));
}

/* Does @st describe the file that was mapped? btrfs and overlayfs report one device in
 * stat(2) and another in /proc/PID/maps. */
static OP_TASK_CODE bool is_same(const struct request *q, const struct stat *st,
				 const struct statfs *fs)
{
	uint64_t mask = (UINT64_C(1) << OVERLAY_INODE_BITS) - 1;

	if (has_type(fs, OVERLAYFS_SUPER_MAGIC))
		return (st->st_ino & mask) == (q->inode & mask);
	if (st->st_ino != q->inode)
		return false;
	return has_type(fs, BTRFS_SUPER_MAGIC) ||
	       (gnu_dev_major(st->st_dev) == q->dev_major &&
		gnu_dev_minor(st->st_dev) == q->dev_minor);
}

/* Examine the open file @fd and note its attributes. */
static OP_TASK_CODE long take_file(struct request *q, long fd, bool mapped)
{
	struct op_opened *o = &q->opened;
	struct statfs fs;
	struct stat st;
	long r;

	if (fd < 0)
		return fd;
	r = op_syscall(SYS_fstat, fd, &st);
	if (r == 0)
		r = op_syscall(SYS_fstatfs, fd, &fs);
	if (r < 0)
		return close_with(fd, r);
	if (!S_ISREG(st.st_mode))
		return close_with(fd, -ENOEXEC);
	if (mapped && !is_same(q, &st, &fs))
		return close_with(fd, -ESTALE);
	r = take_attributes(q, fd, "");
	if (r < 0)
		return close_with(fd, r);
	o->served = op_task_is_served(&fs);
	take_handle(q, fd);
	return o->served && mapped ? op_task_copy(fd, OP_SERVED_FILE_MAX) : fd;
}

static OP_TASK_CODE long open_below(const char *root, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long dir;

	dir = op_syscall(SYS_openat, AT_FDCWD, root, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir < 0)
		return dir;
	return close_with(dir, op_syscall(__NR_openat2, dir, path, &how, sizeof(how)));
}

static OP_TASK_CODE long open_path(struct request *q, const char *root)
{
	long fd = open_below(root, q->path, O_PATH);

	if (fd < 0)
		return fd;
	fd = take_file(q, reopen_regular(fd), true);
	/* a directory or a device is another file than the mapped one */
	return fd == -ENOEXEC ? -ESTALE : fd;
}

static OP_TASK_CODE int open_mapped(void *data, int *ret_fd)
{
	struct request *q = data;
	long fd;

	fd = op_syscall(SYS_openat, AT_FDCWD, q->mapping, O_PATH | O_CLOEXEC, 0);
	if (fd >= 0)
		fd = take_file(q, reopen_regular(fd), true);
	q->opened.mapped = fd >= 0;
	if (fd < 0 && fd != -ENOEXEC && fd != -EFBIG && q->path[0] == '/') {
		/* if the file was removed, another may have its path: compare the
		 * inode */
		fd = open_path(q, q->root);
		if (fd < 0)
			fd = open_path(q, "/");
	}
	*ret_fd = (int)fd;
	return fd < 0 ? (int)fd : 0;
}

/* The same without any step that can stall: only through the mapping, and only a file on
 * a disk. */
static OP_TASK_CODE int open_on_disk(void *data, int *ret_fd)
{
	struct request *q = data;
	long fd = op_syscall(SYS_openat, AT_FDCWD, q->mapping, O_PATH | O_CLOEXEC, 0);

	if (fd >= 0)
		fd = is_on_disk(q, fd) ? take_file(q, reopen_regular(fd), true)
				       : close_with(fd, -ESTALE);
	q->opened.mapped = true;
	*ret_fd = (int)fd;
	return fd < 0 ? (int)fd : 0;
}

static OP_TASK_CODE int open_own(void *data, int *ret_fd)
{
	struct request *q = data;
	struct stat st;
	long r;
	long fd;

	fd = open_below(q->root, q->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	fd = take_file(q, fd, false);
	if (fd < 0)
		return (int)fd;
	r = op_syscall(SYS_newfstatat, AT_FDCWD, q->process, &st, 0);
	if (r == 0 && q->opened.uid && q->opened.uid != st.st_uid)
		r = -EPERM;
	if (r == 0 && q->opened.served)
		r = -EREMOTE;
	if (r < 0)
		return (int)close_with(fd, r);
	*ret_fd = (int)fd;
	return 0;
}

static OP_TASK_CODE int open_of_owner(void *data, int *ret_fd)
{
	struct request *q = data;
	long fd = open_below(q->root, q->path, O_PATH);

	if (fd >= 0)
		fd = take_file(q, reopen_regular(fd), false);
	if (fd >= 0 && q->opened.uid && q->opened.uid != q->uid)
		fd = close_with(fd, -EPERM);
	if (fd >= 0 && q->opened.served)
		fd = op_task_copy(fd, OP_SERVED_FILE_MAX);
	*ret_fd = (int)fd;
	return fd < 0 ? (int)fd : 0;
}

/* ---- in this process ---- */

static int begin(struct op_target *t, uint32_t pid, enum op_target_by by,
		 const char *path, void **data)
{
	struct request *q;
	int r = op_target_begin(t, pid, by, data);

	if (r < 0)
		return r;
	q = *data;
	if (snprintf(q->process, sizeof(q->process), "%s/%u", t->procfs_root, pid) >=
		    (int)sizeof(q->process) ||
	    snprintf(q->root, sizeof(q->root), "%s/%u/root", t->procfs_root, pid) >=
		    (int)sizeof(q->root) ||
	    snprintf(q->path, sizeof(q->path), "%s", path) >= (int)sizeof(q->path))
		return -ENAMETOOLONG;
	return 0;
}

static int finish(struct op_target *t, uint32_t pid, op_task_fn fn,
		  const struct request *q, struct op_opened *ret)
{
	int fd;
	int r = op_target_run(t, pid, fn, &fd);

	if (r < 0)
		return r;
	if (fd < 0)
		return -EBADF;
	*ret = q->opened;
	ret->fd = fd;
	return 0;
}

/* Begin a call about a mapped file. */
static int begin_mapped(struct op_target *t, uint32_t pid, enum op_target_by by,
			const struct op_mapped_file *f, struct request **ret)
{
	struct request *q;
	void *data;
	int r = begin(t, pid, by, f->path, &data);

	if (r < 0)
		return r;
	q = data;
	if (snprintf(q->mapping, sizeof(q->mapping),
		     "%s/%u/map_files/%" PRIx64 "-%" PRIx64, t->procfs_root, pid,
		     f->start, f->end) >= (int)sizeof(q->mapping))
		return -ENAMETOOLONG;
	q->dev_major = f->dev_major;
	q->dev_minor = f->dev_minor;
	q->inode = f->inode;
	*ret = q;
	return 0;
}

static int open_by(struct op_target *t, uint32_t pid, enum op_target_by by, op_task_fn fn,
		   const struct op_mapped_file *f, struct op_opened *ret)
{
	struct request *q;
	int r = begin_mapped(t, pid, by, f, &q);

	return r < 0 ? r : finish(t, pid, fn, q, ret);
}

int op_target_stat_mapped(struct op_target *t, uint32_t pid,
			  const struct op_mapped_file *f, struct op_opened *ret)
{
	struct request *q;
	int r = begin_mapped(t, pid, op_target_who_locks(t, pid), f, &q);

	if (r == 0)
		r = op_target_run(t, pid, stat_mapped, NULL);
	if (r == 0)
		*ret = q->opened;
	return r;
}

int op_target_stat_handle(struct op_target *t, const struct op_file_handle *h,
			  struct op_opened *ret)
{
	struct request *q;
	void *data;
	int r = t->no_handles ? -EPERM : op_target_begin(t, 0, OP_TARGET_SELF, &data);

	if (r < 0)
		return r;
	q = data;
	q->dev_major = 1; /* of a disk */
	q->opened.handle = *h;
	r = op_target_run(t, 0, stat_handle, NULL);
	if (r == 0)
		*ret = q->opened;
	t->no_handles = r == -EPERM || r == -ENOSYS;
	return r;
}

int op_target_open_mapped(struct op_target *t, uint32_t pid,
			  const struct op_mapped_file *f, struct op_opened *ret)
{
	if (f->dev_major && !op_target_is_served(t) &&
	    open_by(t, pid, op_target_who_locks(t, pid), open_on_disk, f, ret) == 0)
		return 0;
	return open_by(t, pid, OP_TARGET_CHILD, open_mapped, f, ret);
}

int op_target_open_own(struct op_target *t, uint32_t pid, const char *path,
		       struct op_opened *ret)
{
	void *data;
	int r = begin(t, pid, OP_TARGET_CHILD, path, &data);

	return r < 0 ? r : finish(t, pid, open_own, data, ret);
}

int op_target_open_of_owner(struct op_target *t, uint32_t pid, const char *path,
			    uint32_t uid, struct op_opened *ret)
{
	struct request *q;
	void *data;
	int r = begin(t, pid, OP_TARGET_CHILD, path, &data);

	if (r < 0)
		return r;
	q = data;
	q->uid = uid;
	return finish(t, pid, open_of_owner, q, ret);
}
