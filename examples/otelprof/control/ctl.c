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
	char *text = malloc(CONTROL_REPLY_BYTES + 1);
	size_t len = 0;
	ssize_t n = -1;

	while (text && (n = read(fd, text + len, CONTROL_REPLY_BYTES + 1 - len))) {
		if (n < 0 && errno == EINTR)
			continue;
		len += n > 0 ? (size_t)n : 0;
		if (len > CONTROL_REPLY_BYTES)
			errno = EFBIG;
		if (n < 0 || len > CONTROL_REPLY_BYTES)
			break;
	}
	if (n == 0) {
		text[len] = '\0';
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

/* Ask with the words as a line. @seconds: they are a rule, for so long. */
static int ask_words(const struct ctl *ctl, const char *seconds, int argc, char **argv)
{
	char line[CONTROL_LINE_BYTES];
	size_t len = 0;
	int i;

	if (seconds)
		len = (size_t)snprintf(line, sizeof(line), "rule %s ", seconds);
	for (i = 0; i < argc && len < sizeof(line); i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%c", argv[i],
					i + 1 == argc ? '\n' : ' ');
	if (len >= sizeof(line) || strchr(line, '\n') != line + len - 1) {
		(void)fail("the request is too long or has a newline");
		return usage_hint("ctl");
	}
	return ask(ctl, line);
}

static int request(const struct ctl *ctl, int argc, char **argv)
{
	const char *verb = argv[0];

	if (!ctl->seconds &&
	    ((argc == 1 && (!strcmp(verb, "status") || !strcmp(verb, "rules") ||
			    !strcmp(verb, "pause") || !strcmp(verb, "resume"))) ||
	     (argc == 2 && (!strcmp(verb, "rate") || !strcmp(verb, "remove")))))
		return ask_words(ctl, NULL, argc, argv);
	if (argc > 1 && (!strcmp(verb, "rate") || !strcmp(verb, "include") ||
			 !strcmp(verb, "exclude")))
		return ask_words(ctl, ctl->seconds ? ctl->seconds : "0", argc, argv);
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
	long long seconds;
	int c, r;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h')
			return help(stdout);
		if (c == OPTION_SOCKET)
			ctl.path = optarg;
		else if (c != OPTION_FOR)
			return usage_hint("ctl");
		else if ((r = parse_number("ctl", "--for", optarg, 0, UINT32_MAX,
					   &seconds)))
			return r;
		else
			ctl.seconds = optarg;
	}
	if (optind == argc) {
		(void)fail("ctl takes a request");
		return usage_hint("ctl");
	}
	return request(&ctl, argc - optind, argv + optind);
}
