/* SPDX-License-Identifier: Apache-2.0 */
/* Forks the command of `record`, holds it until sampling has begun, and returns its
 * status. */
#include "record/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

enum {
	EXIT_NOT_FOUND = 127, /* as in shells */
	EXIT_NOT_EXECUTABLE = 126,
	TERM_WAIT_MS = 5000, /* time from SIGTERM to SIGKILL */
	STEP_MS = 20,
};

int child_become_caller(void)
{
	const char *uid = getenv("SUDO_UID");
	const struct passwd *pw;
	char *end = NULL;
	unsigned long n;

	if (!uid || geteuid() != 0)
		return 0;
	n = strtoul(uid, &end, 10);
	if (end == uid || *end || n >= UINT32_MAX)
		return fail("SUDO_UID is \"%s\", which is not a user id", uid);
	if (!n)
		return 0;
	pw = getpwuid((uid_t)n);
	if (!pw)
		return fail("SUDO_UID names the user %lu, who does not exist", n);
	if (initgroups(pw->pw_name, pw->pw_gid) < 0 || setgid(pw->pw_gid) < 0 ||
	    setuid(pw->pw_uid) < 0)
		return fail("cannot run as %s: %s", pw->pw_name, strerror(errno));
	(void)setenv("HOME", pw->pw_dir, 1);
	(void)setenv("USER", pw->pw_name, 1);
	(void)setenv("LOGNAME", pw->pw_name, 1);
	return 0;
}

static void run_command(int gate, char **argv) __attribute__((noreturn));
static void run_command(int gate, char **argv)
{
	struct sigaction def = { .sa_handler = SIG_DFL };
	char byte;
	int error;

	(void)sigaction(SIGPIPE, &def, NULL);
	(void)sigaction(SIGXFSZ, &def, NULL);
	/* End of file means that the parent gave up. */
	if (read(gate, &byte, 1) != 1)
		_exit(STATUS_FAILED);
	if (child_become_caller())
		_exit(EXIT_NOT_EXECUTABLE);
	(void)execvp(argv[0], argv);
	error = errno;
	(void)fail("cannot run %s: %s", argv[0], strerror(error));
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

int child_fork(struct child *c, char **argv)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return fail("cannot make a pipe: %s", strerror(errno));
	c->pid = fork();
	if (c->pid < 0) {
		(void)close(fds[0]);
		(void)close(fds[1]);
		return fail("cannot fork: %s", strerror(errno));
	}
	if (c->pid == 0) {
		(void)close(fds[1]);
		run_command(fds[0], argv);
	}
	(void)close(fds[0]);
	c->gate = fds[1];
	return 0;
}

int child_go(struct child *c)
{
	ssize_t n = write(c->gate, "", 1);

	(void)close(c->gate);
	c->gate = -1;
	c->released = true;
	return n == 1 ? 0
		      : fail("the command's process ended before it could execute the command");
}

bool child_ended(struct child *c)
{
	if (!c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

bool child_cannot_run(const struct child *c)
{
	return c->ended && WIFEXITED(c->status) &&
	       (WEXITSTATUS(c->status) == EXIT_NOT_FOUND ||
		WEXITSTATUS(c->status) == EXIT_NOT_EXECUTABLE);
}

static void end_it(struct child *c)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	int waited;

	c->terminated = true;
	(void)kill(c->pid, SIGTERM);
	for (waited = 0; waited < TERM_WAIT_MS && !child_ended(c); waited += STEP_MS)
		(void)nanosleep(&step, NULL);
	if (c->ended)
		return;
	(void)kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	c->ended = true;
}

int child_finish(struct child *c, int status)
{
	if (c->pid < 0)
		return status;
	if (c->gate >= 0)
		(void)close(c->gate);
	c->gate = -1;
	if (!child_ended(c))
		end_it(c);
	if (!c->released || c->terminated)
		return status;
	if (WIFSIGNALED(c->status))
		return 128 + WTERMSIG(c->status);
	return WEXITSTATUS(c->status) ? WEXITSTATUS(c->status) : status;
}

void child_open_page(const char *path)
{
	char *const argv[] = { (char[]){ "xdg-open" }, (char *)path, NULL };
	int status = 0;
	pid_t pid;

	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) {
		note("there is no display here for a browser; the page is %s", path);
		return;
	}
	pid = fork();
	if (pid == 0) {
		if (child_become_caller())
			_exit(EXIT_NOT_EXECUTABLE);
		(void)execvp(argv[0], argv);
		_exit(EXIT_NOT_FOUND);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status)
		note("no browser could be started (xdg-open); the page is %s", path);
}
