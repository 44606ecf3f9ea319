/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process's word in the kernel may lead to tables that were given to another process
 * meanwhile. No stack is walked by those: their number differs, so the sample comes with
 * its stack, and the library sets the word right.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <stdlib.h>

#include <otelprof/otelprof.h>

#include "op_user_types.h"

#include "child.h"
#include "kind.h"
#include "test.h"

enum {
	RATE_HZ = 199,
	SETTLED_MS = 500, /* of CPU time */
	WAIT_MS = 60000,  /* longer than it takes on a busy machine */
	POLL_MS = 50,
};

/* The descriptor of this process's map of that name. */
static int map_named(const char *name)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int found = -1;

	CHECK(d);
	while (found < 0 && (e = readdir(d))) {
		struct bpf_map_info info = { 0 };
		uint32_t len = sizeof(info);
		int fd = atoi(e->d_name);

		if (fd > 2 && fd != dirfd(d) &&
		    !bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    strcmp(info.name, name) == 0)
			found = fd;
	}
	CHECK_OK(closedir(d));
	CHECK(found >= 0);
	return found;
}

static struct op_process_key key_of(int map, pid_t pid)
{
	struct op_process_key key = { 0 };
	uint32_t number = (uint32_t)pid;

	(void)bpf_map_lookup_elem(map, &number, &key);
	return key;
}

/* Poll until all tables of @pid are made, so that nothing changes by itself. */
static void settle(struct otelprof *p, pid_t pid)
{
	uint64_t until = child_cpu_ms(pid) + SETTLED_MS;

	while (child_cpu_ms(pid) < until)
		CHECK(otelprof_poll(p, POLL_MS) >= 0);
}

/* Poll until @pid's word leads to tables other than @not. */
static bool wait_for(struct otelprof *p, int map, pid_t pid, op_ref not )
{
	uint64_t until = now_ms() + WAIT_MS;

	while (now_ms() < until) {
		op_ref now = key_of(map, pid).process;

		if (now && now != not )
			return true;
		CHECK(otelprof_poll(p, POLL_MS) >= 0);
	}
	return false;
}

static void test_tables_of_another_are_not_used(void)
{
	struct otelprof_config config;
	struct otelprof *p;
	struct op_process_key wrong;
	pid_t first = child_spin(NULL);
	pid_t second = child_spin(NULL);
	uint32_t number = (uint32_t)first;
	int map;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	p = kind_new(&config);
	CHECK_OK(otelprof_start(p));
	map = map_named("op_processes");
	CHECK(wait_for(p, map, first, 0));
	CHECK(wait_for(p, map, second, 0));
	settle(p, first);
	settle(p, second);
	wrong = key_of(map, first);
	wrong.process = key_of(map, second).process;
	CHECK_OK(bpf_map_update_elem(map, &number, &wrong, BPF_ANY));
	CHECK(wait_for(p, map, first, wrong.process));
	otelprof_free(p);
	child_end(first);
	child_end(second);
}

TEST_MAIN({ "another", test_tables_of_another_are_not_used })
