/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of kinds share in addition to kind.h: a child that obeys requests, the
 * samples of all exported requests, and the check that the counters add up. */
#ifndef TEST_KIND_PROFILE_H
#define TEST_KIND_PROFILE_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kind.h"
#include "otlp/reader.h"

/* A function that must appear on the stack, without the calls that sanitizers would
 * add. */
#define PLACE __attribute__((noinline, noclone, no_sanitize("address", "undefined")))
/* Keeps the frame of a call before it, and keeps equal functions from being merged. */
#define STAYS(name) __asm__ volatile("/* " name " */" ::: "memory")

struct kind_profile;
typedef void (*kind_sample_fn)(struct kind_profile *profile,
			       const struct otlp_sample_view *sample);

struct kind_profile {
	kind_sample_fn fn; /* called for each sample of each request */
	void *data;
	const struct otlp_profiles *profiles; /* of the request being read */
};

static inline bool kind_is(const struct otlp_sample_view *s, const char *type,
			   const char *unit)
{
	return otlp_text_is(s->type, type) && otlp_text_is(s->unit, unit);
}

/* The position of @function in the stack, counted from the leaf; -1: it is not there. */
static inline int kind_frame(const struct otlp_sample_view *s, const char *function)
{
	size_t i;

	for (i = 0; i < s->frames_len; i++)
		if (otlp_text_is(s->frames[i].function, function))
			return (int)i;
	return -1;
}

/* An attribute of the sample, or NULL. */
static inline const struct otlp_attribute *
kind_attribute(const struct kind_profile *p, const struct otlp_sample_view *s,
	       const char *key)
{
	return otlp_find_attribute(p->profiles, s->sample->attributes, key);
}

static inline bool kind_says(const struct kind_profile *p,
			     const struct otlp_sample_view *s, const char *key,
			     const char *text)
{
	const struct otlp_attribute *a = kind_attribute(p, s, key);

	return a && otlp_text_is(otlp_attribute_text(p->profiles, a), text);
}

static inline void kind_print(const struct otlp_sample_view *s)
{
	char name[256];
	size_t i;

	printf("  %.*s/%.*s %lld:", (int)s->type.len, s->type.data, (int)s->unit.len,
	       s->unit.data, (long long)s->value);
	for (i = 0; i < s->frames_len; i++)
		printf(" %s", otlp_frame_name(&s->frames[i], name, sizeof(name)));
	printf("\n");
}

static inline void kind_on_violation(void *data, const char *sentence, uint64_t cases)
{
	(void)data;
	TEST_FAIL("%s (%llu)", sentence, (unsigned long long)cases);
}

static inline int kind_on_sample(void *data, const struct otlp_sample_view *s)
{
	struct kind_profile *profile = data;

	profile->fn(profile, s);
	return 0;
}

static inline int kind_take(void *userdata, const void *request, size_t len,
			    uint64_t samples)
{
	struct kind_profile *profile = userdata;
	struct otlp_profiles *p = NULL;
	const char *reason = NULL;

	(void)samples;
	if (otlp_read(request, len, &p, &reason))
		TEST_FAIL("not readable: %s", reason);
	CHECK_INT(otlp_check(p, kind_on_violation, NULL), 0);
	profile->profiles = p;
	CHECK_OK(otlp_each_sample(p, kind_on_sample, profile));
	(void)otlp_free(p);
	return 0;
}

static inline void kind_pass(struct otelprof *p, struct kind_profile *profile)
{
	struct otelprof_callback_config callback;

	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = kind_take;
	callback.userdata = profile;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
}

/* A started profiler of all processes at a rate of @hz, which passes its samples to @profile. */
static inline struct otelprof *kind_start_all(uint32_t hz, struct kind_profile *profile)
{
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = hz;
	p = kind_new(&config);
	kind_pass(p, profile);
	CHECK_OK(otelprof_start(p));
	return p;
}

/* A started profiler of process @pid with @config, which passes its samples
 * to @profile. */
static inline struct otelprof *kind_start(const struct otelprof_config *config, pid_t pid,
					  struct kind_profile *profile)
{
	struct otelprof *p = kind_open(config, pid);
	int r;

	kind_pass(p, profile);
	r = otelprof_start(p);
	if (r == -ENOENT)
		SKIP("this kernel has not what is hooked: %s", otelprof_strerror(r));
	CHECK_OK(r);
	return p;
}

/* Poll for a while, and on a busy machine until nothing is left. Then export. */
static inline void kind_drain(struct otelprof *p)
{
	int i, r = 0;

	for (i = 0; i < 30 || (r > 0 && i < 300); i++) {
		r = otelprof_poll(p, 5);
		CHECK_OK(r);
	}
	CHECK_OK(otelprof_export(p));
}

/* Stop @p and check that all samples are accounted for. Returns how many were dropped. */
static inline void kind_print_drop(void *userdata, const char *name, const char *sentence,
				   uint64_t count)
{
	if (count)
		printf("  dropped %llu: %s: %s\n", (unsigned long long)count, name,
		       sentence);
}

static inline uint64_t kind_close(struct otelprof *p)
{
	struct otelprof_stats s;
	uint64_t dropped;
	int i = 0;

	CHECK_OK(otelprof_stop(p));
	otelprof_stats_init(&s, sizeof(s));
	/* on a busy machine work for a first sample takes many polls */
	do {
		kind_drain(p);
		CHECK_OK(otelprof_flush(p, 5000));
		CHECK_OK(otelprof_get_stats(p, &s));
	} while (s.samples_pending && ++i < 100);
	dropped = s.samples_dropped;
	printf("  taken %llu = exported %llu + filtered %llu + dropped %llu\n",
	       (unsigned long long)s.samples_taken,
	       (unsigned long long)s.samples_exported,
	       (unsigned long long)s.samples_filtered, (unsigned long long)dropped);
	CHECK_OK(otelprof_drops(p, kind_print_drop, NULL));
	CHECK_INT(s.samples_pending, 0);
	CHECK_INT(s.samples_taken, s.samples_exported + s.samples_filtered + dropped);
	otelprof_free(p);
	return dropped;
}

/* ---- a child ---- */

struct kind_child {
	pid_t pid;
	int to;
	int from;
};

/* A child that runs @serve, which reads requests and writes answers. */
static inline struct kind_child kind_child_start(void (*serve)(int from, int to))
{
	struct kind_child c;
	int to[2];
	int from[2];

	CHECK_OK(pipe2(to, O_CLOEXEC));
	CHECK_OK(pipe2(from, O_CLOEXEC));
	c.pid = fork();
	CHECK(c.pid >= 0);
	if (c.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(to[0], from[1]);
		_exit(0);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	c.to = to[1];
	c.from = from[0];
	return c;
}

/* Send a request to @c, and poll @p until it has answered and everything is exported. */
static inline void kind_child_ask(struct otelprof *p, const struct kind_child *c,
				  const void *request, size_t request_len, void *answer,
				  size_t answer_len)
{
	struct pollfd answered = { .fd = c->from, .events = POLLIN };

	CHECK_INT(write(c->to, request, request_len), request_len);
	while (poll(&answered, 1, 0) == 0)
		CHECK_OK(otelprof_poll(p, 20));
	CHECK_INT(read(c->from, answer, answer_len), answer_len);
	kind_drain(p);
}

static inline void kind_child_end(const struct kind_child *c)
{
	(void)kill(c->pid, SIGKILL);
	CHECK_INT(waitpid(c->pid, NULL, 0), c->pid);
	(void)close(c->to);
	(void)close(c->from);
}

static inline int64_t kind_clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
