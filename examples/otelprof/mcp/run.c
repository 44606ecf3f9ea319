/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program, reads both of its output streams, and ends it when its time is over.
 * */
#include "mcp/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

enum {
	OUTPUT_MAX = 128 << 10, /* bytes of an answer */
	STEP_BYTES = 4096,
	STEP_MS = 100,
	END_STEP_MS = 1, /* for a program that has closed its streams */
	KILLED_S = 2,	 /* for a program that was killed to end */
	OUT = 0,	 /* indices of the streams */
	ERR = 1,
	STREAMS = 2,
};

extern char **environ;

struct run {
	pid_t pid;
	int status; /* once it has ended */
	int fds[STREAMS];
	struct op_strbuf text[STREAMS];
	bool cut; /* the output is longer than an answer */
};

static int spawn(struct run *run, char **argv)
{
	posix_spawn_file_actions_t actions;
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, r;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
		if (out[0] >= 0) {
			(void)close(out[0]);
			(void)close(out[1]);
		}
		return -EMFILE;
	}
	(void)posix_spawn_file_actions_init(&actions);
	/* Standard input belongs to the protocol. */
	(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
					       O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
	r = posix_spawn(&run->pid, argv[0], &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(out[1]);
	(void)close(err[1]);
	run->fds[OUT] = out[0];
	run->fds[ERR] = err[0];
	return -r;
}

/* Read from a stream. Returns false at its end. Bytes beyond the limit are discarded. */
static bool take(struct run *run, int stream)
{
	char bytes[STEP_BYTES];
	ssize_t n = read(run->fds[stream], bytes, sizeof(bytes));
	size_t room = OUTPUT_MAX - run->text[stream].len;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	if ((size_t)n > room && stream == OUT)
		run->cut = true;
	op_strbuf_add(&run->text[stream], bytes, (size_t)n < room ? (size_t)n : room);
	return true;
}

/* Remove the last character of a text that was cut, because it may be incomplete. */
static void trim(struct op_strbuf *text)
{
	if (text->len < OUTPUT_MAX)
		return;
	while (text->len && (text->data[text->len - 1] & 0xc0) == 0x80)
		text->len--;
	if (text->len && text->data[text->len - 1] & 0x80)
		text->len--;
}

/* Read until both streams and the program have ended. Returns false if the time was over
 * first, or the program has to end. */
static bool drain(struct run *run, double seconds, struct meanwhile *meanwhile)
{
	struct pollfd polls[STREAMS + 1] = { { run->fds[OUT], POLLIN, 0 },
					     { run->fds[ERR], POLLIN, 0 },
					     { meanwhile->fd, POLLIN, 0 } };
	double end = now_seconds() + seconds;
	bool open;
	int i;

	while ((open = polls[OUT].fd >= 0 || polls[ERR].fd >= 0) ||
	       waitpid(run->pid, &run->status, WNOHANG) == 0) {
		if (now_seconds() > end || signal_seen())
			return false;
		if (poll(polls, STREAMS + 1, open ? STEP_MS : END_STEP_MS) < 0 &&
		    errno != EINTR)
			return false;
		for (i = 0; i < STREAMS; i++) {
			if (polls[i].fd >= 0 && polls[i].revents && !take(run, i))
				polls[i].fd = -1;
		}
		if (polls[STREAMS].fd >= 0 && polls[STREAMS].revents &&
		    !meanwhile->fn(meanwhile->data, meanwhile))
			return false;
		polls[STREAMS].fd = meanwhile->fd;
	}
	return true;
}

/* Kill the program. One that hangs in the kernel, as in a read of a file on FUSE, is left
 * behind: a later call reaps it. */
static void kill_program(pid_t pid)
{
	double end = now_seconds() + KILLED_S;

	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) == 0 && now_seconds() < end)
		(void)poll(NULL, 0, END_STEP_MS);
}

bool run_program(char **argv, double seconds, struct meanwhile *meanwhile,
		 struct op_strbuf *ret)
{
	struct run run = { .status = -1, .fds = { -1, -1 } };
	bool in_time = false, good;
	int r;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	r = spawn(&run, argv);
	if (!r) {
		in_time = drain(&run, seconds, meanwhile);
		if (!in_time)
			kill_program(run.pid);
	}
	/* a JSON object that was cut is useless */
	good = in_time && !run.cut && WIFEXITED(run.status) &&
	       WEXITSTATUS(run.status) == 0;
	trim(&run.text[OUT]);
	trim(&run.text[ERR]);
	op_strbuf_add(ret, run.text[OUT].data ? run.text[OUT].data : "",
		      run.text[OUT].len);
	if (run.cut)
		op_strbuf_puts(ret, "\n[The rest is cut off: ask for fewer lines.]\n");
	if (r)
		op_strbuf_printf(ret, "cannot run %s: %s", argv[0], strerror(-r));
	else if (!in_time)
		op_strbuf_printf(ret, "%s took longer than %.0f s", argv[1], seconds);
	else if (!good)
		op_strbuf_add(ret, run.text[ERR].data ? run.text[ERR].data : "",
			      run.text[ERR].len);
	for (r = 0; r < STREAMS; r++) {
		if (run.fds[r] >= 0)
			(void)close(run.fds[r]);
		op_strbuf_deinit(&run.text[r]);
	}
	return good;
}
