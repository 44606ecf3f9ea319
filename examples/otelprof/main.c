/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof: profiles of every process of this host. Finds the command and runs it. */
#include "common.h"
#include "near.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

enum {
	TITLE_BYTES = 32,
};

static const struct command commands[] = {
	{ "record", command_record,
	  "profile into a file: flame graph, pprof, folded, OTLP" },
	{ "dump", command_dump, "print the stacks of all threads of a process" },
	{ "top", command_top, "show the functions that take the CPUs" },
	{ "export", command_export,
	  "send profiles to OpenTelemetry Collectors, as a daemon" },
	{ "ctl", command_ctl,
	  "control a running export: what it samples, and how often" },
	{ "report", command_report, "show where the time of a recording went" },
	{ "diff", command_diff, "compare two recordings" },
	{ "convert", command_convert,
	  "write recordings in another format, several as one" },
	{ "merge", command_merge, "make one recording of several" },
	{ "mcp", command_mcp, "let an assistant profile this host and read recordings" },
	{ "sink", command_sink, "receive profiles, check them, write them to files" },
	{ "doctor", command_doctor,
	  "check what works on this machine, and what is missing" },
};

static int help(FILE *f)
{
	size_t i;

	(void)fputs(
		"Usage: otelprof COMMAND [OPTIONS]\n\n"
		"Profiles every process of this host with eBPF: native code and language\n"
		"runtimes, without a change to any of them.\n\nCommands:\n",
		f);
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		(void)fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].summary);
	(void)fputs(
		"\n"
		"  -h, --help     show this text; 'otelprof COMMAND --help' shows more\n"
		"  -V, --version  show the version\n\n"
		"Exit status: 0 done, 1 failed or no samples (with the reason), 2 usage.\n",
		f);
	return f == stdout ? STATUS_OK : STATUS_USAGE;
}

static const char *command_name(const void *names, size_t i)
{
	(void)names;
	return i < sizeof(commands) / sizeof(*commands) ? commands[i].name : NULL;
}

static int run(int argc, char **argv)
{
	char title[TITLE_BYTES];
	const char *near;
	size_t i;

	if (argc < 2)
		return help(stderr);
	if (strcmp(argv[1], "help") == 0 && argc == 3) {
		/* "help record" means "record --help". */
		argv[1] = argv[2];
		argv[2] = (char *)"--help";
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return help(stdout);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		(void)printf("otelprof %s (library %s)\n", OTELPROF_VERSION,
			     otelprof_version());
		return STATUS_OK;
	}
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(argv[1], commands[i].name) == 0) {
			/* getopt() begins its messages with it. */
			(void)snprintf(title, sizeof(title), "otelprof %s",
				       commands[i].name);
			argv[1] = title;
			return commands[i].run(argc - 1, argv + 1);
		}
	}
	near = near_name(argv[1], command_name, NULL);
	(void)fail("there is no %s \"%s\"%s%s%s", *argv[1] == '-' ? "option" : "command",
		   argv[1], near ? "; did you mean \"" : "", near ? near : "",
		   near ? "\"?" : "");
	return usage_hint("");
}

int main(int argc, char **argv)
{
	int status;

	/* A limit of file sizes becomes an error of a write. */
	(void)signal(SIGXFSZ, SIG_IGN);
	status = run(argc, argv);
	/* A failed write to standard output is an error of every command. */
	errno = 0;
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == STATUS_OK)
		status = fail("cannot write: %s",
			      errno ? strerror(errno) : "standard output has failed");
	return status;
}
