/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/lines/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording/read/say.h"

/* libdebuginfod is loaded at run time, as libdw does: a host without it needs none. */
static const char library[] = "libdebuginfod.so.1";
static const char urls[] = "DEBUGINFOD_URLS";
static const char limit[] = "DEBUGINFOD_MAXTIME";
/* Seconds in which a server has to begin to answer, unless the user has set a limit. */
static const char timeout[] = "10";

struct client {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int len,
		    char **ret_path);
	void (*end)(void *client);
};

static bool load(struct client *c)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return false;
	/* The library stays loaded, because libdw uses it, too. */
	*(void **)&c->begin = dlsym(lib, "debuginfod_begin");
	*(void **)&c->find = dlsym(lib, "debuginfod_find_debuginfo");
	*(void **)&c->end = dlsym(lib, "debuginfod_end");
	return c->begin && c->find && c->end;
}

/* Returns 0 if a server answered, also if it lacks the file. */
static int ask(const struct client *c, const char *build_id)
{
	void *client = c->begin();
	int fd;

	if (!client)
		return -ENOMEM;
	/* Length 0: the build id is a text. */
	fd = c->find(client, (const unsigned char *)build_id, 0, NULL);
	c->end(client);
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0 || fd == -ENOENT ? 0 : fd;
}

void debuginfod_init(struct debuginfod *s)
{
	*s = (struct debuginfod){ .limited = getenv(limit) };
}

void debuginfod_limit(const struct debuginfod *s, double seconds)
{
	char text[32];

	/* The client reads this file for each download. 0 would be no limit. */
	(void)snprintf(text, sizeof(text), "%.0f", seconds < 1 ? 1 : seconds);
	if (!s->limited)
		(void)setenv(limit, text, 1);
}

void debuginfod_try(struct debuginfod *s, const char *build_id)
{
	const char *of = getenv(urls);
	struct client c = { 0 };
	int r;

	if (s->tried || !of || !*of)
		return;
	s->tried = true;
	(void)setenv("DEBUGINFOD_TIMEOUT", timeout, 0);
	(void)setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
	if (!load(&c)) {
		note("DEBUGINFOD_URLS is not used: there is no %s", library);
		(void)unsetenv(urls);
		return;
	}
	r = ask(&c, build_id);
	if (r < 0) {
		note("no debug info from %s: %s", of, strerror(-r));
		(void)unsetenv(urls);
	}
}
