/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads text of /proc whose reading can stall: environ and cmdline are pages of the
 * process, and maps needs its memory lock, which a page fault that never ends may hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/target/maps.h"
#include "process/target/target.h"
#include "process/target/task/stat.h"
#include "process/target/task/syscalls.h"

enum {
	PIECE_BYTES = OP_VIEW_BYTES_MAX,
	SHOWN_BYTES_MAX = 8 << 20, /* Linux allows 6 MiB of arguments and environment */
};

/* A file that is read piece by piece. @fd is a descriptor of the task, -1 before the
 * first piece. */
struct piece {
	char path[OP_TARGET_PATH_MAX];
	int fd;
	int keep;  /* number for fd in the task; -1: any, in our own thread */
	bool last; /* close the file after this piece */
	size_t len;
	char bytes[PIECE_BYTES];
};

_Static_assert(sizeof(struct piece) <= OP_TASK_DATA_BYTES, "a request fits");

static OP_TASK_CODE int read_piece(void *data, int *ret_fd)
{
	struct piece *p = data;
	size_t done = 0;
	long n = 1;

	if (p->fd < 0) {
		n = op_syscall(SYS_openat, AT_FDCWD, p->path,
			       O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
		if (n < 0)
			return (int)n;
		p->fd = (int)n;
		n = 1;
		if (p->keep >= 0 && p->fd != p->keep) {
			(void)op_syscall(SYS_dup3, p->fd, p->keep, O_CLOEXEC);
			(void)op_syscall(SYS_close, p->fd);
			p->fd = p->keep;
		}
	}
	while (done < p->len && n > 0) {
		n = op_syscall(SYS_read, p->fd, p->bytes + done, p->len - done);
		if (n == -EINTR) {
			n = 1;
			continue;
		}
		if (n > 0)
			done += (size_t)n;
	}
	if (n <= 0 || p->last) {
		(void)op_syscall(SYS_close, p->fd);
		p->fd = -1;
	}
	p->len = done;
	return n < 0 ? (int)n : 0;
}

/* Read the next piece of at most @len bytes; *@fd and *@killed keep the position between
 * calls. */
static int next_piece(struct op_target *t, uint32_t pid, enum op_target_by by,
		      const char *name, size_t len, bool last, int *fd, uint64_t *killed,
		      struct piece **ret)
{
	struct piece *p;
	void *data;
	int r = op_target_begin(t, pid, by, &data);

	if (r < 0)
		return r;
	/* The task that had the file open is gone. */
	if (*fd >= 0 && *killed != t->tasks.killed)
		return -EAGAIN;
	*killed = t->tasks.killed;
	p = data;
	if (snprintf(p->path, sizeof(p->path), "%s/%u/%s", t->procfs_root, pid, name) >=
	    (int)sizeof(p->path))
		return -ENAMETOOLONG;
	p->fd = *fd;
	p->keep = by == OP_TARGET_SELF || t->tasks.direct ? -1 : 0;
	p->last = last;
	p->len = OP_MIN(len, (size_t)PIECE_BYTES);
	r = op_target_run(t, pid, read_piece, NULL);
	if (r < 0)
		return r;
	*fd = p->fd;
	*ret = p;
	return 0;
}

/* Are the pages that hold the text of environ and cmdline in memory? */
static bool is_there(struct op_target *t, uint32_t pid, size_t limit)
{
	_cleanup_close_ int fd = -1;
	/* start and end of the arguments, start and end of the environment */
	uint64_t numbers[4];
	struct op_view view = { .memory = -1 };
	char path[OP_TARGET_PATH_MAX];
	uint64_t at;
	uint64_t end;

	if (snprintf(path, sizeof(path), "%s/%u/pagemap", t->procfs_root, pid) >=
	    (int)sizeof(path))
		return false;
	view.pagemap = fd = op_open(path, O_RDONLY);
	if (fd < 0)
		return false;
	(void)snprintf(path, sizeof(path), "%s/%u/stat", t->procfs_root, pid);
	op_task_stat_numbers(path, OP_STAT_ARGUMENTS_FIELD, numbers,
			     OP_ARRAY_SIZE(numbers));
	/* A process title longer than the arguments continues in the environment. */
	if (!numbers[0] || numbers[0] > numbers[2] || numbers[2] > numbers[3])
		return false;
	end = OP_MIN(numbers[3], numbers[2] + limit);
	if (end - numbers[0] > SHOWN_BYTES_MAX)
		return false;
	for (at = numbers[0]; at < end; at += PIECE_BYTES)
		if (!op_view_is_there(&view, at,
				      (size_t)OP_MIN(end - at, (uint64_t)PIECE_BYTES)))
			return false;
	return true;
}

static enum op_target_by who_reads(struct op_target *t, uint32_t pid, const char *name,
				   size_t limit)
{
	if (op_target_is_served(t))
		return OP_TARGET_CHILD;
	if (strcmp(name, "maps") != 0 && !is_there(t, pid, limit))
		return OP_TARGET_CHILD;
	return OP_TARGET_SELF;
}

ssize_t op_target_read_proc(struct op_target *t, uint32_t pid, const char *name,
			    size_t limit, char **ret)
{
	_cleanup_free_ char *buf = NULL;
	uint64_t killed = 0;
	enum op_target_by by = who_reads(t, pid, name, limit);
	size_t len = 0;
	int fd = -1;

	do {
		size_t want = OP_MIN(limit - len, (size_t)PIECE_BYTES);
		struct piece *p;
		char *grown;
		int r;

		r = next_piece(t, pid, by, name, want, want == limit - len, &fd, &killed,
			       &p);
		if (r < 0)
			return r;
		grown = realloc(buf, len + p->len + 1);
		if (!grown)
			return -ENOMEM;
		buf = grown;
		memcpy(buf + len, p->bytes, p->len);
		len += p->len;
	} while (fd >= 0 && len < limit);
	buf[len] = 0;
	*ret = OP_TAKE_PTR(buf);
	return (ssize_t)len;
}

int op_target_each_line(struct op_target *t, uint32_t pid, op_maps_line_fn fn, void *ctx)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len = op_target_read_proc(t, pid, "maps", OP_MAPS_BYTES_MAX, &text);

	return len < 0 ? (int)len : op_maps_lines_of(text, (size_t)len, fn, ctx);
}

int op_target_executables(struct op_target *t, uint32_t pid, op_maps_fn fn, void *ctx)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len = op_target_read_proc(t, pid, "maps", OP_MAPS_BYTES_MAX, &text);

	return len < 0 ? (int)len : op_maps_executables_of(text, (size_t)len, fn, ctx);
}
