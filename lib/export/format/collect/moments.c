/* SPDX-License-Identifier: Apache-2.0 */
#include "export/format/collect/collect.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"

int op_moments_init(struct op_moments *m, uint64_t seed)
{
	return op_strings_init(&m->hosts, seed);
}

void op_moments_deinit(struct op_moments *m)
{
	struct op_moment *moment;

	op_vec_foreach(moment, &m->all) {
		op_vec_clear(&moment->stacks);
		op_vec_clear(&moment->ends);
	}
	op_strings_deinit(&m->hosts);
	op_vec_clear(&m->all);
	op_index_clear(&m->index);
}

bool op_moments_has_type(struct otlp_text type)
{
	static const char *const begins[] = { "inuse_", "threads", "goroutines" };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(begins); i++)
		if (type.len >= strlen(begins[i]) &&
		    !memcmp(type.data, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* The id of the host, or its name. Empty if the resource has neither. */
static struct otlp_text host_of(const struct otlp_profiles *p,
				const struct otlp_resource *resource)
{
	struct otlp_text name = { "", 0 };
	uint32_t i;

	for (i = 0; i < resource->attributes.len; i++) {
		const struct otlp_attribute *a =
			&p->resource_attributes.data[resource->attributes.first + i];
		struct otlp_text key = otlp_attribute_key(p, a);
		struct otlp_text value = otlp_attribute_text(p, a);

		if (otlp_text_is(key, "host.id") && value.len)
			return value;
		if (otlp_text_is(key, "host.name"))
			name = value;
	}
	return name;
}

static bool moment_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_moments *m = elements;
	const struct op_moment *a = &m->all.data[i], *b = key;

	return a->kind == b->kind && a->host == b->host && a->process == b->process;
}

/* The number of the moment like @wanted, which is added if it is not there. */
static int find(struct op_moments *m, const struct op_moment *wanted, uint32_t *ret)
{
	uint64_t key = ((uint64_t)wanted->host << 32 | wanted->kind) ^ m->hosts.seed;
	uint32_t hash = (uint32_t)op_hash_u64(op_hash_u64(key) ^ wanted->process);
	struct op_moment *added;

	*ret = op_index_find(&m->index, hash, m, wanted, moment_equal);
	if (*ret != UINT32_MAX)
		return 0;
	added = op_vec_push(&m->all);
	if (!added)
		return -ENOMEM;
	*added = *wanted;
	*ret = (uint32_t)m->all.len - 1;
	return op_index_add(&m->index, hash, *ret) ? -ENOMEM : 0;
}

int op_moments_find(struct op_moments *m, const struct otlp_profiles *p,
		    const struct otlp_sample_view *v, uint32_t kind, uint32_t process,
		    uint32_t *ret)
{
	struct op_moment wanted = { .kind = kind, .process = OP_MOMENT_NONE };
	int r;

	if (!op_moments_has_type(v->type)) {
		*ret = OP_MOMENT_NONE;
		return 0;
	}
	if (op_strings_add(&m->hosts, host_of(p, v->resource), &wanted.host))
		return -ENOMEM;
	r = find(m, &wanted, &wanted.all);
	wanted.process = process;
	return r ? r : find(m, &wanted, ret);
}

/* The values of @m do not count. */
static void forget(struct op_collect *c, struct op_moment *m)
{
	uint32_t *stack;

	op_vec_foreach(stack, &m->stacks) {
		struct op_collect_stack *of = &c->stacks.data[*stack];

		of->value = of->guessed = of->approximate = 0;
		of->lost = 0;
		of->samples = 0;
	}
	m->stacks.len = 0;
}

/* A window that begins at or after this time is not one beside that of @p. Between two
 * windows of a recorder the wall clock may be corrected. */
static uint64_t end_of(const struct otlp_profile *p)
{
	uint64_t ns = OP_MAX(p->duration_ns - p->duration_ns / 16, UINT64_C(1));

	return p->time_ns + OP_MIN(ns, UINT64_MAX - p->time_ns);
}

int op_collect_is_newest(struct op_collect *c, const struct otlp_sample_view *v,
			 uint32_t moment)
{
	const struct otlp_profile *p = v->profile;
	struct op_moment *all, *m;

	if (moment == OP_MOMENT_NONE)
		return 1;
	m = &c->moments.all.data[moment];
	all = &c->moments.all.data[m->all];
	if (p->time_ns < m->time_ns ||
	    (p->time_ns < all->time_ns && end_of(p) <= all->time_ns))
		return 0;
	all->time_ns = OP_MAX(all->time_ns, p->time_ns);
	while (all->ends.len && all->ends.data[0].key <= all->time_ns) {
		struct op_moment *ended = &c->moments.all.data[all->ends.data[0].value];

		if (ended->end_ns == all->ends.data[0].key)
			forget(c, ended);
		op_minheap_remove_top(&all->ends);
	}
	if (m->end_ns && p->time_ns == m->time_ns)
		return 1;
	forget(c, m);
	m->time_ns = p->time_ns;
	m->end_ns = end_of(p);
	return op_minheap_add(&all->ends, m->end_ns, moment) ? -ENOMEM : 1;
}

bool op_moments_counts(const struct op_moments *m, uint32_t moment, uint64_t time_ns)
{
	const struct op_moment *of = &m->all.data[moment];

	return time_ns == of->time_ns && of->end_ns > m->all.data[of->all].time_ns;
}

int op_moments_note(struct op_moments *m, uint32_t moment, uint32_t stack)
{
	uint32_t *listed = moment == OP_MOMENT_NONE
				   ? NULL
				   : op_vec_push(&m->all.data[moment].stacks);

	if (listed)
		*listed = stack;
	return listed || moment == OP_MOMENT_NONE ? 0 : -ENOMEM;
}
