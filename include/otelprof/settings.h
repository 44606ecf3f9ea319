/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as text, so that a host need not map each field of struct otelprof_config
 * and struct otelprof_otlp_config to keys of its own:
 *
 *	# comments begin a line
 *	sample_rate_hz = 49
 *	kinds = cpu, off_cpu
 *	rules = rate 199 cgroup:/batch.slice
 *	endpoint = https://collector:4317
 *
 * otelprof_settings_new(3) has the keys. Each key is also the variable OTELPROF_KEY of the
 * environment.
 *
 * Threads. Settings are a value of the caller: one thread at a time may use one of them. They
 * need no profiler, and a profiler copies what it takes from them.
 */
#ifndef OTELPROF_SETTINGS_H
#define OTELPROF_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include <otelprof/config.h>
#include <otelprof/error.h>
#include <otelprof/export.h>
#include <otelprof/macros.h>

OTELPROF_BEGIN_DECLS

struct otelprof_settings;

/** Make settings in which nothing is set. Returns 0, -EINVAL for NULL, or -ENOMEM. Any
 * thread. Since 0.1. */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_settings_new(struct otelprof_settings **ret);

/** Free them, with the strings that the structs below refer to. NULL does nothing. Always
 * returns NULL. Since 0.1. */
OTELPROF_API struct otelprof_settings *
otelprof_settings_free(struct otelprof_settings *settings);

/**
 * The four ways to set keys. What is set later wins: read a file first, then the environment,
 * then set what the command line says. A key with a list adds to it when it is given again in
 * the same call of _read(), _read_file() or _read_environment(), or in calls of _set() in a row,
 * and replaces it otherwise. An empty value empties a list.
 *
 * Return 0; -EINVAL for an unknown key or a bad value; -E2BIG for a text of more than 1 MiB or a
 * line of more than 8,192 bytes; the errno of reading the file; -ENOMEM. After an error, what
 * stood before the mistake is set. If @why is not NULL, it holds the sentence, which begins
 * with NAME:LINE or the variable; the caller sets its size before the call. Where
 * _read_environment() ignores a malformed OTEL_RESOURCE_ATTRIBUTES, it returns 0 with the sentence
 * in @why. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_settings_read(struct otelprof_settings *settings, const char *name,
		       const char *text, size_t len, struct otelprof_error_info *why);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_settings_read_file(struct otelprof_settings *settings, const char *path,
			    struct otelprof_error_info *why);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_settings_read_environment(struct otelprof_settings *settings,
				   struct otelprof_error_info *why);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_settings_set(struct otelprof_settings *settings, const char *key,
		      const char *value, struct otelprof_error_info *why);

/**
 * Fill @ret up to ret->size. Its strings and arrays belong to @settings and are valid until
 * they change or are freed. Each member is overwritten, so set log and log_userdata after this.
 * Returns 0, or -EINVAL for NULL or a short struct. Since 0.1.
 */
OTELPROF_API int otelprof_settings_get_config(const struct otelprof_settings *settings,
					      struct otelprof_config *ret);
OTELPROF_API int otelprof_settings_get_otlp(const struct otelprof_settings *settings,
					    struct otelprof_otlp_config *ret);

/** The probes, for otelprof_set_probes(): *@ret_len strings. NULL: none. They are valid as
 * above. Since 0.1. */
OTELPROF_API const char *const *
otelprof_settings_get_probes(const struct otelprof_settings *settings, size_t *ret_len);

/** The rules, for otelprof_set_rules(): *@ret_len structs. NULL: none. They are valid as
 * above. Since 0.1. */
OTELPROF_API const struct otelprof_rule *
otelprof_settings_get_rules(const struct otelprof_settings *settings, size_t *ret_len);

/* A key. The strings are valid during the call. */
struct otelprof_settings_key {
	size_t size;
	const char *key;      /* "sample_rate_hz" */
	const char *variable; /* "OTELPROF_SAMPLE_RATE_HZ" */
	const char *text;     /* what it does, with its range and default */
	/* 1: a running profiler can take another value, by a call such as
	 * otelprof_set_rate(), or by removing an exporter and adding one */
	uint32_t live;
	uint32_t reserved0;
};

typedef void (*otelprof_settings_fn)(void *userdata,
				     const struct otelprof_settings_key *key);

/** Call @fn for each key that there is. Returns 0, or -EINVAL for NULL. Any thread. Since 0.1. */
OTELPROF_API int otelprof_settings_keys(otelprof_settings_fn fn, void *userdata);

/**
 * Call @fn (which may be NULL) for each key whose value differs between @a and @b, such as
 * before and after a file was read again. Returns how many there are, or -EINVAL for NULL.
 * Since 0.1.
 */
OTELPROF_API int otelprof_settings_compare(const struct otelprof_settings *a,
					   const struct otelprof_settings *b,
					   otelprof_settings_fn fn, void *userdata);

OTELPROF_END_DECLS

#endif
