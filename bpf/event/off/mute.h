/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that the rules left out are not asked for again for a while, which saves the interrupt
 * or the look-up of each of their events. That holds as long as all is the same that rules look
 * at: the rules, and the thread's name, user and control group.
 */
#ifndef OP_MUTE_H
#define OP_MUTE_H

#include <bpf/bpf_core_read.h>

#include "bpf/event/rules/rules.h"
#include "bpf/event/settings.h"
#include "bpf/platform/kernel.h"

#define OP_MUTE_NS 1000000000ULL

struct op_mute {
	__u64 until_ns; /* 0: not muted */
	__u64 rules;	/* op_control.rules_changed */
	__u64 who;	/* op_mute_who() */
};

/* A number that changes with the name, the user and the control group of @task. The last two are
 * objects that do not change: a thread gets others. exec(2) makes a new one, too. */
static __always_inline __u64 op_mute_who(struct task_struct *task)
{
	const __u64 odd = 0x9e3779b97f4a7c15ULL;
	__u64 name[OP_COMM_BYTES / sizeof(__u64)] = { 0 };
	__u64 who;

	BPF_CORE_READ_INTO(&name, task, comm);
	who = (__u64)BPF_CORE_READ(task, real_cred);
	who = (who ^ (__u64)BPF_CORE_READ(task, cgroups)) * odd;
	who = ((who ^ who >> 32) + name[0]) * odd;
	return ((who ^ who >> 32) + name[1]) * odd;
}

/* Did the rules leave @task out a short time ago, when all was as it is? */
static __always_inline bool op_is_muted(const struct op_mute *mute,
					struct task_struct *task, __u64 now)
{
	struct op_control *control = op_control();

	return now < mute->until_ns && control && mute->rules == control->rules_changed &&
	       mute->who == op_mute_who(task);
}

/* The rules left the current thread out. Not by chance, nor since it is young. */
static __always_inline void op_mute_now(struct op_mute *mute, __u64 now)
{
	struct op_control *control = op_control();

	if (!control || op_rules_random(control) ||
	    op_rule_has_kind(op_rule_use(control, control->rules_active), OP_TARGET_AGE))
		return;
	mute->rules = control->rules_changed;
	mute->who = op_mute_who(op_current_task());
	mute->until_ns = now + OP_MUTE_NS;
}

#endif
