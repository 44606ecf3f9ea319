/* SPDX-License-Identifier: Apache-2.0 */
/* Parses /proc/PID/exe, stat, status and cmdline. */
#include "process/resource/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/target/target.h"

enum {
	READ_FIRST = 4096,
	STAT_MAX = 4096,
	STATUS_MAX = 65536,
	/* Numbers of fields as in proc(5), counted from 1. */
	STAT_STATE_FIELD = 3, /* the first field after the command name */
	STAT_START_FIELD = 22,
	STAT_END_CODE_FIELD = 27,
	STAT_START_STACK_FIELD = 28,
};

ssize_t op_procfs_read(const char *procfs_root, uint32_t pid, const char *name,
		       size_t limit, char **ret)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *buf = NULL;
	char path[PATH_MAX];
	size_t cap = READ_FIRST;
	size_t len = 0;

	if (snprintf(path, sizeof(path), "%s/%u/%s", procfs_root, pid, name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = op_open(path, O_RDONLY);
	if (fd < 0)
		return fd;
	for (;;) {
		char *grown = realloc(buf, OP_MIN(cap, limit) + 1);
		ssize_t n;

		if (!grown)
			return -ENOMEM;
		buf = grown;
		n = op_pread_full(fd, buf + len, OP_MIN(cap, limit) - len, len);
		if (n < 0)
			return n;
		len += (size_t)n;
		if (len < cap || cap >= limit)
			break;
		cap *= 4;
	}
	buf[len] = 0;
	*ret = OP_TAKE_PTR(buf);
	return (ssize_t)len;
}

int op_exe_path_read(const char *procfs_root, uint32_t pid, char **ret)
{
	static const char deleted[] = " (deleted)";
	char link[PATH_MAX];
	char path[PATH_MAX];
	size_t tail = sizeof(deleted) - 1;
	ssize_t n;
	char *copy;

	if (snprintf(link, sizeof(link), "%s/%u/exe", procfs_root, pid) >=
	    (int)sizeof(link))
		return -ENAMETOOLONG;
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = 0;
	if ((size_t)n > tail && strcmp(path + n - tail, deleted) == 0)
		path[(size_t)n - tail] = 0;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

/* Parse the decimal number at *@pos, up to a blank or the end. */
static bool stat_number(const char **pos, const char *end, uint64_t *ret)
{
	const char *p = *pos;
	uint64_t n = 0;

	if (p == end || *p < '0' || *p > '9')
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (op_mul_overflow(n, UINT64_C(10), &n) ||
		    op_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return false;
	*pos = p;
	*ret = n;
	return true;
}

int op_stat_of(const char *text, size_t len, uint64_t ticks_per_second,
	       struct op_stat *ret)
{
	/* the command name may contain anything, even ')': the last one ends it */
	const char *pos = memrchr(text, ')', len);
	const char *end = text + len;
	struct op_stat stat = { 0 };
	uint64_t ticks;
	uint64_t ns = 0;
	int field;

	if (!pos || !ticks_per_second)
		return -EBADMSG;
	for (field = STAT_STATE_FIELD; field <= STAT_START_STACK_FIELD; field++) {
		pos = memchr(pos, ' ', (size_t)(end - pos));
		if (!pos)
			break;
		pos++;
		if (field == STAT_START_FIELD &&
		    (!stat_number(&pos, end, &ticks) ||
		     op_mul_overflow(ticks, UINT64_C(1000000000), &ns)))
			return -EBADMSG;
		if (field == STAT_END_CODE_FIELD &&
		    !stat_number(&pos, end, &stat.end_code))
			stat.end_code = 0;
	}
	if (field <= STAT_START_FIELD)
		return -EBADMSG;
	stat.start_ns = ns / ticks_per_second;
	if (pos && !stat_number(&pos, end, &stat.start_stack))
		stat.start_stack = 0;
	*ret = stat;
	return 0;
}

int op_stat_read(const char *procfs_root, uint32_t pid, struct op_stat *ret)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len = op_procfs_read(procfs_root, pid, "stat", STAT_MAX, &text);
	long ticks = sysconf(_SC_CLK_TCK);

	if (len < 0)
		return (int)len;
	return op_stat_of(text, (size_t)len, ticks > 0 ? (uint64_t)ticks : 0, ret);
}

ssize_t op_command_line_read(struct op_target *t, uint32_t pid, char **ret)
{
	ssize_t len = op_target_read_proc(t, pid, "cmdline", OP_COMMAND_LINE_MAX, ret);

	while (len > 0 && !(*ret)[len - 1])
		len--;
	return len;
}

/* The numbers of a line. Returns how many there are, with the first and the last one. */
static size_t status_numbers(const char *text, const char *name, uint32_t *ret_first,
			     uint32_t *ret_last)
{
	const char *line = strstr(text, name);
	size_t count = 0;

	if (!line)
		return 0;
	for (line += strlen(name);; count++) {
		unsigned long n;
		char *end;

		line += strspn(line, " \t");
		if (*line < '0' || *line > '9')
			return count;
		n = strtoul(line, &end, 10);
		line = end;
		if (n > UINT32_MAX)
			return count;
		if (!count)
			*ret_first = (uint32_t)n;
		*ret_last = (uint32_t)n;
	}
}

int op_status_read(const char *procfs_root, uint32_t pid, struct op_status *ret)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len = op_procfs_read(procfs_root, pid, "status", STATUS_MAX, &text);
	uint32_t other;

	*ret = (struct op_status){ .namespace_pid = pid };
	if (len < 0)
		return (int)len;
	/* One number for each namespace, the innermost last; the real user first. */
	(void)status_numbers(text, "\nNSpid:", &other, &ret->namespace_pid);
	ret->user_known = status_numbers(text, "\nUid:", &ret->user, &other) > 0;
	return 0;
}

uint32_t op_namespace_pid_read(const char *procfs_root, uint32_t pid)
{
	struct op_status status;

	(void)op_status_read(procfs_root, pid, &status);
	return status.namespace_pid;
}
