/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a request with their frames written out. */
#include "otlp/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* bytes that are one step of work */
	WORK_TEXT_BYTES = 64,
};

struct otlp_text otlp_string(const struct otlp_profiles *p, int32_t index)
{
	if (index < 0 || (uint32_t)index >= p->strings.len)
		return (struct otlp_text){ NULL, 0 };
	return p->strings.data[index];
}

bool otlp_text_is(struct otlp_text t, const char *s)
{
	return t.len == strlen(s) && (!t.len || memcmp(t.data, s, t.len) == 0);
}

struct otlp_text otlp_base_name(struct otlp_text path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (!slash)
		return path;
	path.len -= (size_t)(slash + 1 - path.data);
	path.data = slash + 1;
	return path;
}

size_t otlp_utf8_len(const char *text, size_t left)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n, i;

	if (!left)
		return 0;
	if (*s < 0x80)
		return 1;
	n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
	if (*s < 0xc2 || *s > 0xf4 || left < n)
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Longer than needed, a surrogate, or past U+10FFFF. */
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

struct otlp_text otlp_attribute_text(const struct otlp_profiles *p,
				     const struct otlp_attribute *a)
{
	if (a->kind == OTLP_VALUE_STRING)
		return a->text;
	if (a->kind == OTLP_VALUE_REF && a->integer >= 0 && a->integer <= INT32_MAX)
		return otlp_string(p, (int32_t)a->integer);
	return (struct otlp_text){ NULL, 0 };
}

struct otlp_text otlp_attribute_key(const struct otlp_profiles *p,
				    const struct otlp_attribute *a)
{
	return a->key.len ? a->key : otlp_string(p, a->key_ref);
}

const struct otlp_attribute *otlp_find_attribute(const struct otlp_profiles *p,
						 struct otlp_range range, const char *key)
{
	const struct otlp_attribute *a;
	uint32_t i;
	int32_t n;

	for (i = 0; i < range.len; i++) {
		n = p->ints.data[range.first + i];
		if (n <= 0 || (uint32_t)n >= p->attributes.len)
			continue;
		a = &p->attributes.data[n];
		if (otlp_text_is(otlp_attribute_key(p, a), key))
			return a;
	}
	return NULL;
}

static struct otlp_text find_text(const struct otlp_profiles *p, struct otlp_range range,
				  const char *key)
{
	const struct otlp_attribute *a = otlp_find_attribute(p, range, key);

	return a ? otlp_attribute_text(p, a) : (struct otlp_text){ NULL, 0 };
}

static int64_t find_int(const struct otlp_profiles *p, struct otlp_range range,
			const char *key)
{
	const struct otlp_attribute *a = otlp_find_attribute(p, range, key);

	return a && a->kind == OTLP_VALUE_INT ? a->integer : -1;
}

static struct otlp_text build_id(const struct otlp_profiles *p,
				 const struct otlp_mapping *m)
{
	static const char *const keys[] = {
		"process.executable.build_id.gnu",
		"process.executable.build_id.go",
		"process.executable.build_id.htlhash",
	};
	struct otlp_text t = { NULL, 0 };
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys) && !t.len; i++)
		t = find_text(p, m->attributes, keys[i]);
	return t;
}

/* Frames of all locations, made once for a request: those of location i are
 * frames[first[i]] to frames[first[i + 1]]. */
struct expanded {
	struct otlp_frame *frames;
	uint32_t *first;
};

static void fill_line(const struct otlp_profiles *p, const struct otlp_line *line,
		      struct otlp_frame *f)
{
	const struct otlp_function *fn;

	f->line = line->line;
	f->column = line->column;
	if (line->function <= 0 || (uint32_t)line->function >= p->functions.len)
		return;
	fn = &p->functions.data[line->function];
	f->function = otlp_string(p, fn->name);
	f->system_name = otlp_string(p, fn->system_name);
	f->file = otlp_string(p, fn->file);
	f->start_line = fn->start_line;
	if (!f->function.len)
		f->function = f->system_name;
}

static uint32_t expand_location(const struct otlp_profiles *p,
				const struct otlp_location *l, struct otlp_frame *ret)
{
	uint32_t n = l->lines.len ? l->lines.len : 1;
	struct otlp_frame base = { .address = l->address,
				   .location = (uint32_t)(l - p->locations.data) };
	uint32_t i;

	base.type = find_text(p, l->attributes, "profile.frame.type");
	base.guessed = otlp_find_attribute(p, l->attributes, "otelprof.frame.guessed");
	base.approximate =
		otlp_find_attribute(p, l->attributes, "otelprof.frame.approximate");
	if (l->mapping > 0 && (uint32_t)l->mapping < p->mappings.len) {
		base.mapping = &p->mappings.data[l->mapping];
		base.module = otlp_string(p, base.mapping->file);
		base.build_id = build_id(p, base.mapping);
	}
	for (i = 0; i < n; i++) {
		ret[i] = base;
		ret[i].inlined = i + 1 < n;
		if (i < l->lines.len)
			fill_line(p, &p->lines.data[l->lines.first + i], &ret[i]);
	}
	return n;
}

/* The attributes that expand() looks at, those of a mapping for each of its locations. */
static uint64_t looks(const struct otlp_profiles *p)
{
	const struct otlp_location *l;
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < p->locations.len; i++) {
		l = &p->locations.data[i];
		n += l->attributes.len;
		if (l->mapping > 0 && (uint32_t)l->mapping < p->mappings.len)
			n += p->mappings.data[l->mapping].attributes.len;
	}
	return n;
}

static uint64_t work_max(const struct otlp_profiles *p)
{
	return OTLP_WORK_MIN + OTLP_WORK_PER_BYTE * (uint64_t)p->bytes;
}

static int expand(const struct otlp_profiles *p, struct expanded *ret)
{
	size_t total = (size_t)p->lines.len + p->locations.len;
	uint32_t at = 0;
	uint32_t i;

	if (total > OTLP_LOCATION_FRAMES_MAX || looks(p) > work_max(p))
		return -EFBIG;
	ret->frames = calloc(total + 1, sizeof(*ret->frames));
	ret->first = calloc((size_t)p->locations.len + 1, sizeof(*ret->first));
	if (!ret->frames || !ret->first)
		return -ENOMEM;
	for (i = 0; i < p->locations.len; i++) {
		ret->first[i] = at;
		at += expand_location(p, &p->locations.data[i], ret->frames + at);
	}
	ret->first[i] = at;
	return 0;
}

struct view {
	const struct otlp_profiles *p;
	struct expanded x;
	struct otlp_frame *frames; /* of the sample at hand */
	size_t cap;
	uint64_t work; /* steps that are left */
};

/* Steps of the texts of a frame, which are looked at again for each sample. */
static uint64_t text_work(const struct otlp_frame *f)
{
	return ((uint64_t)f->function.len + f->system_name.len + f->file.len +
		f->type.len + f->module.len + f->build_id.len) /
	       WORK_TEXT_BYTES;
}

static uint64_t resource_work(const struct otlp_resource *r)
{
	return r->attributes.len +
	       ((uint64_t)r->executable_name.len + r->executable_path.len +
		r->container_id.len + r->container_name.len + r->service_name.len) /
		       WORK_TEXT_BYTES;
}

static bool spend(struct view *v, uint64_t steps)
{
	if (steps > v->work)
		return false;
	v->work -= steps;
	return true;
}

static int fill_frames(struct view *v, int32_t stack, struct otlp_sample_view *out)
{
	const struct otlp_profiles *p = v->p;
	struct otlp_range r;
	size_t len = 0;
	uint32_t i, n;
	int32_t loc;
	void *more;

	out->frames_len = 0;
	if (stack <= 0 || (uint32_t)stack >= p->stacks.len)
		return 0;
	r = p->stacks.data[stack].locations;
	for (i = 0; i < r.len; i++) {
		loc = p->ints.data[r.first + i];
		if (loc < 0 || (uint32_t)loc >= p->locations.len)
			loc = 0;
		if (!p->locations.len)
			break;
		n = v->x.first[loc + 1] - v->x.first[loc];
		if (n > OTLP_STACK_FRAMES_MAX - len || !spend(v, n))
			return -EFBIG;
		if (len + n > v->cap) {
			v->cap = (len + n) * 2;
			more = reallocarray(v->frames, v->cap, sizeof(*v->frames));
			if (!more)
				return -ENOMEM;
			v->frames = more;
		}
		memcpy(v->frames + len, v->x.frames + v->x.first[loc],
		       n * sizeof(*v->frames));
		len += n;
	}
	for (i = 0; i < len; i++)
		if (!spend(v, text_work(&v->frames[i])))
			return -EFBIG;
	out->frames = v->frames;
	out->frames_len = len;
	return 0;
}

static void fill_value(const struct otlp_profiles *p, const struct otlp_sample *s,
		       struct otlp_sample_view *out)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < s->values.len; i++)
		sum += (uint64_t)p->values.data[s->values.first + i];
	out->timestamps = p->timestamps.data + s->timestamps.first;
	out->count = s->timestamps.len ? s->timestamps.len : s->values.len;
	out->value = s->values.len ? (int64_t)sum : (int64_t)s->timestamps.len;
}

static int each_of_profile(struct view *v, const struct otlp_profile *profile,
			   struct otlp_sample_view *out, otlp_sample_fn fn, void *data)
{
	const struct otlp_profiles *p = v->p;
	const struct otlp_sample *s = p->samples.data + profile->samples.first;
	const struct otlp_sample *end = s + profile->samples.len;
	int r;

	for (; s < end; s++) {
		out->sample = s;
		out->thread_name = find_text(p, s->attributes, "thread.name");
		out->thread_id = find_int(p, s->attributes, "thread.id");
		out->cpu = find_int(p, s->attributes, "cpu.logical_number");
		fill_value(p, s, out);
		r = spend(v, 1 + resource_work(out->resource)) ? 0 : -EFBIG;
		if (!r)
			r = fill_frames(v, s->stack, out);
		if (!r)
			r = fn(data, out);
		if (r)
			return r;
	}
	return 0;
}

int otlp_each_sample(const struct otlp_profiles *p, otlp_sample_fn fn, void *data)
{
	struct view v = { .p = p, .work = work_max(p) };
	struct otlp_sample_view out = { 0 };
	const struct otlp_profile *profile;
	uint32_t i;
	int r = expand(p, &v.x);

	for (i = 0; !r && i < p->profiles.len; i++) {
		profile = &p->profiles.data[i];
		out.profile = profile;
		out.resource =
			&p->resources.data[p->scopes.data[profile->scope].resource];
		out.type = otlp_string(p, profile->sample_type);
		out.unit = otlp_string(p, profile->sample_unit);
		out.period_type = otlp_string(p, profile->period_type);
		out.period_unit = otlp_string(p, profile->period_unit);
		r = each_of_profile(&v, profile, &out, fn, data);
	}
	free(v.x.frames);
	free(v.x.first);
	free(v.frames);
	return r;
}

static struct otlp_text value_of(const struct otlp_profiles *p,
				 const struct otlp_attribute *a,
				 char buf[OTLP_LABEL_NUMBER_BYTES])
{
	if (a->kind == OTLP_VALUE_INT)
		(void)snprintf(buf, OTLP_LABEL_NUMBER_BYTES, "%" PRId64, a->integer);
	else if (a->kind == OTLP_VALUE_BOOL)
		(void)snprintf(buf, OTLP_LABEL_NUMBER_BYTES, "%s",
			       a->integer ? "true" : "false");
	else
		return otlp_attribute_text(p, a);
	return (struct otlp_text){ buf, strlen(buf) };
}

static bool is_key(const struct otlp_profiles *p, const struct otlp_attribute *a,
		   const char *key, size_t len)
{
	struct otlp_text is = otlp_attribute_key(p, a);

	return is.len == len && memcmp(is.data, key, len) == 0;
}

struct otlp_text otlp_label(const struct otlp_profiles *p,
			    const struct otlp_sample_view *v, const char *key,
			    size_t key_len, char buf[OTLP_LABEL_NUMBER_BYTES])
{
	const struct otlp_attribute *a;
	struct otlp_range r = v->sample->attributes;
	uint32_t i;
	int32_t at;

	for (i = 0; i < r.len; i++) {
		at = p->ints.data[r.first + i];
		if (at <= 0 || (uint32_t)at >= p->attributes.len)
			continue;
		a = &p->attributes.data[at];
		if (is_key(p, a, key, key_len))
			return value_of(p, a, buf);
	}
	r = v->resource->attributes;
	for (i = 0; i < r.len; i++) {
		a = &p->resource_attributes.data[r.first + i];
		if (is_key(p, a, key, key_len))
			return value_of(p, a, buf);
	}
	return (struct otlp_text){ "", 0 };
}

const char *otlp_frame_name(const struct otlp_frame *f, char *buf, size_t size)
{
	const char *slash;
	struct otlp_text m = f->module;

	if (f->function.len) {
		(void)snprintf(buf, size, "%.*s", (int)f->function.len, f->function.data);
		return buf;
	}
	slash = m.len ? memrchr(m.data, '/', m.len) : NULL;
	if (slash) {
		m.len -= (size_t)(slash + 1 - m.data);
		m.data = slash + 1;
	}
	if (m.len)
		(void)snprintf(buf, size, "%.*s+0x%" PRIx64, (int)m.len, m.data,
			       f->address);
	else
		(void)snprintf(buf, size, "0x%" PRIx64, f->address);
	return buf;
}
