/* SPDX-License-Identifier: Apache-2.0 */
/* Opens regular files by paths that others chose, in a task. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "process/target/task/syscalls.h"
#include "process/target/task/task.h"

/* An answer of a disk that sleeps or of a distant server takes less. */
static const uint64_t OPEN_NS = UINT64_C(2000000000);

struct request {
	char path[PATH_MAX];
	uint32_t mode; /* of what is there; 0: unknown */
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

static OP_TASK_CODE int open_regular(void *data, int *ret_fd)
{
	struct request *q = data;
	long fd = op_syscall(SYS_openat, AT_FDCWD, q->path, O_PATH | O_CLOEXEC, 0);

	if (fd >= 0)
		fd = op_task_reopen_regular(fd, &q->mode);
	*ret_fd = (int)fd;
	return fd < 0 ? (int)fd : 0;
}

int op_task_open_regular(struct op_tasks *t, const char *path, uint32_t *ret_mode)
{
	struct request *q;
	size_t len = strlen(path);
	uint32_t mode = 0;
	int fd = -1;
	int r;

	if (len >= sizeof(q->path))
		return -ENAMETOOLONG;
	if (t->killed >= OP_TASK_STALLS_MAX)
		return -ETIMEDOUT;
	q = op_task_data(t);
	if (!q)
		return -EAGAIN;
	memcpy(q->path, path, len + 1);
	q->mode = 0;
	r = op_task_run(t, open_regular, OPEN_NS, &fd);
	if (r != -ETIMEDOUT && r != -EAGAIN)
		mode = q->mode;
	if (ret_mode)
		*ret_mode = mode;
	if (r == -ENOEXEC)
		return S_ISDIR(mode) ? -EISDIR : -ENOTSUP;
	return r < 0 ? r : fd;
}
