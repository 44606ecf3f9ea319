/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of all kinds of events share: a profiler of one process, and the check
 * of this process's loaded BPF programs. */
#ifndef TEST_KIND_H
#define TEST_KIND_H

#include <bpf/bpf.h>
#include <dirent.h>
#include <otelprof/otelprof.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* A profiler with @config, not started. Skips the test if the kernel or missing rights do
 * not allow it. */
static inline struct otelprof *kind_new(const struct otelprof_config *config)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof *p = NULL;
	int r = otelprof_init(config, &why, &p);

	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", why.message);
	if (r < 0)
		TEST_FAIL("%s: %s", why.message, why.detail);
	return p;
}

/* kind_new() for process @pid only. */
static inline struct otelprof *kind_open(const struct otelprof_config *config, pid_t pid)
{
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_PID,
				      .number = (uint64_t)pid };
	struct otelprof *p = kind_new(config);

	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	return p;
}

/* A started profiler of every process with the default kinds. Skips the test if that is
 * impossible. */
static inline struct otelprof *kind_defaults(void)
{
	struct otelprof *p = NULL;
	int r = otelprof_init(NULL, NULL, &p);

	if (r < 0)
		SKIP("no profiler here: %s", otelprof_strerror(r));
	CHECK_OK(otelprof_start(p));
	return p;
}

/* The number of this process's BPF programs with the name @name. */
static inline int kind_programs(const char *name)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);
		int fd = atoi(e->d_name);

		/* An older kernel returns fewer bytes; for other objects the info is much
		 * shorter. */
		if (fd > 2 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    len > offsetof(struct bpf_prog_info, run_time_ns) &&
		    !strcmp(info.name, name))
			n++;
	}
	CHECK_OK(closedir(d));
	return n;
}

/* Check that the programs @name and @other (NULL: none) are loaded only while @kind is
 * on. */
static inline void kind_check_loaded(uint64_t kind, const char *name, const char *other)
{
	struct otelprof *p = kind_defaults();

	CHECK_INT(kind_programs(name), 0);
	CHECK(!other || kind_programs(other) == 0);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_CPU | kind));
	CHECK_INT(kind_programs(name), 1);
	CHECK(!other || kind_programs(other) == 1);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_CPU));
	CHECK_INT(kind_programs(name), 0);
	CHECK(!other || kind_programs(other) == 0);
	otelprof_free(p);
}

#endif
