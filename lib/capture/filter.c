/* SPDX-License-Identifier: Apache-2.0 */
/* Translates a public filter, which was checked before, into the form that the programs
 * try, and puts it in force; and tells the programs where to look up rules by target. */
#include <assert.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "capture/state.h"

enum {
	MOUNTINFO_BYTES_MAX = 1 << 20
};

_Static_assert(OTELPROF_FILTER_RULES == OP_FILTER_RULES, "as many as the kernel tries");

/* The path at which cgroup v2 is mounted. Returns 0, -ENOENT or -errno. */
static int cgroup2_mount(const struct op_capture *c, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;
	char path[256];
	char *line;
	char *rest;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/self/mountinfo", c->config.procfs_root);
	n = op_read_file(path, MOUNTINFO_BYTES_MAX, &text);
	if (n < 0)
		return (int)n;
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char mount[200];

		/* proc(5): id parent dev root MOUNT options … - type source options */
		if (strstr(line, " - cgroup2 ") &&
		    sscanf(line, "%*s %*s %*s %*s %199s", mount) == 1 &&
		    (size_t)snprintf(ret, size, "%s", mount) < size)
			return 0;
	}
	return -ENOENT;
}

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

/* The id of a cgroup is the inode number of its directory. */
int op_capture_cgroup(struct op_capture *c, const char *name, uint64_t *ret_id,
		      uint32_t *ret_depth)
{
	char mount[256];
	char path[4096];
	struct stat st;
	int r;

	if (leads_up(name))
		return op_fail(c->log, -EINVAL, "the cgroup's path %s has \"..\"", name);
	r = cgroup2_mount(c, mount, sizeof(mount));
	if (r < 0)
		return op_fail(c->log, r,
			       "a rule by cgroup needs cgroup v2, which is not mounted");
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", mount,
			     name + strspn(name, "/")) >= sizeof(path))
		return op_fail(c->log, -ENAMETOOLONG, "the cgroup's path is too long");
	if (stat(path, &st) < 0)
		return op_fail(c->log, -errno, "the cgroup %s cannot be found: %s", path,
			       strerror(errno));
	*ret_id = st.st_ino;
	*ret_depth = depth_of(path + strlen(mount));
	return 0;
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
		r = op_capture_cgroup(c, from->text, &cgroup, &depth);
		if (r < 0)
			return r;
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

int op_capture_targets_make(struct op_capture *c, uint32_t max)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "op_target",
				sizeof(struct op_target_key),
				sizeof(struct op_target_says), max, NULL);

	if (fd < 0)
		return op_fail(c->log, fd, "a table for %u rules cannot be made: %s", max,
			       strerror(-fd));
	return op_fd_move_up(fd);
}

int op_capture_targets_use(struct op_capture *c, int fd)
{
	const uint32_t zero = 0;
	int r = bpf_map_update_elem(c->map[OP_MAP_TARGETS], &zero, &fd, BPF_ANY);

	if (r < 0)
		return op_fail(c->log, r,
			       "the table of rules could not be given to the kernel: %s",
			       strerror(-r));
	return 0;
}

void op_capture_targets_used(struct op_capture *c, const struct op_targets_used *used)
{
	__atomic_store_n(&c->control->cgroup_depths, used->cgroup_depths,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&c->control->targets_include, used->include, __ATOMIC_RELAXED);
	__atomic_store_n(&c->control->target_kinds, used->kinds, __ATOMIC_RELEASE);
	rules_changed(c);
}

void op_capture_set_rates(struct op_capture *c, const uint64_t rate[OP_RATES_MAX])
{
	size_t i;

	for (i = 0; i < OP_RATES_MAX; i++)
		__atomic_store_n(&c->control->rate[i], rate[i], __ATOMIC_RELAXED);
}
