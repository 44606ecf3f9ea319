/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers the things to which samples of a recording refer. */
#include "recording/write/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"

/* Numbers of things, found by their properties. */
struct numbers {
	struct op_map64 libraries;	/* by path and build id */
	struct op_map64 functions;	/* by function and library */
	struct op_index threads;	/* by stack */
	OP_VEC(uint32_t) of_stack;	/* thread, by stack */
	OP_VEC(uint32_t) node_of_stack; /* by stack */
};

/* Find @key, or give it the number @next. */
static int number_of(struct op_map64 *m, uint64_t key, size_t next, uint32_t *ret)
{
	uint64_t found = next;

	if (!op_map64_get(m, key, &found) && op_map64_put(m, key, next))
		return -ENOMEM;
	*ret = (uint32_t)found;
	return 0;
}

static int add_library(struct timeline *t, struct numbers *n, uint32_t mapping,
		       uint32_t *ret)
{
	const struct op_collect_mapping *m = &t->c->mappings.data[mapping];
	struct otlp_text path = op_strings_get(&t->c->strings, m->file);
	_cleanup_free_ char *copy = NULL;
	struct timeline_library *l;
	struct otlp_text name;

	*ret = TIMELINE_NONE;
	if (!path.len)
		return 0;
	if (number_of(&n->libraries, (uint64_t)m->file << 32 | m->build_id,
		      t->libraries.len, ret))
		return -ENOMEM;
	if (*ret < t->libraries.len)
		return 0;
	copy = strndup(path.data, path.len);
	l = copy ? op_vec_push(&t->libraries) : NULL;
	if (!l)
		return -ENOMEM;
	*l = (struct timeline_library){ .path = m->file, .build_id = m->build_id };
	name.data = op_base_name(copy);
	name.len = strlen(name.data);
	return op_strings_add(&t->c->strings, name, &l->name);
}

static int add_frame(struct timeline *t, struct numbers *n, uint32_t line,
		     uint32_t location, uint32_t library)
{
	uint32_t function = t->c->lines.data[line].function;
	struct timeline_function *fn;
	uint32_t number;

	if (number_of(&n->functions, (uint64_t)function << 32 | library, t->functions.len,
		      &number))
		return -ENOMEM;
	if (number == t->functions.len) {
		fn = op_vec_push(&t->functions);
		if (!fn)
			return -ENOMEM;
		*fn = (struct timeline_function){ function, library };
	}
	t->frames.data[line] = (struct timeline_frame){ location, number };
	return 0;
}

static int add_frames(struct timeline *t, struct numbers *n)
{
	const struct op_collect_location *l;
	uint32_t library = 0, i, j;
	int r = 0;

	if (op_vec_reserve(&t->frames, t->c->lines.len + 1))
		return -ENOMEM;
	t->frames.len = t->c->lines.len;
	for (i = 0; !r && i < t->c->locations.len; i++) {
		l = &t->c->locations.data[i];
		r = add_library(t, n, l->mapping, &library);
		for (j = 0; !r && j < l->lines_len; j++)
			r = add_frame(t, n, l->lines + j, i, library);
	}
	return r;
}

/* The node of a stack, from the outermost frame in. */
static int add_stack(struct timeline *t, const struct op_collect_stack *s,
		     struct op_collect_path *path, uint32_t *ret)
{
	const struct op_collect_location *l;
	uint32_t i, j, *e;

	path->len = 0;
	for (i = s->locations_len; i; i--) {
		l = &t->c->locations
			     .data[t->c->location_numbers.data[s->locations + i - 1]];
		for (j = l->lines_len; j; j--) {
			e = op_vec_push(path);
			if (!e)
				return -ENOMEM;
			*e = l->lines + j - 1;
		}
	}
	return tree_add(&t->nodes, path->data, path->len, 0, ret);
}

/* Do two stacks, by numbers of the collection, belong to one thread and kind? */
static bool thread_equal(const void *elements, uint32_t i, const void *key)
{
	const struct timeline *t = elements;
	const struct op_collect_stack *a = &t->c->stacks.data[t->threads.data[i]];
	const struct op_collect_stack *b = key;

	return a->kind == b->kind && a->process == b->process &&
	       a->thread_id == b->thread_id && a->thread_name == b->thread_name &&
	       a->moment == b->moment;
}

static int add_thread(struct timeline *t, struct numbers *n, uint32_t stack,
		      uint32_t *ret)
{
	const struct op_collect_stack *s = &t->c->stacks.data[stack];
	uint32_t hash = (uint32_t)op_hash_u64(
		((uint64_t)s->process << 32 | (uint32_t)s->thread_id) ^ t->c->seed);
	uint32_t *e;

	*ret = op_index_find(&n->threads, hash, t, s, thread_equal);
	if (*ret != UINT32_MAX)
		return 0;
	e = op_vec_push(&t->threads);
	if (!e)
		return -ENOMEM;
	*e = stack;
	*ret = (uint32_t)t->threads.len - 1;
	return op_index_add(&n->threads, hash, *ret);
}

static int add_stacks(struct timeline *t, struct numbers *n)
{
	struct op_collect_path path = { 0 };
	size_t stacks = t->c->stacks.len;
	uint32_t i;
	int r = 0;

	if (op_vec_reserve(&n->of_stack, stacks + 1) ||
	    op_vec_reserve(&n->node_of_stack, stacks + 1))
		return -ENOMEM;
	for (i = 0; !r && i < stacks; i++) {
		r = add_thread(t, n, i, &n->of_stack.data[i]);
		if (!r)
			r = add_stack(t, &t->c->stacks.data[i], &path,
				      &n->node_of_stack.data[i]);
	}
	free(path.data);
	return r;
}

static int compare_samples(const void *a, const void *b)
{
	const struct timeline_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int add_samples(struct timeline *t, const struct numbers *n,
		       const struct recording *r)
{
	const struct recording_sample *s;

	if (op_vec_reserve(&t->samples, r->samples.len + 1))
		return -ENOMEM;
	op_vec_foreach(s, &r->samples)
		t->samples.data[t->samples.len++] =
			(struct timeline_sample){ s->time_ns, s->value,
						  n->of_stack.data[s->stack],
						  n->node_of_stack.data[s->stack] };
	if (t->samples.len)
		qsort(t->samples.data, t->samples.len, sizeof(*t->samples.data),
		      compare_samples);
	return 0;
}

int timeline_make(const struct recording *r, struct timeline *ret)
{
	struct numbers n = { 0 };
	int err;

	ret->c = r->c;
	err = add_frames(ret, &n);
	if (!err)
		err = add_stacks(ret, &n);
	if (!err)
		err = add_samples(ret, &n, r);
	op_map64_clear(&n.libraries);
	op_map64_clear(&n.functions);
	op_index_clear(&n.threads);
	op_vec_clear(&n.of_stack);
	op_vec_clear(&n.node_of_stack);
	return err;
}

void timeline_clear(struct timeline *t)
{
	op_vec_clear(&t->libraries);
	op_vec_clear(&t->functions);
	op_vec_clear(&t->frames);
	tree_clear(&t->nodes);
	op_vec_clear(&t->threads);
	op_vec_clear(&t->samples);
}
