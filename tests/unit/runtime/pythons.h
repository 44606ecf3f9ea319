/* SPDX-License-Identifier: Apache-2.0 */
/* The CPython interpreters of this machine: OTELPROF_PYTHONS (paths, separated by colons),
 * or what is found in the usual places. */
#ifndef TEST_PYTHONS_H
#define TEST_PYTHONS_H

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum {
	PYTHONS_MAX = 32,
};

struct pythons {
	char path[PYTHONS_MAX][512];
	size_t len;
};

static inline void pythons_add(struct pythons *p, const char *path)
{
	if (p->len < PYTHONS_MAX)
		(void)snprintf(p->path[p->len++], sizeof(p->path[0]), "%s", path);
}

static inline void pythons_glob(struct pythons *p, const char *pattern)
{
	glob_t g = { 0 };
	size_t i;

	if (glob(pattern, 0, NULL, &g) == 0)
		for (i = 0; i < g.gl_pathc; i++)
			pythons_add(p, g.gl_pathv[i]);
	globfree(&g);
}

static inline void pythons_find(struct pythons *p)
{
	const char *given = getenv("OTELPROF_PYTHONS");
	const char *home = getenv("HOME");
	char *list = NULL;
	char *rest = NULL;
	char *one;
	char pattern[512];

	p->len = 0;
	if (given) {
		list = strdup(given);
		for (one = strtok_r(list, ":", &rest); one;
		     one = strtok_r(NULL, ":", &rest))
			pythons_add(p, one);
		free(list);
		return;
	}
	pythons_glob(p, "/usr/bin/python3.[0-9]");
	pythons_glob(p, "/usr/bin/python3.[0-9][0-9]");
	pythons_glob(p, "/usr/local/bin/python3.[0-9][0-9]");
	if (home) {
		(void)snprintf(pattern, sizeof(pattern),
			       "%s/.pyenv/versions/3.*/bin/python3", home);
		pythons_glob(p, pattern);
	}
}

/* @check each, or skip the test where there is none. */
static inline void pythons_check(void (*check)(const char *python))
{
	struct pythons pythons;
	size_t i;

	pythons_find(&pythons);
	if (!pythons.len)
		SKIP("no CPython here");
	for (i = 0; i < pythons.len; i++)
		check(pythons.path[i]);
}

#endif
