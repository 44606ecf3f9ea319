/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof merge: makes one recording of several. */
#include <string.h>

#include "common.h"
#include "recording/write/form.h"
#include "recording/write/merge.h"
#include "recording/write/output.h"
#include "recordings/filters.h"

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof merge [OPTIONS] -o OUTPUT FILE...\n\n"
		"Writes several recordings as one, or one smaller: what its requests share is\n"
		"written once. Every sample, time and attribute stays, unless options leave it\n"
		"out. FILE is a recording of 'otelprof record -o FILE.otlp' or 'otelprof sink\n"
		"--dir'. \"-\" is standard input.\n\n"
		"  -o, --output OUTPUT  the output file, \"-\" is standard output\n",
		f);
	filters_help(f, 23, FILTERS_REQUESTS);
	(void)fputs("  -h, --help           show this text\n\n"
		    "Example: otelprof merge -o day.otlp profiles-*.otlp\n",
		    f);
	return STATUS_OK;
}

static int parse(struct conversion *m, struct filter *filter, int argc, char **argv,
		 bool *ret_help)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "output", required_argument, NULL, 'o' },
		FILTERS_LONG,
		{ NULL, 0, NULL, 0 },
	};
	const struct op_form *form;
	int c, r = 0;

	while (!r &&
	       (c = getopt_long(argc, argv, "ho:" FILTER_LETTERS, longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		if (c == 'o')
			m->path = optarg;
		else
			r = filters_take("merge", c, optarg, filter);
	}
	if (!r)
		r = filters_for_requests("merge", filter);
	if (r)
		return r;
	m->filter = filters_any(filter);
	if (!m->path || optind == argc) {
		(void)fail(m->path ? "merge takes recordings" : "merge takes -o OUTPUT");
		return usage_hint("merge");
	}
	form = form_by_ending(m->path, FORM_CONVERT);
	if (form && strcmp(form->name, "otlp") != 0) {
		(void)fail("merge writes OTLP; 'otelprof convert' writes %s", form->name);
		return usage_hint("merge");
	}
	m->files = argv + optind;
	m->files_len = (size_t)(argc - optind);
	return 0;
}

static int write_output(void *data, int fd)
{
	const struct conversion *m = data;

	return merge_write(m->filter, m->files, m->files_len, m->path, fd);
}

int command_merge(int argc, char **argv)
{
	struct conversion m = { 0 };
	struct filter filter = { 0 };
	bool helped = false;
	int r = parse(&m, &filter, argc, argv, &helped);

	if (!r && !helped)
		r = output_write(m.path, m.files, m.files_len, write_output, &m);
	filter_clear(&filter);
	return r;
}
