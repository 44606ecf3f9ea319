/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* In the order in which they are made, are polled, and take their snapshots. */
enum {
	RULES,
	MAPPED,
	PROBES,
	THREADS,
	HEAP,
	GOROUTINES,
	PARTS
};

static const struct op_part_ops *const OPS[PARTS] = {
	[RULES] = &op_part_rules,   [MAPPED] = &op_part_mapped,
	[PROBES] = &op_part_probes, [THREADS] = &op_part_threads,
	[HEAP] = &op_part_heap,	    [GOROUTINES] = &op_part_goroutines,
};

struct op_parts {
	struct op_part_config config;
	struct op_part_taken taken;
	void *part[PARTS];
};

int op_parts_new(const struct op_part_config *config, struct op_parts **ret)
{
	_cleanup_(op_parts_freep) struct op_parts *p = calloc(1, sizeof(*p));
	size_t i;
	int r = 0;

	if (!p)
		return -ENOMEM;
	p->config = *config;
	for (i = 0; r == 0 && i < PARTS; i++) {
		if (OPS[i]->make)
			r = OPS[i]->make(&p->config, &p->part[i]);
		else
			p->part[i] = &p->config;
		p->config.mapped = p->part[MAPPED];
	}
	if (r == 0)
		*ret = OP_TAKE_PTR(p);
	return r;
}

struct op_parts *op_parts_free(struct op_parts *p)
{
	size_t i;

	for (i = PARTS; p && i-- > 0;)
		if (p->part[i] && OPS[i]->free)
			OPS[i]->free(p->part[i]);
	free(p);
	return NULL;
}

int op_parts_set_kinds(struct op_parts *p, uint64_t kinds)
{
	int error = 0;
	size_t i;

	for (i = 0; i < PARTS; i++) {
		int r = OPS[i]->set_kinds ? OPS[i]->set_kinds(p->part[i], kinds) : 0;

		error = error ?: r;
	}
	return error;
}

void op_parts_poll(struct op_parts *p, enum op_part_when when,
		   struct op_allowance *allowance, struct op_window *window)
{
	size_t i;

	for (i = 0; i < PARTS; i++)
		if (OPS[i]->poll && OPS[i]->when == when)
			OPS[i]->poll(p->part[i], allowance, window, &p->taken);
}

uint64_t op_parts_next_ns(const struct op_parts *p)
{
	uint64_t first = 0;
	size_t i;

	for (i = 0; i < PARTS; i++) {
		uint64_t ns = OPS[i]->next_ns ? OPS[i]->next_ns(p->part[i]) : 0;

		if (ns && (!first || ns < first))
			first = ns;
	}
	return first;
}

void op_parts_snapshot(struct op_parts *p, struct op_window *window, enum op_part_end end)
{
	size_t i;

	for (i = 0; i < PARTS; i++) {
		int r = OPS[i]->snapshot
				? OPS[i]->snapshot(p->part[i], window, end, &p->taken)
				: 0;

		if (r < 0)
			op_log(p->config.log, OP_LOG_WARNING,
			       "the snapshot of %s is not complete (%s), ignoring",
			       OPS[i]->name, strerror(-r));
	}
}

const struct op_part_taken *op_parts_taken(const struct op_parts *p)
{
	return &p->taken;
}

void op_parts_get_stats(const struct op_parts *p, struct otelprof_stats *ret)
{
	size_t i;

	for (i = 0; i < PARTS; i++)
		if (OPS[i]->get_stats)
			OPS[i]->get_stats(p->part[i], ret);
}

struct op_probes *op_parts_probes(const struct op_parts *p)
{
	return p->part[PROBES];
}

struct op_rule_set *op_parts_targets(const struct op_parts *p)
{
	return p->part[RULES];
}
