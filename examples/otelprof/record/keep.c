/* SPDX-License-Identifier: Apache-2.0 */
#include "record/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "recording/read/requests.h"

enum {
	FRAME_BYTES = 4, /* of the length before each request */
	MODE = 0600,
	PATH_BYTES = 32,
};

static int open_nameless(void)
{
	const char *folders[] = { secure_getenv("TMPDIR"), "/var/tmp", "/tmp" };
	size_t i;
	int fd;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		fd = folders[i] ? open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, MODE)
				: -1;
		if (fd >= 0)
			return fd;
	}
	return memfd_create("otelprof", MFD_CLOEXEC);
}

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct keep *k = userdata;
	int r = k->error;

	(void)samples;
	if (!r)
		r = recording_append(k->fd, request, len);
	if (r < 0 && !k->error) {
		note("warning: the rest of the recording cannot be kept: %s",
		     strerror(-r));
		/* A part of a request is useless. */
		(void)ftruncate(k->fd, (off_t)k->bytes);
		k->error = r;
	}
	k->bytes += r < 0 ? 0 : FRAME_BYTES + len;
	if (k->only)
		return r < 0 ? r : 0;
	return -ECANCELED; /* we only look at the request */
}

int keep_start(struct keep *k, struct otelprof *p)
{
	struct otelprof_callback_config config;
	int r;

	k->fd = open_nameless();
	if (k->fd < 0)
		return fail("cannot make a temporary file: %s", strerror(errno));
	otelprof_callback_config_init(&config, sizeof(config));
	config.fn = take;
	config.userdata = k;
	r = otelprof_exporter_callback(p, &config);
	return r < 0 ? fail_library(p, "cannot watch what is recorded", r) : 0;
}

int keep_load(const struct keep *k, const struct recording_request *request,
	      struct recording *ret)
{
	char path[PATH_BYTES];
	char *const paths[] = { path };

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", k->fd);
	return recording_load(paths, 1, request, ret);
}

void keep_clear(struct keep *k)
{
	if (k->fd >= 0)
		(void)close(k->fd);
	k->fd = -1;
}
