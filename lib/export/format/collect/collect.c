/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the tables of the formats from requests; every entry is stored once. */
#include "export/format/collect/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "export/format/collect/kinds.h"
#include "otlp/reader.h"

enum {
	/* bytes of a name such as "module+0x12" that is made here */
	FRAME_NAME_MAX = 8192,
	LINES_MAX = 256, /* inlined functions of one location */
};

int op_collect_new(enum op_collect_detail detail, struct op_collect **ret)
{
	_cleanup_(op_collect_freep) struct op_collect *c = calloc(1, sizeof(*c));
	struct op_collect_mapping *none;

	if (!c)
		return -ENOMEM;
	c->detail = detail;
	c->seed = op_hash_seed();
	none = op_vec_push(&c->mappings);
	/* The arrays that ranges point into are never NULL. */
	if (!none || op_strings_init(&c->strings, c->seed) ||
	    op_moments_init(&c->moments, c->seed) || op_vec_reserve(&c->lines, 1) ||
	    op_vec_reserve(&c->location_numbers, 1))
		return -ENOMEM;
	*none = (struct op_collect_mapping){ 0 };
	c->stacks_max = OP_COLLECT_STACKS_MAX;
	*ret = OP_TAKE_PTR(c);
	return 0;
}

struct op_collect *op_collect_free(struct op_collect *c)
{
	if (!c)
		return NULL;
	op_strings_deinit(&c->strings);
	op_moments_deinit(&c->moments);
	c->times = op_times_free(c->times);
	op_vec_clear(&c->functions);
	op_vec_clear(&c->mappings);
	op_vec_clear(&c->lines);
	op_vec_clear(&c->locations);
	op_vec_clear(&c->processes);
	op_vec_clear(&c->kinds);
	op_vec_clear(&c->location_numbers);
	op_vec_clear(&c->met);
	op_vec_clear(&c->stacks);
	op_index_clear(&c->index.functions);
	op_index_clear(&c->index.mappings);
	op_index_clear(&c->index.locations);
	op_index_clear(&c->index.processes);
	op_index_clear(&c->index.stacks);
	free(c);
	return NULL;
}

const char *op_collect_text(const struct op_collect *c, uint32_t string, size_t *ret_len)
{
	struct otlp_text text = op_strings_get(&c->strings, string);

	*ret_len = text.len;
	return text.data;
}

static uint32_t hash_of(const struct op_collect *c, const void *bytes, size_t len)
{
	return (uint32_t)op_hash_bytes(bytes, len, c->seed);
}

/* Functions, mappings and processes are compared by their bytes, so they must have no
 * padding. */
_Static_assert(sizeof(struct op_collect_function) == 24, "no padding");
_Static_assert(sizeof(struct op_collect_mapping) == 32, "no padding");
_Static_assert(sizeof(struct op_collect_process) == 32, "no padding");

#define DEFINE_ADD(name, plural)                                                         \
	static bool name##_equal(const void *elements, uint32_t i, const void *key)      \
	{                                                                                \
		const struct op_collect *c = elements;                                   \
                                                                                         \
		return memcmp(&c->plural.data[i], key, sizeof(*c->plural.data)) == 0;    \
	}                                                                                \
                                                                                         \
	static int add_##name(struct op_collect *c, const struct op_collect_##name *key, \
			      uint32_t *ret)                                             \
	{                                                                                \
		uint32_t hash = hash_of(c, key, sizeof(*key));                           \
		uint32_t i =                                                             \
			op_index_find(&c->index.plural, hash, c, key, name##_equal);     \
		struct op_collect_##name *e;                                             \
                                                                                         \
		if (i == UINT32_MAX) {                                                   \
			e = op_vec_push(&c->plural);                                     \
			if (!e)                                                          \
				return -ENOMEM;                                          \
			*e = *key;                                                       \
			i = (uint32_t)c->plural.len - 1;                                 \
			if (op_index_add(&c->index.plural, hash, i))                     \
				return -ENOMEM;                                          \
		}                                                                        \
		*ret = i;                                                                \
		return 0;                                                                \
	}
DEFINE_ADD(function, functions)
DEFINE_ADD(mapping, mappings)
DEFINE_ADD(process, processes)

static uint32_t line_number(int64_t line)
{
	return line < 0 || line > UINT32_MAX ? 0 : (uint32_t)line;
}

static int collect_function(struct op_collect *c, const struct otlp_frame *f,
			    uint32_t *ret)
{
	struct op_collect_function fn = { .start_line = line_number(f->start_line) };
	char made[FRAME_NAME_MAX];
	struct otlp_text name = f->function;
	int r;

	if (!name.len) {
		name.data = otlp_frame_name(f, made, sizeof(made));
		name.len = strlen(made);
		r = op_strings_add(&c->strings, name, &fn.name);
	} else {
		r = op_collect_add_text(c, name, &fn.name);
	}
	if (!r)
		r = op_collect_add_text(c, f->system_name, &fn.system_name);
	if (!r)
		r = op_collect_add_text(c, f->file, &fn.file);
	if (!r)
		r = op_collect_add_text(c, f->type, &fn.type);
	if (!r)
		r = op_collect_add_text(c, f->module, &fn.module);
	return r ? r : add_function(c, &fn, ret);
}

static int collect_mapping(struct op_collect *c, const struct otlp_frame *f,
			   uint32_t *ret)
{
	struct op_collect_mapping m = { 0 };
	int r;

	*ret = 0;
	if (!f->mapping || c->detail < OP_COLLECT_LOCATIONS)
		return 0;
	m.start = f->mapping->start;
	m.limit = f->mapping->limit;
	m.offset = f->mapping->offset;
	r = op_collect_add_text(c, f->module, &m.file);
	if (!r)
		r = op_collect_add_text(c, f->build_id, &m.build_id);
	return r ? r : add_mapping(c, &m, ret);
}

struct location_key {
	struct op_collect_location location;
	const struct op_collect_line *lines;
};

static bool location_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_collect *c = elements;
	const struct location_key *k = key;
	const struct op_collect_location *l = &c->locations.data[i];

	return l->address == k->location.address && l->mapping == k->location.mapping &&
	       l->lines_len == k->location.lines_len &&
	       memcmp(c->lines.data + l->lines, k->lines,
		      l->lines_len * sizeof(*k->lines)) == 0;
}

static int add_location(struct op_collect *c, struct location_key *k, uint32_t *ret)
{
	uint32_t hash = hash_of(c, k->lines, k->location.lines_len * sizeof(*k->lines)) ^
			(uint32_t)op_hash_u64(
				(k->location.address + k->location.mapping) ^ c->seed);
	uint32_t i = op_index_find(&c->index.locations, hash, c, k, location_equal);
	struct op_collect_location *l;

	if (i != UINT32_MAX) {
		*ret = i;
		return 0;
	}
	if (op_vec_reserve(&c->lines, k->location.lines_len))
		return -ENOMEM;
	l = op_vec_push(&c->locations);
	if (!l)
		return -ENOMEM;
	*l = k->location;
	l->lines = (uint32_t)c->lines.len;
	memcpy(c->lines.data + c->lines.len, k->lines, l->lines_len * sizeof(*k->lines));
	c->lines.len += l->lines_len;
	*ret = (uint32_t)c->locations.len - 1;
	return op_index_add(&c->index.locations, hash, *ret);
}

/* Add the location that begins @frames: its inlined functions and the function around
 * them. */
static int collect_location(struct op_collect *c, const struct otlp_frame *frames,
			    size_t len, size_t *ret_taken, uint32_t *ret)
{
	struct op_collect_line lines[LINES_MAX] = { 0 };
	struct location_key k = { .lines = lines };
	size_t n = 0, i = 0;
	int r = 0;

	do {
		if (n == LINES_MAX)
			break;
		r = collect_function(c, &frames[i], &lines[n].function);
		if (c->detail >= OP_COLLECT_LINES)
			lines[n].line = line_number(frames[i].line);
		if (c->detail >= OP_COLLECT_LOCATIONS)
			lines[n].column = line_number(frames[i].column);
		n++;
	} while (!r && frames[i].inlined && ++i < len);
	while (i < len && frames[i].inlined)
		i++;
	if (i == len)
		i--;
	k.location.lines_len = (uint32_t)n;
	if (!r)
		r = collect_mapping(c, &frames[i], &k.location.mapping);
	if (c->detail >= OP_COLLECT_LOCATIONS)
		k.location.address = frames[i].address;
	*ret_taken = i + 1;
	return r ? r : add_location(c, &k, ret);
}

/* The same. Samples share the locations of their request. */
static int find_location(struct op_collect *c, const struct otlp_frame *frames,
			 size_t len, size_t *ret_taken, uint32_t *ret)
{
	uint32_t at = frames->location;
	size_t i = 0;
	int r;

	if (at >= c->met.len)
		return collect_location(c, frames, len, ret_taken, ret);
	if (!c->met.data[at]) {
		r = collect_location(c, frames, len, ret_taken, ret);
		if (!r)
			c->met.data[at] = *ret + 1;
		return r;
	}
	while (frames[i].inlined && i + 1 < len)
		i++;
	*ret_taken = i + 1;
	*ret = c->met.data[at] - 1;
	return 0;
}

struct stack_key {
	struct op_collect_stack stack;
	const uint32_t *numbers;
	bool is_other; /* the location for stacks that are no longer distinguished */
};

static bool stack_equal(const void *elements, uint32_t i, const void *key)
{
	const struct op_collect *c = elements;
	const struct stack_key *k = key;
	const struct op_collect_stack *s = &c->stacks.data[i];

	return s->kind == k->stack.kind && s->process == k->stack.process &&
	       s->moment == k->stack.moment && s->thread_name == k->stack.thread_name &&
	       s->thread_id == k->stack.thread_id && s->trace == k->stack.trace &&
	       s->reason == k->stack.reason && s->label == k->stack.label &&
	       s->locations_len == k->stack.locations_len &&
	       memcmp(c->location_numbers.data + s->locations, k->numbers,
		      s->locations_len * sizeof(*k->numbers)) == 0;
}

/* The location of all stacks that are no longer distinguished. */
static int other_location(struct op_collect *c, uint32_t *ret)
{
	static const char name[] = "[other stacks]";
	struct op_collect_function fn = { 0 };
	struct op_collect_line line = { 0 };
	struct location_key k = { .location = { .lines_len = 1 }, .lines = &line };
	int r = op_strings_add(&c->strings, (struct otlp_text){ name, sizeof(name) - 1 },
			       &fn.name);

	if (!r)
		r = add_function(c, &fn, &line.function);
	return r ? r : add_location(c, &k, ret);
}

/* Change @k, whose numbers are the last in location_numbers, into the key of all other
 * stacks of its process and kind. */
static int make_other(struct op_collect *c, struct stack_key *k)
{
	uint32_t *number;
	uint32_t n = 0;
	static const char others[] = "[other traces]";
	static const char labels[] = "[other values]";
	int r = other_location(c, &n);

	if (r)
		return r;
	c->location_numbers.len = k->stack.locations;
	number = op_vec_push(&c->location_numbers);
	if (!number)
		return -ENOMEM;
	*number = n;
	k->numbers = number;
	k->stack.locations_len = 1;
	k->stack.thread_id = -1;
	k->stack.thread_name = 0;
	k->stack.reason = 0;
	/* "no trace" would be wrong */
	if (k->stack.trace)
		r = op_strings_add(&c->strings,
				   (struct otlp_text){ others, sizeof(others) - 1 },
				   &k->stack.trace);
	if (!r && k->stack.label)
		r = op_strings_add(&c->strings,
				   (struct otlp_text){ labels, sizeof(labels) - 1 },
				   &k->stack.label);
	if (r)
		return r;
	k->is_other = true;
	return 0;
}

static int add_value(struct op_collect *c, uint32_t stack, int64_t value)
{
	struct op_collect_stack *s = &c->stacks.data[stack];
	int r = s->value ? 0 : op_moments_note(&c->moments, s->moment, stack);

	if (!r)
		s->value = op_collect_sum(s->value, value);
	return r;
}

/* The numbers of @k are the last in location_numbers; they stay there if the stack is
 * new. */
static int add_stack(struct op_collect *c, struct stack_key *k, int64_t value,
		     uint32_t *ret)
{
	uint32_t hash =
		hash_of(c, k->numbers, k->stack.locations_len * sizeof(uint32_t)) ^
		(uint32_t)op_hash_u64((uint64_t)k->stack.thread_id << 32 ^
				      (uint64_t)k->stack.process << 8 ^ k->stack.kind ^
				      (uint64_t)k->stack.trace << 20 ^
				      (uint64_t)k->stack.reason << 40 ^
				      (uint64_t)k->stack.label << 28 ^ c->seed);
	uint32_t i = op_index_find(&c->index.stacks, hash, c, k, stack_equal);
	struct op_collect_stack *s;

	if (i != UINT32_MAX) {
		c->location_numbers.len -= k->stack.locations_len;
		*ret = i;
		return add_value(c, i, value);
	}
	if (c->stacks.len >= c->stacks_max && !k->is_other) {
		int r = make_other(c, k);

		return r ? r : add_stack(c, k, value, ret);
	}
	if (c->stacks.len >= c->stacks_max + OP_COLLECT_OTHERS_MAX)
		return -ENOSPC;
	s = op_vec_push(&c->stacks);
	if (!s)
		return -ENOMEM;
	*s = k->stack;
	*ret = (uint32_t)c->stacks.len - 1;
	if (op_index_add(&c->index.stacks, hash, *ret))
		return -ENOMEM;
	return add_value(c, *ret, value);
}

static int collect_process(struct op_collect *c, const struct otlp_sample_view *v,
			   uint32_t *ret)
{
	const struct otlp_resource *res = v->resource;
	struct op_collect_process p = { .pid = res->pid };
	struct otlp_text name =
		res->executable_name.len ? res->executable_name : v->thread_name;
	int r = op_collect_add_text(c, name, &p.name);

	if (!r)
		r = op_collect_add_text(c, res->executable_path, &p.path);
	if (!r)
		r = op_collect_add_text(c, res->container_id, &p.container_id);
	if (!r)
		r = op_collect_add_text(c, res->container_name, &p.container_name);
	if (!r)
		r = op_collect_add_text(c, res->service_name, &p.service_name);
	return r ? r : add_process(c, &p, ret);
}

static void widen_time(struct op_collect *c, const struct otlp_profile *p)
{
	if (!c->start_ns || p->time_ns < c->start_ns)
		c->start_ns = p->time_ns;
	c->end_ns = OP_MAX(c->end_ns, p->time_ns + p->duration_ns);
}

static int collect_frames(struct op_collect *c, const struct otlp_sample_view *v,
			  struct stack_key *k)
{
	size_t i, taken;
	uint32_t *number;
	uint32_t n = 0;
	int r;

	k->stack.locations = (uint32_t)c->location_numbers.len;
	for (i = 0; i < v->frames_len; i += taken) {
		r = find_location(c, v->frames + i, v->frames_len - i, &taken, &n);
		if (r)
			return r;
		number = op_vec_push(&c->location_numbers);
		if (!number)
			return -ENOMEM;
		*number = n;
		k->stack.locations_len++;
	}
	k->numbers = c->location_numbers.data + k->stack.locations;
	return 0;
}

/* The request that is being added. */
struct adding {
	struct op_collect *c;
	const struct otlp_profiles *p;
	op_collect_fn fn; /* may be NULL */
	void *data;
};

static void count_samples(struct op_collect_stack *s, const struct otlp_sample_view *v)
{
	uint32_t times = v->sample->timestamps.len;

	s->samples = UINT32_MAX - s->samples < times ? UINT32_MAX : s->samples + times;
}

/* Count the value of a sample of stack @s with a guessed frame, or with a leaf that is
 * only near its function. */
static void add_guessed(struct op_collect_stack *s, const struct otlp_sample_view *v,
			int64_t value)
{
	size_t i;

	if (v->frames_len && v->frames[0].approximate &&
	    otlp_text_is(v->frames[0].type, "jvm"))
		s->approximate = op_collect_sum(s->approximate, value);
	for (i = 0; i < v->frames_len; i++) {
		if (!v->frames[i].guessed)
			continue;
		s->guessed = op_collect_sum(s->guessed, value);
		return;
	}
}

static int add_sample(void *data, const struct otlp_sample_view *v)
{
	const struct adding *a = data;
	struct op_collect *c = a->c;
	struct stack_key k = { .stack = { .thread_id = -1 } };
	uint32_t stack = 0;
	int64_t value;
	int r = op_collect_find_kind(c, v, &k.stack.kind);

	widen_time(c, v->profile);
	c->samples++;
	c->samples_empty += !v->sample->values.len && !v->sample->timestamps.len;
	c->samples_astray += op_collect_is_astray(a->p, v->sample);
	if (!r)
		r = collect_process(c, v, &k.stack.process);
	if (!r)
		r = op_moments_find(&c->moments, a->p, v, k.stack.kind, k.stack.process,
				    &k.stack.moment);
	if (!r) {
		r = op_collect_is_newest(c, v, k.stack.moment);
		if (r <= 0)
			return r;
		r = 0;
	}
	if (!r)
		r = op_collect_attributes(c, a->p, v, &k.stack);
	if (!r)
		r = collect_frames(c, v, &k);
	if (r)
		return r;
	value = op_collect_kind_value(c, k.stack.kind, v);
	r = add_stack(c, &k, value, &stack);
	if (!r) {
		count_samples(&c->stacks.data[stack], v);
		add_guessed(&c->stacks.data[stack], v, value);
		c->stacks.data[stack].lost +=
			(double)value * op_collect_lost_of(a->p, v->profile);
	}
	if (!r && c->times)
		r = op_times_add(c, a->p, v, stack);
	return r || !a->fn ? r : a->fn(a->data, a->p, v, stack);
}

int op_collect_add_each(struct op_collect *c, const void *request, size_t len,
			op_collect_fn fn, void *data)
{
	struct otlp_profiles *p = NULL;
	int r = otlp_read(request, len, &p, NULL);
	struct adding a = { c, p, fn, data };

	c->requests++;
	c->met.len = 0;
	if (!r && op_vec_reserve(&c->met, p->locations.len + 1))
		r = -ENOMEM;
	if (!r) {
		c->met.len = p->locations.len;
		memset(c->met.data, 0, p->locations.len * sizeof(*c->met.data));
	}
	if (!r && c->times)
		r = op_times_add_hosts(c, p);
	if (!r)
		r = otlp_each_sample(p, add_sample, &a);
	(void)otlp_free(p);
	return r;
}

int op_collect_add(struct op_collect *c, const void *request, size_t len)
{
	return op_collect_add_each(c, request, len, NULL, NULL);
}

int op_collect_path(const struct op_collect *c, const struct op_collect_stack *s,
		    struct op_collect_path *path)
{
	const struct op_collect_location *l;
	uint32_t i, j, *e;

	path->len = 0;
	for (i = s->locations_len; i; i--) {
		l = &c->locations.data[c->location_numbers.data[s->locations + i - 1]];
		for (j = l->lines_len; j; j--) {
			e = op_vec_push(path);
			if (!e)
				return -ENOMEM;
			*e = c->lines.data[l->lines + j - 1].function;
		}
	}
	return 0;
}

static int add_text(struct op_collect *c, const char *text, uint32_t *ret)
{
	struct otlp_text t = { text, text ? strlen(text) : 0 };

	return text ? op_strings_add(&c->strings, t, ret) : 0;
}

int op_collect_set_lines(struct op_collect *c, uint32_t location,
			 const struct op_collect_source *lines, size_t len)
{
	struct op_collect_location *l = &c->locations.data[location];
	struct op_collect_function known;
	struct op_collect_line *line;
	size_t first = c->lines.len, i;
	int r;

	known = c->functions.data[c->lines.data[l->lines + l->lines_len - 1].function];
	for (i = 0; i < len; i++) {
		struct op_collect_function fn = known;

		fn.start_line = lines[i].start_line;
		if (lines[i].function)
			fn.system_name = 0;
		r = add_text(c, lines[i].function, &fn.name);
		if (!r)
			r = add_text(c, lines[i].system_name, &fn.system_name);
		if (!r)
			r = add_text(c, lines[i].file, &fn.file);
		line = r ? NULL : op_vec_push(&c->lines);
		if (!line)
			return -ENOMEM;
		line->line = lines[i].line;
		line->column = 0;
		r = add_function(c, &fn, &line->function);
		if (r)
			return r;
	}
	l->lines = (uint32_t)first;
	l->lines_len = (uint32_t)len;
	return 0;
}
