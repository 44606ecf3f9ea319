/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of `otelprof export`: a file, the environment and the command line, of which
 * the latter wins. A SIGHUP lets it read file and environment again. What a running profiler can
 * take is changed at once.
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
	/* What the exporters were made of: the settings in force, or older ones where those
	 * could not be had. */
	struct otelprof_settings *exporters_of;
	/* What of the settings could not be put in force: it is tried again. */
	bool rate_failed;
	bool kinds_failed;
	bool rules_failed;
};

/* From now on a SIGHUP is noticed, unless it means that the terminal of a program without a
 * configuration file is gone. */
void reload_catch(const struct reload *l);
/* Read the file and the environment. Returns 0 or STATUS_FAILED, said. */
int reload_read(struct reload *l);
/* Add the exporters. Returns 0 or STATUS_FAILED, said. */
int reload_begin(struct reload *l, struct otelprof *p);
/* Between polls: read all again if there was a SIGHUP. */
void reload_check(struct reload *l);
void reload_end(struct reload *l);

#endif
