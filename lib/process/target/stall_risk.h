/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can an unprivileged program make a reader of its memory or files wait? Linux has two
 * ways. userfaultfd(2) lets a program serve pages, and the kernel's own faults on them
 * wait, too. A FUSE file system serves files, and any user may mount one in a user
 * namespace. A setting shows the first, the number of FUSE connections the second. If a
 * host has neither, memory and files of processes are read directly.
 */
#ifndef OP_PROCESS_TARGET_STALL_RISK_H
#define OP_PROCESS_TARGET_STALL_RISK_H

#include <stdbool.h>
#include <stdint.h>

struct op_stall_risk {
	uint64_t checked_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t seen_ns;    /* when a server was last seen; 0: never */
	/* when the two members below were last determined; 0: never */
	uint64_t settled_ns;
	bool pages; /* any user may use userfaultfd */
	/* the way that shows FUSE connections on this host */
	int way;
};

/* Are there servers, or were there recently? The answer is cached for some ms. */
bool op_stall_risk_seen(struct op_stall_risk *s, const char *procfs_root,
			uint64_t now_ns);

#endif
