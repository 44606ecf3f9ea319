/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/write/merge.h"

#include <string.h>

#include "recording/read/requests.h"
#include "recording/read/say.h"
#include "recording/requests/join.h"
#include "recording/tree/missing.h"

struct merge {
	int fd;
	int error; /* of a write */
	size_t requests;
	struct join *join;
};

/* A join_emit_fn. */
static int write_request(void *data, const void *request, size_t len)
{
	struct merge *m = data;

	m->error = recording_append(m->fd, request, len);
	return m->error;
}

/* A recording_fn. A failed write is not a fault of the file that is read. */
static int add_request(void *data, const void *request, size_t len)
{
	struct merge *m = data;
	int r = m->error ? 0 : join_add(m->join, request, len);

	m->requests++;
	return m->error ? 0 : r;
}

int merge_write(const struct filter *filter, char *const *files, size_t len,
		const char *path, int fd)
{
	struct merge m = { .fd = fd };
	int r, err;

	if (join_new(write_request, &m, &m.join))
		return fail("out of memory");
	r = filter_read(filter, FILTER_NAMES_TOO, files, len, add_request, &m);
	err = r || m.error ? m.error : join_finish(m.join);
	(void)join_free(m.join);
	if (!r && !err && filter && !m.requests)
		return missing_say(filter, files, len);
	return r || !err ? r : fail("cannot write %s: %s", path, strerror(-err));
}
