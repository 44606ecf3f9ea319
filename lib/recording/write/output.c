/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file of a command, by the rules of the library's file exporter. */
#include "recording/write/output.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "export/sink/output.h"
#include "recording/read/say.h"

void older_keep(const char *path, struct older *ret)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	struct stat st;

	/* A stream is not a file with that name. */
	if (strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0 || !real ||
	    stat(real, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return;
	if (asprintf(&ret->name, "%s.old", real) < 0)
		ret->name = NULL;
	if (asprintf(&ret->link, "%s.old.%d", real, (int)getpid()) < 0)
		ret->link = NULL;
	if (!ret->name || !ret->link || link(real, ret->link) == 0)
		return;
	/* Not every file system has links. */
	note("warning: the older %s is not kept: %s", path, strerror(errno));
	free(ret->link);
	ret->link = NULL;
}

static bool is_one_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

void older_end(const char *path, struct older *older)
{
	if (older->link && !is_one_file(path, older->link)) {
		if (rename(older->link, older->name) < 0)
			note("warning: %s cannot be kept: %s", path, strerror(errno));
		else
			note("the older %s is kept as %s", path, older->name);
	}
	if (older->link)
		(void)unlink(older->link);
	free(older->link);
	free(older->name);
	*older = (struct older){ NULL, NULL };
}

/* Give a file its name. For a stream the close may be the first call to fail. */
static int complete(struct op_output *o, const char *path)
{
	struct older older = { NULL, NULL };
	int r;

	if (o->stream)
		return close(OP_TAKE_FD(o->fd)) < 0 ? -errno : 0;
	older_keep(path, &older);
	r = op_output_publish(o);
	older_end(path, &older);
	return r;
}

struct output {
	struct op_output o;
	char *path;
};

int output_begin(const char *path, struct output **ret)
{
	struct output *o = calloc(1, sizeof(*o));
	int err;

	if (o)
		o->path = strdup(path);
	if (!o || !o->path) {
		free(o);
		return fail("out of memory");
	}
	err = op_output_init(&o->o, path);
	if (!err) {
		*ret = o;
		return 0;
	}
	free(o->path);
	free(o);
	return fail("cannot write %s: %s%s", path, strerror(-err),
		    err == -EPERM ? "; a link, a pipe or a device must be your own" : "");
}

int output_end(struct output *o, output_fn fn, void *data)
{
	int r, err;

	if (!o)
		return 0;
	r = fn ? fn(data, o->o.fd) : 0;
	err = r || !fn ? 0 : complete(&o->o, o->path);
	if (err < 0)
		r = fail("cannot write %s: %s", o->path, strerror(-err));
	op_output_deinit(&o->o);
	free(o->path);
	free(o);
	return r;
}

int output_write(const char *path, char *const *inputs, size_t inputs_len, output_fn fn,
		 void *data)
{
	struct output *o = NULL;
	size_t i;
	int r;

	for (i = 0; i < inputs_len; i++) {
		if (strcmp(path, "-") != 0 && strncmp(path, "/dev/", 5) != 0 &&
		    is_one_file(path, inputs[i]))
			return fail("%s would be read and replaced: give another OUTPUT",
				    path);
	}
	r = output_begin(path, &o);
	return r ? r : output_end(o, fn, data);
}

int output_new(const char *folder, const void *bytes, size_t len, output_name_fn fill,
	       void *data)
{
	struct op_output o = { .fd = -1, .published_fd = -1 };
	char path[PATH_MAX];
	int r;

	if (asprintf(&o.path, "%s/profiles", folder) < 0)
		return -ENOMEM;
	o.owner = op_owner_behind_sudo();
	r = op_output_open(&o);
	if (!r)
		r = op_write_full(o.fd, bytes, len);
	while (!r) {
		fill(data, path, sizeof(path));
		r = op_output_publish_new(&o, path);
		if (r != -EEXIST)
			break;
		r = 0;
	}
	op_output_deinit(&o);
	return r;
}

bool output_folder_is_ours(const char *path)
{
	return op_owner_folder_is_ours(path);
}

int output_folder(const char *path)
{
	const struct op_owner owner = op_owner_behind_sudo();
	struct stat st = { 0 };

	if (mkdir(path, 0700) == 0)
		return owner.known && lchown(path, owner.uid, owner.gid) < 0
			       ? fail("cannot make %s: %s", path, strerror(errno))
			       : 0;
	if (errno != EEXIST)
		return fail("cannot make %s: %s", path, strerror(errno));
	if (stat(path, &st) < 0)
		return fail("cannot read %s: %s", path, strerror(errno));
	if (!op_owner_is_ours(&owner, st.st_uid))
		return fail("%s is a folder of another user; give one of your own", path);
	return 0;
}
