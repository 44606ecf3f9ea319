/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a process's memory through descriptors in /proc that belong to that memory. After
 * the process exits or executes another program they read nothing, even if another
 * process has the pid. Each read first checks in /proc/PID/pagemap that the pages are
 * present, so it cannot fault.
 */
#ifndef OP_PROCESS_TARGET_VIEW_H
#define OP_PROCESS_TARGET_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OP_VIEWS_MAX = 8, /* processes with open descriptors; two each */
	/* Limit of one call; the check covers one page more. */
	OP_VIEW_BYTES_MAX = 64 << 10,
};

struct op_view {
	uint64_t id; /* of the reader; 0: free */
	uint64_t used;
	int memory;
	int pagemap;
	uint64_t start_ticks; /* from /proc/PID/stat */
};

struct op_views {
	struct op_view view[OP_VIEWS_MAX];
	uint64_t ids;
	uint64_t uses;
};

void op_views_init(struct op_views *v);
void op_views_deinit(struct op_views *v);

/* The view of reader @id. It is opened for process @pid if needed. NULL: that failed. */
struct op_view *op_views_get(struct op_views *v, uint64_t id, const char *procfs_root,
			     int pid);
void op_view_close(struct op_view *view);

/* Are all pages of the range present, in memory or swapped? Also true if no page can be:
 * the memory is gone, or the range is outside every process's addresses. */
bool op_view_is_there(const struct op_view *view, uint64_t addr, size_t len);
/* Read at most OP_VIEW_BYTES_MAX bytes. Returns 0, -EFAULT, or -ESRCH if the memory is
 * gone. */
int op_view_read(const struct op_view *view, uint64_t addr, void *buf, size_t len);

#endif
