/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that the rules left out (bpf/event/off/mute.h, compiled for this test with made-up
 * tasks): they stay so as long as nothing that rules examine changes, and never without
 * knowing for sure.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "op_control.h"
#include "test.h"

/* ---- the kernel ---- */

struct pid;
struct cred;
struct css_set;
struct task_struct {
	uint32_t tgid;
	uint64_t start_time;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	const struct cred *real_cred;
	struct css_set *cgroups;
	char comm[OP_COMM_BYTES];
};
struct op_slot {
	struct op_record record;
	uint32_t number;
};

static struct {
	struct op_control control;
	struct task_struct *current;
	bool none; /* there is no op_control */
} k;
static const struct op_settings op_settings;

/* Stands in for what these headers have. */
#define __BPF_CORE_READ_H__
#define __BPF_HELPERS__
#define OP_SETTINGS_H
#define OP_SLOT_H
#define OP_TASK_H
#define OP_MAPS_H
#define OP_KERNEL_H
#undef __always_inline
#define __always_inline			      inline __attribute__((always_inline))
#define READ_2(task, a)			      ((task)->a)
#define READ_3(task, a, b)		      ((task)->a->b)
#define READ_OF(_1, _2, _3, of, ...)	      of
#define BPF_CORE_READ(...)		      READ_OF(__VA_ARGS__, READ_3, READ_2)(__VA_ARGS__)
#define BPF_CORE_READ_INTO(to, task, a)	      memcpy(to, &(task)->a, sizeof(*(to)))
#define bpf_map_lookup_elem(map, key)	      ((void)(key), NULL)
#define op_platform_bound(x)		      ((void)(x))
#define op_control()			      (k.none ? NULL : &k.control)
#define op_slot_at(i)			      ((void)(i), (struct op_slot *)NULL)
#define op_current_task()		      (k.current)
#define op_ancestor_pid(pid, level)	      ((void)(level), 0U)
#define bpf_get_prandom_u32()		      1U
#define bpf_get_current_uid_gid()	      0
#define bpf_get_current_cgroup_id()	      0
#define bpf_get_current_ancestor_cgroup_id(i) ((void)(i), 0)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* unroll is of clang */
#include "bpf/event/off/mute.h"
#pragma GCC diagnostic pop

enum {
	OBJECTS = 4000,
	OBJECT_BYTES = 256, /* those of a slab follow each other */
};
#define NOW_NS (1000 * OP_MUTE_NS)

static _Alignas(2 * OBJECT_BYTES) char objects[OBJECTS][OBJECT_BYTES];

static const struct cred *cred_of(int i)
{
	return (const struct cred *)(const void *)objects[i];
}

static struct css_set *group_of(int i)
{
	return (struct css_set *)(void *)objects[i];
}

static struct task_struct task;

/* The rules have left out a thread just now. */
static struct op_mute begin(void)
{
	struct op_mute mute = { 0 };

	memset(&k, 0, sizeof(k));
	k.control.rules_changed = 7;
	k.control.rules_active = 1;
	k.control.used[1].kinds = 1 << OP_RULE_COMM | 1 << OP_RULE_UID;
	task = (struct task_struct){ .comm = "fifteen-bytes-x",
				     .real_cred = cred_of(0),
				     .cgroups = group_of(1) };
	k.current = &task;
	CHECK(!op_is_muted(&mute, &task, NOW_NS));
	CHECK(!op_is_muted(&mute, &task, 0));
	op_mute_now(&mute, NOW_NS);
	CHECK(op_is_muted(&mute, &task, NOW_NS));
	return mute;
}

static void test_until(void)
{
	struct op_mute mute = begin();

	CHECK(op_is_muted(&mute, &task, NOW_NS + OP_MUTE_NS - 1));
	CHECK(!op_is_muted(&mute, &task, NOW_NS + OP_MUTE_NS));
	CHECK(!op_is_muted(&mute, &task, NOW_NS + 2 * OP_MUTE_NS));
	op_mute_now(&mute, NOW_NS + OP_MUTE_NS);
	CHECK(op_is_muted(&mute, &task, NOW_NS + OP_MUTE_NS));
}

/* Each bit of it counts. */
static void test_name(void)
{
	const struct op_mute mute = begin();
	size_t i;

	for (i = 0; i < sizeof(task.comm); i++) {
		int bit;

		for (bit = 0; bit < 8; bit++) {
			task.comm[i] = (char)(task.comm[i] ^ 1 << bit);
			CHECK(!op_is_muted(&mute, &task, NOW_NS));
			task.comm[i] = (char)(task.comm[i] ^ 1 << bit);
		}
	}
	CHECK(op_is_muted(&mute, &task, NOW_NS));
}

/* Another user, or exec(2): other credentials. Another control group: another css_set. */
static void test_user_and_group(void)
{
	const struct op_mute mute = begin();
	int i;

	for (i = 1; i < OBJECTS; i++) {
		task.real_cred = cred_of(i);
		CHECK(!op_is_muted(&mute, &task, NOW_NS));
		/* both change, by the same bits */
		task.cgroups = group_of(1 ^ i);
		CHECK(!op_is_muted(&mute, &task, NOW_NS));
		task.real_cred = cred_of(0);
		task.cgroups = group_of(i == 1 ? 0 : i);
		CHECK(!op_is_muted(&mute, &task, NOW_NS));
		task.cgroups = group_of(1);
	}
	CHECK(op_is_muted(&mute, &task, NOW_NS));
}

static void test_rules(void)
{
	const struct op_mute mute = begin();

	k.control.rules_changed++;
	CHECK(!op_is_muted(&mute, &task, NOW_NS));
	k.control.rules_changed--;
	CHECK(op_is_muted(&mute, &task, NOW_NS));
	k.none = true;
	CHECK(!op_is_muted(&mute, &task, NOW_NS));
}

/* With a rule on the age of a process, or one that keeps some samples by chance, the same
 * thread's next sample may be wanted. Only the rules in force count. */
static void test_never(void)
{
	struct op_mute mute;

	(void)begin();
	mute = (struct op_mute){ 0 };
	k.control.used[1].kinds |= 1 << OP_TARGET_AGE;
	op_mute_now(&mute, NOW_NS);
	CHECK(!op_is_muted(&mute, &task, NOW_NS));
	k.control.used[1].kinds = 1 << OP_RULE_COMM;
	k.control.used[1].random = 1;
	op_mute_now(&mute, NOW_NS);
	CHECK(!op_is_muted(&mute, &task, NOW_NS));
	k.none = true;
	op_mute_now(&mute, NOW_NS);
	k.none = false;
	CHECK(!op_is_muted(&mute, &task, NOW_NS));
	k.control.used[0] = k.control.used[1];
	k.control.used[0].kinds |= 1 << OP_TARGET_AGE;
	k.control.used[1].random = 0;
	op_mute_now(&mute, NOW_NS);
	CHECK(op_is_muted(&mute, &task, NOW_NS));
}

TEST_MAIN({ "until", test_until }, { "name", test_name },
	  { "user_and_group", test_user_and_group }, { "rules", test_rules },
	  { "never", test_never })
