/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request is filtered, and what passes is filtered again: it can be read, and all of it passes. It
 * is collected, and frames are left out. The first byte picks the conditions.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "quiet.h"
#include "recording/requests/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Also in a build without assertions. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

/* What a run gave. */
struct got {
	const struct filter *f;
	uint8_t *bytes;
	size_t len;
	size_t samples;
};

static int count_sample(void *data, const struct otlp_sample_view *v)
{
	struct got *got = data;

	(void)v;
	got->samples++;
	return 0;
}

static int keep(void *data, const void *request, size_t len)
{
	struct got *got = data;
	struct otlp_profiles *p = NULL;

	require(otlp_read(request, len, &p, NULL) == 0);
	(void)otlp_each_sample(p, count_sample, got);
	require(p->samples.len);
	(void)otlp_free(p);
	got->bytes = malloc(len);
	require(got->bytes);
	memcpy(got->bytes, request, len);
	got->len = len;
	return 0;
}

static int run(struct got *got, enum filter_depth depth, const uint8_t *data, size_t size)
{
	struct filter_run *run = NULL;
	int r = filter_run_new(got->f, depth, keep, got, &run);

	require(!r);
	r = filter_run_add(run, data, size);
	(void)filter_run_free(run);
	return r;
}

static void collect(const struct filter *f, const uint8_t *data, size_t size)
{
	_cleanup_(op_collect_freep) struct op_collect *c = NULL;
	_cleanup_free_ uint32_t *numbers = NULL;
	struct op_collect_path path = { 0 };
	const struct op_collect_stack *s;

	require(op_collect_new(OP_COLLECT_TRACES, &c) == 0);
	c->label_key = "k";
	(void)op_collect_add(c, data, size);
	require(filter_frames(f, c, &numbers) == 0);
	op_vec_foreach(s, &c->stacks) {
		require(s->kind < c->kinds.len && s->process < c->processes.len);
		require(op_collect_path(c, s, &path) == 0);
	}
	free(path.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[PATTERN_WHY_BYTES];
	struct filter f = { 0 };
	struct got first = { .f = &f }, second = { .f = &f };
	uint8_t pick = size ? data[0] : 0;
	enum filter_depth depth = pick & 1 ? FILTER_NAMES_TOO : FILTER_SAMPLES_ONLY;

	if (!size)
		return 0;
	data++;
	size--;
	f.kind = pick & 2 ? "cpu,off_cpu" : NULL;
	f.owners[FILTER_PROGRAM] = pick & 4 ? "web" : NULL;
	if (pick & 8)
		f.labels[f.labels_len++] = "thread.name=worker";
	if (pick & 16)
		f.from = (struct filter_time){ true, false, 0.000002 };
	if (pick & 32)
		f.to = (struct filter_time){ true, pick & 64, 86399 };
	if (pick & 64)
		(void)pattern_add(&f.frames[FILTER_FOCUS], "a|main|k.*d", why);
	if (pick & 128) {
		f.trace = "ab";
		(void)pattern_add(&f.frames[FILTER_HIDE], "^h|so$", why);
	}
	if (run(&first, depth, data, size) == 0 && first.bytes &&
	    run(&second, depth, first.bytes, first.len) == 0 && !f.from.given &&
	    !f.to.given)
		require(first.samples == second.samples);
	collect(&f, data, size);
	free(first.bytes);
	free(second.bytes);
	filter_clear(&f);
	return 0;
}
