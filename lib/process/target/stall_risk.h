/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can an unprivileged program make a reader of its memory or files wait? Linux has two
 * ways: userfaultfd(2) serves the program's pages, and the kernel's own faults on them
 * wait too; a FUSE file system serves its files, and any user may mount one in a user
 * namespace. Both can be seen: by a setting, and by the number of FUSE connections. If
 * neither exists, what belongs to a process is read directly.
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
	/* the way in which FUSE connections can be seen on this host */
	int way;
};

/* Are there servers, or were there any recently? The answer is cached for some ms. */
bool op_stall_risk_seen(struct op_stall_risk *s, const char *procfs_root,
			uint64_t now_ns);

#endif
