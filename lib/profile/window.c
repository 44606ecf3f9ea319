/* SPDX-License-Identifier: Apache-2.0 */
/* The life cycle of a window. */
#include "profile/window.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "profile/window_tables.h"

/* All arrays of a window; an OP_VEC() of any type has the layout of struct any_vec. */
struct any_vec {
	void *data;
	size_t len;
	size_t cap;
};

struct array {
	size_t offset;
	size_t elem_size;
};

#define ARRAY(name)                                                                      \
	{                                                                                \
		offsetof(struct op_window, name),                                        \
			sizeof(*((struct op_window *)0)->name.data)                      \
	}
static const struct array arrays[] = {
	ARRAY(chars),	   ARRAY(numbers),   ARRAY(lines),     ARRAY(strings),
	ARRAY(attributes), ARRAY(functions), ARRAY(mappings),  ARRAY(locations),
	ARRAY(links),	   ARRAY(stacks),    ARRAY(resources), ARRAY(identities),
	ARRAY(taken),
};
#undef ARRAY

enum {
	ARRAY_KEEP_ELEMENTS = 64, /* never trimmed below this, so that fill() fits */
};

static struct any_vec *array_at(struct op_window *w, size_t i)
{
	return (struct any_vec *)((char *)w + arrays[i].offset);
}

static void empty(struct op_window *w)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(arrays); i++)
		array_at(w, i)->len = 0;
	for (i = 0; i < OP_TABLES; i++)
		op_index_reset(&w->index[i]);
}

static void trim(struct op_window *w)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(arrays); i++) {
		struct any_vec *v = array_at(w, i);
		void *p;

		if (v->cap <= ARRAY_KEEP_ELEMENTS)
			continue;
		p = realloc(v->data, ARRAY_KEEP_ELEMENTS * arrays[i].elem_size);
		if (!p)
			continue;
		w->bytes -= (v->cap - ARRAY_KEEP_ELEMENTS) * arrays[i].elem_size;
		v->data = p;
		v->cap = ARRAY_KEEP_ELEMENTS;
	}
}

/* Add the zero entries and the strings of enum op_fixed_string. This needs no memory in a
 * window that was filled before. */
static int fill(struct op_window *w)
{
	static const char *const fixed[OP_STRINGS_FIXED] = {
		[OP_STRING_NONE] = "",
		[OP_STRING_THREAD_ID] = "thread.id",
		[OP_STRING_THREAD_NAME] = "thread.name",
		[OP_STRING_CPU] = "cpu.logical_number",
	};
	const struct op_attribute attribute = { 0 };
	const struct op_function function = { 0 };
	const struct op_window_mapping mapping = { 0 };
	const struct op_location location = { 0 };
	const struct op_link link = { 0 };
	uint32_t number;
	uint32_t i;
	int r = 0;

	for (i = 0; i < OP_STRINGS_FIXED && r >= 0; i++)
		r = op_window_string(w, fixed[i], strlen(fixed[i]), &number);
	if (r >= 0)
		r = op_window_attribute(w, &attribute, &number);
	if (r >= 0)
		r = op_window_function(w, &function, &number);
	if (r >= 0)
		r = op_window_mapping(w, &mapping, &number);
	if (r >= 0)
		r = op_window_location(w, &location, &number);
	if (r >= 0)
		r = op_window_link(w, &link, &number);
	if (r >= 0)
		r = op_window_stack(w, NULL, 0, &number);
	return r;
}

int op_window_new(const struct op_window_config *config, struct op_window **ret)
{
	_cleanup_(op_window_freep) struct op_window *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->config = *config;
	if (!w->config.limit_bytes)
		w->config.limit_bytes = OP_WINDOW_LIMIT_BYTES;
	w->seed = op_hash_seed();
	w->epoch = (uint32_t)(op_hash_seed() >> 32) | 1;
	w->bytes = sizeof(*w);
	r = fill(w);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(w);
	return 0;
}

struct op_window *op_window_free(struct op_window *w)
{
	size_t i;

	if (!w)
		return NULL;
	for (i = 0; i < OP_ARRAY_SIZE(arrays); i++)
		free(array_at(w, i)->data);
	for (i = 0; i < OP_TABLES; i++)
		op_index_clear(&w->index[i]);
	free(w);
	return NULL;
}

void op_window_reset(struct op_window *w)
{
	int r;

	empty(w);
	/* After a window near the limit, release memory, because the next one may need
	 * other arrays. */
	if (w->bytes > w->config.limit_bytes / 2)
		trim(w);
	if (++w->epoch == 0)
		w->epoch = 1;
	r = fill(w);
	assert(r >= 0);
	(void)r;
}

uint32_t op_window_epoch(const struct op_window *w)
{
	return w->epoch;
}

size_t op_window_bytes(const struct op_window *w)
{
	return w->bytes;
}

uint64_t op_window_samples(const struct op_window *w)
{
	return w->taken.len;
}

void op_window_set_period(struct op_window *w, uint64_t period_ns)
{
	assert(!w->taken.len);
	w->config.period_ns = period_ns;
}
