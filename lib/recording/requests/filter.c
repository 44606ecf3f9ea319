/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the conditions of a filter, and judges samples by them. */
#include "recording/requests/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum {
	MINUTE = 60,
	HOUR = 3600,
	DAY = 86400,
	/* of a recording */
	SECONDS_MAX = 1000000000,
};

void filter_clear(struct filter *f)
{
	size_t i;

	for (i = 0; i < FILTER_FRAMES; i++)
		f->frames[i] = pattern_free(f->frames[i]);
}

static bool begins(struct otlp_text text, const char *with)
{
	size_t len = strlen(with);

	return len && text.len >= len && memcmp(text.data, with, len) == 0;
}

static bool is_number(const char *text, int64_t number)
{
	char *end = NULL;
	long long n;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoll(text, &end, 10);
	return !errno && !*end && n == number;
}

bool filter_owner_is(enum filter_owner of, const char *wanted,
		     const struct filter_subject *s)
{
	switch (of) {
	case FILTER_PID:
		return is_number(wanted, s->pid);
	case FILTER_PROGRAM:
		return otlp_text_is(s->program, wanted);
	case FILTER_THREAD:
		return otlp_text_is(s->thread, wanted) || is_number(wanted, s->thread_id);
	default:
		return begins(s->container_id, wanted) ||
		       (s->container_name.len && otlp_text_is(s->container_name, wanted));
	}
}

/* "14:30" or "14:30:05". */
static int parse_clock(const char *text, struct filter_time *ret)
{
	unsigned int hours, minutes, seconds = 0;
	int end = 0;

	if (sscanf(text, "%2u:%2u%n", &hours, &minutes, &end) != 2)
		return -EINVAL;
	if (text[end] == ':') {
		text += end;
		end = 0;
		if (sscanf(text, ":%2u%n", &seconds, &end) != 1)
			return -EINVAL;
	}
	if (!end || text[end] || hours > 23 || minutes > 59 || seconds > 60)
		return -EINVAL;
	*ret = (struct filter_time){ true, true,
				     hours * HOUR + minutes * MINUTE + seconds };
	return 0;
}

int filter_time_parse(const char *text, struct filter_time *ret)
{
	char *end = NULL;
	double v;

	if (strchr(text, ':'))
		return *text >= '0' && *text <= '9' ? parse_clock(text, ret) : -EINVAL;
	v = strtod(text, &end);
	if (end != text && *end == 's')
		end++;
	if (end == text || *end || !isfinite(v) || v < 0 || v > SECONDS_MAX)
		return -EINVAL;
	*ret = (struct filter_time){ true, false, v };
	return 0;
}

bool filter_is_id(const char *text, size_t digits)
{
	size_t len = strspn(text, "0123456789abcdef");

	return len && !text[len] && len <= digits;
}

bool filter_has_samples(const struct filter *f)
{
	size_t i;

	for (i = 0; i < FILTER_OWNERS; i++)
		if (f->owners[i])
			return true;
	return f->kind || f->labels_len || f->cgroup || f->trace || f->span ||
	       f->from.given || f->to.given;
}

bool filter_has_frames(const struct filter *f)
{
	size_t i;

	for (i = 0; i < FILTER_FRAMES; i++)
		if (f->frames[i])
			return true;
	return false;
}
