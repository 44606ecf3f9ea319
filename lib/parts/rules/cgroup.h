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
	bool ancestors; /* the programs see the groups above that of a task (Linux 5.16) */
};

/* A control group of the host. */
struct op_rule_group {
	uint64_t id;
	uint32_t depth;
	char path[OP_GROUP_PATH_MAX]; /* with the mount */
};

/* The group that @text names for a rule of @kind: CGROUP, CONTAINER or POD of OTELPROF_MATCH_*.
 * Returns 0, or -errno with a sentence. */
int op_rule_cgroup(const struct op_rule_groups *g, uint32_t kind, const char *text,
		   struct op_rule_group *ret);
/* The id of the group at @path now; 0: there is none. A unit or container that restarts has another one
 * at the same path. */
uint64_t op_rule_cgroup_now(const char *path);

#endif
