/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof doctor: prints what profiling can do on this machine. */
#include "common.h"

#include <string.h>

static const char *const state_names[] = { "ok", "less", "missing" };
static const char *const state_words[] = { "ok     ", "reduced", "MISSING" };
static const char *const state_colours[] = { "\033[32m", "\033[33m", "\033[31m" };

struct table {
	bool json;
	bool colour;
	unsigned int rows;
	unsigned int less;
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof doctor [--json]\n\n"
		"Shows for each feature if it works on this machine, what it needs, and what\n"
		"is lost without it. Attaches nothing.\n\n"
		"      --json           for programs: one object with all rows\n"
		"  -h, --help           show this text\n\n"
		"Exit status: 0 profiling works, 1 something is missing.\n",
		f);
	return f == stdout ? STATUS_OK : STATUS_USAGE;
}

static void json_field(const char *key, const char *value)
{
	(void)printf(", \"%s\": ", key);
	print_json_string(stdout, value ? value : "", value ? strlen(value) : 0);
}

static void print_json_row(struct table *t, const struct otelprof_doctor_row *row,
			   uint32_t state)
{
	(void)printf("%s\n    { \"state\": \"%s\"", t->rows ? "," : "",
		     state_names[state]);
	json_field("feature", row->feature);
	json_field("needs", row->needs);
	json_field("found", row->found);
	json_field("effect", row->effect);
	(void)printf(" }");
}

static void print_text_row(const struct table *t, const struct otelprof_doctor_row *row,
			   uint32_t state)
{
	(void)printf("%s%s%s  %-34s ", t->colour ? state_colours[state] : "",
		     state_words[state], t->colour ? "\033[0m" : "", row->feature);
	print_lines(stdout, row->found);
	if (state == OTELPROF_DOCTOR_OK)
		return;
	(void)printf("%9sneeds: %s\n", "", row->needs);
	if (row->effect && *row->effect)
		(void)printf("%9swithout it: %s\n", "", row->effect);
}

static void on_row(void *userdata, const struct otelprof_doctor_row *row)
{
	struct table *t = userdata;
	uint32_t state =
		row->state <= OTELPROF_DOCTOR_MISSING ? row->state : OTELPROF_DOCTOR_LESS;

	if (t->json)
		print_json_row(t, row, state);
	else
		print_text_row(t, row, state);
	t->rows++;
	t->less += state == OTELPROF_DOCTOR_LESS;
}

int command_doctor(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct table t = { .colour = colour_wanted(stdout) };
	int c, missing;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h')
			return help(stdout);
		if (c != 'j')
			return usage_hint("doctor");
		t.json = true;
	}
	if (optind < argc) {
		(void)fail("doctor does not take \"%s\"", argv[optind]);
		return usage_hint("doctor");
	}
	if (t.json)
		(void)printf("{\n  \"version\": 1,\n  \"rows\": [");
	missing = otelprof_doctor(NULL, on_row, &t);
	if (t.json)
		(void)printf("\n  ],\n  \"missing\": %d\n}\n",
			     missing < 0 ? -1 : missing);
	if (missing < 0)
		return fail_library(NULL, "cannot examine this machine", missing);
	if (!t.json && missing)
		(void)printf("\nProfiling cannot start: %d missing.\n", missing);
	else if (!t.json)
		(void)printf("\nProfiling works%s.\n",
			     t.less ? ", with reduced features" : "");
	return missing ? STATUS_FAILED : STATUS_OK;
}
