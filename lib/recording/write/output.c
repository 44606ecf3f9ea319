/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a command, with the rules of the library's file exporter. */
#include "recording/write/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "export/sink/output.h"
#include "recording/read/say.h"

/* Give a file its name. For a stream the close may be the first to tell of an error. */
static int complete(struct op_output *o)
{
	if (!o->stream)
		return op_output_publish(o);
	return close(OP_TAKE_FD(o->fd)) < 0 ? -errno : 0;
}

int output_write(const char *path, output_fn fn, void *data)
{
	struct op_output o;
	int r, err;

	err = op_output_init(&o, path);
	if (err < 0)
		return fail("cannot write %s: %s", path, strerror(-err));
	r = fn(data, o.fd);
	err = r ? 0 : complete(&o);
	if (err < 0)
		r = fail("cannot write %s: %s", path, strerror(-err));
	op_output_deinit(&o);
	return r;
}
