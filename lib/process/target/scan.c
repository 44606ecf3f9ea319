/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the numbers in /proc, and finds a thread whose maps can be read. */
#include "process/target/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/target/target.h"
#include "process/target/task/stat.h"

enum {
	LEADER_THREADS_MAX = 64, /* threads tried if the leader has exited */
	BUSY_SHARE = 20,
	FLAG_EXITING = 0x4, /* PF_EXITING */
};

uint32_t op_scan_number(const char *name)
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
		uint32_t n = op_scan_number(entry->d_name);
		int r = n ? fn(ctx, n) : 0;

		if (r)
			return r;
	}
	return 0;
}

bool op_scan_exists(const char *procfs_root, uint32_t pid)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%u", procfs_root, pid);
	return access(path, F_OK) == 0;
}

bool op_scan_is_ending(const char *procfs_root, uint32_t pid)
{
	char path[PATH_MAX];
	uint64_t flags;

	(void)snprintf(path, sizeof(path), "%s/%u/stat", procfs_root, pid);
	op_task_stat_numbers(path, OP_STAT_FLAGS_FIELD, &flags, 1);
	return flags & FLAG_EXITING;
}

bool op_scan_is_busy(const char *procfs_root, uint32_t pid)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now = { 0 };
	char path[PATH_MAX];
	uint64_t field[OP_STAT_START_FIELD - OP_STAT_CPU_FIELD + 1];
	uint64_t used;
	uint64_t start;
	uint64_t ticks;

	(void)snprintf(path, sizeof(path), "%s/%u/stat", procfs_root, pid);
	op_task_stat_numbers(path, OP_STAT_CPU_FIELD, field, OP_ARRAY_SIZE(field));
	used = field[0] + field[1]; /* by the program, by the kernel for it */
	start = field[OP_STAT_START_FIELD - OP_STAT_CPU_FIELD];
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	ticks = (uint64_t)now.tv_sec * hz;
	return used && start && ticks > start && used >= (ticks - start) / BUSY_SHARE;
}

bool op_scan_readable(const char *procfs_root, uint32_t pid)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%u/maps", procfs_root, pid);
	fd = op_open(path, O_RDONLY);
	return fd >= 0;
}

struct threads {
	struct op_target *target;
	uint32_t pid;
	uint32_t *thread;
	struct op_maps_reader *reader;
	op_maps_fn fn;
	void *ctx;
	int tried;
};

/* A thread whose maps can be read represents the process. */
static int try_thread(void *ctx, uint32_t tid)
{
	struct threads *t = ctx;
	int r;

	if (tid == t->pid)
		return 0;
	if (++t->tried > LEADER_THREADS_MAX)
		return -ESRCH;
	op_maps_reader_end(t->target, t->reader);
	r = op_target_executables(t->target, tid, t->reader, t->fn, t->ctx);
	if (r <= 0 && r != -EINPROGRESS)
		return 0;
	*t->thread = tid;
	return r;
}

int op_scan_maps(struct op_target *target, uint32_t pid, uint32_t *thread,
		 struct op_maps_reader *reader, op_maps_fn fn, void *ctx)
{
	struct threads t = { .target = target,
			     .pid = pid,
			     .thread = thread,
			     .reader = reader,
			     .fn = fn,
			     .ctx = ctx };
	char path[PATH_MAX];
	int r;

	r = op_target_executables(target, *thread, reader, fn, ctx);
	if (r)
		return r;
	(void)snprintf(path, sizeof(path), "%s/%u/task", target->procfs_root, pid);
	r = each_number(path, try_thread, &t);
	return r > 0 || r == -EINPROGRESS ? r : 0;
}
