/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a collection from the requests of files, and adds source lines. */
#include "recording/tree/recording.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "export/format/collect/kinds.h"
#include "otlp/reader.h"
#include "recording/read/say.h"
#include "recording/requests/frames.h"
#include "recording/tree/view.h"

enum {
	LINES_SECONDS = 60,
	LINES_MIB = 1024,
	MIB_SHIFT = 20,
};

static void note_heavy(const struct op_collect *c, const struct lines_request *request,
		       const struct lines_stats *stats)
{
	char name[256];

	if (!stats->heavy)
		return;
	view_text(c, c->mappings.data[stats->heaviest_of].file, name, sizeof(name));
	note("source lines: %zu of %zu places of native code have none, because debug info "
	     "of %zu file%s takes more than %" PRIu64 " MiB (--lines-memory); that of %s "
	     "%" PRIu64 " MiB or more",
	     stats->heavy, stats->locations, stats->heavy_files,
	     stats->heavy_files == 1 ? "" : "s", request->memory >> MIB_SHIFT, name,
	     stats->heaviest >> MIB_SHIFT);
}

static int add_lines(struct op_collect *c, const struct recording_lines *lines)
{
	struct lines_request request = lines->request;
	struct lines_stats stats;

	if (!(request.seconds > 0))
		request.seconds = LINES_SECONDS;
	if (!request.memory)
		request.memory = (uint64_t)LINES_MIB << MIB_SHIFT;
	if (lines_add(c, &request, &stats) < 0)
		return fail("out of memory");
	if (stats.late)
		note("source lines: the time was over; %zu of %zu places of native code "
		     "were not looked up",
		     stats.late, stats.locations);
	note_heavy(c, &request, &stats);
	if (stats.files_packaged)
		note("source lines: those of %zu file%s are in a package (.dwp), which is not "
		     "read; the .dwo files are",
		     stats.files_packaged, stats.files_packaged == 1 ? "" : "s");
	if (lines->told)
		note("source lines: %zu of %zu places of native code, and names of %zu "
		     "that had none; of %zu files %zu have no debug info here",
		     stats.found, stats.locations, stats.named, stats.files,
		     stats.files_without);
	if (lines->told && !request.no_cache)
		note("source lines: %zu of these places were in the cache; %zu of its files "
		     "were written, %zu refused",
		     stats.cached, stats.written, stats.refused);
	return 0;
}

static int push_sample(struct recording *r, struct recording_sample sample)
{
	struct recording_sample *s;

	if (r->samples.len == RECORDING_SAMPLES_MAX)
		return -EFBIG;
	s = op_vec_push(&r->samples);
	if (!s)
		return -ENOMEM;
	*s = sample;
	return 0;
}

/* The time that one sample of a clock stands for, because rates may differ. 1 for other
 * kinds. */
static int64_t period_of(const struct op_collect *c, const struct otlp_sample_view *v,
			 uint32_t stack)
{
	const struct op_collect_kind *k = &c->kinds.data[c->stacks.data[stack].kind];

	return op_collect_is_clock(c, k) || op_collect_is_weighed(k) ? v->profile->period
								     : 1;
}

/*
 * Add a sample for each time. Values are one for each time, or none, or a sum, which
 * the first time gets. A sample without a time, and a state at one moment, get the time
 * of the window.
 */
static int add_times(void *data, const struct otlp_profiles *p,
		     const struct otlp_sample_view *v, uint32_t stack)
{
	struct recording *rec = data;
	struct otlp_range values = v->sample->values;
	uint32_t times = v->sample->timestamps.len, i;
	int64_t each = period_of(rec->c, v, stack);
	struct recording_sample s = { v->profile->time_ns, v->value * each, stack };
	int r = 0;

	if (!times || rec->c->stacks.data[stack].moment != OP_MOMENT_NONE)
		return push_sample(rec, s);
	for (i = 0; !r && i < times; i++) {
		s.time_ns = v->timestamps[i];
		if (!values.len)
			s.value = each;
		else if (values.len == times)
			s.value = p->values.data[values.first + i] * each;
		else
			s.value = i ? 0 : v->value * each;
		r = push_sample(rec, s);
	}
	return r;
}

static int load_request(void *data, const void *request, size_t len)
{
	struct recording *r = data;

	return op_collect_add_each(r->c, request, len, r->timed ? add_times : NULL, r);
}

/* Of a state only the newest window of each process stays. */
static void drop_older(struct recording *r)
{
	const struct recording_sample *s;
	size_t kept = 0;
	uint32_t moment;

	op_vec_foreach(s, &r->samples) {
		moment = r->c->stacks.data[s->stack].moment;
		if (moment == OP_MOMENT_NONE ||
		    op_moments_counts(&r->c->moments, moment, s->time_ns))
			r->samples.data[kept++] = *s;
	}
	r->samples.len = kept;
}

/* Filter by names now, with the names of source lines. */
static int leave_out(struct recording *r, const struct filter *f)
{
	_cleanup_free_ uint32_t *numbers = NULL;
	const struct recording_sample *s;
	size_t kept = 0;

	if (!f || !filter_has_frames(f))
		return 0;
	if (filter_frames(f, r->c, &numbers))
		return fail("out of memory");
	op_vec_foreach(s, &r->samples) {
		if (numbers[s->stack] == FILTER_GONE)
			continue;
		r->samples.data[kept] = *s;
		r->samples.data[kept++].stack = numbers[s->stack];
	}
	r->samples.len = kept;
	if (r->c->times)
		op_times_renumber(r->c->times, numbers, r->c->stacks.len);
	return 0;
}

/* Report samples that cannot be right. OTLP before 1.10 had values in another field,
 * where attributes are now. Returns 0, or STATUS_FAILED if no sample has a value. */
static int say_odd(const struct op_collect *c, const char *path)
{
	if (c->samples_empty && c->samples_empty == c->samples)
		return fail(
			"%s: no sample has a value or a time: it has the layout of OTLP "
			"before 1.10, which is not read, or it is damaged",
			path);
	if (c->samples_empty)
		note("%s: %" PRIu64 " of %" PRIu64
		     " samples have neither a value nor a time, and count as nothing",
		     path, c->samples_empty, c->samples);
	if (c->samples_astray)
		note("%s: %" PRIu64 " of %" PRIu64
		     " samples refer to a stack or an attribute that is not there: it is "
		     "damaged, or has another layout of OTLP",
		     path, c->samples_astray, c->samples);
	return 0;
}

int recording_collect(char *const *paths, size_t len,
		      const struct recording_request *request, struct recording *ret)
{
	int r;

	if (op_collect_new(request->detail, &ret->c) < 0 ||
	    (request->times && op_collect_keep_times(ret->c) < 0))
		return fail("out of memory");
	ret->timed = request->timed;
	ret->c->label_key = request->label_key;
	r = filter_read(request->filter, FILTER_SAMPLES_ONLY, paths, len, load_request,
			ret);
	drop_older(ret);
	if (!r)
		r = say_odd(ret->c, recording_title(paths[0]));
	if (!r && request->lines.wanted)
		r = add_lines(ret->c, &request->lines);
	return r ? r : leave_out(ret, request->filter);
}

void recording_clear(struct recording *r)
{
	r->c = op_collect_free(r->c);
	op_vec_clear(&r->samples);
}
