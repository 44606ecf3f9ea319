/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof convert: writes recordings in another format, or several as one. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "common.h"
#include "export/format/format.h"
#include "export/format/kinds.h"
#include "firefox/firefox.h"
#include "formats.h"
#include "report/command.h"
#include "report/output.h"
#include "report/recording.h"
#include "report/speedscope.h"
#include "report/view.h"

enum {
	OPTION_FORMAT = OPTION_OWN,
	OPTION_LINES,
	OPTION_SYMBOLS,
	OPTION_LINES_TIME,
	OPTION_LINES_MEMORY,
	OPTION_LINES_CACHE,
	OPTION_NO_LINES_CACHE,
};

struct convert {
	const char *path;
	const struct output_format *format;
	char *const *files;
	size_t files_len;
	int fd;
	int write_error;
	struct recording_lines lines;
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof convert [OPTIONS] -o OUTPUT FILE...\n\n"
		"Writes recordings in another format; several become one. FILE is of\n"
		"'otelprof record -o FILE.otlp' or of 'otelprof sink --dir'; \"-\" is standard\n"
		"input.\n\n"
		"  -o, --output OUTPUT  the output file; \"-\" is standard output\n"
		"      --format NAME    html, pprof, folded, speedscope, firefox or otlp; else\n"
		"                       the ending of OUTPUT says it (.html .pb.gz .folded\n"
		"                       .speedscope.json .firefox.json .otlp)\n"
		"      --lines          with source lines and inlined functions of native code\n"
		"      --symbols DIR    the same, and more files with debug info\n"
		"      --lines-time S   at most so many seconds looking lines up (60)\n"
		"      --lines-memory M leave out debug info that takes more MiB (1024)\n"
		"      --lines-cache DIR  keep what was looked up there (~/.cache/otelprof)\n"
		"      --no-lines-cache keep nothing, and use nothing that was kept\n"
		"  -h, --help           show this text\n\n"
		"firefox is for https://profiler.firefox.com: threads with the time of each\n"
		"sample.\n",
		f);
	return STATUS_OK;
}

static void want_lines(struct recording_lines *lines, const char *directory)
{
	lines->wanted = true;
	lines->told = true;
	if (directory)
		lines->request.directory = directory;
}

static int parse(struct convert *v, int argc, char **argv, bool *ret_help)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, OPTION_FORMAT },
		{ "lines", no_argument, NULL, OPTION_LINES },
		{ "symbols", required_argument, NULL, OPTION_SYMBOLS },
		{ "lines-time", required_argument, NULL, OPTION_LINES_TIME },
		{ "lines-memory", required_argument, NULL, OPTION_LINES_MEMORY },
		{ "lines-cache", required_argument, NULL, OPTION_LINES_CACHE },
		{ "no-lines-cache", no_argument, NULL, OPTION_NO_LINES_CACHE },
		{ NULL, 0, NULL, 0 },
	};
	int c, r = 0;

	while (!r && (c = getopt_long(argc, argv, "ho:", longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		if (c == 'o')
			v->path = optarg;
		else if (c == OPTION_LINES || c == OPTION_SYMBOLS)
			want_lines(&v->lines, optarg);
		else if (c == OPTION_LINES_TIME)
			r = parse_seconds("convert", "--lines-time", optarg,
					  &v->lines.request.seconds);
		else if (c == OPTION_LINES_MEMORY)
			r = memory_parse("convert", optarg, &v->lines.request.memory);
		else if (c == OPTION_LINES_CACHE)
			v->lines.request.cache = optarg;
		else if (c == OPTION_NO_LINES_CACHE)
			v->lines.request.no_cache = true;
		else if (c == OPTION_FORMAT)
			r = format_by_name("convert", optarg, FORMAT_ANY, &v->format);
		else
			r = usage_hint("convert");
	}
	if (!r && (!v->path || optind == argc)) {
		(void)fail(v->path ? "convert takes a recording"
				   : "convert takes -o OUTPUT");
		return usage_hint("convert");
	}
	v->files = argv + optind;
	v->files_len = (size_t)(argc - optind);
	if (!r && !v->format)
		r = format_by_ending("convert", v->path, FORMAT_ANY, &v->format);
	if (!r && v->lines.wanted &&
	    (v->format->format == OTELPROF_FORMAT_OTLP ||
	     v->format->format == FORMAT_FIREFOX)) {
		(void)fail("%s is written as it was recorded, without --lines",
			   v->format->name);
		return usage_hint("convert");
	}
	return r;
}

/* A recording_fn. A failed write is no fault of the file that is read. */
static int append_request(void *data, const void *request, size_t len)
{
	struct convert *v = data;
	uint8_t header[4] = { (uint8_t)(len >> 24), (uint8_t)(len >> 16),
			      (uint8_t)(len >> 8), (uint8_t)len };

	if (!v->write_error)
		v->write_error = op_write_full(v->fd, header, sizeof(header));
	if (!v->write_error)
		v->write_error = op_write_full(v->fd, request, len);
	return 0;
}

static int append_all(struct convert *v)
{
	size_t i;
	int r;

	for (i = 0; i < v->files_len; i++) {
		r = recording_read(v->files[i], append_request, v);
		if (r)
			return r;
	}
	r = v->write_error;
	return r ? fail("cannot write %s: %s", v->path, strerror(-r)) : 0;
}

static int append_samples(void *data, const void *request, size_t len)
{
	return timeline_add(data, request, len);
}

static int write_timeline(struct convert *v)
{
	_cleanup_(timeline_freep) struct timeline *t = NULL;
	size_t i;
	int r = timeline_new(&t);

	if (r)
		return fail("out of memory");
	for (i = 0; !r && i < v->files_len; i++)
		r = recording_read(v->files[i], append_samples, t);
	if (r)
		return r;
	timeline_sort(t);
	r = firefox_write(t, v->fd);
	return r ? fail("cannot write %s: %s", v->path, strerror(-r)) : 0;
}

/* Lines of folded stacks have no place for a unit. */
static void say_left_out(const struct convert *v, const struct op_collect *c)
{
	uint32_t main_kind = op_collect_main_kind(c), i;
	char type[64];

	if (v->format->format != OTELPROF_FORMAT_FOLDED || c->kinds.len < 2)
		return;
	note("%s has only %s", v->path,
	     view_text(c, c->kinds.data[main_kind].counted_type, type, sizeof(type)));
	for (i = 0; i < c->kinds.len; i++)
		if (i != main_kind)
			note("left out: samples of %s",
			     view_text(c, c->kinds.data[i].counted_type, type,
				       sizeof(type)));
}

static int rewrite(struct convert *v)
{
	const struct op_format *format = op_format_get(v->format->format);
	_cleanup_(op_collect_freep) struct op_collect *c = NULL;
	int r = recording_collect(v->files, v->files_len,
				  format && !v->lines.wanted ? format->detail
							     : OP_COLLECT_LOCATIONS,
				  &v->lines, &c);

	if (r)
		return r;
	say_left_out(v, c);
	r = format ? format->write(c, v->fd) : speedscope_write(c, v->fd);
	return r < 0 ? fail("cannot write %s: %s", v->path, strerror(-r)) : 0;
}

static int write_output(void *data, int fd)
{
	struct convert *v = data;

	v->fd = fd;
	if (v->format->format == OTELPROF_FORMAT_OTLP)
		return append_all(v);
	return v->format->format == FORMAT_FIREFOX ? write_timeline(v) : rewrite(v);
}

int command_convert(int argc, char **argv)
{
	struct convert v = { .fd = -1 };
	bool helped = false;
	int r = parse(&v, argc, argv, &helped);

	if (r || helped)
		return r;
	return output_write(v.path, write_output, &v);
}
