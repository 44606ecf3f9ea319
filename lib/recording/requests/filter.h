/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conditions that samples of recordings must meet, the same for all commands. All
 * must hold. For labels and expressions that are given several times, see below.
 *
 * Conditions on a sample's own data are judged while requests are read (read.c).
 * Conditions on names of frames are judged then only if requests are written unchanged.
 * Otherwise they are judged later, because source lines add inlined functions
 * (frames.c).
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

/* The owner of a sample, by which it may be chosen. */
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

/* Is the subject the one that @wanted names? A process has a number, a container its
 * name or the beginning of its id, the others have names. */
bool filter_owner_is(enum filter_owner of, const char *wanted,
		     const struct filter_subject *s);

/* A limit that is not given is always met. */
struct filter_time {
	bool given;
	bool is_clock; /* a time of the day on which the recording began, local time */
	/* since the start of the recording; for a clock, since midnight */
	double seconds;
};

/* What to do with stacks and frames that match an expression: */
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
	/* of labels: storage for options that become a label */
	char user[FILTER_LABEL_BYTES];
	char pod[FILTER_LABEL_BYTES];
	const char *cgroup; /* this control group, and those below it */
	const char *trace;  /* the beginning of an id in hexadecimal digits */
	const char *span;
	struct filter_time from;
	struct filter_time to;
	struct pattern *frames[FILTER_FRAMES]; /* freed by filter_clear() */
};

void filter_clear(struct filter *f);

/* Parse "12.5", "12.5s", "14:30" or "14:30:05". Returns 0 or -EINVAL. */
int filter_time_parse(const char *text, struct filter_time *ret);
/* Is it the beginning of an id with so many digits? */
bool filter_is_id(const char *text, size_t digits);

/* Is there a condition on samples' own data, or on names of frames? */
bool filter_has_samples(const struct filter *f);
bool filter_has_frames(const struct filter *f);

enum filter_depth {
	FILTER_SAMPLES_ONLY, /* names of frames are judged later */
	FILTER_NAMES_TOO,    /* names as they were recorded; not for FILTER_HIDE */
};

/* A running filter: @fn gets what passes of the requests that are added. */
struct filter_run;

/* @f is borrowed. Returns 0 or -ENOMEM; filter_run_free() must follow. */
int filter_run_new(const struct filter *f, enum filter_depth depth, recording_fn fn,
		   void *data, struct filter_run **ret);
struct filter_run *filter_run_free(struct filter_run *run);
/* Returns 0, -EBADMSG, -EFBIG, -ENOMEM, or what @fn returned. */
int filter_run_add(struct filter_run *run, const void *request, size_t len);

/* recording_read() through the filter. It passes each request without the samples that
 * do not match, and without times outside of the limits. A request of which nothing
 * passes is left out. */
int filter_read(const struct filter *f, enum filter_depth depth, char *const *paths,
		size_t len, recording_fn fn, void *data);

#endif
