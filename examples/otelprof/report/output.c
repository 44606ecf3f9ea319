/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a temporary file beside the path and renames it. */
#include "report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "common.h"

int output_write(const char *path, output_fn fn, void *data)
{
	_cleanup_free_ char *temp = NULL;
	int fd, r;

	if (strcmp(path, "-") == 0)
		return fn(data, STDOUT_FILENO);
	if (asprintf(&temp, "%s.XXXXXX", path) < 0)
		return fail("out of memory");
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return fail("cannot write %s: %s", path, strerror(errno));
	r = fn(data, fd);
	if (close(fd) < 0 && !r)
		r = fail("cannot write %s: %s", path, strerror(errno));
	if (!r && rename(temp, path) < 0)
		r = fail("cannot write %s: %s", path, strerror(errno));
	if (r)
		(void)unlink(temp);
	return r;
}
