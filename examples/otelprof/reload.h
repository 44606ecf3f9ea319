/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of `otelprof export`: a file, the environment and the command line,
 * of which the last wins. At SIGHUP the file and the environment are read again. Keys
 * that a running profiler can change take effect at once.
 */
#ifndef OTELPROF_RELOAD_H
#define OTELPROF_RELOAD_H

#include <otelprof/otelprof.h>
#include <stdbool.h>
#include <stddef.h>

struct options;

enum {
	RELOAD_ENDPOINTS_MAX = 8,
};

struct reload_exporters {
	int numbers[RELOAD_ENDPOINTS_MAX];
	size_t len;
};

struct reload {
	struct otelprof *p;		    /* borrowed */
	const struct options *o;	    /* borrowed */
	struct otelprof_settings *settings; /* in force */
	struct reload_exporters exporters;
	/* The settings from which the exporters were made: the current ones, or older
	 * ones if those failed. */
	struct otelprof_settings *exporters_of;
	/* Parts of the settings that could not be applied and are tried again: */
	bool rate_failed;
	bool kinds_failed;
	bool rules_failed;
};

/* Notice SIGHUP from here on. Without a configuration file it means that the terminal
 * is gone, and is not noticed. */
void reload_catch(const struct reload *l);
/* Read the file and the environment. Returns 0, or STATUS_FAILED after a message. */
int reload_read(struct reload *l);
/* Add the exporters. Returns 0, or STATUS_FAILED after a message. */
int reload_begin(struct reload *l, struct otelprof *p);
/* Between polls: read everything again after a SIGHUP. */
void reload_check(struct reload *l);
void reload_end(struct reload *l);

#endif
