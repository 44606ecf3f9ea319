/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes the table of rules to the programs. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "kernel/state.h"

enum {
	RATES_BYTES = OP_RATES_MAX * sizeof(uint64_t),
};

/* Results that the programs keep of the old rules are no longer valid. */
static void rules_changed(struct op_capture *c)
{
	__atomic_store_n(&c->control->rules_changed, c->control->rules_changed + 1,
			 __ATOMIC_RELEASE);
}

bool op_capture_sees_ancestors(const struct op_capture *c)
{
	return c->settings.cgroup_ancestors;
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

int op_capture_rule_map_switch(struct op_capture *c, int fd,
			       const struct op_rule_use *used,
			       const uint64_t rate[OP_RATES_MAX])
{
	struct op_control *control = c->control;
	const uint32_t next = !control->rules_active;
	/* This waits for running programs, so none of them reads what is written below. */
	int r = bpf_map_update_elem(c->map[OP_MAP_TARGETS], &next, &fd, BPF_ANY);

	if (r < 0)
		return op_fail(c->log, r,
			       "the table of rules could not be given to the kernel: %s",
			       strerror(-r));
	control->used[next] = *used;
	memcpy(&control->rate[next * OP_RATES_MAX], rate, RATES_BYTES);
	/* one word, so each sample sees either the old list or the new one */
	__atomic_store_n(&control->rules_active, next, __ATOMIC_RELEASE);
	rules_changed(c);
	return 0;
}

void op_capture_get_rates(const struct op_capture *c, uint64_t ret[OP_RATES_MAX])
{
	memcpy(ret, &c->control->rate[c->control->rules_active * OP_RATES_MAX],
	       RATES_BYTES);
}

void op_capture_set_rule_use(struct op_capture *c, const struct op_rule_use *used)
{
	struct op_rule_use *to = &c->control->used[c->control->rules_active];
	size_t i;

	__atomic_store_n(&to->cgroup_depths, used->cgroup_depths, __ATOMIC_RELAXED);
	__atomic_store_n(&to->random, used->random, __ATOMIC_RELAXED);
	__atomic_store_n(&to->trees, used->trees, __ATOMIC_RELAXED);
	for (i = 0; i < OP_AGES_MAX; i++)
		__atomic_store_n(&to->age_ns[i], used->age_ns[i], __ATOMIC_RELAXED);
	__atomic_store_n(&to->kinds, used->kinds, __ATOMIC_RELEASE);
	__atomic_store_n(&to->include, used->include, __ATOMIC_RELEASE);
	rules_changed(c);
}

void op_capture_set_rates(struct op_capture *c, uint32_t clock_hz,
			  const uint64_t rate[OP_RATES_MAX])
{
	__u64 *to = &c->control->rate[c->control->rules_active * OP_RATES_MAX];
	size_t i;

	__atomic_store_n(&c->control->clock_ns, OP_NS_PER_S / clock_hz, __ATOMIC_RELAXED);
	for (i = 0; i < OP_RATES_MAX; i++)
		__atomic_store_n(&to[i], rate[i], __ATOMIC_RELAXED);
}
