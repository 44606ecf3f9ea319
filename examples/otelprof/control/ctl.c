/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof ctl: shows and changes what a running `otelprof export` does. */
#include "control.h"

#include "common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	OPTION_SOCKET = OPTION_OWN,
	OPTION_FOR,
	REPLY_STEP = 65536,
};

struct ctl {
	const char *path;
	const char *seconds;
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof ctl [OPTIONS] REQUEST\n\n"
		"Controls a running 'otelprof export --control', without a restart.\n\n"
		"  status               counters and gauges\n"
		"  rate HZ              samples a second and CPU, where no rule sets a rate\n"
		"  rate HZ TARGET       samples a second and CPU of TARGET\n"
		"  include [HZ] [1/N] TARGET  sample TARGET, one sample in N\n"
		"  exclude TARGET       do not sample TARGET\n"
		"  rules                list the rules with their numbers\n"
		"  remove NUMBER        remove a rule\n"
		"  pause, resume        stop sampling, and continue\n\n"
		"TARGET is all, pid:N, tree:N (with its descendants), uid:N, age:Ns (at least),\n"
		"comm:NAME (a command name), cgroup:PATH (below the mount of cgroup v2),\n"
		"container:ID, pod:UID, exe:PATH (of the executable, * matches any bytes) or\n"
		"env:NAME[=VALUE] (of the environment at exec).\n" RULES_SENTENCE
		"A new rule comes last.\n\n"
		"      --for S          the rule ends after S seconds\n"
		"      --socket PATH    the daemon's socket (" CONTROL_PATH ")\n"
		"  -h, --help           show this text\n",
		f);
	return STATUS_OK;
}

/* Connect. Returns a descriptor or -errno. */
static int connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	(void)strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		int error = errno;

		(void)close(fd);
		return -error;
	}
	return fd;
}

/* Read until the end and add a NUL. The caller frees the result. NULL after a message. */
static char *read_all(int fd)
{
	char *text = NULL;
	size_t len = 0;

	for (;;) {
		char *more = realloc(text, len + REPLY_STEP + 1);
		ssize_t n;

		if (!more)
			break;
		text = more;
		n = read(fd, text + len, REPLY_STEP);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		len += (size_t)n;
		text[len] = '\0';
		if (n == 0)
			return text;
	}
	(void)fail("the daemon's answer: %s", strerror(errno));
	free(text);
	return NULL;
}

/* Print the answer without its last line, which has the result. */
static int show(char *reply)
{
	size_t len = strlen(reply);
	char *last;

	while (len && reply[len - 1] == '\n')
		reply[--len] = '\0';
	last = strrchr(reply, '\n');
	last = last ? last + 1 : reply;
	if (last != reply) {
		last[-1] = '\0';
		print_lines(stdout, reply);
	}
	if (strcmp(last, "ok") == 0)
		return STATUS_OK;
	return fail("%s", strncmp(last, "error ", 6) == 0 ? last + 6
							  : "the daemon did not answer");
}

static int ask(const struct ctl *ctl, const char *request)
{
	int fd = connect_to(ctl->path);
	char *reply;
	int r;

	if (fd < 0)
		return fail("%s: %s; is 'otelprof export --control' running?", ctl->path,
			    strerror(-fd));
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0) {
		(void)close(fd);
		return fail("%s: %s", ctl->path, strerror(errno));
	}
	reply = read_all(fd);
	(void)close(fd);
	if (!reply)
		return STATUS_FAILED;
	r = show(reply);
	free(reply);
	return r;
}

/* Join the words of a rule. */
static int ask_rule(const struct ctl *ctl, int argc, char **argv)
{
	char line[CONTROL_LINE_BYTES];
	size_t len = (size_t)snprintf(line, sizeof(line), "rule %.16s",
				      ctl->seconds ? ctl->seconds : "0");
	int i;

	for (i = 0; i < argc && len < sizeof(line); i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, " %s%s", argv[i],
					i + 1 == argc ? "\n" : "");
	if (len >= sizeof(line) || strchr(line, '\n') != line + len - 1) {
		(void)fail("the target is too long or has a newline");
		return usage_hint("ctl");
	}
	return ask(ctl, line);
}

static int request(const struct ctl *ctl, int argc, char **argv)
{
	const char *verb = argv[0];
	char line[CONTROL_LINE_BYTES];

	if (argc == 1 && !ctl->seconds &&
	    (!strcmp(verb, "status") || !strcmp(verb, "rules") ||
	     !strcmp(verb, "pause") || !strcmp(verb, "resume"))) {
		(void)snprintf(line, sizeof(line), "%s\n", verb);
		return ask(ctl, line);
	}
	if (argc == 2 && !ctl->seconds &&
	    (!strcmp(verb, "rate") || !strcmp(verb, "remove"))) {
		(void)snprintf(line, sizeof(line), "%s %.32s\n", verb, argv[1]);
		return ask(ctl, line);
	}
	if (argc > 1 && (!strcmp(verb, "rate") || !strcmp(verb, "include") ||
			 !strcmp(verb, "exclude")))
		return ask_rule(ctl, argc, argv);
	(void)fail("ctl does not know this request");
	return usage_hint("ctl");
}

int command_ctl(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "socket", required_argument, NULL, OPTION_SOCKET },
		{ "for", required_argument, NULL, OPTION_FOR },
		{ NULL, 0, NULL, 0 },
	};
	struct ctl ctl = { .path = CONTROL_PATH };
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h')
			return help(stdout);
		if (c == OPTION_SOCKET)
			ctl.path = optarg;
		else if (c == OPTION_FOR)
			ctl.seconds = optarg;
		else
			return usage_hint("ctl");
	}
	if (optind == argc) {
		(void)fail("ctl takes a request");
		return usage_hint("ctl");
	}
	return request(&ctl, argc - optind, argv + optind);
}
