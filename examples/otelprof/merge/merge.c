/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof merge: makes one recording of several. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "common.h"
#include "formats.h"
#include "recording/merge/join.h"
#include "recording/read/recording.h"
#include "recording/write/output.h"

struct merge {
	const char *path;
	char *const *files;
	size_t files_len;
	int fd;
	int write_error;
	struct join *join;
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof merge [OPTIONS] -o OUTPUT FILE...\n\n"
		"Makes one recording of several, or a smaller one of one: what the requests in\n"
		"them have in common is written once. No sample, time or attribute is lost.\n"
		"FILE is of 'otelprof record -o FILE.otlp' or of 'otelprof sink --dir'; \"-\" is\n"
		"standard input.\n\n"
		"  -o, --output OUTPUT  the output file; \"-\" is standard output\n"
		"  -h, --help           show this text\n\n"
		"Example: otelprof merge -o day.otlp profiles-*.otlp\n",
		f);
	return STATUS_OK;
}

static int parse(struct merge *m, int argc, char **argv, bool *ret_help)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "output", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	const struct output_format *format;
	int c;

	while ((c = getopt_long(argc, argv, "ho:", longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		if (c != 'o')
			return usage_hint("merge");
		m->path = optarg;
	}
	if (!m->path || optind == argc) {
		(void)fail(m->path ? "merge takes recordings" : "merge takes -o OUTPUT");
		return usage_hint("merge");
	}
	format = format_of_ending(m->path);
	if (format && format->format != OTELPROF_FORMAT_OTLP) {
		(void)fail("merge writes OTLP; 'otelprof convert' writes %s",
			   format->name);
		return usage_hint("merge");
	}
	m->files = argv + optind;
	m->files_len = (size_t)(argc - optind);
	return 0;
}

/* A join_emit_fn. */
static int write_request(void *data, const void *request, size_t len)
{
	struct merge *m = data;
	uint8_t header[4] = { (uint8_t)(len >> 24), (uint8_t)(len >> 16),
			      (uint8_t)(len >> 8), (uint8_t)len };
	int r = op_write_full(m->fd, header, sizeof(header));

	if (!r)
		r = op_write_full(m->fd, request, len);
	m->write_error = r;
	return r;
}

/* A recording_fn. A failed write is no fault of the file that is read. */
static int add_request(void *data, const void *request, size_t len)
{
	struct merge *m = data;
	int r = m->write_error ? 0 : join_add(m->join, request, len);

	return m->write_error ? 0 : r;
}

static int write_output(void *data, int fd)
{
	struct merge *m = data;
	size_t i;
	int r = join_new(write_request, m, &m->join);

	m->fd = fd;
	if (r)
		return fail("out of memory");
	for (i = 0; !r && i < m->files_len; i++)
		r = recording_read(m->files[i], add_request, m);
	if (r)
		return r;
	r = m->write_error ? m->write_error : join_finish(m->join);
	return r ? fail("cannot write %s: %s", m->path, strerror(-r)) : 0;
}

int command_merge(int argc, char **argv)
{
	struct merge m = { .fd = -1 };
	bool helped = false;
	int r = parse(&m, argc, argv, &helped);

	if (r || helped)
		return r;
	r = output_write(m.path, write_output, &m);
	(void)join_free(m.join);
	return r;
}
