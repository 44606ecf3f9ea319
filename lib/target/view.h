/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's memory by its descriptors in /proc, which stand for the memory itself: when the
 * process ends or executes another program they read nothing, whoever has its number then.
 * A read asks first which pages are there (/proc/PID/pagemap): reading those makes no fault.
 */
#ifndef OP_TARGET_VIEW_H
#define OP_TARGET_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OP_VIEWS_MAX = 8, /* descriptors of so many processes; two each */
	/* Of one call: a piece of 64 KiB may lie in one page more. */
	OP_VIEW_BYTES_MAX = 64 << 10,
};

struct op_view {
	uint64_t id; /* of who reads; 0: free */
	uint64_t used;
	int memory;
	int pagemap;
	uint64_t start_ticks; /* of its /proc/PID/stat */
};

struct op_views {
	struct op_view view[OP_VIEWS_MAX];
	uint64_t ids;
	uint64_t uses;
};

void op_views_init(struct op_views *v);
void op_views_deinit(struct op_views *v);

/* The view of reader @id, opened as process @pid where there is none. NULL: not to be had. */
struct op_view *op_views_get(struct op_views *v, uint64_t id, const char *procfs_root,
			     int pid);
void op_view_close(struct op_view *view);

/* Are all pages of the range there, in memory or swapped? Or can none be there: the memory is
 * gone, or the range lies outside of every process. */
bool op_view_is_there(const struct op_view *view, uint64_t addr, size_t len);
/* Read at most OP_VIEW_BYTES_MAX. 0; -EFAULT; -ESRCH where the memory is gone. */
int op_view_read(const struct op_view *view, uint64_t addr, void *buf, size_t len);

#endif
