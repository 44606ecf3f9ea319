/* SPDX-License-Identifier: Apache-2.0 */
/* Sends messages to the service manager's socket. */
#include "notify.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macros.h"
#include "common.h"

void notify_open(struct notify *n)
{
	const char *us = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");

	*n = (struct notify){ 0 };
	/* Half the manager's timeout, as sd_watchdog_enabled(3) recommends. */
	if (us && (!pid || strtol(pid, NULL, 10) == (long)getpid()))
		n->watchdog_s = (double)strtoull(us, NULL, 10) / OP_US_PER_S / 2;
}

void notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, len);
	if (*path == '@') /* '@' means the zero byte that begins an abstract name */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
		     (struct sockaddr *)&to,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	(void)close(fd);
}

bool notify_alive(void *data)
{
	struct notify *n = data;
	double now;

	if (n->watchdog_s <= 0)
		return false;
	now = now_seconds();
	if (now >= n->next_s) {
		notify_send("WATCHDOG=1");
		n->next_s = now + n->watchdog_s;
	}
	return false;
}
