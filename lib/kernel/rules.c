/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the control groups of rules, and gives the programs the table of rules. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/macros.h"
#include "kernel/state.h"
#include "process/resource/groups.h"

enum {
	MOUNT_BYTES = 256,
	LINKS_ALONE = 2, /* of a directory without others in it */
	RATES_BYTES = OP_RATES_MAX * sizeof(uint64_t),
};

static uint32_t depth_of(const char *path)
{
	uint32_t depth = 0;

	for (; *path; path++)
		if (path[0] == '/' && path[1] && path[1] != '/')
			depth++;
	return depth;
}

/* Has @path a component ".."? It may lead out of the mount, to a file system of a process. */
static bool leads_up(const char *path)
{
	const char *at;

	for (at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	return false;
}

/* Search for the control group of a container or a pod. Its path goes into @ret. */
static int find_group(const struct op_capture *c, bool pod, const char *mount,
		      const char *text, char ret[static OP_GROUP_PATH_MAX])
{
	const char *what = pod ? "pod" : "container";
	int r = pod ? op_groups_pod(mount, text, ret)
		    : op_groups_container(mount, text, ret);

	/* The paths are not told: who may make control groups chooses them. */
	if (r == -EEXIST)
		return op_fail(c->log, r,
			       "\"%s\" are several %ss: give more of the id, or a cgroup",
			       text, what);
	if (r == -ENOENT)
		return op_fail(c->log, r, "there is no %s \"%s\": give %s, or a cgroup",
			       what, text,
			       pod ? "the uid of a pod on this host"
				   : "the first digits of its id (docker ps, crictl ps)");
	if (r == -E2BIG)
		return op_fail(c->log, r,
			       "this host has too many control groups (over %d) to look "
			       "for a %s: give a cgroup",
			       OP_GROUPS_MAX, what);
	return r < 0 ? op_fail(c->log, r, "the %s \"%s\" cannot be looked for: %s", what,
			       text, strerror(-r))
		     : 0;
}

/* The id of a cgroup is the inode number of its directory, whose number of links tells of
 * groups below it. */
static int stat_group(const struct op_capture *c, const char *mount, const char *name,
		      bool whole, uint64_t *ret_id, uint32_t *ret_depth)
{
	char path[OP_GROUP_PATH_MAX];
	struct stat st;
	size_t len = strlen(mount);

	if (leads_up(name))
		return op_fail(c->log, -EINVAL, "the cgroup's path %s has \"..\"", name);
	/* the path of a shell is as good as one below the mount */
	if (strncmp(name, mount, len) == 0 && (!name[len] || name[len] == '/'))
		name += len;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", mount,
			     name + strspn(name, "/")) >= sizeof(path))
		return op_fail(c->log, -ENAMETOOLONG, "the cgroup's path is too long");
	if (stat(path, &st) < 0)
		return op_fail(c->log, -errno, "the cgroup %s cannot be found: %s", path,
			       strerror(errno));
	if (whole && !c->settings.cgroup_ancestors && st.st_nlink > LINKS_ALONE)
		return op_fail(c->log, -EOPNOTSUPP,
			       "a rule by a container that has control groups of its own "
			       "needs Linux 5.16: give the cgroup of its processes");
	*ret_id = st.st_ino;
	*ret_depth = depth_of(path + strlen(mount));
	return 0;
}

int op_capture_cgroup(struct op_capture *c, uint32_t kind, const char *text,
		      uint64_t *ret_id, uint32_t *ret_depth)
{
	char mount[MOUNT_BYTES];
	char path[OP_GROUP_PATH_MAX];
	int r = op_groups_mount(c->config.procfs_root, mount, sizeof(mount));

	if (r < 0)
		return op_fail(
			c->log, r,
			"a rule by cgroup, container or pod needs cgroup v2, which is "
			"not mounted");
	/* a pod has its processes in groups below its own */
	if (kind == OTELPROF_MATCH_POD && !c->settings.cgroup_ancestors)
		return op_fail(c->log, -EOPNOTSUPP, "a rule by pod needs Linux 5.16");
	if (kind == OTELPROF_MATCH_CGROUP)
		return stat_group(c, mount, text, false, ret_id, ret_depth);
	r = find_group(c, kind == OTELPROF_MATCH_POD, mount, text, path);
	return r < 0 ? r : stat_group(c, mount, path, true, ret_id, ret_depth);
}

/* What the programs know of the old rules holds no longer. */
static void rules_changed(struct op_capture *c)
{
	__atomic_store_n(&c->control->rules_changed, c->control->rules_changed + 1,
			 __ATOMIC_RELEASE);
}

int op_capture_rule_map_new(struct op_capture *c, uint32_t max)
{
	int fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, "op_target", sizeof(struct op_rule_key),
			       sizeof(struct op_rule_decision), max, NULL);

	if (fd < 0)
		return op_fail(c->log, fd, "a table for %u rules cannot be made: %s", max,
			       strerror(-fd));
	return op_fd_move_up(fd);
}

int op_capture_rule_map_switch(struct op_capture *c, int fd,
			       const struct op_rule_use *used,
			       const uint64_t rate[OP_RATES_MAX])
{
	struct op_control *control = c->control;
	const uint32_t next = !control->rules_active;
	/* It waits for programs that run, so none reads what is written below. */
	int r = bpf_map_update_elem(c->map[OP_MAP_TARGETS], &next, &fd, BPF_ANY);

	if (r < 0)
		return op_fail(c->log, r,
			       "the table of rules could not be given to the kernel: %s",
			       strerror(-r));
	control->used[next] = *used;
	memcpy(&control->rate[next * OP_RATES_MAX], rate, RATES_BYTES);
	/* one word: each sample sees either the old list or the new one */
	__atomic_store_n(&control->rules_active, next, __ATOMIC_RELEASE);
	rules_changed(c);
	return 0;
}

void op_capture_get_rates(const struct op_capture *c, uint64_t ret[OP_RATES_MAX])
{
	memcpy(ret, &c->control->rate[c->control->rules_active * OP_RATES_MAX],
	       RATES_BYTES);
}

void op_capture_set_rule_use(struct op_capture *c, const struct op_rule_use *used)
{
	struct op_rule_use *to = &c->control->used[c->control->rules_active];
	size_t i;

	__atomic_store_n(&to->cgroup_depths, used->cgroup_depths, __ATOMIC_RELAXED);
	__atomic_store_n(&to->random, used->random, __ATOMIC_RELAXED);
	__atomic_store_n(&to->trees, used->trees, __ATOMIC_RELAXED);
	for (i = 0; i < OP_AGES_MAX; i++)
		__atomic_store_n(&to->age_ns[i], used->age_ns[i], __ATOMIC_RELAXED);
	__atomic_store_n(&to->kinds, used->kinds, __ATOMIC_RELEASE);
	__atomic_store_n(&to->include, used->include, __ATOMIC_RELEASE);
	rules_changed(c);
}

void op_capture_set_rates(struct op_capture *c, uint32_t clock_hz,
			  const uint64_t rate[OP_RATES_MAX])
{
	__u64 *to = &c->control->rate[c->control->rules_active * OP_RATES_MAX];
	size_t i;

	__atomic_store_n(&c->control->clock_ns, OP_NS_PER_S / clock_hz, __ATOMIC_RELAXED);
	for (i = 0; i < OP_RATES_MAX; i++)
		__atomic_store_n(&to[i], rate[i], __ATOMIC_RELAXED);
}
