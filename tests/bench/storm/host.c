/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profiler of the whole machine that tells four times a second what it used, for storm.py.
 *
 *     host SECONDS WINDOW [KEY=VALUE]...
 *
 * A request is encoded for each window of WINDOW seconds, and thrown away. The keys are those
 * of otelprof/settings.h. "ready" on stdout when it samples, then the names of the columns,
 * then a line each 250 ms.
 *
 * What it used is measured beside the library: its CPU time by the kernel's clock of this
 * process, without what this reading takes; its programs' by the kernel's statistics of BPF programs, its memory by
 * /proc/self/status, and that of the maps by /proc/self/fdinfo.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <otelprof/otelprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	TELL_MS = 250,
	NS_PER_MS = 1000000,
	MAPS_MAX = 1024,
	LARGE_BYTES = 128 << 10, /* blocks of the heap that are mapped each by itself */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 * NS_PER_MS + (uint64_t)t.tv_nsec;
}

/* The number behind @name in the file at @path; 0: it is not there. */
static uint64_t number_in(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	uint64_t found = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0)
			found = strtoull(line + strlen(name), NULL, 10);
	if (f)
		(void)fclose(f);
	return found;
}

/* Bytes of all BPF maps that this process has a descriptor of, each once. */
static uint64_t map_bytes(void)
{
	uint64_t seen[MAPS_MAX];
	const struct dirent *entry;
	size_t seen_len = 0;
	uint64_t sum = 0;
	DIR *dir = opendir("/proc/self/fdinfo");
	char path[300];

	while (dir && (entry = readdir(dir))) {
		uint64_t id;
		size_t i;

		(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", entry->d_name);
		id = number_in(path, "map_id:");
		for (i = 0; id && i < seen_len && seen[i] != id; i++)
			continue;
		if (!id || i < seen_len || seen_len == MAPS_MAX)
			continue;
		seen[seen_len++] = id;
		sum += number_in(path, "memlock:");
	}
	if (dir)
		(void)closedir(dir);
	return sum;
}

static void on_log(void *userdata, int level, const char *message)
{
	(void)fprintf(stderr, "%s\n", message);
}

static int throw_away(void *userdata, const void *request, size_t len, uint64_t samples)
{
	return 0;
}

static void fail(const struct otelprof_error_info *why, const char *what)
{
	(void)fprintf(stderr, "%s: %s %s\n", what, why->message, why->detail);
	exit(1);
}

static struct otelprof *start(char **keys)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_callback_config callback;
	struct otelprof_settings *settings = NULL;
	struct otelprof_config config;
	struct otelprof *p = NULL;

	if (otelprof_settings_new(&settings) < 0)
		exit(1);
	for (; *keys; keys++) {
		char *value = strchr(*keys, '=');

		if (value)
			*value++ = '\0';
		if (!value || otelprof_settings_set(settings, *keys, value, &why) < 0)
			fail(&why, *keys);
	}
	otelprof_config_init(&config, sizeof(config));
	(void)otelprof_settings_get_config(settings, &config);
	config.log = on_log;
	if (otelprof_init(&config, &why, &p) < 0)
		fail(&why, "it does not begin");
	(void)otelprof_settings_free(settings);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = throw_away;
	if (otelprof_exporter_callback(p, &callback) < 0 || otelprof_start(p) < 0) {
		(void)otelprof_last_error(p, &why);
		fail(&why, "it does not start");
	}
	return p;
}

static void tell(struct otelprof *p, uint64_t began_ns)
{
	static uint64_t told_ns; /* CPU time of reading what follows */
	uint64_t process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - told_ns;
	uint64_t began_told_ns;
	struct otelprof_stats s;
	uint64_t rss;
	uint64_t maps;

	otelprof_stats_init(&s, sizeof(s));
	if (otelprof_get_stats(p, &s) < 0)
		return;
	began_told_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	rss = number_in("/proc/self/status", "RssAnon:") * 1024;
	maps = map_bytes();
	printf("%.3f %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       "\n",
	       (double)(clock_ns(CLOCK_MONOTONIC) - began_ns) / 1e9, s.cpu_ns, process_ns,
	       s.bpf_run_ns, s.sample_period_ns, rss, maps,
	       s.samples_taken - s.samples_filtered, s.samples_dropped, s.events_lost,
	       s.processes, s.rate_changes, s.memory_bytes, s.memory_over,
	       s.names_evicted, s.tables_evicted, s.processes_evicted, s.names_postponed,
	       s.tables_postponed);
	(void)fflush(stdout);
	told_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_told_ns;
}

int main(int argc, char **argv)
{
	uint64_t began_ns;
	uint64_t end_ns;
	uint64_t tell_ns;
	uint64_t export_ns;
	uint64_t window_ns;
	struct otelprof *p;

	if (argc < 3) {
		(void)fprintf(stderr, "usage: host SECONDS WINDOW [KEY=VALUE]...\n");
		return 2;
	}
	/* the kernel counts until the descriptor is closed, which is at the end */
	if (bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		(void)fprintf(stderr, "no statistics of BPF programs: %s\n",
			      strerror(errno));
	/* as the program does it */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	p = start(argv + 3);
	/* loading parses the kernel's types */
	(void)malloc_trim(0);
	window_ns = (uint64_t)(atof(argv[2]) * 1000) * NS_PER_MS;
	began_ns = clock_ns(CLOCK_MONOTONIC);
	end_ns = began_ns + (uint64_t)(atof(argv[1]) * 1000) * NS_PER_MS;
	export_ns = began_ns + window_ns;
	tell_ns = began_ns;
	puts("ready");
	puts("s own_ns process_ns bpf_ns period_ns rss maps taken dropped events_lost "
	     "processes rate_changes memory over names tables gone names_later tables_later");
	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		if (clock_ns(CLOCK_MONOTONIC) >= tell_ns) {
			tell(p, began_ns);
			tell_ns += (uint64_t)TELL_MS * NS_PER_MS;
		}
		if (otelprof_poll(p, TELL_MS / 10) < 0)
			(void)usleep(TELL_MS);
		if (clock_ns(CLOCK_MONOTONIC) >= export_ns) {
			(void)otelprof_export(p);
			/* as `otelprof export` does: the heap is its program's */
			(void)malloc_trim(0);
			export_ns += window_ns;
		}
	}
	otelprof_free(p);
	return 0;
}
