/* SPDX-License-Identifier: Apache-2.0 */
#include "process/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "process/state.h"

enum {
	LEADER_THREADS_MAX = 64, /* threads tried where the leader is gone */
};

/* A directory's name as a number, or 0. */
static uint32_t number_of(const char *name)
{
	uint64_t n = 0;

	for (; *name; name++) {
		if (*name < '0' || *name > '9')
			return 0;
		n = n * 10 + (uint64_t)(*name - '0');
		if (n > INT_MAX)
			return 0;
	}
	return (uint32_t)n;
}

static int each_number(const char *path, int (*fn)(void *ctx, uint32_t n), void *ctx)
{
	_cleanup_close_ int fd = -1;
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;

	fd = op_open(path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	fd = -1;
	while ((entry = readdir(dir))) {
		uint32_t n = number_of(entry->d_name);
		int r = n ? fn(ctx, n) : 0;

		if (r)
			return r;
	}
	return 0;
}

bool op_scan_exists(const struct op_processes *p, uint32_t pid)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%u", p->procfs_root, pid);
	return access(path, F_OK) == 0;
}

struct threads {
	const struct op_processes *p;
	struct op_program *program;
	op_maps_fn fn;
	void *ctx;
	int tried;
};

static int read_maps(const struct op_processes *p, uint32_t pid, op_maps_fn fn, void *ctx)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%u/maps", p->procfs_root, pid) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	return op_maps_read(path, fn, ctx);
}

/* A thread whose maps can be read, though it is not listed in /proc, stands for all. */
static int try_thread(void *ctx, uint32_t tid)
{
	struct threads *t = ctx;
	int r;

	if (tid == t->program->pid)
		return 0;
	if (++t->tried > LEADER_THREADS_MAX)
		return -ESRCH;
	r = read_maps(t->p, tid, t->fn, t->ctx);
	if (r <= 0)
		return 0;
	t->program->proc_pid = tid;
	t->program->memory.pid = (int)tid;
	return r;
}

int op_scan_maps(const struct op_processes *p, struct op_program *program, op_maps_fn fn,
		 void *ctx)
{
	struct threads t = { .p = p, .program = program, .fn = fn, .ctx = ctx };
	char path[PATH_MAX];
	int r;

	r = read_maps(p, program->proc_pid, fn, ctx);
	if (r)
		return r;
	(void)snprintf(path, sizeof(path), "%s/%u/task", p->procfs_root, program->pid);
	r = each_number(path, try_thread, &t);
	return r > 0 ? r : 0;
}

int op_scan_each(const struct op_processes *p, int (*fn)(void *ctx, uint32_t pid),
		 void *ctx)
{
	return each_number(p->procfs_root, fn, ctx);
}
