/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists what a symbol server needs, while it profiles this host for the given seconds
 * (10): each executable file once, with its build id; and the processes that come and go.
 * With a directory, the files are copied to BUILD_ID.elf there, as an upload would take
 * them.
 *
 * 	executables [SECONDS [DIRECTORY]]
 */
#include <fcntl.h>
#include <otelprof/otelprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	COPIED_MAX = 1 << 30, /* bytes of a file; another process may let it grow */
};

static void copy(int from, const char *directory, const char *build_id)
{
	char path[4096];
	char bytes[65536];
	off_t at = 0;
	ssize_t n;
	int to;

	snprintf(path, sizeof(path), "%s/%s.elf", directory, build_id);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return; /* it is there */
	while ((n = pread(from, bytes, sizeof(bytes), at)) > 0 && at < COPIED_MAX &&
	       write(to, bytes, (size_t)n) == n)
		at += n;
	if (n) /* the file could not be read or written, or is larger */
		unlink(path);
	close(to);
}

/* The profiler waits meanwhile. A program that uploads would duplicate the descriptor, and let
 * another thread read it. */
static void on_executable(void *userdata, const struct otelprof_executable *e)
{
	const char *directory = userdata;

	printf("executable %s %llu %s\n", *e->build_id ? e->build_id : e->htlhash,
	       (unsigned long long)e->file_bytes, e->path);
	if (directory && *e->build_id && e->fd >= 0)
		copy(e->fd, directory, e->build_id);
}

static void on_process(void *userdata, const struct otelprof_process *process)
{
	static const char *const changes[] = { "", "came", "changed", "went" };
	size_t i;

	(void)userdata;
	printf("process %u %s", process->pid,
	       process->change <= OTELPROF_PROCESS_WENT ? changes[process->change] : "");
	for (i = 0; i < process->attributes_len; i++)
		printf(" %s=%s", process->attributes[i].key,
		       process->attributes[i].value);
	printf("\n");
}

static void on_window(void *userdata, const struct otelprof_window *window)
{
	(void)userdata;
	printf("window of %.1f s with %llu samples\n",
	       (double)(window->end_time_ns - window->start_time_ns) / 1e9,
	       (unsigned long long)window->samples);
}

static int on_request(void *userdata, const void *request, size_t len, uint64_t samples)
{
	(void)userdata, (void)request, (void)len, (void)samples;
	return 0;
}

int main(int argc, char **argv)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_callback_config callback;
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	struct otelprof_events events;
	struct otelprof *p = NULL;
	int r;

	setvbuf(stdout, NULL, _IOLBF, 0);
	otelprof_events_init(&events, sizeof(events));
	events.userdata = argc > 2 ? argv[2] : NULL;
	events.executable = on_executable;
	events.process = on_process;
	events.window = on_window;
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = on_request;
	if ((r = otelprof_init(NULL, &why, &p)) < 0) {
		fprintf(stderr, "%s\n", why.message);
		return 1;
	}
	if ((r = otelprof_set_events(p, &events)) < 0 ||
	    (r = otelprof_exporter_callback(p, &callback)) < 0 ||
	    (r = otelprof_start(p)) < 0)
		goto out;
	while (r >= 0 && time(NULL) < end)
		r = otelprof_poll(p, 500);
	(void)otelprof_stop(p);
	if (r >= 0)
		r = otelprof_export(p);
out:
	if (r < 0)
		fprintf(stderr, "%s\n",
			otelprof_last_error(p, &why) ? otelprof_strerror(r)
						     : why.message);
	otelprof_free(p);
	return r < 0;
}
