/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines the container and pod of a process from /proc: by its cgroup paths, or by
 * its mounts if a cgroup namespace hides them. Results are kept by cgroup v2 id, so that
 * they also apply to processes of the cgroup that have exited.
 */
#ifndef OP_PROCESS_RESOURCE_MEMBERSHIP_H
#define OP_PROCESS_RESOURCE_MEMBERSHIP_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "process/resource/container.h"

enum {
	OP_CGROUPS_KNOWN_MAX = 8192, /* past that, all results by cgroup are dropped */
};

/* Reference-counted. */
struct op_membership {
	uint32_t refs;
	struct op_container container;
};

struct op_memberships {
	struct op_map64 by_cgroup; /* cgroup v2 id -> struct op_membership * */
	const char *procfs_root;   /* borrowed */
	const char *sysfs_root;	   /* borrowed */
	uint64_t host_mounts;	   /* inode of the host's mount namespace; 0: unknown */
};

/* The inode of /proc/@process/ns/@name; 0 if it cannot be read. */
uint64_t op_namespace_inode(const char *procfs_root, const char *process,
			    const char *name);
/* Is @process in the host's initial PID namespace? If so, its process 1 is the host's. */
bool op_in_first_pid_namespace(const char *procfs_root, const char *process);
/* Are we certainly in the host's initial mount namespace? False on kernels before 6.18,
 * which do not show it. */
bool op_in_first_mount_namespace(const char *procfs_root);

/* Borrows both roots until op_memberships_deinit(). */
void op_memberships_init(struct op_memberships *m, const char *procfs_root,
			 const char *sysfs_root);
void op_memberships_deinit(struct op_memberships *m);

/*
 * The membership of process @pid, seen in cgroup v2 @cgroup (0: unknown). If the process
 * has exited, pass @pid 0: only the cgroup counts. The caller releases it with
 * op_membership_put(). NULL: none, or no memory.
 */
struct op_membership *op_membership_find(struct op_memberships *m, uint32_t pid,
					 uint64_t cgroup);
/* The path of process @pid's group of cgroup v2, of at most @size bytes with a NUL. Returns 0, -ENOENT, or
 * another -errno. */
int op_cgroup_path_read(const char *procfs_root, uint32_t pid, char *ret, size_t size);
struct op_membership *op_membership_ref(struct op_membership *s);
/* Accepts NULL; returns NULL. */
struct op_membership *op_membership_put(struct op_membership *s);

#endif
