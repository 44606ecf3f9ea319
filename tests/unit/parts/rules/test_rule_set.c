/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random rules and processes: what the kernel's side decides (bpf/event/rules/rules.h, compiled
 * for this test) with the tables that user space makes is what the one sentence says, word by
 * word: of the rules that match a process, the last to include or exclude decides whether it is
 * sampled and the last with a rate decides how often, and a process that no rule includes or
 * excludes is sampled only if no rule includes.
 */
#include "parts/rules/rule_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/macros.h"
#include "base/vec.h"
#include "kernel/capture.h"
#include "otelprof/config.h"
#include "parts/rules/cgroup.h"
#include "test.h"

enum {
	PROCESSES = 12,
	COMMS = 3,
	GROUPS = 6, /* 0, 1 at depth 1; 2, 3 below 0 and 4, 5 below 1 */
	RULES = 400,
	ROUNDS = 300,
	STEPS = 20,
	HZ = 20,
};
#define AGE_NS UINT64_C(1000000000)

/* ---- the kernel ---- */

struct task_struct {
	uint32_t tgid;
	uint32_t uid;
	int group;
	uint64_t start_time;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
};
struct op_slot {
	struct op_record record;
	uint32_t number;
};
struct row {
	struct op_rule_key key;
	struct op_rule_decision decision;
};
struct table {
	OP_VEC(struct row) rows;
};

static struct {
	struct op_control control;
	struct op_slot slot;
	struct task_struct *current;
	struct table table[64]; /* by descriptor */
	int active[2];
	bool full; /* no table can be made */
	uint32_t random;
	uint64_t
		groups_anew; /* what was added to the ids of groups that were made anew */
} k;
static const struct op_settings op_settings = { .cgroup_ancestors = 1 };
static int op_rules_of_list; /* stands for the map of maps */

static int group_at(int group, int depth)
{
	int parent = group < 2 ? group : (group - 2) / 2;

	return depth == 1 ? parent : depth == 2 && group >= 2 ? group : -1;
}

static void *look_up(const void *map, const void *key)
{
	const struct table *table = map;
	struct row *row;

	if (map == &op_rules_of_list)
		return &k.table[k.active[*(const uint32_t *)key]];
	op_vec_foreach(row, &table->rows)
		if (memcmp(&row->key, key, sizeof(row->key)) == 0)
			return &row->decision;
	return NULL;
}

/* Stands in for what these headers have. */
#define __BPF_CORE_READ_H__
#define __BPF_HELPERS__
#define OP_SETTINGS_H
#define OP_SLOT_H
#define OP_TASK_H
#define OP_MAPS_H
#undef __always_inline
#define __always_inline		      inline __attribute__((always_inline))
#define READ_2(task, a)		      ((task)->a)
#define READ_3(task, a, b)	      ((task)->a->b)
#define READ_OF(_1, _2, _3, of, ...)  of
#define BPF_CORE_READ(...)	      READ_OF(__VA_ARGS__, READ_3, READ_2)(__VA_ARGS__)
#define bpf_map_lookup_elem(map, key) look_up(map, key)
#define op_targets		      op_rules_of_list
#define op_platform_bound(x)	      ((void)(x))
#define op_control()		      (&k.control)
#define op_slot_at(i)		      (&k.slot)
#define op_current_task()	      (k.current)
#define op_ancestor_pid(pid, level)   ((void)(level), 0U)
#define bpf_get_prandom_u32()	      (k.random)
#define bpf_get_current_uid_gid()     ((uint64_t)k.current->uid)
#define bpf_get_current_cgroup_id()   0
#define bpf_get_current_ancestor_cgroup_id(depth)                                        \
	(k.groups_anew + (uint64_t)(group_at(k.current->group, depth) + 1))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* unroll is of clang */
#include "bpf/event/rules/rules.h"
#pragma GCC diagnostic pop
#undef bpf_map_lookup_elem
#undef op_control

static struct table *table_of(int fd)
{
	CHECK(fd > 0 && (size_t)fd < OP_ARRAY_SIZE(k.table));
	return &k.table[fd];
}

bool op_capture_sees_ancestors(const struct op_capture *c)
{
	(void)c;
	return true;
}

int op_capture_rule_map_new(struct op_capture *c, uint32_t max);
int op_capture_rule_map_new(struct op_capture *c, uint32_t max)
{
	int fd = k.full ? -ENOMEM : open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)c;
	CHECK(max);
	if (fd > 0)
		table_of(fd)->rows.len = 0;
	return fd;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, uint64_t flags);
int bpf_map_update_elem(int fd, const void *key, const void *value, uint64_t flags)
{
	struct op_rule_decision *there = look_up(table_of(fd), key);
	struct row *row;

	(void)flags;
	if (there) {
		memcpy(there, value, sizeof(*there));
		return 0;
	}
	row = op_vec_push(&table_of(fd)->rows);
	CHECK(row);
	memcpy(&row->key, key, sizeof(row->key));
	memcpy(&row->decision, value, sizeof(row->decision));
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key);
int bpf_map_delete_elem(int fd, const void *key)
{
	struct table *table = table_of(fd);
	struct row *row;

	op_vec_foreach(row, &table->rows) {
		if (memcmp(&row->key, key, sizeof(row->key)) != 0)
			continue;
		*row = table->rows.data[--table->rows.len];
		return 0;
	}
	return -ENOENT;
}

int op_capture_rule_map_switch(struct op_capture *c, int fd,
			       const struct op_rule_use *used,
			       const uint64_t rate[OP_RATES_MAX])
{
	uint32_t next = !k.control.rules_active;

	(void)c;
	k.active[next] = fd;
	k.control.used[next] = *used;
	memcpy(&k.control.rate[next * OP_RATES_MAX], rate, OP_RATES_MAX * sizeof(*rate));
	k.control.rules_active = next;
	return 0;
}

void op_capture_set_rule_use(struct op_capture *c, const struct op_rule_use *used)
{
	(void)c;
	k.control.used[k.control.rules_active] = *used;
}

void op_capture_get_rates(const struct op_capture *c, uint64_t ret[OP_RATES_MAX])
{
	(void)c;
	memset(ret, 0, OP_RATES_MAX * sizeof(*ret));
}

void op_capture_set_rates(struct op_capture *c, uint32_t clock_hz,
			  const uint64_t rate[OP_RATES_MAX])
{
	(void)c;
	(void)clock_hz;
	(void)rate;
}

/* ---- control groups: named by a digit; they come, go, and are made anew ---- */

static uint32_t groups_there;

uint64_t op_rule_cgroup_now(const char *path)
{
	int group = *path - '0';

	return groups_there >> group & 1 ? (uint64_t)(group + 1) + k.groups_anew : 0;
}

int op_rule_cgroup(const struct op_rule_groups *g, uint32_t kind, const char *text,
		   struct op_rule_group *ret)
{
	int group = *text - '0';

	(void)g;
	(void)kind;
	if (!(groups_there >> group & 1))
		return -ENOENT;
	ret->id = op_rule_cgroup_now(text);
	ret->depth = group < 2 ? 1 : 2;
	(void)snprintf(ret->path, sizeof(ret->path), "%s", text);
	return 0;
}

/* ---- the model ---- */

struct model_rule {
	struct otelprof_rule of;
	uint64_t number; /* 0: of the list */
	char text[2];
};

static struct model_rule list[RULES];
static struct model_rule added[RULES];
static size_t list_len;
static size_t added_len;
static uint64_t random_state;
static const char *const comms[COMMS] = { "web", "worker", "fifteen-bytes-x" };

static uint32_t below(uint32_t n)
{
	return (uint32_t)(op_random_next(&random_state) >> 33) % n;
}

static bool matches(const struct otelprof_rule *rule, const struct task_struct *task,
		    const char *comm)
{
	const struct task_struct *at = task;

	switch (rule->kind) {
	case OTELPROF_MATCH_ALL:
		return true;
	case OTELPROF_MATCH_PID:
		return task->tgid == rule->number;
	case OTELPROF_MATCH_TREE:
		for (; at; at = at->real_parent)
			if (at->tgid == rule->number)
				return true;
		return false;
	case OTELPROF_MATCH_COMM:
		return strcmp(comm, rule->text) == 0;
	case OTELPROF_MATCH_UID:
		return task->uid == rule->number;
	case OTELPROF_MATCH_AGE:
		return k.slot.record.time_ns - task->start_time >= rule->number;
	default:
		return (groups_there >> (*rule->text - '0') & 1) &&
		       (group_at(task->group, 1) == *rule->text - '0' ||
			group_at(task->group, 2) == *rule->text - '0');
	}
}

static void judge(const struct model_rule *rules, size_t len,
		  const struct task_struct *task, const char *comm, int *taken,
		  uint32_t *hz, bool *includes)
{
	size_t i;

	for (i = 0; i < len; i++) {
		const struct otelprof_rule *rule = &rules[i].of;

		*includes |= rule->action == OTELPROF_RULE_INCLUDE;
		if (!matches(rule, task, comm))
			continue;
		if (rule->action != OTELPROF_RULE_RATE)
			*taken = rule->action == OTELPROF_RULE_INCLUDE &&
				 rule->keep_one_in <= 1;
		if (rule->sample_rate_hz)
			*hz = rule->sample_rate_hz;
	}
}

static void check(struct op_rule_set *t, struct task_struct *task, const char *comm)
{
	bool includes = false;
	int wanted = -1;
	uint32_t hz = HZ;
	uint32_t rate;
	bool taken;

	k.current = task;
	k.slot.record.pid = task->tgid;
	memset(k.slot.record.comm, 0, sizeof(k.slot.record.comm));
	memcpy(k.slot.record.comm, comm, strlen(comm));
	judge(list, list_len, task, comm, &wanted, &hz, &includes);
	judge(added, added_len, task, comm, &wanted, &hz, &includes);
	taken = op_is_wanted(&k.slot, &rate);
	CHECK_INT(taken, wanted < 0 ? !includes : wanted);
	CHECK_INT(rate / OP_RATES_MAX, k.control.rules_active);
	CHECK_INT(op_rule_set_rates(t)->hz[rate % OP_RATES_MAX], hz);
}

/* ---- random ---- */

static struct task_struct tasks[PROCESSES];

static void make_tasks(void)
{
	int i;

	k.slot.record.time_ns = 1000 * AGE_NS;
	for (i = 0; i < PROCESSES; i++)
		tasks[i] = (struct task_struct){
			/* some have the same bit among those of trees */
			.tgid = i ? (uint32_t)(i % 2 ? i : i * 64) : 1,
			.uid = below(3),
			.group = (int)below(GROUPS),
			.start_time = k.slot.record.time_ns - below(40) * AGE_NS,
			.group_leader = &tasks[i],
			.real_parent = i ? &tasks[below((uint32_t)i)] : NULL,
		};
}

static void make_rule(struct model_rule *rule)
{
	static const uint32_t kinds[] = { OTELPROF_MATCH_ALL,	OTELPROF_MATCH_PID,
					  OTELPROF_MATCH_TREE,	OTELPROF_MATCH_COMM,
					  OTELPROF_MATCH_UID,	OTELPROF_MATCH_AGE,
					  OTELPROF_MATCH_CGROUP };
	struct otelprof_rule *of = &rule->of;

	memset(rule, 0, sizeof(*rule));
	of->size = sizeof(*of);
	of->kind = kinds[below(OP_ARRAY_SIZE(kinds))];
	of->action = below(3);
	if (of->action == OTELPROF_RULE_RATE ||
	    (of->action == OTELPROF_RULE_INCLUDE && below(4) == 0))
		of->sample_rate_hz = HZ + 1 + below(5);
	if (of->action == OTELPROF_RULE_INCLUDE && below(4) == 0)
		of->keep_one_in = below(3);
	if (of->kind == OTELPROF_MATCH_UID)
		of->number = below(3);
	else if (of->kind == OTELPROF_MATCH_AGE)
		of->number = (1 + below(OTELPROF_AGES_MAX)) * 2 * AGE_NS;
	else
		of->number = tasks[below(PROCESSES)].tgid;
	if (of->kind == OTELPROF_MATCH_COMM)
		of->text = comms[below(COMMS)];
	rule->text[0] = (char)('0' + below(GROUPS));
	if (of->kind == OTELPROF_MATCH_CGROUP)
		of->text = rule->text;
}

static void set_list(struct op_rule_set *t)
{
	static struct otelprof_rule rules[RULES];
	size_t i;

	list_len = below(30);
	for (i = 0; i < list_len; i++) {
		make_rule(&list[i]);
		rules[i] = list[i].of;
	}
	CHECK_OK(op_rule_set_replace(t, rules, list_len, 1, HZ));
}

static void add_one(struct op_rule_set *t)
{
	struct model_rule *rule = &added[added_len];
	int r;

	make_rule(rule);
	r = op_rule_set_add(t, &rule->of, 1, &rule->number);
	if (r == -ENOENT) {
		CHECK_INT(rule->of.kind, OTELPROF_MATCH_CGROUP);
		return;
	}
	CHECK_OK(r);
	added_len++;
}

static void remove_one(struct op_rule_set *t)
{
	size_t i;

	if (!added_len)
		return;
	i = below((uint32_t)added_len);
	CHECK_OK(op_rule_set_remove(t, added[i].number));
	added_len--;
	for (; i < added_len; i++) {
		added[i] = added[i + 1];
		if (added[i].of.kind == OTELPROF_MATCH_CGROUP)
			added[i].of.text = added[i].text;
	}
}

static void groups_change(struct op_rule_set *t, uint64_t *now_ns)
{
	int i;

	if (below(2)) {
		k.groups_anew += 100;
		groups_there = below(1 << GROUPS);
	}
	groups_there |= 1U << below(GROUPS);
	for (i = 0; i < 4; i++) {
		*now_ns += 6 * AGE_NS;
		op_rule_set_work(t, *now_ns, NULL);
	}
}

static struct op_rule_set *begin(void)
{
	static struct op_log log;
	struct op_rule_set *t = NULL;

	memset(&k.control, 0, sizeof(k.control));
	list_len = added_len = 0;
	k.random = 1; /* keep_one_in > 1 keeps none */
	CHECK_OK(op_rule_set_new(&(struct op_rule_set_config){ .log = &log,
							       .procfs_root = "/proc",
							       .sample_rate_hz = HZ },
				 &t));
	return t;
}

static void test_the_sentence(void)
{
	int round;
	int step;
	int i;

	random_state = op_hash_seed();
	printf("  seed %llu\n", (unsigned long long)random_state);
	for (round = 0; round < ROUNDS; round++) {
		struct op_rule_set *t = begin();
		uint64_t now_ns = 1;

		groups_there = below(1 << GROUPS);
		make_tasks();
		for (step = 0; step < STEPS; step++) {
			uint32_t dice = below(8);

			if (dice == 0)
				set_list(t);
			else if (dice < 5)
				add_one(t);
			else if (dice < 7)
				remove_one(t);
			else
				groups_change(t, &now_ns);
			for (i = 0; i < PROCESSES; i++)
				check(t, &tasks[i], comms[below(COMMS)]);
		}
		(void)op_rule_set_free(t);
	}
}

/* What cannot be leaves all as it was. */
static void test_a_list_that_cannot_be(void)
{
	struct op_rule_set *t = begin();
	static struct otelprof_rule rules[OTELPROF_GLOBS_MAX + 1];
	char text[OTELPROF_GLOBS_MAX + 1][16];
	size_t i;

	make_tasks();
	add_one(t);
	set_list(t);
	k.full = true;
	CHECK_INT(op_rule_set_replace(t, rules, 1, 1, HZ), -ENOMEM);
	k.full = false;
	for (i = 0; i < OP_ARRAY_SIZE(rules); i++) {
		(void)snprintf(text[i], sizeof(text[i]), "/%zu*", i);
		rules[i] = (struct otelprof_rule){ .kind = OTELPROF_MATCH_EXECUTABLE,
						   .text = text[i] };
	}
	CHECK_INT(op_rule_set_replace(t, rules, OP_ARRAY_SIZE(rules), 1, HZ), -ENOSPC);
	for (i = 0; i <= OTELPROF_RATES_MAX; i++)
		rules[i] = (struct otelprof_rule){ .kind = OTELPROF_MATCH_PID,
						   .number = i,
						   .action = OTELPROF_RULE_RATE,
						   .sample_rate_hz = 100 + (uint32_t)i };
	CHECK_INT(op_rule_set_replace(t, rules, OTELPROF_RATES_MAX + 1, 1, HZ), -ENOSPC);
	for (i = 0; i <= OTELPROF_AGES_MAX; i++)
		rules[i] = (struct otelprof_rule){ .kind = OTELPROF_MATCH_AGE,
						   .number = (i + 1) * 2 * AGE_NS };
	CHECK_INT(op_rule_set_replace(t, rules, OTELPROF_AGES_MAX + 1, 1, HZ), -ENOSPC);
	for (i = 0; i < PROCESSES; i++)
		check(t, &tasks[i], comms[0]);
	/* as many, with an age that the added rule may have, and all others */
	CHECK_OK(op_rule_set_replace(t, rules, OTELPROF_AGES_MAX, 1, HZ));
	CHECK_INT(op_rule_set_len(t), OTELPROF_AGES_MAX + added_len);
	(void)op_rule_set_free(t);
}

/* How many hits the sample of task 0 stands for if it is kept, or 0. */
static uint32_t hits_of(uint32_t random)
{
	uint32_t rate;

	k.random = random;
	k.slot.record.hits = 1; /* as op_event_is_wanted() does */
	return op_is_wanted(&k.slot, &rate) ? k.slot.record.hits : 0;
}

/* What is kept by chance stands for what is not. */
static void test_keep_one_in(void)
{
	struct op_rule_set *t = begin();
	struct otelprof_rule rules[2] = {
		{ .kind = OTELPROF_MATCH_ALL, .keep_one_in = 4 },
		{ .kind = OTELPROF_MATCH_UID, .keep_one_in = 3 },
	};
	uint32_t i;

	make_tasks();
	k.current = &tasks[0];
	tasks[0].uid = 2;
	CHECK_OK(op_rule_set_replace(t, rules, 2, 1, HZ));
	for (i = 0; i < 100; i++)
		CHECK_INT(hits_of(i), i % 4 ? 0 : 4);
	tasks[0].uid = 0; /* the last rule decides */
	for (i = 0; i < 100; i++)
		CHECK_INT(hits_of(i), i % 3 ? 0 : 3);
	rules[0].keep_one_in = OP_HITS_MAX + 1000; /* more than a record can tell */
	CHECK_OK(op_rule_set_replace(t, rules, 1, 1, HZ));
	CHECK_INT(hits_of(OP_HITS_MAX - 1), 0);
	CHECK_INT(hits_of(OP_HITS_MAX), OP_HITS_MAX);
	rules[0].keep_one_in = 1;
	CHECK_OK(op_rule_set_replace(t, rules, 1, 1, HZ));
	for (i = 0; i < 100; i++)
		CHECK_INT(hits_of(i), 1);
	(void)op_rule_set_free(t);
}

TEST_MAIN({ "the_sentence", test_the_sentence }, { "keep_one_in", test_keep_one_in },
	  { "a_list_that_cannot_be", test_a_list_that_cannot_be })
