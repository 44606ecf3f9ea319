/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "otelprof/config.h"

enum {
	MOUNT_BYTES = 256,
	LINKS_ALONE = 2, /* links of a directory without subdirectories */
};

static uint32_t depth_of(const char *path)
{
	uint32_t depth = 0;

	for (; *path; path++)
		if (path[0] == '/' && path[1] && path[1] != '/')
			depth++;
	return depth;
}

/* Does @path have a component ".."? It may lead out of the mount, to a file system that
 * a process controls. */
static bool leads_up(const char *path)
{
	const char *at;

	for (at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	return false;
}

/* Search for the control group of a container or a pod, and set its path in @ret. */
static int find_group(const struct op_rule_groups *g, bool pod, const char *mount,
		      const char *text, char ret[static OP_GROUP_PATH_MAX])
{
	const char *what = pod ? "pod" : "container";
	int r = pod ? op_groups_pod(mount, text, ret)
		    : op_groups_container(mount, text, ret);

	/* The sentence leaves out the paths, because whoever may make control groups
	 * chooses them. */
	if (r == -EEXIST)
		return op_fail(
			g->log, r,
			"\"%s\" matches several %ss: give more of the id, or a cgroup",
			text, what);
	if (r == -ENOENT)
		return op_fail(g->log, r, "there is no %s \"%s\": give %s, or a cgroup",
			       what, text,
			       pod ? "the uid of a pod on this host"
				   : "the first digits of its id (docker ps, crictl ps)");
	if (r == -E2BIG)
		return op_fail(g->log, r,
			       "this host has too many control groups (over %d) to look "
			       "for a %s: give a cgroup",
			       OP_GROUPS_MAX, what);
	return r < 0 ? op_fail(g->log, r, "the %s \"%s\" cannot be looked for: %s", what,
			       text, strerror(-r))
		     : 0;
}

/* The id of a cgroup is the inode number of its directory. The number of links of the
 * directory shows if there are groups below it. */
static int stat_group(const struct op_rule_groups *g, const char *mount, const char *name,
		      bool whole, struct op_rule_group *ret)
{
	struct stat st;
	size_t len = strlen(mount);

	if (leads_up(name))
		return op_fail(g->log, -EINVAL, "the cgroup's path %s has \"..\"", name);
	/* accept a path that was typed in a shell as well as one below the mount */
	if (strncmp(name, mount, len) == 0 && (!name[len] || name[len] == '/'))
		name += len;
	if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s/%s", mount,
			     name + strspn(name, "/")) >= sizeof(ret->path))
		return op_fail(g->log, -ENAMETOOLONG, "the cgroup's path is too long");
	if (stat(ret->path, &st) < 0)
		return op_fail(g->log, -errno, "the cgroup %s cannot be found: %s",
			       ret->path, strerror(errno));
	if (whole && !g->ancestors && st.st_nlink > LINKS_ALONE)
		return op_fail(g->log, -EOPNOTSUPP,
			       "a rule by a container that has control groups of its own "
			       "needs Linux 5.16: give the cgroup of its processes");
	ret->id = st.st_ino;
	ret->depth = depth_of(ret->path + strlen(mount));
	return 0;
}

uint64_t op_rule_cgroup_now(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? st.st_ino : 0;
}

int op_rule_cgroup(const struct op_rule_groups *g, uint32_t kind, const char *text,
		   struct op_rule_group *ret)
{
	char mount[MOUNT_BYTES];
	char path[OP_GROUP_PATH_MAX];
	int r = op_groups_mount(g->procfs_root, mount, sizeof(mount));

	if (r < 0)
		return op_fail(
			g->log, r,
			"a rule by cgroup, container or pod needs cgroup v2, which is "
			"not mounted");
	/* the processes of a pod are in groups below its own */
	if (kind == OTELPROF_MATCH_POD && !g->ancestors)
		return op_fail(g->log, -EOPNOTSUPP, "a rule by pod needs Linux 5.16");
	if (kind == OTELPROF_MATCH_CGROUP)
		return stat_group(g, mount, text, false, ret);
	r = find_group(g, kind == OTELPROF_MATCH_POD, mount, text, path);
	return r < 0 ? r : stat_group(g, mount, path, true, ret);
}
