/* SPDX-License-Identifier: Apache-2.0 */
/* The table of output formats, and how a name or a suffix selects one. */
#include "formats.h"

#include <otelprof/otelprof.h>
#include <stdbool.h>
#include <string.h>

#include "common.h"

static const struct output_format formats[] = {
	{ "html", OTELPROF_FORMAT_HTML, "profile.html", { ".html", ".htm" } },
	{ "pprof",
	  OTELPROF_FORMAT_PPROF,
	  "profile.pb.gz",
	  { ".pb.gz", ".pprof", ".prof", ".pb" } },
	{ "folded",
	  OTELPROF_FORMAT_FOLDED,
	  "profile.folded",
	  { ".folded", ".collapsed", ".txt" } },
	{ "otlp", OTELPROF_FORMAT_OTLP, "profile.otlp", { ".otlp", ".bin" } },
	/* Before speedscope, which has every other ".json". */
	{ "firefox",
	  FORMAT_FIREFOX,
	  "profile.firefox.json",
	  { ".firefox.json", ".profile.json" } },
	{ "speedscope",
	  FORMAT_SPEEDSCOPE,
	  "profile.speedscope.json",
	  { ".speedscope.json", ".json" } },
};
enum {
	FORMATS = sizeof(formats) / sizeof(formats[0])
};

static bool may(const struct output_format *f, enum format_choice choice)
{
	return choice == FORMAT_ANY || !(f->format & FORMAT_OF_PROGRAM);
}

int format_by_name(const char *command, const char *name, enum format_choice choice,
		   const struct output_format **ret)
{
	size_t i;

	for (i = 0; i < FORMATS; i++) {
		if (may(&formats[i], choice) && strcmp(formats[i].name, name) == 0) {
			*ret = &formats[i];
			return 0;
		}
	}
	(void)fail("--format takes html, pprof, folded%s or otlp, not \"%s\"",
		   choice == FORMAT_ANY ? ", speedscope, firefox" : "", name);
	return usage_hint(command);
}

static bool ends_with(const char *s, const char *end)
{
	size_t a = strlen(s), b = strlen(end);

	return a > b && strcmp(s + a - b, end) == 0;
}

static const struct output_format *find_ending(const char *path,
					       enum format_choice choice)
{
	size_t i, j;

	for (i = 0; i < FORMATS; i++) {
		for (j = 0; may(&formats[i], choice) && formats[i].endings[j]; j++) {
			if (ends_with(path, formats[i].endings[j]))
				return &formats[i];
		}
	}
	return NULL;
}

const struct output_format *format_of_ending(const char *path)
{
	return find_ending(path, FORMAT_ANY);
}

int format_by_ending(const char *command, const char *path, enum format_choice choice,
		     const struct output_format **ret)
{
	*ret = find_ending(path, choice);
	if (*ret)
		return 0;
	if (strcmp(path, "-") == 0)
		(void)fail("standard output needs --format");
	else
		(void)fail(
			"the ending of \"%s\" names no format: use .html, .pb.gz, .folded%s, "
			"or use --format",
			path,
			choice == FORMAT_ANY
				? ", .otlp, .firefox.json or .speedscope.json"
				: " or .otlp");
	return usage_hint(command);
}
