/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/match_input.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "process/resource/environment.h"
#include "process/target/target.h"

/* The kernel reports a path from our root. For a process with another root (chroot(2))
 * the path from there is the rest. */
static void cut_root(const char *procfs_root, uint32_t pid, char *path)
{
	char link[PATH_MAX];
	char root[PATH_MAX];
	ssize_t n;

	if (snprintf(link, sizeof(link), "%s/%u/root", procfs_root, pid) >=
	    (int)sizeof(link))
		return;
	n = readlink(link, root, sizeof(root) - 1);
	if (n <= 1)
		return;
	root[n] = 0;
	if (strncmp(path, root, (size_t)n) == 0 && path[n] == '/')
		memmove(path, path + n, strlen(path + n) + 1);
}

static int read_path(struct op_match_input *reading, const char *procfs_root,
		     uint32_t pid)
{
	int r = op_exe_path_read(procfs_root, pid, &reading->path);

	if (r == 0)
		cut_root(procfs_root, pid, reading->path);
	return r;
}

static int read_environ(struct op_match_input *reading, struct op_target *target,
			uint32_t pid)
{
	ssize_t len = op_environ_read(target, pid, &reading->environ);

	if (len < 0)
		return len == -ETIMEDOUT ? -EAGAIN : (int)len;
	reading->environ_len = (size_t)len;
	return 0;
}

/* Were both read from the same program? */
static bool same_program(const struct op_stat *a, const struct op_stat *b)
{
	return a->start_ns == b->start_ns && op_stat_same_exec(a, b);
}

static int read_stat(const char *procfs_root, uint32_t pid, struct op_stat *ret)
{
	int r = op_stat_read(procfs_root, pid, ret);

	return r == -ENOENT ? -ESRCH : r;
}

int op_match_input_read(struct op_match_input *reading, struct op_target *target,
			const char *procfs_root, uint32_t pid, bool environ)
{
	struct op_stat before;
	struct op_stat after;
	int r = read_stat(procfs_root, pid, &before);

	if (r == 0)
		r = read_path(reading, procfs_root, pid);
	if (r < 0)
		return r;
	if (environ)
		reading->environ_error = read_environ(reading, target, pid);
	r = read_stat(procfs_root, pid, &after);
	if (r < 0)
		return r;
	reading->stat = after;
	/* During exec the kernel has set the executable, and no stack yet. */
	if (environ && !reading->environ_error && !reading->environ_len &&
	    !after.start_stack)
		reading->environ_error = -EAGAIN;
	return same_program(&before, &after) ? 0 : -EAGAIN;
}

void op_match_input_deinit(struct op_match_input *reading)
{
	free(reading->path);
	free(reading->environ);
}
