/* SPDX-License-Identifier: Apache-2.0 */
#include "choose/children.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

enum {
	/* processes that are examined: each may have children of its own */
	THREADS_MAX = 4096,
	CHILDREN_MAX = 10000,
};

/* Add the children that the thread @tid of @pid started. */
static size_t children_of_thread(unsigned int pid, const char *tid)
{
	char path[64];
	size_t n = 0;
	int child;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%u/task/%.20s/children", pid, tid);
	f = fopen(path, "re");
	while (f && n < CHILDREN_MAX && fscanf(f, "%d", &child) == 1)
		n++;
	if (f)
		(void)fclose(f);
	return n;
}

static size_t children_of(unsigned int pid)
{
	const struct dirent *e;
	size_t n = 0, threads = 0;
	char path[32];
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	while (d && threads < THREADS_MAX && n < CHILDREN_MAX && (e = readdir(d))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		n += children_of_thread(pid, e->d_name);
		threads++;
	}
	if (d)
		(void)closedir(d);
	return n;
}

void children_tell(const struct options *o)
{
	size_t i, n;

	for (i = 0; i < o->includes; i++) {
		const struct otelprof_rule *rule = &o->rules[i];

		n = rule->kind == OTELPROF_MATCH_PID
			    ? children_of((unsigned int)rule->number)
			    : 0;
		if (n)
			note("process %u has %zu child process%s, left out: --tree %u takes "
			     "them, too",
			     (unsigned int)rule->number, n, n == 1 ? "" : "es",
			     (unsigned int)rule->number);
	}
}
