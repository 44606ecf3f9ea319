/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules by executable or environment: user space finds the processes that match. This
 * file has the part that cannot wait for user space. A child inherits the matches of
 * its parent. An exec changes the executable, and mostly keeps the environment.
 */
#ifndef OP_MATCHES_H
#define OP_MATCHES_H

#include <bpf/bpf_helpers.h>

#include "bpf/event/rules/rules.h"
#include "bpf/platform/maps.h"

/* The table of rules, if any of @kinds is in it. */
static __always_inline void *op_match_table(__u32 kinds)
{
	struct op_control *control = op_control();
	__u32 active;

	if (!control)
		return NULL;
	active = control->rules_active & 1;
	return op_rule_use(control, active)->kinds & kinds
		       ? bpf_map_lookup_elem(&op_targets, &active)
		       : NULL;
}

/* Process @pid has executed a program. Must user space examine it at once? */
static __always_inline bool op_match_exec(__u32 pid)
{
	struct op_rule_key key = op_rule_key_of(OP_RULE_EXECUTABLE, pid, 0);
	void *targets = op_match_table(OP_RULE_KINDS_OF_PROGRAMS);

	if (!targets)
		return false;
	bpf_map_delete_elem(targets, &key);
	return true;
}

static __always_inline void op_match_inherit(__u32 kind, __u32 parent, __u32 child)
{
	struct op_rule_key key = op_rule_key_of(kind, parent, 0);
	void *targets = op_match_table(1 << kind);
	struct op_rule_decision *decision;
	struct op_rule_decision copy;

	if (!targets)
		return;
	decision = bpf_map_lookup_elem(targets, &key);
	key.word[0] = child;
	if (!decision) {
		/* leftovers of an earlier process with this pid */
		bpf_map_delete_elem(targets, &key);
		return;
	}
	copy = *decision;
	bpf_map_update_elem(targets, &key, &copy, 0);
}

static __always_inline void op_match_fork(__u32 parent, __u32 child)
{
	op_match_inherit(OP_RULE_EXECUTABLE, parent, child);
	op_match_inherit(OP_RULE_ENVIRONMENT, parent, child);
}

#endif
