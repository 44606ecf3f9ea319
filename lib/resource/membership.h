/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which container and pod a process belongs to, by /proc: its cgroup paths, and its mounts
 * where a cgroup namespace hides them. Kept by cgroup v2 id, so that processes that are gone
 * are known by others of their cgroup.
 */
#ifndef OP_RESOURCE_MEMBERSHIP_H
#define OP_RESOURCE_MEMBERSHIP_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "resource/container.h"

enum {
	OP_CGROUPS_KNOWN_MAX = 8192, /* past it, what is known by cgroup starts afresh */
};

/* Counted. */
struct op_membership {
	uint32_t refs;
	struct op_container container;
};

struct op_memberships {
	struct op_map64 by_cgroup; /* cgroup v2 id to struct op_membership * */
	const char *procfs_root;   /* borrowed */
	const char *sysfs_root;	   /* borrowed */
	uint64_t host_mounts;	   /* inode of the host's mount namespace; 0: not known */
};

/* The inode of /proc/@process/ns/@name; 0 where it cannot be had. */
uint64_t op_namespace_inode(const char *procfs_root, const char *process,
			    const char *name);
/* Is @process in the host's own PID namespace? Where its process 1 is, that is the host's. */
bool op_in_first_pid_namespace(const char *procfs_root, const char *process);
/* Are we certainly in the host's own mount namespace? Older kernels do not tell. */
bool op_in_first_mount_namespace(const char *procfs_root);

/* Borrows both roots until op_memberships_deinit(). */
void op_memberships_init(struct op_memberships *m, const char *procfs_root,
			 const char *sysfs_root);
void op_memberships_deinit(struct op_memberships *m);

/*
 * That of process @pid, met in cgroup v2 @cgroup (0: not known); of one that is gone
 * (@pid 0) by the cgroup alone. Caller releases with op_membership_put(). NULL: none, or no
 * memory.
 */
struct op_membership *op_membership_find(struct op_memberships *m, uint32_t pid,
					 uint64_t cgroup);
struct op_membership *op_membership_ref(struct op_membership *s);
/* Takes NULL; returns NULL. */
struct op_membership *op_membership_put(struct op_membership *s);

#endif
