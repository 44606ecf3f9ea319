/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a window, except strings and samples. Each entry is unique by its whole
 * content. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "profile/window_tables.h"

uint32_t op_window_hash(const struct op_window *w, const void *fixed, size_t fixed_bytes,
			const uint32_t *list, size_t len)
{
	uint64_t hash = op_hash_bytes(fixed, fixed_bytes, w->seed);

	if (len)
		hash = op_hash_bytes(list, len * sizeof(*list), hash);
	return (uint32_t)hash;
}

static bool span_equal(const struct op_window *w, struct op_span span,
		       const uint32_t *list, size_t len)
{
	return span.len == len &&
	       (!len || !memcmp(op_window_numbers(w, span), list, len * sizeof(*list)));
}

void op_window_clean_set(const struct op_window *w, const struct op_attribute_set *in,
			 struct op_attribute_set *ret)
{
	struct op_attribute_set out = { 0 };
	uint32_t i;

	assert(in->len <= OP_ATTRIBUTES_MAX);
	for (i = 0; i < in->len; i++) {
		uint32_t key;
		uint32_t j;

		assert(in->index[i] < w->attributes.len);
		key = w->attributes.data[in->index[i]].key;
		for (j = 0; j < out.len; j++)
			if (w->attributes.data[out.index[j]].key == key)
				break;
		if (j < out.len || !key)
			continue;
		for (j = out.len; j && out.index[j - 1] > in->index[i]; j--)
			out.index[j] = out.index[j - 1];
		out.index[j] = in->index[i];
		out.len++;
	}
	*ret = out;
}

/* Append a list to the pool of numbers. The caller has reserved memory for @len
 * numbers. */
static struct op_span numbers_put(struct op_window *w, const uint32_t *list, size_t len)
{
	struct op_span span = { (uint32_t)w->numbers.len, (uint32_t)len };

	if (len)
		memcpy(w->numbers.data + w->numbers.len, list, len * sizeof(*list));
	w->numbers.len += len;
	return span;
}

static bool attribute_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_window *w = elements;

	return !memcmp(&w->attributes.data[i], key, sizeof(struct op_attribute));
}

/* Only the members that count. */
static struct op_attribute attribute_key(const struct op_attribute *a)
{
	struct op_attribute key = { .key = a->key,
				    .is_int = !!a->is_int,
				    .unit = a->unit };

	if (a->is_int)
		key.integer = a->integer;
	else
		key.string = a->string;
	return key;
}

uint32_t op_window_find_attribute(const struct op_window *w, const struct op_attribute *a)
{
	struct op_attribute key = attribute_key(a);

	return op_index_find(&w->index[OP_TABLE_ATTRIBUTE],
			     op_window_hash(w, &key, sizeof(key), NULL, 0), w, &key,
			     attribute_equal);
}

int op_window_attribute(struct op_window *w, const struct op_attribute *a, uint32_t *ret)
{
	struct op_attribute key = attribute_key(a);
	uint32_t number = op_window_find_attribute(w, a);
	uint32_t hash;
	int r;

	assert(a->key < w->strings.len && a->unit < w->strings.len);
	assert(a->is_int || a->string < w->strings.len);
	if (number == UINT32_MAX) {
		hash = op_window_hash(w, &key, sizeof(key), NULL, 0);
		number = (uint32_t)w->attributes.len;
		r = op_window_reserve(w, &w->attributes, 1);
		if (r >= 0)
			r = op_window_index_add(w, OP_TABLE_ATTRIBUTE, hash, number);
		if (r < 0)
			return r;
		w->attributes.data[w->attributes.len++] = key;
	}
	*ret = number;
	return 0;
}

int op_window_string_attribute(struct op_window *w, const char *key, const char *value,
			       uint32_t *ret)
{
	struct op_attribute a = { 0 };
	int r;

	r = op_window_string(w, key, strlen(key), &a.key);
	if (r < 0)
		return r;
	r = op_window_string(w, value, strlen(value), &a.string);
	if (r < 0)
		return r;
	return op_window_attribute(w, &a, ret);
}

static bool function_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_window *w = elements;

	return !memcmp(&w->functions.data[i], key, sizeof(struct op_function));
}

int op_window_function(struct op_window *w, const struct op_function *f, uint32_t *ret)
{
	static const struct op_function none;
	uint32_t number;
	uint32_t hash;
	int r;

	/* A function without any name is no function. */
	if (!f->name && !f->system_name && !f->file)
		f = &none;
	hash = op_window_hash(w, f, sizeof(*f), NULL, 0);
	number = op_index_find(&w->index[OP_TABLE_FUNCTION], hash, w, f, function_equal);
	if (number == UINT32_MAX) {
		assert(f->name < w->strings.len && f->system_name < w->strings.len &&
		       f->file < w->strings.len);
		number = (uint32_t)w->functions.len;
		r = op_window_reserve(w, &w->functions, 1);
		if (r >= 0)
			r = op_window_index_add(w, OP_TABLE_FUNCTION, hash, number);
		if (r < 0)
			return r;
		w->functions.data[w->functions.len++] = *f;
	}
	*ret = number;
	return 0;
}

static bool mapping_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_window *w = elements;
	const struct op_mapping_entry *e = &w->mappings.data[i];
	const struct op_window_mapping *m = key;

	return e->start == m->start && e->limit == m->limit && e->offset == m->offset &&
	       e->file == m->file &&
	       span_equal(w, e->attributes, m->attributes.index, m->attributes.len);
}

static uint32_t mapping_hash(const struct op_window *w, const struct op_window_mapping *m)
{
	const uint64_t fixed[] = { m->start, m->limit, m->offset, m->file };

	return op_window_hash(w, fixed, sizeof(fixed), m->attributes.index,
			      m->attributes.len);
}

int op_window_mapping(struct op_window *w, const struct op_window_mapping *m,
		      uint32_t *ret)
{
	struct op_window_mapping key = *m;
	uint32_t number;
	uint32_t hash;
	int r;

	op_window_clean_set(w, &m->attributes, &key.attributes);
	hash = mapping_hash(w, &key);
	number = op_index_find(&w->index[OP_TABLE_MAPPING], hash, w, &key, mapping_equal);
	if (number == UINT32_MAX) {
		assert(m->file < w->strings.len);
		number = (uint32_t)w->mappings.len;
		r = op_window_reserve(w, &w->mappings, 1);
		if (r >= 0)
			r = op_window_reserve(w, &w->numbers, key.attributes.len);
		if (r >= 0)
			r = op_window_index_add(w, OP_TABLE_MAPPING, hash, number);
		if (r < 0)
			return r;
		w->mappings.data[w->mappings.len++] = (struct op_mapping_entry){
			.start = m->start,
			.limit = m->limit,
			.offset = m->offset,
			.file = m->file,
			.attributes =
				numbers_put(w, key.attributes.index, key.attributes.len),
		};
	}
	*ret = number;
	return 0;
}

struct location_key {
	const struct op_location *location;
	struct op_attribute_set attributes;
};

static bool location_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_window *w = elements;
	const struct op_location_entry *e = &w->locations.data[i];
	const struct location_key *k = key;
	const struct op_location *l = k->location;

	return e->address == l->address && e->mapping == l->mapping &&
	       e->lines.len == l->lines_len &&
	       (!l->lines_len || !memcmp(w->lines.data + e->lines.first, l->lines,
					 l->lines_len * sizeof(l->lines[0]))) &&
	       span_equal(w, e->attributes, k->attributes.index, k->attributes.len);
}

static uint32_t location_hash(const struct op_window *w, const struct location_key *k)
{
	const struct op_location *l = k->location;
	struct {
		uint64_t words[3];
		struct op_line lines[OP_LINES_MAX];
	} fixed = { .words = { l->address, l->mapping, l->lines_len } };

	memcpy(fixed.lines, l->lines, l->lines_len * sizeof(l->lines[0]));
	return op_window_hash(w, &fixed,
			      sizeof(fixed.words) + l->lines_len * sizeof(l->lines[0]),
			      k->attributes.index, k->attributes.len);
}

/* Add a location that is new. */
static int location_add(struct op_window *w, const struct location_key *k, uint32_t hash,
			uint32_t *ret)
{
	const struct op_location *l = k->location;
	uint32_t number = (uint32_t)w->locations.len;
	struct op_span lines = { (uint32_t)w->lines.len, l->lines_len };
	uint32_t i;
	int r;

	assert(l->mapping < w->mappings.len);
	for (i = 0; i < l->lines_len; i++)
		assert(l->lines[i].function < w->functions.len);
	r = op_window_reserve(w, &w->locations, 1);
	if (r >= 0)
		r = op_window_reserve(w, &w->lines, l->lines_len);
	if (r >= 0)
		r = op_window_reserve(w, &w->numbers, k->attributes.len);
	if (r >= 0)
		r = op_window_index_add(w, OP_TABLE_LOCATION, hash, number);
	if (r < 0)
		return r;
	if (l->lines_len)
		memcpy(w->lines.data + w->lines.len, l->lines,
		       l->lines_len * sizeof(l->lines[0]));
	w->lines.len += l->lines_len;
	w->locations.data[w->locations.len++] = (struct op_location_entry){
		.address = l->address,
		.mapping = l->mapping,
		.lines = lines,
		.attributes = numbers_put(w, k->attributes.index, k->attributes.len),
	};
	*ret = number;
	return 0;
}

/* Remove lines without a function, which carry no information. */
static uint32_t drop_empty_lines(struct op_location *l)
{
	uint32_t len = 0;
	uint32_t i;

	for (i = 0; i < l->lines_len; i++)
		if (l->lines[i].function)
			l->lines[len++] = l->lines[i];
	return len;
}

int op_window_location(struct op_window *w, const struct op_location *l, uint32_t *ret)
{
	struct location_key key = { .location = l };
	struct op_location dropped;
	uint32_t number;
	uint32_t hash;
	uint32_t i;

	assert(l->lines_len <= OP_LINES_MAX);
	for (i = 0; i < l->lines_len; i++)
		if (!l->lines[i].function)
			break;
	if (i < l->lines_len) {
		dropped = *l;
		dropped.lines_len = drop_empty_lines(&dropped);
		key.location = &dropped;
	}
	op_window_clean_set(w, &l->attributes, &key.attributes);
	hash = location_hash(w, &key);
	number = op_index_find(&w->index[OP_TABLE_LOCATION], hash, w, &key,
			       location_equal);
	if (number == UINT32_MAX)
		return location_add(w, &key, hash, ret);
	*ret = number;
	return 0;
}

uint32_t op_window_inlined(const struct op_window *w, uint32_t inner, uint32_t below,
			   uint32_t outer)
{
	struct op_span of = w->locations.data[inner].lines;
	struct op_span tail = w->locations.data[outer].lines;
	uint32_t i;

	if (tail.len >= of.len || tail.len >= below)
		return 0;
	of.first += of.len - tail.len;
	for (i = 0; i < tail.len; i++)
		if (w->lines.data[of.first + i].function !=
		    w->lines.data[tail.first + i].function)
			return 0;
	return tail.len;
}

static bool link_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_window *w = elements;

	return !memcmp(&w->links.data[i], key, sizeof(struct op_link));
}

int op_window_link(struct op_window *w, const struct op_link *l, uint32_t *ret)
{
	uint32_t hash = op_window_hash(w, l, sizeof(*l), NULL, 0);
	uint32_t number = op_index_find(&w->index[OP_TABLE_LINK], hash, w, l, link_equal);
	int r;

	if (number == UINT32_MAX) {
		number = (uint32_t)w->links.len;
		r = op_window_reserve(w, &w->links, 1);
		if (r >= 0)
			r = op_window_index_add(w, OP_TABLE_LINK, hash, number);
		if (r < 0)
			return r;
		w->links.data[w->links.len++] = *l;
	}
	*ret = number;
	return 0;
}

struct list {
	const uint32_t *data;
	size_t len;
};

static bool stack_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_window *w = elements;
	const struct list *list = key;

	return span_equal(w, w->stacks.data[i], list->data, list->len);
}

int op_window_stack(struct op_window *w, const uint32_t *locations, size_t len,
		    uint32_t *ret)
{
	struct list key = { locations, len };
	uint32_t hash = op_window_hash(w, "", 0, locations, len);
	uint32_t number =
		op_index_find(&w->index[OP_TABLE_STACK], hash, w, &key, stack_equal);
	size_t i;
	int r;

	if (number == UINT32_MAX) {
		for (i = 0; i < len; i++)
			assert(locations[i] < w->locations.len);
		number = (uint32_t)w->stacks.len;
		r = op_window_reserve(w, &w->stacks, 1);
		if (r >= 0)
			r = op_window_reserve(w, &w->numbers, len);
		if (r >= 0)
			r = op_window_index_add(w, OP_TABLE_STACK, hash, number);
		if (r < 0)
			return r;
		w->stacks.data[w->stacks.len++] = numbers_put(w, locations, len);
	}
	*ret = number;
	return 0;
}

static bool resource_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_window *w = elements;

	return !memcmp(&w->resources.data[i], key, sizeof(struct op_resource));
}

int op_window_resource(struct op_window *w, const struct op_resource *resource,
		       uint32_t *ret)
{
	uint32_t hash = op_window_hash(w, resource, sizeof(*resource), NULL, 0);
	uint32_t number = op_index_find(&w->index[OP_TABLE_RESOURCE], hash, w, resource,
					resource_equal);
	int r;

	if (number == UINT32_MAX) {
		assert(resource->container_id < w->strings.len &&
		       resource->executable_name < w->strings.len &&
		       resource->executable_path < w->strings.len &&
		       resource->service_name < w->strings.len &&
		       resource->command_args < w->strings.len &&
		       resource->container_name < w->strings.len &&
		       resource->pod_uid < w->strings.len &&
		       resource->attributes < w->strings.len &&
		       resource->cgroup_path < w->strings.len);
		number = (uint32_t)w->resources.len;
		r = op_window_reserve(w, &w->resources, 1);
		if (r >= 0)
			r = op_window_index_add(w, OP_TABLE_RESOURCE, hash, number);
		if (r < 0)
			return r;
		w->resources.data[w->resources.len++] = *resource;
	}
	*ret = number;
	return 0;
}
