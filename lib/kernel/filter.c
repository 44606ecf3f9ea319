/* SPDX-License-Identifier: Apache-2.0 */
/* Translates a public filter, which was checked before, into the form that the programs
 * try, and puts it in force; and tells the programs where to look up rules by target. */
#include <assert.h>
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
};

_Static_assert(OTELPROF_FILTER_RULES == OP_FILTER_RULES, "as many as the kernel tries");

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

	if (leads_up(name))
		return op_fail(c->log, -EINVAL, "the cgroup's path %s has \"..\"", name);
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
	if (kind == OTELPROF_FILTER_POD && !c->settings.cgroup_ancestors)
		return op_fail(c->log, -EOPNOTSUPP, "a rule by pod needs Linux 5.16");
	if (kind == OTELPROF_FILTER_CGROUP)
		return stat_group(c, mount, text, false, ret_id, ret_depth);
	r = find_group(c, kind == OTELPROF_FILTER_POD, mount, text, path);
	return r < 0 ? r : stat_group(c, mount, path, true, ret_id, ret_depth);
}

static int convert(struct op_capture *c, const struct otelprof_filter_rule *from,
		   struct op_filter_rule *to)
{
	uint64_t cgroup;
	uint32_t depth;
	int r;

	*to = (struct op_filter_rule){ .kind = from->kind,
				       .action = from->action,
				       .keep_one_in = from->keep_one_in,
				       .number = from->number };
	switch (from->kind) {
	case OTELPROF_FILTER_COMM:
		(void)snprintf(to->comm, sizeof(to->comm), "%s", from->text);
		return 0;
	case OTELPROF_FILTER_CGROUP:
	case OTELPROF_FILTER_CONTAINER:
	case OTELPROF_FILTER_POD:
		r = op_capture_cgroup(c, from->kind, from->text, &cgroup, &depth);
		if (r < 0)
			return r;
		to->kind = OTELPROF_FILTER_CGROUP;
		to->number = cgroup;
		to->reserved0 = depth;
		return 0;
	default:
		return 0;
	}
}

/* What the programs know of the old rules holds no longer. */
static void rules_changed(struct op_capture *c)
{
	__atomic_store_n(&c->control->rules_changed, c->control->rules_changed + 1,
			 __ATOMIC_RELEASE);
}

int op_capture_set_filter(struct op_capture *c, const struct otelprof_filter_rule *rules,
			  size_t len)
{
	struct op_filter kernel = { 0 };
	uint32_t next = !(c->control->filter_active & 1);
	size_t i;
	int r;

	assert(len <= OP_FILTER_RULES);
	kernel.default_action = OTELPROF_FILTER_INCLUDE;
	for (i = 0; i < len; i++) {
		r = convert(c, &rules[i], &kernel.rules[i]);
		if (r < 0)
			return r;
		if (rules[i].action == OTELPROF_FILTER_INCLUDE)
			kernel.default_action = OTELPROF_FILTER_EXCLUDE;
		if (rules[i].keep_one_in > 1)
			kernel.random = 1;
		kernel.count++;
	}
	r = bpf_map_update_elem(c->map[OP_MAP_FILTERS], &next, &kernel, BPF_ANY);
	if (r < 0)
		return op_fail(c->log, r,
			       "the filter could not be given to the kernel: %s",
			       strerror(-r));
	if (!kernel.count)
		next |= OP_FILTER_EMPTY;
	/* one word is switched, so that each sample sees either the old filter or the new
	 * one */
	__atomic_store_n(&c->control->filter_active, next, __ATOMIC_RELEASE);
	rules_changed(c);
	return 0;
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

int op_capture_rule_map_use(struct op_capture *c, int fd)
{
	const uint32_t zero = 0;
	int r = bpf_map_update_elem(c->map[OP_MAP_TARGETS], &zero, &fd, BPF_ANY);

	if (r < 0)
		return op_fail(c->log, r,
			       "the table of rules could not be given to the kernel: %s",
			       strerror(-r));
	return 0;
}

void op_capture_set_rule_use(struct op_capture *c, const struct op_rule_use *used)
{
	__atomic_store_n(&c->control->cgroup_depths, used->cgroup_depths,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&c->control->rules_include, used->include, __ATOMIC_RELAXED);
	__atomic_store_n(&c->control->rule_kinds, used->kinds, __ATOMIC_RELEASE);
	rules_changed(c);
}

void op_capture_set_rates(struct op_capture *c, uint32_t clock_hz,
			  const uint64_t rate[OP_RATES_MAX])
{
	size_t i;

	__atomic_store_n(&c->control->clock_ns, OP_NS_PER_S / clock_hz, __ATOMIC_RELAXED);
	for (i = 0; i < OP_RATES_MAX; i++)
		__atomic_store_n(&c->control->rate[i], rate[i], __ATOMIC_RELAXED);
}
