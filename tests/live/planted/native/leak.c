/* SPDX-License-Identifier: Apache-2.0 */
/* A server of sessions. Requests free what they use, but who leaves without logging out keeps a
 * session for ever. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SESSION = 4096,
	REPLY = 65536
};

struct session {
	struct session *next;
	char data[SESSION];
};

static struct session *sessions;

static void log_in(unsigned int user)
{
	struct session *s = malloc(sizeof(*s)); /* GUILTY */

	if (!s)
		abort();
	memset(s->data, (int)user, sizeof(s->data));
	s->next = sessions;
	sessions = s;
}

static void log_out(void)
{
	struct session *s = sessions;

	sessions = s->next;
	free(s);
}

static size_t reply(unsigned int user)
{
	char *page = malloc(REPLY);
	size_t len;

	if (!page)
		abort();
	len = (size_t)snprintf(page, REPLY, "<h1>Hello, user %u</h1>", user);
	memset(page + len, ' ', REPLY - len);
	free(page);
	return len;
}

int main(void)
{
	unsigned int user;
	size_t sent = 0;

	for (user = 0;; user++) {
		log_in(user);
		sent += reply(user);
		if (user % 2)
			log_out();
		if (user % 16 == 0)
			usleep(1000);
	}
	return sent == 0;
}
