/* SPDX-License-Identifier: Apache-2.0 */
/* Opens /proc/PID/mem and pagemap, and reads pages that are present. */
#include "process/target/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "process/target/task/stat.h"

enum {
	PAGE_MIN = 4096,
	PAGES_MAX = OP_VIEW_BYTES_MAX / PAGE_MIN + 1,
	PRESENT_BIT = 63,
	SWAPPED_BIT = 62,
};

void op_views_init(struct op_views *v)
{
	size_t i;

	*v = (struct op_views){ 0 };
	for (i = 0; i < OP_VIEWS_MAX; i++)
		v->view[i].memory = v->view[i].pagemap = -1;
}

void op_view_close(struct op_view *view)
{
	op_closep(&view->memory);
	op_closep(&view->pagemap);
	view->memory = view->pagemap = -1;
	view->id = 0;
}

void op_views_deinit(struct op_views *v)
{
	size_t i;

	for (i = 0; i < OP_VIEWS_MAX; i++)
		op_view_close(&v->view[i]);
}

static int view_open(struct op_view *view, const char *procfs_root, int pid)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%d/mem", procfs_root, pid);
	view->memory = op_open(path, O_RDONLY);
	if (view->memory < 0)
		return view->memory;
	(void)snprintf(path, sizeof(path), "%s/%d/pagemap", procfs_root, pid);
	view->pagemap = op_open(path, O_RDONLY);
	if (view->pagemap < 0)
		return view->pagemap;
	/* Read the start time last: the descriptors cannot belong to an earlier process
	 * with this pid. */
	(void)snprintf(path, sizeof(path), "%s/%d/stat", procfs_root, pid);
	view->start_ticks = op_task_stat_start(path);
	return view->start_ticks ? 0 : -ESRCH;
}

struct op_view *op_views_get(struct op_views *v, uint64_t id, const char *procfs_root,
			     int pid)
{
	struct op_view *oldest = &v->view[0];
	size_t i;

	for (i = 0; i < OP_VIEWS_MAX; i++) {
		struct op_view *view = &v->view[i];

		if (view->id == id) {
			view->used = ++v->uses;
			return view;
		}
		if (view->used < oldest->used)
			oldest = view;
	}
	op_view_close(oldest);
	if (view_open(oldest, procfs_root, pid) < 0) {
		op_view_close(oldest);
		return NULL;
	}
	oldest->id = id;
	oldest->used = ++v->uses;
	return oldest;
}

bool op_view_is_there(const struct op_view *view, uint64_t addr, size_t len)
{
	uint64_t entries[PAGES_MAX];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = addr / page;
	ssize_t got;
	size_t want;
	size_t i;

	if (!len || len > OP_VIEW_BYTES_MAX || addr + len < addr)
		return false;
	want = (size_t)((addr + len - 1) / page - first + 1);
	got = pread(view->pagemap, entries, want * sizeof(*entries),
		    (off_t)(first * sizeof(*entries)));
	if (got == 0)
		return true;
	if (got != (ssize_t)(want * sizeof(*entries)))
		return false;
	for (i = 0; i < want; i++)
		if (!(entries[i] >> PRESENT_BIT & 1) && !(entries[i] >> SWAPPED_BIT & 1))
			return false;
	return true;
}

int op_view_read(const struct op_view *view, uint64_t addr, void *buf, size_t len)
{
	ssize_t n;

	do
		n = pread(view->memory, buf, len, (off_t)addr);
	while (n < 0 && errno == EINTR);
	if (n == 0 && len)
		return -ESRCH;
	return n == (ssize_t)len ? 0 : -EFAULT;
}
