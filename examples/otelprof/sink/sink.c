/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof sink: receives profiles, checks them, and writes them to files. */
#include "common.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "recording/read/check.h"
#include "recording/write/output.h"
#include "sink/server.h"

enum {
	OPTION_LISTEN = OPTION_OWN,
	OPTION_DIR,
	OPTION_COUNT,
	OPTION_ONCE,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_INTERNAL = 13,
	NAME_BYTES = 64, /* more than the longest name of a file */
};
/* Numbers of files end here, far above what a disk holds. */
#define NUMBER_MAX UINT64_C(1000000000000)

struct sink {
	const char *listen;
	const char *dir;
	long long count; /* end after this many requests; 0: at a signal */
	uint64_t requests;
	uint64_t failed; /* requests that broke a rule */
	bool write_failed;
	uint64_t last; /* number of the last file in the directory */
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof sink [OPTIONS]\n\n"
		"Receives OTLP profiles over gRPC without TLS, for trials and tests. Checks each\n"
		"request against the rules of the profiles signal. Prints a line for the request\n"
		"and one for each rule that it breaks.\n\n"
		"      --listen A:PORT  where to listen (127.0.0.1:4317); port 0: a free one\n"
		"      --dir DIR        write each request to a new file in DIR\n"
		"      --count N        end after N requests\n"
		"      --once           end after the first\n"
		"  -h, --help           show this text\n\n"
		"Exit status: 0 all requests kept the rules, 1 one did not.\n",
		f);
	return STATUS_OK;
}

static void print_violation(void *data, const char *sentence, uint64_t cases)
{
	(void)fputs("  broken: ", stdout);
	print_safe(stdout, sentence, strlen(sentence), 0);
	if (cases > 1)
		(void)printf(" (and %" PRIu64 " more)", cases - 1);
	(void)fputc('\n', stdout);
}

/* Keep the files of earlier runs: continue after the highest existing number. */
static int find_last(struct sink *s)
{
	_cleanup_closedir_ DIR *dir = opendir(s->dir);
	struct dirent *e;
	uint64_t number;
	int end;

	if (!dir)
		return fail("cannot read %s: %s", s->dir, strerror(errno));
	while ((e = readdir(dir))) {
		end = 0;
		if (sscanf(e->d_name, "profiles-%" SCNu64 ".otlp%n", &number, &end) ==
			    1 &&
		    end && !e->d_name[end] && number > s->last && number < NUMBER_MAX)
			s->last = number;
	}
	return 0;
}

static void next_name(void *data, char *ret, size_t size)
{
	struct sink *s = data;

	(void)snprintf(ret, size, "%s/profiles-%06" PRIu64 ".otlp", s->dir, ++s->last);
}

static int write_request(struct sink *s, const void *request, size_t len)
{
	int r = strlen(s->dir) + NAME_BYTES < PATH_MAX
			? output_new(s->dir, request, len, next_name, s)
			: -ENAMETOOLONG;

	return r ? fail("cannot write a request to %s: %s", s->dir, strerror(-r)) : 0;
}

/* The current request. */
struct request {
	const struct sink *s;
	size_t len;
};

static void print_counts(void *data, const struct request_counts *c)
{
	const struct request *q = data;

	(void)printf("request %" PRIu64 ": %" PRIu64 " events in %" PRIu64
		     " samples of %zu processes, %zu functions, %zu stacks, %zu bytes\n",
		     q->s->requests, c->events, c->samples, c->processes, c->functions,
		     c->stacks, q->len);
}

static struct server_answer on_request(void *data, const void *request, size_t len)
{
	struct sink *s = data;
	struct request q = { s, len };
	const struct request_checks checks = { print_counts, print_violation, &q };
	const char *reason = NULL;
	int r;

	s->requests++;
	r = request_check(request, len, &checks, &reason);
	/* Invalid bytes are not written: no tool reads them. */
	if (s->dir && r != -EBADMSG && r != -EFBIG && write_request(s, request, len))
		s->write_failed = true;
	if (reason)
		(void)printf("request %" PRIu64 ": not readable: %s (%zu bytes)\n",
			     s->requests, reason, len);
	(void)fflush(stdout);
	s->failed += r != 0;
	if (r >= 0)
		return (struct server_answer){ 0, NULL };
	return (struct server_answer){ r == -EBADMSG || r == -EFBIG
					       ? GRPC_INVALID_ARGUMENT
					       : GRPC_INTERNAL,
				       reason ? reason : "out of memory" };
}

static void on_listening(void *data, int port)
{
	const struct sink *s = data;
	const char *colon = strrchr(s->listen, ':');

	note("listening on %.*s:%d",
	     colon ? (int)(colon - s->listen) : (int)strlen(s->listen), s->listen, port);
}

static bool done(void *data)
{
	const struct sink *s = data;

	return signal_seen() || (s->count && s->requests >= (uint64_t)s->count);
}

/* Divide ADDRESS:PORT. An IPv6 address is in brackets. Returns 0 or STATUS_USAGE. */
static int parse_listen(const char *where, char **ret_address, char **ret_port)
{
	const char *colon = strrchr(where, ':');
	bool brackets = colon && where[0] == '[' && colon[-1] == ']';
	char *end = NULL;

	if (!colon || colon == where || colon[1] < '0' || colon[1] > '9' ||
	    strtoul(colon + 1, &end, 10) > UINT16_MAX || *end) {
		(void)fail(
			"--listen takes ADDRESS:PORT, with a port of 0 to 65535, not \"%s\"",
			where);
		return usage_hint("sink");
	}
	*ret_address = strndup(where + brackets, (size_t)(colon - where) - 2 * brackets);
	*ret_port = strdup(colon + 1);
	return 0;
}

/* Try to bind, because gRPC does not report why it cannot. Returns 0, or what is wrong. */
static const char *cannot_bind(const char *address, const char *port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_PASSIVE };
	_cleanup_close_ int fd = -1;
	struct addrinfo *a = NULL;
	const int on = 1;
	int r = getaddrinfo(address, port, &hints, &a);

	if (r)
		return gai_strerror(r);
	fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, a->ai_addr, a->ai_addrlen) < 0)
		r = errno;
	freeaddrinfo(a);
	return r ? strerror(r) : NULL;
}

static int parse(struct sink *s, int argc, char **argv, bool *ret_help)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "listen", required_argument, NULL, OPTION_LISTEN },
		{ "dir", required_argument, NULL, OPTION_DIR },
		{ "count", required_argument, NULL, OPTION_COUNT },
		{ "once", no_argument, NULL, OPTION_ONCE },
		{ NULL, 0, NULL, 0 },
	};
	int c, r = 0;

	while (!r && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'h':
			*ret_help = true;
			return help(stdout);
		case OPTION_LISTEN:
			s->listen = optarg;
			break;
		case OPTION_DIR:
			s->dir = optarg;
			break;
		case OPTION_ONCE:
			s->count = 1;
			break;
		case OPTION_COUNT:
			r = parse_number("sink", "--count", optarg, 1, INT_MAX,
					 &s->count);
			break;
		default:
			r = usage_hint("sink");
		}
	}
	if (!r && optind < argc) {
		(void)fail("sink does not take \"%s\"", argv[optind]);
		return usage_hint("sink");
	}
	return r;
}

int command_sink(int argc, char **argv)
{
	struct sink s = { .listen = "127.0.0.1:4317" };
	struct server_config config = {
		.on_listening = on_listening,
		.on_request = on_request,
		.done = done,
		.data = &s,
	};
	_cleanup_free_ char *address = NULL, *port = NULL;
	const char *reason;
	bool helped = false;
	int r = parse(&s, argc, argv, &helped);

	if (!r && !helped)
		r = parse_listen(s.listen, &address, &port);
	if (r || helped)
		return r;
	if (!address || !port)
		return fail("out of memory");
	reason = cannot_bind(address, port);
	if (reason)
		return fail("cannot listen on %s: %s", s.listen, reason);
	if (s.dir && (output_folder(s.dir) || find_last(&s)))
		return STATUS_FAILED;
	signals_catch();
	config.listen = s.listen;
	if (server_run(&config) < 0)
		return fail("cannot listen on %s", s.listen);
	(void)printf("%" PRIu64 " requests, %" PRIu64 " broke a rule\n", s.requests,
		     s.failed);
	return s.failed || s.write_failed ? STATUS_FAILED : STATUS_OK;
}
