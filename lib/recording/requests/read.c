/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a request without the samples that a filter leaves out. The reader's view of a
 * sample is judged. The copy then takes fields by their order in the message, which is
 * also the reader's.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "base/vec.h"
#include "profile/otlp/bytes.h"
#include "recording/read/kind_word.h"
#include "recording/read/say.h"
#include "recording/read/wire.h"
#include "recording/requests/filter.h"

enum {
	/* Fields of ExportProfilesServiceRequest, ResourceProfiles, ScopeProfiles, Profile. */
	FIELD_RESOURCE = 1,
	FIELD_SCOPE = 2,
	FIELD_PROFILE = 2,
	FIELD_SAMPLE = 2,
	/* Of Sample. */
	FIELD_VALUES = 4,
	FIELD_TIMESTAMPS = 5,
	DAY = 86400,
};

/* The fate of a sample. */
enum verdict {
	OUT,
	WHOLE,
	CUT, /* it stays without the times that are outside */
};

struct filter_run {
	const struct filter *f;
	enum filter_depth depth;
	recording_fn fn;
	void *data;
	bool began; /* The times, which are known: */
	uint64_t from_ns;
	uint64_t to_ns; /* the first time that is outside */
	/* The current request. */
	const struct otlp_profiles *p;
	OP_VEC(uint8_t) verdicts; /* of its samples */
	size_t next;		  /* of the samples, while the request is copied */
	struct op_bytes out;
};

static uint64_t add_seconds(uint64_t ns, double seconds)
{
	double add = seconds * OP_NS_PER_S;

	return add >= (double)(UINT64_MAX - ns) ? UINT64_MAX : ns + (uint64_t)add;
}

/* A time of day is the first such time from half a day before the start on. */
static uint64_t time_of(const struct filter_time *t, uint64_t start_ns)
{
	time_t start = (time_t)(start_ns / OP_NS_PER_S), at;
	struct tm day = { 0 };

	if (!t->is_clock)
		return add_seconds(start_ns, t->seconds);
	(void)localtime_r(&start, &day);
	day.tm_hour = day.tm_min = 0;
	day.tm_sec = (int)t->seconds;
	day.tm_isdst = -1;
	at = mktime(&day);
	if (at < start - DAY / 2)
		at += DAY;
	return at < 0 ? 0 : (uint64_t)at * OP_NS_PER_S;
}

static void begin(struct filter_run *run)
{
	uint64_t start = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < run->p->profiles.len; i++)
		start = OP_MIN(start, run->p->profiles.data[i].time_ns);
	if (!run->p->profiles.len)
		return;
	run->began = true;
	run->from_ns = run->f->from.given ? time_of(&run->f->from, start) : 0;
	run->to_ns = run->f->to.given ? time_of(&run->f->to, start) : UINT64_MAX;
}

static bool is_in(const struct filter_run *run, uint64_t ns)
{
	return ns >= run->from_ns && ns < run->to_ns;
}

static bool has_times(const struct otlp_sample_view *v)
{
	return v->sample->timestamps.len &&
	       (!v->sample->values.len ||
		v->sample->values.len == v->sample->timestamps.len);
}

/* A sample without a time counts at the middle of its window. */
static enum verdict judge_time(const struct filter_run *run,
			       const struct otlp_sample_view *v)
{
	uint32_t i, in = 0;

	if (!run->f->from.given && !run->f->to.given)
		return WHOLE;
	if (!has_times(v))
		return is_in(run, add_seconds(v->profile->time_ns,
					      (double)v->profile->duration_ns / 2 /
						      OP_NS_PER_S))
			       ? WHOLE
			       : OUT;
	for (i = 0; i < v->sample->timestamps.len; i++)
		in += is_in(run, v->timestamps[i]);
	return !in ? OUT : in == v->sample->timestamps.len ? WHOLE : CUT;
}

static bool owners_fit(const struct filter *f, const struct otlp_sample_view *v)
{
	const struct otlp_resource *r = v->resource;
	const struct filter_subject s = {
		.pid = r->pid,
		.program = r->executable_name.len ? r->executable_name : v->thread_name,
		.thread = v->thread_name,
		.thread_id = v->thread_id,
		.container_id = r->container_id,
		.container_name = r->container_name,
	};
	enum filter_owner i;

	for (i = FILTER_PID; i < FILTER_OWNERS; i++)
		if (f->owners[i] && !filter_owner_is(i, f->owners[i], &s))
			return false;
	return true;
}

static bool labels_fit(const struct filter_run *run, const struct otlp_sample_view *v)
{
	char buf[OTLP_LABEL_NUMBER_BYTES];
	struct otlp_text value;
	const char *wanted;
	size_t i, key_len;

	for (i = 0; i < run->f->labels_len; i++) {
		wanted = run->f->labels[i];
		key_len = strcspn(wanted, "=");
		value = otlp_label(run->p, v, wanted, key_len, buf);
		if (!otlp_text_is(value, wanted + key_len + !!wanted[key_len]))
			return false;
	}
	return true;
}

/* Is the sample's process in the control group, or in one below it? */
static bool cgroup_fits(const struct filter_run *run, const struct otlp_sample_view *v)
{
	static const char key[] = "process.linux.cgroup", unified[] = "0::";
	char buf[OTLP_LABEL_NUMBER_BYTES];
	const char *wanted = run->f->cgroup;
	struct otlp_text is;
	size_t len;

	if (!wanted)
		return true;
	for (len = strlen(wanted); len && wanted[len - 1] == '/'; len--)
		;
	is = otlp_label(run->p, v, key, strlen(key), buf);
	if (is.len < strlen(unified) || memcmp(is.data, unified, strlen(unified)))
		return false;
	is.data += strlen(unified);
	is.len -= strlen(unified);
	return is.len >= len && memcmp(is.data, wanted, len) == 0 &&
	       (is.len == len || is.data[len] == '/');
}

/* Does an id begin with these digits? */
static bool id_begins(struct otlp_text id, const char *digits)
{
	static const char hex[] = "0123456789abcdef";
	size_t i;

	for (i = 0; digits[i]; i++) {
		if (i / 2 >= id.len ||
		    hex[(uint8_t)id.data[i / 2] >> (i % 2 ? 0 : 4) & 15] != digits[i])
			return false;
	}
	return true;
}

static bool link_fits(const struct filter_run *run, const struct otlp_sample_view *v)
{
	int32_t at = v->sample->link;
	const struct otlp_link *link;

	if (!run->f->trace && !run->f->span)
		return true;
	if (at <= 0 || (uint32_t)at >= run->p->links.len)
		return false;
	link = &run->p->links.data[at];
	return (!run->f->trace || id_begins(link->trace_id, run->f->trace)) &&
	       (!run->f->span || id_begins(link->span_id, run->f->span));
}

/* Returns 1, 0 or -ENOMEM. */
static int has_frame(struct pattern *p, const struct otlp_sample_view *v)
{
	const struct otlp_frame *f;
	size_t i;
	int r = 0;

	for (i = 0; !r && i < v->frames_len; i++) {
		f = &v->frames[i];
		r = pattern_matches_frame(p, f->function, f->module, f->file);
	}
	return r;
}

static int frames_fit(const struct filter_run *run, const struct otlp_sample_view *v)
{
	int r = 1;

	if (run->depth == FILTER_SAMPLES_ONLY)
		return 1;
	if (run->f->frames[FILTER_FOCUS])
		r = has_frame(run->f->frames[FILTER_FOCUS], v);
	if (r == 1 && run->f->frames[FILTER_IGNORE]) {
		r = has_frame(run->f->frames[FILTER_IGNORE], v);
		r = r < 0 ? r : !r;
	}
	return r;
}

static bool kind_is_wanted(const struct filter_run *run, const struct otlp_sample_view *v)
{
	const struct otlp_attribute *lock =
		otlp_find_attribute(run->p, v->sample->attributes, "lock.type");
	const struct kind_names names = {
		.type = v->type,
		.unit = v->unit,
		.period_type = v->period_type,
		.of_kernel =
			lock && !otlp_text_is(otlp_attribute_text(run->p, lock), "futex"),
	};

	return !run->f->kind || kind_fits(run->f->kind, &names);
}

static int judge(void *data, const struct otlp_sample_view *v)
{
	struct filter_run *run = data;
	enum verdict time;
	const struct filter *f = run->f;
	int r;

	if (!kind_is_wanted(run, v) || !owners_fit(f, v) || !link_fits(run, v) ||
	    !labels_fit(run, v) || !cgroup_fits(run, v))
		return 0;
	time = judge_time(run, v);
	r = time == OUT ? 0 : frames_fit(run, v);
	if (r > 0)
		run->verdicts.data[v->sample - run->p->samples.data] = (uint8_t)time;
	return r < 0 ? r : 0;
}

/* End a part of a message, or remove it if it contains nothing that counts. */
static int end_part(struct op_bytes *out, uint32_t field, size_t start, bool keep)
{
	if (keep)
		return wire_close(out, field, start);
	out->len = start;
	return 0;
}

/* The times of a sample that are inside, and their values. */
static int put_times(struct filter_run *run, const struct otlp_sample *s)
{
	const uint64_t *times = run->p->timestamps.data + s->timestamps.first;
	struct op_bytes *out = &run->out;
	size_t start;
	uint32_t i;
	int r = wire_open(out, &start);

	for (i = 0; !r && i < s->values.len; i++)
		if (is_in(run, times[i]))
			r = wire_put_varint(
				out, (uint64_t)run->p->values.data[s->values.first + i]);
	if (!r)
		r = end_part(out, FIELD_VALUES, start, s->values.len);
	if (!r)
		r = wire_open(out, &start);
	for (i = 0; !r && i < s->timestamps.len; i++)
		if (is_in(run, times[i]))
			r = op_bytes_add(out, &times[i], sizeof(times[i]));
	return r ? r : wire_close(out, FIELD_TIMESTAMPS, start);
}

static int copy_sample(struct filter_run *run, const struct wire_field *f, bool *ret_kept)
{
	struct op_reader reader = op_reader_init(f->bytes.data, f->bytes.len);
	size_t at = run->next++, start;
	struct wire_field part;
	int r;

	if (at >= run->verdicts.len || run->verdicts.data[at] == OUT)
		return at >= run->verdicts.len ? -EBADMSG : 0;
	*ret_kept = true;
	if (run->verdicts.data[at] == WHOLE)
		return op_bytes_add(&run->out, f->whole.data, f->whole.len);
	r = wire_open(&run->out, &start);
	while (!r && wire_next(&reader, &part))
		if (part.number != FIELD_VALUES && part.number != FIELD_TIMESTAMPS)
			r = op_bytes_add(&run->out, part.whole.data, part.whole.len);
	if (!r)
		r = put_times(run, &run->p->samples.data[at]);
	return r ? r : wire_close(&run->out, FIELD_SAMPLE, start);
}

/* Resources, scopes and profiles contain each other. A message without a sample is
 * removed. */
enum level {
	REQUEST,
	RESOURCE,
	SCOPE,
	PROFILE,
};

static int copy_message(struct filter_run *run, enum level level, struct otlp_text in,
			bool *ret_kept)
{
	static const uint32_t inner[] = { FIELD_RESOURCE, FIELD_SCOPE, FIELD_PROFILE,
					  FIELD_SAMPLE };
	struct op_reader reader = op_reader_init(in.data, in.len);
	struct wire_field f;
	size_t start;
	bool kept;
	int r = 0;

	while (!r && wire_next(&reader, &f)) {
		if (f.number != inner[level] || f.type != WIRE_BYTES) {
			r = op_bytes_add(&run->out, f.whole.data, f.whole.len);
			continue;
		}
		if (level == PROFILE) {
			r = copy_sample(run, &f, ret_kept);
			continue;
		}
		kept = false;
		r = wire_open(&run->out, &start);
		if (!r)
			r = copy_message(run, level + 1, f.bytes, &kept);
		if (!r)
			r = end_part(&run->out, f.number, start, kept);
		*ret_kept |= kept;
	}
	return !r && reader.failed ? -EBADMSG : r;
}

static int filter_request(struct filter_run *run, const void *request, size_t len)
{
	struct otlp_text whole = { request, len };
	bool kept = false;
	int r;

	if (!run->began)
		begin(run);
	run->verdicts.len = run->next = run->out.len = 0;
	if (op_vec_reserve(&run->verdicts, run->p->samples.len))
		return -ENOMEM;
	run->verdicts.len = run->p->samples.len;
	if (run->verdicts.len)
		memset(run->verdicts.data, OUT, run->verdicts.len);
	r = otlp_each_sample(run->p, judge, run);
	if (!r)
		r = copy_message(run, REQUEST, whole, &kept);
	return r || !kept ? r : run->fn(run->data, run->out.data, run->out.len);
}

int filter_run_new(const struct filter *f, enum filter_depth depth, recording_fn fn,
		   void *data, struct filter_run **ret)
{
	struct filter_run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	run->f = f;
	run->depth = depth;
	run->fn = fn;
	run->data = data;
	*ret = run;
	return 0;
}

struct filter_run *filter_run_free(struct filter_run *run)
{
	if (!run)
		return NULL;
	op_vec_clear(&run->verdicts);
	op_vec_clear(&run->out);
	free(run);
	return NULL;
}

int filter_run_add(struct filter_run *run, const void *request, size_t len)
{
	struct otlp_profiles *p = NULL;
	int r = otlp_read(request, len, &p, NULL);

	run->p = p;
	if (!r)
		r = filter_request(run, request, len);
	run->p = otlp_free(p);
	return r;
}

/* A recording_fn. */
static int take_request(void *data, const void *request, size_t len)
{
	return filter_run_add(data, request, len);
}

int filter_read(const struct filter *f, enum filter_depth depth, char *const *paths,
		size_t len, recording_fn fn, void *data)
{
	struct filter_run *run = NULL;
	int r;

	if (!f || (!filter_has_samples(f) &&
		   (depth == FILTER_SAMPLES_ONLY || !filter_has_frames(f))))
		return recording_read(paths, len, fn, data);
	if (filter_run_new(f, depth, fn, data, &run))
		return fail("out of memory");
	r = recording_read(paths, len, take_request, run);
	(void)filter_run_free(run);
	return r;
}
