/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the control groups that rules name. */
#ifndef OP_PARTS_RULES_CGROUP_H
#define OP_PARTS_RULES_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "process/resource/groups.h"

struct op_log;

struct op_rule_groups {
	struct op_log *log;
	const char *procfs_root;
	/* the BPF programs can evaluate groups above the task's own (Linux 5.16) */
	bool ancestors;
};

/* A control group of the host. */
struct op_rule_group {
	uint64_t id;
	uint32_t depth;
	char path[OP_GROUP_PATH_MAX]; /* path that includes the mount */
};

/* Find the group that @text names in a rule of @kind: CGROUP, CONTAINER or POD of
 * OTELPROF_MATCH_*. Returns 0, or -errno with a sentence. */
int op_rule_cgroup(const struct op_rule_groups *g, uint32_t kind, const char *text,
		   struct op_rule_group *ret);
/* The current id of the group at @path, or 0 if there is none. A restarted unit or
 * container has a new id at the same path. */
uint64_t op_rule_cgroup_now(const char *path);

#endif
