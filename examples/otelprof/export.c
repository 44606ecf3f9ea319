/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof export: a daemon in the foreground that sends profiles over gRPC or HTTP. */
#include "base/macros.h"
#include "common.h"
#include "control/control.h"
#include "notify.h"
#include "reload.h"

#include <ctype.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEADERS_MAX = 32,
	FLUSH_MS = 10000, /* less than the 30 s that orchestrators wait */
	OPTION_ENDPOINT = OPTION_OWN,
	OPTION_INTERVAL,
	OPTION_HEADER,
	OPTION_CA,
	OPTION_CERT,
	OPTION_KEY,
	OPTION_INSECURE,
	OPTION_COMPRESSION,
	OPTION_PROTOCOL,
	OPTION_SPILL_DIR,
	OPTION_SPILL_SIZE,
	OPTION_RETRY,
	OPTION_CONTROL,
	OPTION_CONTROL_GROUP,
	MIB_SHIFT = 20,
	SPILL_MAX_MIB = 1 << 20,
	HEAP_KEEPS_BYTES = 128 * 1024,
	RETRY_MAX_S = 4 * 1000 * 1000, /* fits into 32 bits of milliseconds */
};
#define DEFAULT_INTERVAL_S 5.0

struct export
{
	struct options o;
	double interval;
	struct otelprof_attribute headers[HEADERS_MAX];
	struct reload reload;
	struct notify notify;
	const char *control; /* the control socket's path; NULL: none */
	const char *control_group;
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof export [OPTIONS]\n\n"
		"Profiles this host and sends OpenTelemetry Profiles until SIGTERM or Ctrl-C;\n"
		"then sends what is left and tells what became of every sample.\n\n"
		"      --endpoint URL   http://host:port, https://host:port or unix:///path;\n"
		"                       may be repeated (OTEL_EXPORTER_OTLP_ENDPOINT, else\n"
		"                       localhost)\n"
		"      --protocol W     grpc (port 4317, default) or http/protobuf (port 4318)\n"
		"      --header K=V     send this header; may be repeated\n"
		"      --interval S     seconds between exports (5)\n"
		"      --ca FILE        trust the certificates in this PEM file\n"
		"      --cert FILE      client certificate, with --key: mutual TLS\n"
		"      --key FILE       its private key\n"
		"      --insecure       no TLS for an endpoint without a scheme\n"
		"      --compression W  gzip (default), zstd (over HTTP) or none\n"
		"      --spill-dir DIR  keep waiting requests in files there, across runs\n"
		"      --spill-size M   limit of these files in MiB (256)\n"
		"      --retry-for S    give a request up after S seconds of tries (300; with\n"
		"                       --spill-dir: never)\n"
		"      --control[=PATH] a socket for 'otelprof ctl' (" CONTROL_PATH ")\n"
		"      --control-group G  may use it, too, beside root (this process's group)\n",
		f);
	(void)fputs(shared_help, f);
	(void)fputs(
		"\nThe default rate is 20. The environment variables OTEL_EXPORTER_OTLP_* and\n"
		"OTEL_EXPORTER_OTLP_PROFILES_* are read; an option wins over them. At SIGHUP\n"
		"the file of --config and the variables are read again.\n",
		f);
	return STATUS_OK;
}

static int add_header(struct export *e, char *arg)
{
	char *eq = strchr(arg, '=');
	char *c;

	if (!eq || eq == arg || e->reload.given.headers_len == HEADERS_MAX) {
		(void)fail("--header takes KEY=VALUE, at most %d times", HEADERS_MAX);
		return usage_hint("export");
	}
	*eq = '\0';
	for (c = arg; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	e->headers[e->reload.given.headers_len++] =
		(struct otelprof_attribute){ arg, eq + 1 };
	return 0;
}

static int add_endpoint(struct export *e, const char *arg)
{
	if (!*arg || e->reload.endpoints_len == RELOAD_ENDPOINTS_MAX) {
		(void)fail("--endpoint takes a URL, at most %d times",
			   RELOAD_ENDPOINTS_MAX);
		return usage_hint("export");
	}
	e->reload.endpoints[e->reload.endpoints_len++] = arg;
	return 0;
}

static int set_compression(struct export *e, const char *arg)
{
	if (strcmp(arg, "gzip") == 0) {
		e->reload.given.compression = OTELPROF_COMPRESSION_GZIP;
	} else if (strcmp(arg, "zstd") == 0) {
		e->reload.given.compression = OTELPROF_COMPRESSION_ZSTD;
	} else if (strcmp(arg, "none") == 0) {
		e->reload.given.compression = OTELPROF_COMPRESSION_NONE;
	} else {
		(void)fail("--compression takes gzip, zstd or none, not \"%s\"", arg);
		return usage_hint("export");
	}
	return 0;
}

static int set_protocol(struct export *e, const char *arg)
{
	if (strcmp(arg, "http/protobuf") == 0) {
		e->reload.given.protocol = OTELPROF_PROTOCOL_HTTP;
	} else if (strcmp(arg, "grpc") == 0) {
		e->reload.given.protocol = OTELPROF_PROTOCOL_GRPC;
	} else {
		(void)fail("--protocol takes grpc or http/protobuf, not \"%s\"", arg);
		return usage_hint("export");
	}
	return 0;
}

static int take_limit(struct export *e, int c, const char *arg)
{
	long long n = 0;
	int r;

	if (c == OPTION_SPILL_SIZE) {
		r = parse_number("export", "--spill-size", arg, 1, SPILL_MAX_MIB, &n);
		e->reload.given.spill_bytes = (uint64_t)n << MIB_SHIFT;
	} else {
		r = parse_number("export", "--retry-for", arg, 1, RETRY_MAX_S, &n);
		e->reload.given.retry_elapsed_ms = (uint32_t)(n * OP_MS_PER_S);
	}
	return r;
}

static int take(struct export *e, int c, char *arg)
{
	switch (c) {
	case OPTION_ENDPOINT:
		return add_endpoint(e, arg);
	case OPTION_HEADER:
		return add_header(e, arg);
	case OPTION_INTERVAL:
		return parse_seconds("export", "--interval", arg, &e->interval);
	case OPTION_CA:
		e->reload.given.ca_file = arg;
		return 0;
	case OPTION_CERT:
		e->reload.given.client_cert_file = arg;
		return 0;
	case OPTION_KEY:
		e->reload.given.client_key_file = arg;
		return 0;
	case OPTION_INSECURE:
		e->reload.given.insecure = 1;
		return 0;
	case OPTION_COMPRESSION:
		return set_compression(e, arg);
	case OPTION_PROTOCOL:
		return set_protocol(e, arg);
	case OPTION_SPILL_DIR:
		e->reload.given.spill_dir = arg;
		return 0;
	case OPTION_CONTROL:
		e->control = arg ? arg : CONTROL_PATH;
		return 0;
	case OPTION_CONTROL_GROUP:
		e->control_group = arg;
		return 0;
	case OPTION_SPILL_SIZE:
	case OPTION_RETRY:
		return take_limit(e, c, arg);
	default:
		return options_take(&e->o, c, arg);
	}
}

static int parse(struct export *e, int argc, char **argv, bool *ret_help)
{
	static const struct option longs[] = {
		SHARED_LONG,
		{ "endpoint", required_argument, NULL, OPTION_ENDPOINT },
		{ "interval", required_argument, NULL, OPTION_INTERVAL },
		{ "header", required_argument, NULL, OPTION_HEADER },
		{ "ca", required_argument, NULL, OPTION_CA },
		{ "cert", required_argument, NULL, OPTION_CERT },
		{ "key", required_argument, NULL, OPTION_KEY },
		{ "insecure", no_argument, NULL, OPTION_INSECURE },
		{ "compression", required_argument, NULL, OPTION_COMPRESSION },
		{ "protocol", required_argument, NULL, OPTION_PROTOCOL },
		{ "spill-dir", required_argument, NULL, OPTION_SPILL_DIR },
		{ "spill-size", required_argument, NULL, OPTION_SPILL_SIZE },
		{ "retry-for", required_argument, NULL, OPTION_RETRY },
		{ "control", optional_argument, NULL, OPTION_CONTROL },
		{ "control-group", required_argument, NULL, OPTION_CONTROL_GROUP },
		{ NULL, 0, NULL, 0 },
	};
	int c, r = 0;

	while (!r && (c = getopt_long(argc, argv, SHARED_SHORT, longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		r = take(e, c, optarg);
	}
	if (!r && optind < argc) {
		(void)fail("export does not take \"%s\"", argv[optind]);
		return usage_hint("export");
	}
	return r;
}

/* Between polls. */
static bool go_on(void *data)
{
	struct export *e = data;

	reload_check(&e->reload);
	return notify_alive(&e->notify);
}

static double rate_of(struct otelprof *p)
{
	struct otelprof_stats s;

	otelprof_stats_init(&s, sizeof(s));
	if (otelprof_get_stats(p, &s) < 0 || !s.sample_period_ns)
		return 0;
	return 1e9 / (double)s.sample_period_ns;
}

/* The drop reason with the most samples. */
struct reason {
	const char *name;
	const char *sentence;
	uint64_t count;
};

static void most_dropped(void *userdata, const char *name, const char *sentence,
			 uint64_t count)
{
	struct reason *most = userdata;

	if (count > most->count)
		*most = (struct reason){ name, sentence, count };
}

/* Fail where there was something to deliver and nothing was: an empty queue does not tell
 * what a server refused. */
static int check_delivered(struct otelprof *p)
{
	struct reason most = { "unknown", "", 0 };
	struct otelprof_stats st;

	otelprof_stats_init(&st, sizeof(st));
	if (otelprof_get_stats(p, &st) < 0 || st.samples_exported || st.samples_spilled ||
	    st.samples_taken <= st.samples_filtered)
		return 0;
	(void)otelprof_drops(p, most_dropped, &most);
	return fail("nothing was delivered; %s: %s", most.name, most.sentence);
}

static int run(struct export *e, struct otelprof *p)
{
	int r = reload_begin(&e->reload, p), closed;
	struct control control = { .fd = -1 };

	if (r)
		return r;
	r = otelprof_start(p);
	if (r < 0)
		return fail_library(p, "cannot start sampling", r);
	if (e->control && control_open(&control, p, e->control, e->control_group))
		return STATUS_FAILED;
	note("profiling at %.0f Hz, exporting every %g s", rate_of(p), e->interval);
	notify_open(&e->notify);
	notify_send("READY=1");
	r = session_run(p, &e->o, e->interval, false, go_on, e);
	notify_send("STOPPING=1");
	control_close(&control);
	if (signal_seen())
		note("%s: sending what is left", strsignal(signal_seen()));
	closed = session_close(p, FLUSH_MS);
	if (!r && !closed)
		closed = check_delivered(p);
	print_accounting(stderr, p);
	return r ? r : closed;
}

/*
 * Use one heap. With a heap for each of gRPC's threads, each would keep memory that it
 * needs only for moments. And limit the free memory that the heap keeps: at the start the
 * kernel's types, 6 MB, are freed, and glibc would then raise its limits and never return
 * memory again.
 */
static void use_one_heap(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_MMAP_THRESHOLD, HEAP_KEEPS_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, HEAP_KEEPS_BYTES);
#endif
}

int command_export(int argc, char **argv)
{
	struct export e = {
		.o = { .command = "export", .rate_hz = 20 },
		.interval = DEFAULT_INTERVAL_S,
	};
	struct otelprof *p = NULL;
	bool helped = false;
	int r;

	otelprof_otlp_config_init(&e.reload.given, sizeof(e.reload.given));
	r = parse(&e, argc, argv, &helped);
	if (r || helped)
		return r;
	e.reload.given.headers = e.headers;
	e.reload.o = &e.o;
	signals_catch();
	reload_catch(&e.reload);
	use_one_heap();
	r = reload_read(&e.reload);
	e.o.settings = e.reload.settings;
	if (!r)
		r = session_open(&e.o, &p);
	if (!r)
		r = run(&e, p);
	(void)otelprof_free(p);
	reload_end(&e.reload);
	return r;
}
