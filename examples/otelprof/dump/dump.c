/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof dump: prints the stacks of all threads of processes, and what each waits for. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "choose/rules.h"
#include "common.h"
#include "recording/lines/lines.h"
#include "recording/tree/threads/threads.h"
#include "recordings/command.h"

enum {
	OPTION_FORMAT = OPTION_OWN,
	OPTION_PROGRAM,
	OPTION_ALL,
	OPTION_NO_LINES,
	LINES_MIB = 512,
	MIB_SHIFT = 20,
	PATH_BYTES = 512,
	NAME_BYTES = 4096,
};
/* Time for sampling running threads, and for recognising runtimes. */
#define LOOK_S	0.3
#define LINES_S 2.0
/* The window ends when it is requested. */
#define WINDOW_S 60.0

struct dump {
	struct options o;
	bool json;
	bool all;
	bool no_lines;
	struct op_collect *c;
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof dump [OPTIONS] [PID...]\n\n"
		"Prints the stacks of all threads of processes at this moment, in any language,\n"
		"with source lines, the state, and what each waits for. It stops nothing, and\n"
		"takes a second or two.\n\n"
		"  -p, --pid PID        this process\n"
		"      --tree PID       this process and its descendants\n"
		"      --program NAME   processes whose executable or command has this name\n"
		"      --container ID   this container, by the first digits of its id or by name\n"
		"      --user USER      processes of this user, by name or number\n"
		"      --cgroup PATH    this control group and those below it\n"
		"      --pod UID        this pod of Kubernetes\n"
		"      --format NAME    text or json\n"
		"      --all            also frames of the kernel, and of a runtime around those\n"
		"                       of its program\n"
		"      --no-lines       no source lines and inlined functions of native code\n"
		"  -h, --help           show this text\n\n"
		"Exit status: 0 shown, 1 no such thread (with the reason), 2 usage.\n",
		f);
	return STATUS_OK;
}

static bool is_program(const char *pid, const char *name)
{
	char path[PATH_BYTES], is[NAME_BYTES];
	const char *slash;
	ssize_t n;
	FILE *f;
	bool same = false;

	(void)snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	n = readlink(path, is, sizeof(is) - 1);
	if (n > 0) {
		is[n] = 0;
		slash = strrchr(is, '/');
		same = strcmp(slash ? slash + 1 : is, name) == 0;
	}
	(void)snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = same ? NULL : fopen(path, "re");
	if (!f)
		return same;
	if (fgets(is, sizeof(is), f)) {
		is[strcspn(is, "\n")] = 0;
		same = strcmp(is, name) == 0;
	}
	(void)fclose(f);
	return same;
}

static int include_program(struct dump *d, const char *name)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct dirent *e;
	bool found = false;
	int r = 0;

	while (!r && dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)*e->d_name) || !is_program(e->d_name, name))
			continue;
		found = true;
		r = rules_take(&d->o, 'p', e->d_name);
	}
	return r || found ? r : fail("there is no process of a program \"%s\"", name);
}

static int take(struct dump *d, int c, const char *arg)
{
	switch (c) {
	case OPTION_FORMAT:
		d->json = strcmp(arg, "json") == 0;
		if (d->json || strcmp(arg, "text") == 0)
			return 0;
		(void)fail("--format takes text or json, not \"%s\"", arg);
		return usage_hint("dump");
	case OPTION_PROGRAM:
		return include_program(d, arg);
	case OPTION_ALL:
		d->all = true;
		return 0;
	case OPTION_NO_LINES:
		d->no_lines = true;
		return 0;
	default:
		return rules_take(&d->o, c, arg);
	}
}

static int parse(struct dump *d, int argc, char **argv, bool *ret_help)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "pid", required_argument, NULL, 'p' },
		{ "tree", required_argument, NULL, OPTION_TREE },
		{ "program", required_argument, NULL, OPTION_PROGRAM },
		{ "container", required_argument, NULL, OPTION_CONTAINER },
		{ "user", required_argument, NULL, OPTION_USER },
		{ "cgroup", required_argument, NULL, OPTION_CGROUP },
		{ "pod", required_argument, NULL, OPTION_POD },
		{ "format", required_argument, NULL, OPTION_FORMAT },
		{ "all", no_argument, NULL, OPTION_ALL },
		{ "no-lines", no_argument, NULL, OPTION_NO_LINES },
		{ NULL, 0, NULL, 0 },
	};
	int c, r = 0;

	while (!r && (c = getopt_long(argc, argv, "hp:", longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		r = take(d, c, optarg);
	}
	for (; !r && optind < argc; optind++)
		r = rules_take(&d->o, 'p', argv[optind]);
	if (!r && !d->o.includes) {
		(void)fail("dump takes a process, a program or a container");
		return usage_hint("dump");
	}
	return r;
}

static int on_request(void *userdata, const void *request, size_t len, uint64_t samples)
{
	const struct dump *d = userdata;

	(void)samples;
	return op_collect_add(d->c, request, len);
}

static int look(struct dump *d, struct otelprof *p)
{
	struct otelprof_callback_config config;
	int r;

	otelprof_callback_config_init(&config, sizeof(config));
	config.fn = on_request;
	config.userdata = d;
	r = otelprof_exporter_callback(p, &config);
	if (r >= 0)
		r = otelprof_start(p);
	if (r < 0)
		return fail_library(p, "cannot look at threads", r);
	d->o.seconds = LOOK_S;
	r = session_run(p, &d->o, WINDOW_S, false, NULL, NULL);
	if (r)
		return r;
	/* The export of the running handle takes the snapshot. */
	r = otelprof_export(p);
	return r < 0 ? fail_library(p, "cannot look at threads", r) : 0;
}

static int add_lines(const struct dump *d)
{
	const struct lines_request request = { .memory = (uint64_t)LINES_MIB << MIB_SHIFT,
					       .seconds = LINES_S };
	struct lines_stats stats;

	return d->no_lines ? 0 : lines_add(d->c, &request, &stats);
}

static int show(const struct dump *d)
{
	struct threads threads = { 0 };
	int r = add_lines(d);

	if (!r)
		r = threads_make(d->c, NULL, &threads);
	if (r)
		r = fail("out of memory");
	else if (!threads.all.len)
		r = fail("none of the chosen processes has a thread that can be seen");
	else if (d->json)
		threads_json(&threads, stdout);
	else
		threads_text(&threads, d->all, stdout);
	threads_clear(&threads);
	return r ? r : end_output();
}

static int set_kinds(struct dump *d)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	int r = session_settings(&d->o, &d->o.settings);

	if (!r && otelprof_settings_set(d->o.settings, "kinds",
					"threads, cpu, goroutines", &why) < 0)
		r = fail("%s", why.message);
	return r;
}

static void dump_clear(struct dump *d)
{
	(void)otelprof_settings_free(d->o.settings);
	(void)op_collect_free(d->c);
	options_clear(&d->o);
}

int command_dump(int argc, char **argv)
{
	_cleanup_(
		dump_clear) struct dump d = { .o = { .command = "dump", .rate = "99" } };
	struct otelprof *p = NULL;
	bool helped = false;
	int r = parse(&d, argc, argv, &helped);

	if (r || helped)
		return r;
	signals_catch();
	if (op_collect_new(OP_COLLECT_LOCATIONS, &d.c) < 0)
		return fail("out of memory");
	d.c->label_key = THREADS_LABEL_KEY;
	r = set_kinds(&d);
	if (!r)
		r = session_open(&d.o, &p);
	if (!r)
		r = look(&d, p);
	(void)otelprof_free(p);
	return r ? r : show(&d);
}
