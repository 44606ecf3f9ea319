/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the tables of a timeline from requests, whose indices the reader has checked. */
#include "recording/write/timeline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/reader.h"

enum {
	FRAME_NAME_MAX = 8192, /* of "module+0x12" */
};

/* Records are compared by their bytes, so they must have no padding. */
_Static_assert(sizeof(struct timeline_library) == 12, "no padding");
_Static_assert(sizeof(struct timeline_function) == 20, "no padding");
_Static_assert(sizeof(struct timeline_frame) == 24, "no padding");
_Static_assert(sizeof(struct timeline_node) == 8, "no padding");
_Static_assert(sizeof(struct timeline_kind) == 24, "no padding");
_Static_assert(sizeof(struct timeline_thread) == 32, "no padding");

/* The request at hand. */
struct adding {
	struct timeline *t;
	const struct otlp_profiles *p;
};

int timeline_new(struct timeline **ret)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->seed = op_hash_seed();
	t->libraries.size = sizeof(struct timeline_library);
	t->functions.size = sizeof(struct timeline_function);
	t->frames.size = sizeof(struct timeline_frame);
	t->nodes.size = sizeof(struct timeline_node);
	t->kinds.size = sizeof(struct timeline_kind);
	t->threads.size = sizeof(struct timeline_thread);
	if (op_strings_init(&t->strings, t->seed) ||
	    op_moments_init(&t->moments, t->seed)) {
		(void)timeline_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

static void set_clear(struct timeline_set *s)
{
	op_vec_clear(&s->data);
	op_index_clear(&s->index);
}

struct timeline *timeline_free(struct timeline *t)
{
	if (!t)
		return NULL;
	op_strings_deinit(&t->strings);
	op_moments_deinit(&t->moments);
	set_clear(&t->libraries);
	set_clear(&t->functions);
	set_clear(&t->frames);
	set_clear(&t->nodes);
	set_clear(&t->kinds);
	set_clear(&t->threads);
	op_vec_clear(&t->samples);
	free(t);
	return NULL;
}

static bool record_equal(const void *elements, uint32_t i, const void *key)
{
	const struct timeline_set *s = elements;

	return memcmp(s->data.data + i * s->size, key, s->size) == 0;
}

static int set_add(struct timeline *t, struct timeline_set *s, const void *record,
		   uint32_t *ret)
{
	uint32_t hash = (uint32_t)op_hash_bytes(record, s->size, t->seed);

	*ret = op_index_find(&s->index, hash, s, record, record_equal);
	if (*ret != UINT32_MAX)
		return 0;
	if (op_vec_reserve(&s->data, s->size))
		return -ENOMEM;
	memcpy(s->data.data + s->data.len, record, s->size);
	s->data.len += s->size;
	*ret = s->len++;
	return op_index_add(&s->index, hash, *ret);
}

static uint32_t line_number(int64_t line)
{
	return line < 0 || line > UINT32_MAX ? 0 : (uint32_t)line;
}

static struct otlp_text base_name(struct otlp_text path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (!slash)
		return path;
	return (struct otlp_text){ slash + 1,
				   path.len - (size_t)(slash + 1 - path.data) };
}

static int add_library(struct timeline *t, const struct otlp_frame *f, uint32_t *ret)
{
	struct timeline_library library = { 0 };
	int r;

	*ret = TIMELINE_NONE;
	if (!f->module.len)
		return 0;
	r = op_strings_add(&t->strings, f->module, &library.path);
	if (!r)
		r = op_strings_add(&t->strings, base_name(f->module), &library.name);
	if (!r)
		r = op_strings_add(&t->strings, f->build_id, &library.build_id);
	return r ? r : set_add(t, &t->libraries, &library, ret);
}

static int add_function(struct timeline *t, const struct otlp_frame *f, uint32_t *ret)
{
	struct timeline_function fn = { .start_line = line_number(f->start_line) };
	char made[FRAME_NAME_MAX];
	struct otlp_text name = f->function;
	int r;

	if (!name.len) {
		name.data = otlp_frame_name(f, made, sizeof(made));
		name.len = strlen(made);
	}
	r = op_strings_add(&t->strings, name, &fn.name);
	if (!r)
		r = op_strings_add(&t->strings, f->file, &fn.file);
	if (!r)
		r = op_strings_add(&t->strings, f->type, &fn.type);
	if (!r)
		r = add_library(t, f, &fn.library);
	return r ? r : set_add(t, &t->functions, &fn, ret);
}

/* Add the frames from the outermost in. */
static int add_stack(struct timeline *t, const struct otlp_sample_view *v, uint32_t *ret)
{
	struct timeline_frame frame = { 0 };
	struct timeline_node node;
	size_t i;
	int r = 0;

	*ret = TIMELINE_NONE;
	for (i = v->frames_len; !r && i; i--) {
		const struct otlp_frame *f = &v->frames[i - 1];

		frame.address = f->address;
		frame.line = line_number(f->line);
		frame.column = line_number(f->column);
		frame.depth = f->inlined ? frame.depth + 1 : 0;
		r = add_function(t, f, &frame.function);
		node.prefix = *ret;
		if (!r)
			r = set_add(t, &t->frames, &frame, &node.frame);
		if (!r)
			r = set_add(t, &t->nodes, &node, ret);
	}
	return r;
}

static int add_kind(struct timeline *t, const struct otlp_sample_view *v, uint32_t *ret)
{
	struct timeline_kind k = { .period = v->profile->period };
	int r = op_strings_add(&t->strings, v->type, &k.type);

	if (!r)
		r = op_strings_add(&t->strings, v->unit, &k.unit);
	if (!r)
		r = op_strings_add(&t->strings, v->period_type, &k.period_type);
	if (!r)
		r = op_strings_add(&t->strings, v->period_unit, &k.period_unit);
	return r ? r : set_add(t, &t->kinds, &k, ret);
}

static int add_thread(const struct adding *a, const struct otlp_sample_view *v,
		      uint32_t *ret)
{
	struct timeline *t = a->t;
	const struct otlp_resource *process = v->resource;
	struct timeline_thread thread = { .pid = process->pid, .tid = v->thread_id };
	struct otlp_text name = process->executable_name;
	int r;

	if (!name.len)
		name = base_name(process->executable_path);
	if (!name.len)
		name = process->service_name;
	r = op_strings_add(&t->strings, name, &thread.process_name);
	if (!r)
		r = op_strings_add(&t->strings, v->thread_name, &thread.name);
	if (!r)
		r = add_kind(t, v, &thread.kind);
	if (!r)
		r = op_moments_find(&t->moments, a->p, v, thread.kind, &thread.moment);
	return r ? r : set_add(t, &t->threads, &thread, ret);
}

static int push_sample(struct timeline *t, struct timeline_sample sample)
{
	struct timeline_sample *s;

	if (t->samples.len == TIMELINE_SAMPLES_MAX)
		return -EFBIG;
	s = op_vec_push(&t->samples);
	if (!s)
		return -ENOMEM;
	*s = sample;
	return 0;
}

/* One sample for each time that is given. Values are one for each time, or none, or a sum,
 * which the first one gets; without a time the window's start has it. */
static int push_all(const struct adding *a, const struct otlp_sample_view *v,
		    struct timeline_sample sample)
{
	struct otlp_range values = v->sample->values;
	uint32_t times = v->sample->timestamps.len, i;
	int r = 0;

	if (!times) {
		sample.time_ns = v->profile->time_ns;
		sample.value = v->value;
		return push_sample(a->t, sample);
	}
	for (i = 0; !r && i < times; i++) {
		sample.time_ns = v->timestamps[i];
		if (!values.len)
			sample.value = 1;
		else if (values.len == times)
			sample.value = a->p->values.data[values.first + i];
		else
			sample.value = i ? 0 : v->value;
		r = push_sample(a->t, sample);
	}
	return r;
}

static void widen(struct timeline *t, const struct otlp_profile *p)
{
	uint64_t end = p->time_ns + p->duration_ns;

	if (!p->time_ns)
		return;
	if (!t->start_ns || p->time_ns < t->start_ns)
		t->start_ns = p->time_ns;
	if (end > t->end_ns)
		t->end_ns = end;
}

static int add_sample(void *data, const struct otlp_sample_view *v)
{
	const struct adding *a = data;
	struct timeline_sample sample = { 0 };
	int r = add_thread(a, v, &sample.thread);

	widen(a->t, v->profile);
	if (!r)
		r = add_stack(a->t, v, &sample.node);
	return r ? r : push_all(a, v, sample);
}

int timeline_add(struct timeline *t, const void *request, size_t len)
{
	struct otlp_profiles *p = NULL;
	int r = otlp_read(request, len, &p, NULL);
	struct adding a = { t, p };

	if (!r)
		r = otlp_each_sample(p, add_sample, &a);
	(void)otlp_free(p);
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

/* The moment of a sample, or NULL. */
static struct op_moment *moment_of(const struct timeline *t,
				   const struct timeline_sample *s)
{
	uint32_t n = TIMELINE_AT(&t->threads, struct timeline_thread, s->thread)->moment;

	return n == OP_MOMENT_NONE ? NULL : &t->moments.all.data[n];
}

void timeline_sort(struct timeline *t)
{
	struct timeline_sample *s;
	struct op_moment *m;
	size_t kept = 0;

	op_vec_foreach(s, &t->samples) {
		m = moment_of(t, s);
		if (m && s->time_ns > m->time_ns)
			m->time_ns = s->time_ns;
	}
	op_vec_foreach(s, &t->samples) {
		m = moment_of(t, s);
		if (!m || s->time_ns == m->time_ns)
			t->samples.data[kept++] = *s;
	}
	t->samples.len = kept;
	if (kept)
		qsort(t->samples.data, kept, sizeof(*t->samples.data), compare_samples);
}
