/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends that nobody tells of. The kernel may leave out the program for the end of an I/O. Then its
 * sample waits until its bio's address is used once more, by this process or one that the filter
 * leaves out, or until the kind is turned off. It is counted as lost in each case. Here the
 * programs are run by hand, for bios that there are not.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "test.h"

enum {
	NAME_BYTES = 16, /* of a program, as the kernel keeps it */
};

/* Addresses of bios. The kernel's own are never that low, and nothing is read there. */
enum {
	TOLD = 1 << 12,
	USED_TWICE = 2 << 12,
	USED_BY_OTHER = 3 << 12,
	NEVER_ENDED = 4 << 12,
};

/* The descriptor of this process's program @name, or -1. */
static int program_of(const char *name)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int found = -1;

	CHECK(d);
	while (found < 0 && (e = readdir(d))) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);
		int fd = atoi(e->d_name);

		if (fd > 2 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    len > offsetof(struct bpf_prog_info, run_time_ns) &&
		    !strncmp(info.name, name, NAME_BYTES - 1))
			found = fd;
	}
	CHECK_OK(closedir(d));
	return found;
}

/* Run @program as its tracepoint does. A bio is the first argument or the second. */
static void run(int program, uint64_t bio)
{
	uint64_t args[] = { bio, bio };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	CHECK_OK(bpf_prog_test_run_opts(program, &opts));
}

static void run_in_child(int program, uint64_t bio)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		run(program, bio);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

static void count_told(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	int64_t *told = profile->data;

	/* a bio that there is not has no device */
	if (kind_is(s, "block_io", "count") &&
	    kind_says(profile, s, "system.device", "0:0"))
		*told += s->value;
}

static void test_ends_that_are_missed_are_lost_samples(void)
{
	int64_t told = 0;
	struct kind_profile profile = { .fn = count_told, .data = &told };
	struct otelprof_config config;
	struct otelprof *p;
	int queued;
	int ended;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_BLOCK_IO;
	p = kind_start(&config, getpid(), &profile);
	queued = program_of("op_block_io");
	if (queued < 0)
		queued = program_of("op_block_io_whole");
	ended = program_of("op_block_ended");
	CHECK(queued >= 0 && ended >= 0);

	run(queued, TOLD);
	run(ended, TOLD);
	run(queued, USED_TWICE);
	run(queued, USED_TWICE);
	run(ended, USED_TWICE);
	run(queued, USED_BY_OTHER);
	run_in_child(queued, USED_BY_OTHER);
	run(ended, USED_BY_OTHER);
	run(queued, NEVER_ENDED);
	CHECK_INT(kind_close(p), 3);
	CHECK_INT(told, 2);
}

TEST_MAIN({ "lost", test_ends_that_are_missed_are_lost_samples })
