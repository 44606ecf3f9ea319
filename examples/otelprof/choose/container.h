/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the control group of a container by its id or name. */
#ifndef OTELPROF_CHOOSE_CONTAINER_H
#define OTELPROF_CHOOSE_CONTAINER_H

#include <stddef.h>

enum {
	CONTAINER_PATH_MAX = 4096,
};

/* What was found. */
struct container_found {
	char path[CONTAINER_PATH_MAX]; /* below the mount, with a leading '/' */
};

/*
 * Find the control group of the container @wanted below @mount, where cgroup v2 is mounted.
 * @wanted is an id or its first digits, at least four, or the name that runc, crun, LXC and
 * systemd-nspawn put into the path. Returns 0; -ENOENT; -EEXIST if several match; -E2BIG if there
 * are too many control groups to look at; or what opendir(3) failed with.
 */
int container_find(const char *mount, const char *wanted, struct container_found *ret);

/* Get the path at which cgroup v2 is mounted. Returns 0, -ENOENT or -ENAMETOOLONG. */
int container_mount(char *ret, size_t size);

#endif
