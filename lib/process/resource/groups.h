/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the control group of a container or a pod by its id or name. */
#ifndef OP_PROCESS_RESOURCE_GROUPS_H
#define OP_PROCESS_RESOURCE_GROUPS_H

#include <stddef.h>

enum {
	OP_GROUP_PATH_MAX = 4096,
	OP_GROUPS_MAX = 1 << 15, /* control groups that one search visits */
};

/* The path at which cgroup v2 is mounted. Returns 0, -ENOENT or -errno. */
int op_groups_mount(const char *procfs_root, char *ret, size_t size);

/*
 * Both search below @mount, where cgroup v2 is mounted. @ret is a path below the mount,
 * with a leading '/'. They return 0, -ENOENT, -EEXIST if several match, -E2BIG past
 * OP_GROUPS_MAX, or the -errno of opendir(3).
 */

/* @wanted is an id or its first digits, at least four, or the name that runc, crun, LXC and
 * systemd-nspawn put into the path. */
int op_groups_container(const char *mount, const char *wanted,
			char ret[static OP_GROUP_PATH_MAX]);
/* @uid is the uid of a Kubernetes pod, as `kubectl get -o yaml` shows it. */
int op_groups_pod(const char *mount, const char *uid, char ret[static OP_GROUP_PATH_MAX]);

#endif
