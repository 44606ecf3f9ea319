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

	op_vec_foreach(moment, &m->all)
		op_vec_clear(&moment->stacks);
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

	return a->kind == b->kind && a->host == b->host;
}

int op_moments_find(struct op_moments *m, const struct otlp_profiles *p,
		    const struct otlp_sample_view *v, uint32_t kind, uint32_t *ret)
{
	struct op_moment wanted = { .kind = kind };
	struct op_moment *added;
	uint32_t hash, i;

	if (!op_moments_has_type(v->type)) {
		*ret = OP_MOMENT_NONE;
		return 0;
	}
	if (op_strings_add(&m->hosts, host_of(p, v->resource), &wanted.host))
		return -ENOMEM;
	hash = (uint32_t)op_hash_u64(((uint64_t)wanted.host << 32 | kind) ^
				     m->hosts.seed);
	i = op_index_find(&m->index, hash, m, &wanted, moment_equal);
	if (i == UINT32_MAX) {
		added = op_vec_push(&m->all);
		if (!added)
			return -ENOMEM;
		*added = wanted;
		i = (uint32_t)m->all.len - 1;
		if (op_index_add(&m->index, hash, i))
			return -ENOMEM;
	}
	*ret = i;
	return 0;
}

bool op_collect_is_newest(struct op_collect *c, const struct otlp_sample_view *v,
			  uint32_t moment)
{
	struct op_moment *m;
	uint32_t *stack;

	if (moment == OP_MOMENT_NONE)
		return true;
	m = &c->moments.all.data[moment];
	if (v->profile->time_ns < m->time_ns)
		return false;
	if (v->profile->time_ns > m->time_ns) {
		op_vec_foreach(stack, &m->stacks) {
			struct op_collect_stack *of = &c->stacks.data[*stack];

			of->value = of->guessed = of->approximate = 0;
			of->lost = 0;
			of->samples = 0;
		}
		m->stacks.len = 0;
		m->time_ns = v->profile->time_ns;
	}
	return true;
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
