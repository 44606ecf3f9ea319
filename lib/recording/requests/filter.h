/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples of recordings a command is about: one set of conditions for all commands. All must
 * hold; of labels and expressions that are given several times, see below.
 *
 * What a sample carries is judged while requests are read (read.c). Names of frames are judged there
 * only where requests are written again as they were; else afterwards, because source lines add
 * inlined functions (frames.c).
 */
#ifndef OP_RECORDING_REQUESTS_FILTER_H
#define OP_RECORDING_REQUESTS_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otlp/reader.h"
#include "recording/read/requests.h"
#include "recording/requests/pattern.h"

enum {
	FILTER_LABELS_MAX = 16,
	FILTER_TRACE_DIGITS = 32,
	FILTER_SPAN_DIGITS = 16,
	FILTER_LABEL_BYTES = 128,
};

/* Of whom a sample is. */
enum filter_owner {
	FILTER_PID,
	FILTER_PROGRAM,
	FILTER_THREAD, /* by name or number */
	FILTER_CONTAINER,
	FILTER_OWNERS,
};

struct filter_subject {
	int64_t pid;
	struct otlp_text program;
	struct otlp_text thread;
	int64_t thread_id; /* -1: unknown */
	struct otlp_text container_id;
	struct otlp_text container_name;
};

/* Is the subject the one that @wanted names? A process is a number, a container the beginning of its
 * id or its name, the others are names. */
bool filter_owner_is(enum filter_owner of, const char *wanted,
		     const struct filter_subject *s);

/* One that is not given does not limit. */
struct filter_time {
	bool given;
	bool is_clock;	/* of the day that the recording began, local time */
	double seconds; /* since the start of the recording; of a clock, since midnight */
};

/* Frames by expressions. */
enum filter_frames {
	FILTER_FOCUS,  /* stacks that have such a frame */
	FILTER_IGNORE, /* stacks that have none */
	FILTER_HIDE,   /* all stacks, without such frames */
	FILTER_FRAMES,
};

struct filter {
	const char *kind; /* read/kinds.h */
	const char *owners[FILTER_OWNERS];
	const char *labels[FILTER_LABELS_MAX]; /* "key=value" */
	size_t labels_len;
	char user[FILTER_LABEL_BYTES]; /* of labels: the texts of options that are one */
	char pod[FILTER_LABEL_BYTES];
	const char *cgroup; /* this control group, and those below it */
	const char *trace;  /* the beginning of an id in hexadecimal digits */
	const char *span;
	struct filter_time from;
	struct filter_time to;
	struct pattern *frames[FILTER_FRAMES]; /* by filter_clear() */
};

void filter_clear(struct filter *f);

/* Parse "12.5", "12.5s", "14:30" or "14:30:05". Returns 0 or -EINVAL. */
int filter_time_parse(const char *text, struct filter_time *ret);
/* Is it the beginning of an id with so many digits? */
bool filter_is_id(const char *text, size_t digits);

/* Does anything limit samples by what they carry, or by names of frames? */
bool filter_has_samples(const struct filter *f);
bool filter_has_frames(const struct filter *f);

enum filter_depth {
	FILTER_SAMPLES_ONLY, /* names of frames are judged later */
	FILTER_NAMES_TOO,    /* as they were recorded; FILTER_HIDE is not for that */
};

/* A filter at work: of the requests that are added, @fn gets what passes. */
struct filter_run;

/* @f is borrowed. Returns 0 or -ENOMEM; filter_run_free() must follow. */
int filter_run_new(const struct filter *f, enum filter_depth depth, recording_fn fn,
		   void *data, struct filter_run **ret);
struct filter_run *filter_run_free(struct filter_run *run);
/* Returns 0, -EBADMSG, -EFBIG, -ENOMEM, or what @fn returned. */
int filter_run_add(struct filter_run *run, const void *request, size_t len);

/* recording_read() of what passes: each request without the samples that do not, and without those
 * times of samples that are outside. A request of which nothing passes is left out. */
int filter_read(const struct filter *f, enum filter_depth depth, char *const *paths,
		size_t len, recording_fn fn, void *data);

#endif
