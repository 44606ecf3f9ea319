/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a program without rights make who reads of it wait? On Linux there are two ways, pages of
 * its own that it serves: userfaultfd(2), where the kernel's own faults wait too, and files
 * of a FUSE file system, which any user may mount in a user namespace. Both show: by a
 * setting, and by the number of FUSE connections. Where neither is there, what belongs to a
 * process is read directly.
 */
#ifndef OP_TARGET_SERVERS_H
#define OP_TARGET_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

struct op_servers {
	uint64_t checked_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t seen_ns;    /* the last time that there were some; 0: never */
	uint64_t settled_ns; /* when the two below were found out; 0: never */
	bool pages;	     /* userfaultfd is free for all */
	int way;	     /* how FUSE shows on this host */
};

/* May there be some, or were there any lately? It looks again after some ms. */
bool op_servers_seen(struct op_servers *s, const char *procfs_root, uint64_t now_ns);

#endif
