/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket: checks who may use it, and serves one client after the other, in
 * a thread of its own. */
#include "base/cleanup.h"
#include "base/macros.h"
#include "control.h"

#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	BACKLOG = 8,
	GROUPS_MAX = 256,
	SOCKET_MODE = 0660,
	DIRECTORY_MODE = 0755,
	PAUSE_MS = 100,
};

/* Is the group one of the peer's other groups? */
static bool has_group(int fd, gid_t group)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof(groups);
	size_t i;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return false;
	for (i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

static bool is_allowed(const struct control *c, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return false;
	return peer.uid == 0 || peer.uid == geteuid() || peer.gid == c->group ||
	       has_group(fd, c->group);
}

/* Wait for @events of the client @fd. Returns false when the time is over, or the
 * daemon ends. */
static bool wait_for(const struct control *c, int fd, short events, double until)
{
	struct pollfd fds[2] = { { .fd = fd, .events = events },
				 { .fd = c->quit_fd, .events = POLLIN } };
	double left = until - now_seconds();

	return left > 0 && poll(fds, 2, (int)(left * OP_MS_PER_S) + 1) > 0 &&
	       !fds[1].revents;
}

/* Read up to the newline, which becomes a NUL. */
static bool read_line(const struct control *c, int fd, char *line, size_t size)
{
	double until = now_seconds() + CONTROL_TIMEOUT_S;
	size_t len = 0;

	while (len < size) {
		ssize_t n = recv(fd, line + len, size - len, 0);
		char *newline;

		if (n < 0 && errno == EAGAIN && wait_for(c, fd, POLLIN, until))
			continue;
		if (n <= 0)
			return false;
		newline = memchr(line + len, '\n', (size_t)n);
		if (newline) {
			*newline = '\0';
			return !memchr(line, '\0', (size_t)(newline - line));
		}
		len += (size_t)n;
	}
	return false;
}

static void send_all(const struct control *c, int fd, const char *text)
{
	double until = now_seconds() + CONTROL_TIMEOUT_S;
	size_t left = strlen(text);

	while (left) {
		ssize_t n = send(fd, text, left, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN && wait_for(c, fd, POLLOUT, until))
			continue;
		if (n <= 0)
			return;
		text += n;
		left -= (size_t)n;
	}
}

static void serve(const struct control *c, int fd)
{
	char line[CONTROL_LINE_BYTES];
	char *reply;

	/* Read the request before refusing it: closing a socket with unread bytes would
	 * discard the answer. */
	if (!read_line(c, fd, line, sizeof(line))) {
		send_all(c, fd, "error a request is one line of at most 4095 bytes\n");
		return;
	}
	if (!is_allowed(c, fd)) {
		send_all(c, fd, "error this is for root and the group of the socket\n");
		return;
	}
	reply = malloc(CONTROL_REPLY_BYTES);
	if (!reply) {
		send_all(c, fd, "error there is no memory\n");
		return;
	}
	control_answer(c->p, line, reply, CONTROL_REPLY_BYTES);
	send_all(c, fd, reply);
	free(reply);
}

static void *server_main(void *arg)
{
	struct control *c = arg;
	struct pollfd fds[2] = { { .fd = c->fd, .events = POLLIN },
				 { .fd = c->quit_fd, .events = POLLIN } };

	for (;;) {
		int fd;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[1].revents)
			return NULL;
		if (!(fds[0].revents & POLLIN))
			continue;
		fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			serve(c, fd);
			(void)close(fd);
		} else {
			/* perhaps no descriptor is left: do not retry at once */
			(void)poll(&fds[1], 1, PAUSE_MS);
		}
	}
}

static int start_thread(struct control *c)
{
	_cleanup_signals_ sigset_t before = op_signals_block();

	return -pthread_create(&c->thread, NULL, server_main, c);
}

/* Remove the socket of a daemon that is gone. */
static void remove_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd;

	if (lstat(addr->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0 &&
	    errno == ECONNREFUSED)
		(void)unlink(addr->sun_path);
	(void)close(fd);
}

static int listen_at(struct control *c)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	mode_t before;
	int r;

	if (strlen(c->path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	(void)strcpy(addr.sun_path, c->path);
	if (strcmp(c->path, CONTROL_PATH) == 0)
		(void)mkdir(CONTROL_DIRECTORY, DIRECTORY_MODE);
	remove_stale(&addr);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return -errno;
	/* The socket is made with its mode, and the group is set without following
	 * links, because whoever may write to the directory may replace the file at any
	 * time. */
	before = umask(0777 & ~SOCKET_MODE);
	r = bind(c->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	(void)umask(before);
	if (r < 0)
		return r;
	if (fchownat(AT_FDCWD, c->path, (uid_t)-1, c->group, AT_SYMLINK_NOFOLLOW) < 0 ||
	    listen(c->fd, BACKLOG) < 0) {
		r = -errno;
		(void)unlink(c->path);
	}
	return r;
}

int control_open(struct control *c, struct otelprof *p, const char *path,
		 const char *group)
{
	const struct group *entry = group ? getgrnam(group) : NULL;
	int r;

	*c = (struct control){ p, path, getegid(), -1, -1, 0 };
	if (group && !entry)
		return fail("there is no group \"%s\"", group);
	if (entry)
		c->group = entry->gr_gid;
	r = listen_at(c);
	if (r == 0) {
		c->quit_fd = eventfd(0, EFD_CLOEXEC);
		r = c->quit_fd < 0 ? -errno : start_thread(c);
		if (r < 0)
			(void)unlink(path);
	}
	if (r == 0)
		return 0;
	if (c->fd >= 0)
		(void)close(c->fd);
	if (c->quit_fd >= 0)
		(void)close(c->quit_fd);
	c->fd = -1;
	return fail("the control socket %s: %s", path, strerror(-r));
}

void control_close(struct control *c)
{
	const uint64_t one = 1;

	if (c->fd < 0)
		return;
	(void)!write(c->quit_fd, &one, sizeof(one));
	(void)pthread_join(c->thread, NULL);
	(void)unlink(c->path);
	(void)close(c->fd);
	(void)close(c->quit_fd);
	c->fd = -1;
}
