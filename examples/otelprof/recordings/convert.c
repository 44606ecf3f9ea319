/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof convert: writes recordings in another format, or several as one. */
#include "formats.h"
#include "recording/write/output.h"
#include "recordings/command.h"
#include "recordings/filters.h"

enum {
	OPTION_FORMAT = OPTION_OWN,
	OPTION_LINES,
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof convert [OPTIONS] -o OUTPUT FILE...\n\n"
		"Writes recordings in another format. Several become one. FILE is a recording\n"
		"of 'otelprof record -o FILE.otlp' or 'otelprof sink --dir'. \"-\" is standard\n"
		"input.\n\n"
		"  -o, --output OUTPUT  the output file, \"-\" is standard output\n",
		f);
	format_help(f, FORM_CONVERT, 23, "%s (by the ending of OUTPUT: %s)");
	(void)fputs(
		"      --lines          with source lines and inlined functions of native code\n"
		"      --symbols DIR    the same, and more files with debug info\n"
		"      --lines-time S   look lines up for at most S seconds (60)\n"
		"      --lines-memory M leave out debug info that takes more MiB (1024)\n"
		"      --lines-cache DIR  keep what was looked up there (~/.cache/otelprof)\n"
		"      --no-lines-cache keep nothing, and use nothing that was kept\n",
		f);
	filters_help(f, 23, FILTERS_VIEWS);
	(void)fputs(
		"  -h, --help           show this text\n\n"
		"firefox is for https://profiler.firefox.com: threads with the time of each\n"
		"sample.\n",
		f);
	return STATUS_OK;
}

static int parse(struct conversion *v, struct filter *filter, int argc, char **argv,
		 bool *ret_help)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, OPTION_FORMAT },
		{ "lines", no_argument, NULL, OPTION_LINES },
		LINES_LONG,
		FILTERS_LONG,
		{ NULL, 0, NULL, 0 },
	};
	int c, r = 0;

	while (!r &&
	       (c = getopt_long(argc, argv, "ho:" FILTER_LETTERS, longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		if (c == 'o')
			v->path = optarg;
		else if (c == OPTION_FORMAT)
			r = format_by_name("convert", optarg, FORM_CONVERT, &v->form);
		else if (c == OPTION_LINES)
			v->lines.told = true;
		else if (filters_has(c))
			r = filters_take("convert", c, optarg, filter);
		else
			r = lines_take("convert", c, optarg, &v->lines);
	}
	if (!r && (!v->path || optind == argc)) {
		(void)fail(v->path ? "convert takes a recording"
				   : "convert takes -o OUTPUT");
		return usage_hint("convert");
	}
	v->files = argv + optind;
	v->files_len = (size_t)(argc - optind);
	if (!r && !v->form)
		r = format_by_ending("convert", v->path, FORM_CONVERT, &v->form);
	v->lines.wanted = v->lines.told;
	v->filter = filters_any(filter);
	if (!r && !form_reads(v->form))
		r = filters_for_requests("convert", filter);
	if (!r && v->lines.wanted && !form_reads(v->form)) {
		(void)fail("%s is written as it was recorded, without --lines",
			   v->form->name);
		return usage_hint("convert");
	}
	return r;
}

static int write_output(void *data, int fd)
{
	return form_convert(data, fd);
}

int command_convert(int argc, char **argv)
{
	struct conversion v = { 0 };
	struct filter filter = { 0 };
	bool helped = false;
	int r = parse(&v, &filter, argc, argv, &helped);

	if (!r && !helped)
		r = output_write(v.path, v.files, v.files_len, write_output, &v);
	filter_clear(&filter);
	return r;
}
