/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Caches threads that the rules left out, which saves the interrupt or the look-up for
 * each of their events. A cached result is valid while everything that rules examine is
 * the same: the rules, and the thread's name, user and control group.
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

/* A number that changes with the name, the user and the control group of @task. The
 * last two are objects that never change: a thread gets new ones. exec(2) also makes a
 * new one. */
static __always_inline __u64 op_mute_who(struct task_struct *task)
{
	const __u64 odd = 0x9e3779b97f4a7c15ULL;
	__u64 name[OP_COMM_BYTES / sizeof(__u64)] = { 0 };
	__u64 who;

	BPF_CORE_READ_INTO(&name, task, comm);
	who = (__u64)BPF_CORE_READ(task, real_cred) * odd;
	who = ((who ^ who >> 32) + (__u64)BPF_CORE_READ(task, cgroups)) * odd;
	who = ((who ^ who >> 32) + name[0]) * odd;
	return ((who ^ who >> 32) + name[1]) * odd;
}

/* Did the rules leave @task out a short time ago, and is everything as it was? */
static __always_inline bool op_is_muted(const struct op_mute *mute,
					struct task_struct *task, __u64 now)
{
	struct op_control *control = op_control();

	return now < mute->until_ns && control && mute->rules == control->rules_changed &&
	       mute->who == op_mute_who(task);
}

/* The rules left the current thread out, not by chance and not because it is young. */
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
