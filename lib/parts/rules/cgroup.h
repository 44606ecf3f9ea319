/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the control groups that rules name. */
#ifndef OP_PARTS_RULES_CGROUP_H
#define OP_PARTS_RULES_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct op_log;

struct op_rule_groups {
	struct op_log *log;
	const char *procfs_root;
	bool ancestors; /* the programs see the groups above that of a task (Linux 5.16) */
};

/* The id and the depth of the cgroup that @text names for a rule of @kind: CGROUP, CONTAINER or
 * POD of OTELPROF_MATCH_*. Returns 0, or -errno with a sentence. */
int op_rule_cgroup(const struct op_rule_groups *g, uint32_t kind, const char *text,
		   uint64_t *ret_id, uint32_t *ret_depth);

#endif
