/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as text, so that a host program needs no keys of its own for struct
 * otelprof_config and struct otelprof_otlp_config:
 *
 * 	# comments begin a line
 * 	sample_rate_hz = 49
 * 	kinds = cpu, off_cpu
 * 	rules = rate 199 cgroup:/batch.slice
 * 	endpoint = https://collector:4317
 *
 * otelprof_settings_new(3) has the keys. Each key is also the environment variable
 * OTELPROF_KEY. One thread at a time may use one struct otelprof_settings.
 */
#ifndef OTELPROF_SETTINGS_H
#define OTELPROF_SETTINGS_H

#include <otelprof/config.h>
#include <otelprof/error.h>
#include <otelprof/export.h>

OTELPROF_BEGIN_DECLS

struct otelprof_settings;

/** Make empty settings. Returns 0, -EINVAL for NULL, or -ENOMEM. */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_settings_new(struct otelprof_settings **ret);

/** Free them and the strings of the structs below. NULL does nothing. Returns NULL. */
OTELPROF_API struct otelprof_settings *
otelprof_settings_free(struct otelprof_settings *settings);

/** Set keys. Later values win: read a file, then the environment, then set what the
 * command line has. A key that comes again in one call of _read*(), or in consecutive
 * calls of _set(), adds to its list. Otherwise a new value replaces the list, and an empty
 * value empties it.
 *
 * Returns 0; -EINVAL for an unknown key or a bad value; -E2BIG for more than 1 MiB of
 * text or a line of more than 8,192 bytes; the errno of reading the file; -ENOMEM. After
 * an error, values before the mistake are set, and @why (NULL, or a struct whose size is
 * set) has a sentence that begins with NAME:LINE or the variable. _read_environment()
 * ignores a malformed OTEL_RESOURCE_ATTRIBUTES and returns 0 with a sentence in @why. */
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

/** Fill @ret up to ret->size. Its strings and arrays are valid until @settings change or
 * are freed. Each member is overwritten, so set log and log_userdata after this. Returns
 * 0, or -EINVAL for NULL or a short struct. */
OTELPROF_API int otelprof_settings_get_config(const struct otelprof_settings *settings,
					      struct otelprof_config *ret);
OTELPROF_API int otelprof_settings_get_otlp(const struct otelprof_settings *settings,
					    struct otelprof_otlp_config *ret);

/** The *@ret_len probes for otelprof_set_probes(), valid as above, or NULL. */
OTELPROF_API const char *const *
otelprof_settings_get_probes(const struct otelprof_settings *settings, size_t *ret_len);

/** The *@ret_len rules for otelprof_set_rules(), valid as above, or NULL. */
OTELPROF_API const struct otelprof_rule *
otelprof_settings_get_rules(const struct otelprof_settings *settings, size_t *ret_len);

struct otelprof_settings_key {
	size_t size;
	const char *key;      /* such as "sample_rate_hz" */
	const char *variable; /* such as "OTELPROF_SAMPLE_RATE_HZ" */
	const char *text;     /* what it does, with its range and default */
	/* 1: a running profiler can take another value, by a call such as
	 * otelprof_set_rate(), or by removing an exporter and adding one */
	uint32_t live;
	uint32_t reserved0;
};
typedef void (*otelprof_settings_fn)(void *userdata,
				     const struct otelprof_settings_key *key);
/** Call @fn for each key. Returns 0, or -EINVAL for NULL. */
OTELPROF_API int otelprof_settings_keys(otelprof_settings_fn fn, void *userdata);

/** Call @fn (which may be NULL) for each key whose value differs between @a and @b, such
 * as before and after a file was read again. Returns their number, or -EINVAL. */
OTELPROF_API int otelprof_settings_compare(const struct otelprof_settings *a,
					   const struct otelprof_settings *b,
					   otelprof_settings_fn fn, void *userdata);

OTELPROF_END_DECLS
#endif
