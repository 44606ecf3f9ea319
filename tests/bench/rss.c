/* SPDX-License-Identifier: Apache-2.0 */
/* What a host's resident memory is after each step of a profiler's life, for rss.py: lines "STEP
 * TOTAL ANONYMOUS FILE" in KiB. Arguments: "none", "grpc" or "http", an endpoint, seconds. */
#include <malloc.h>
#include <otelprof/otelprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	FLUSH_MS = 10000,
};

static void say(const char *step)
{
	unsigned long total = 0;
	unsigned long anonymous = 0;
	unsigned long file = 0;
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "VmRSS: %lu", &total);
		(void)sscanf(line, "RssAnon: %lu", &anonymous);
		(void)sscanf(line, "RssFile: %lu", &file);
	}
	if (f)
		(void)fclose(f);
	printf("%s\t%lu\t%lu\t%lu\n", step, total, anonymous, file);
}

static void check(struct otelprof *p, int r)
{
	struct otelprof_error_info why = { .size = sizeof(why) };

	if (r >= 0)
		return;
	(void)otelprof_last_error(p, &why);
	(void)fprintf(stderr, "%d: %s\n", r, why.message);
	exit(1);
}

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	return 0;
}

static int add(struct otelprof *p, const char *kind, const char *endpoint)
{
	struct otelprof_callback_config callback;
	struct otelprof_otlp_config otlp;

	if (strcmp(kind, "none") == 0) {
		otelprof_callback_config_init(&callback, sizeof(callback));
		callback.fn = take;
		return otelprof_exporter_callback(p, &callback);
	}
	otelprof_otlp_config_init(&otlp, sizeof(otlp));
	otlp.endpoint = endpoint;
	otlp.protocol = strcmp(kind, "http") == 0 ? OTELPROF_PROTOCOL_HTTP
						  : OTELPROF_PROTOCOL_GRPC;
	return otelprof_exporter_otlp(p, &otlp);
}

int main(int argc, char **argv)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_stats stats;
	struct otelprof *p = NULL;
	time_t end;
	int r;

	if (argc < 4)
		return 2;
	say("linked, nothing called");
	if (otelprof_init(NULL, &why, &p) < 0) {
		(void)fprintf(stderr, "%s\n", why.message);
		return 1;
	}
	say("otelprof_init()");
	check(p, add(p, argv[1], argv[2]));
	say("exporter added");
	check(p, otelprof_start(p));
	say("otelprof_start()");
	for (end = time(NULL) + atoi(argv[3]); time(NULL) < end;) {
		r = otelprof_poll(p, 100);
		check(p, r);
	}
	say("sampled");
	check(p, otelprof_export(p));
	check(p, otelprof_flush(p, FLUSH_MS));
	say("exported and delivered");
	(void)malloc_trim(0);
	say("malloc_trim(0) by the host");
	otelprof_stats_init(&stats, sizeof(stats));
	check(p, otelprof_get_stats(p, &stats));
	(void)fprintf(stderr, "%llu samples, %llu processes, %llu executables\n",
		      (unsigned long long)stats.samples_taken,
		      (unsigned long long)stats.processes,
		      (unsigned long long)stats.executables);
	otelprof_free(p);
	(void)malloc_trim(0);
	say("otelprof_free(), malloc_trim(0)");
	return 0;
}
