/* SPDX-License-Identifier: Apache-2.0 */
/* Opens regular files by paths that others chose, in a task. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/macros.h"
#include "process/target/task/syscalls.h"
#include "process/target/task/task.h"

/* An answer of a disk that sleeps or of a distant server takes less. */
static const uint64_t OPEN_NS = UINT64_C(2000000000);

enum {
	COPY_BYTES = 1 << 20,
	/* Larger served files are not read. */
	COPY_MAX = 256 << 20,
	COPY_SEALS = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW,
};

struct request {
	char path[PATH_MAX];
	uint32_t mode; /* of what is there; 0: unknown */
	enum op_task_served served;
};

static OP_TASK_CODE long close_with(long fd, long error)
{
	(void)op_syscall(SYS_close, fd);
	return error;
}

OP_TASK_CODE long op_task_reopen_regular(long path_fd, uint32_t *ret_mode)
{
	char name[32] = "/proc/self/fd/";
	char digits[16];
	size_t at = sizeof("/proc/self/fd/") - 1;
	size_t n = 0;
	struct stat st;
	long fd = op_syscall(SYS_fstat, path_fd, &st);
	long left;

	if (fd < 0)
		return close_with(path_fd, fd);
	*ret_mode = st.st_mode;
	if (!S_ISREG(st.st_mode))
		return close_with(path_fd, -ENOEXEC);
	for (left = path_fd; left || !n; left /= 10)
		digits[n++] = (char)('0' + left % 10);
	while (n)
		name[at++] = digits[--n];
	name[at] = 0;
	fd = op_syscall(SYS_openat, AT_FDCWD, name,
			O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	return close_with(path_fd, fd);
}

OP_TASK_CODE bool op_task_is_served(const struct statfs *fs)
{
	static const uint32_t types[] = {
		0x65735546, /* FUSE */
		0x6969,	    /* NFS */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB 2 */
		0x01021997, /* 9p */
		0x00c36400, /* Ceph */
		0x5346414f, /* AFS */
		0x73757245, /* Coda */
	};
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(types); i++)
		if ((uint32_t)fs->f_type == types[i])
			return true;
	return false;
}

/* sendfile(2) copies without a buffer of ours. */
static OP_TASK_CODE long copy_bytes(long copy, long fd, uint64_t size)
{
	uint64_t done = 0;
	long n = 1;

	while (done < size && n > 0) {
		n = op_syscall(SYS_sendfile, copy, fd, NULL,
			       OP_MIN(size - done, (uint64_t)COPY_BYTES));
		if (n > 0)
			done += (uint64_t)n;
	}
	return n < 0 ? n : 0;
}

OP_TASK_CODE long op_task_copy(long fd, uint64_t max)
{
	struct timespec times[2];
	struct stat st;
	long r = op_syscall(SYS_fstat, fd, &st);
	long copy;

	if (r < 0)
		return close_with(fd, r);
	if ((uint64_t)st.st_size > max)
		return close_with(fd, -EFBIG);
	copy = op_syscall(SYS_memfd_create, "otelprof-copy",
			  MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy < 0)
		return close_with(fd, copy);
	r = copy_bytes(copy, fd, (uint64_t)st.st_size);
	if (r < 0)
		return close_with(fd, close_with(copy, r));
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	(void)op_syscall(SYS_utimensat, copy, NULL, times, 0);
	(void)op_syscall(SYS_fchmod, copy, st.st_mode & ACCESSPERMS);
	(void)op_syscall(SYS_fchown, copy, st.st_uid, st.st_gid);
	(void)op_syscall(SYS_fcntl, copy, F_ADD_SEALS, COPY_SEALS);
	return close_with(fd, copy);
}

bool op_task_is_copy(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & COPY_SEALS) == COPY_SEALS;
}

/* Do with the file @fd what is wanted if it is served. */
static OP_TASK_CODE long take_served(long fd, enum op_task_served how)
{
	struct statfs fs;
	long r;

	if (fd < 0 || how == OP_TASK_SERVED_OPEN)
		return fd;
	r = op_syscall(SYS_fstatfs, fd, &fs);
	if (r == 0 && !op_task_is_served(&fs))
		return fd;
	if (r == 0 && how == OP_TASK_SERVED_COPY)
		return op_task_copy(fd, COPY_MAX);
	return close_with(fd, r < 0 ? r : -EREMOTE);
}

static OP_TASK_CODE int open_regular(void *data, int *ret_fd)
{
	struct request *q = data;
	long fd = op_syscall(SYS_openat, AT_FDCWD, q->path, O_PATH | O_CLOEXEC, 0);

	if (fd >= 0)
		fd = take_served(op_task_reopen_regular(fd, &q->mode), q->served);
	*ret_fd = (int)fd;
	return fd < 0 ? (int)fd : 0;
}

static int run(struct op_tasks *t, const char *path, enum op_task_served how,
	       uint64_t deadline_ns, uint32_t *ret_mode, int *ret_fd)
{
	struct request *q = op_task_data(t);
	int r;

	if (!q)
		return -EAGAIN;
	memcpy(q->path, path, strlen(path) + 1);
	q->mode = 0;
	q->served = how;
	r = op_task_run(t, open_regular, deadline_ns, ret_fd);
	*ret_mode = r == -ETIMEDOUT || r == -EAGAIN ? 0 : q->mode;
	return r;
}

int op_task_open_regular(struct op_tasks *t, const char *path, enum op_task_served how,
			 uint32_t *ret_mode)
{
	enum op_task_served first = OP_MIN(how, OP_TASK_SERVED_REFUSE);
	uint32_t mode = 0;
	int fd = -1;
	int r;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (t->killed >= OP_TASK_STALLS_MAX)
		return -ETIMEDOUT;
	r = run(t, path, first, OPEN_NS, &mode, &fd);
	if (r == -EREMOTE && how == OP_TASK_SERVED_COPY &&
	    t->copied_ns < OP_TASK_COPIES_NS) {
		r = run(t, path, how, OP_TASK_COPIES_NS - t->copied_ns, &mode, &fd);
		t->copied_ns += t->spent_ns;
	}
	if (ret_mode)
		*ret_mode = mode;
	if (r == -ENOEXEC)
		return S_ISDIR(mode) ? -EISDIR : -ENOTSUP;
	return r < 0 ? r : fd;
}
