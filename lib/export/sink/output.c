/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file under a temporary name and publishes it by rename(2). */
#include "export/sink/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"

enum {
	TEMP_NAME_TRIES = 16,
	FILE_MODE = 0600,
	FD_PATH_BYTES = 32,
	COPY_BYTES = 1 << 30, /* sendfile(2) moves a little less than 2 GiB at once */
};

static bool is_stdout(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdout");
}

/* Is it a descriptor of this process, chosen by whoever started it? */
static bool is_given(const char *path)
{
	return strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0 ||
	       strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/")) == 0 ||
	       strcmp(path, "/dev/stderr") == 0;
}

static int open_stream(struct op_output *o, const char *path)
{
	struct stat st = { 0 };
	int fd;

	if (is_stdout(path)) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		fd = fd < 0 ? -errno : fd;
	} else {
		fd = op_open(path, O_WRONLY | O_NOCTTY);
	}
	if (fd < 0)
		return fd;
	o->fd = fd;
	o->stream = true;
	/* Another file may have this name by now. */
	if (is_stdout(path) || is_given(path) ||
	    (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) &&
	     op_owner_is_ours(&o->owner, st.st_uid)))
		return 0;
	op_closep(&o->fd);
	return -EPERM;
}

/* Whoever may create a link or a pipe in the directory could redirect what is written. */
static bool is_of_others(const struct op_output *o, const char *path)
{
	struct stat st = { 0 };

	if (is_stdout(path) || is_given(path))
		return false;
	return lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) &&
	       !op_owner_is_ours(&o->owner, st.st_uid);
}

/* Copy the path, with the links of an existing file resolved. The links of a stream
 * stay: a pipe below /proc/self/fd or /dev/fd has no other path. */
static int resolve(const char *path, char **ret, bool *ret_stream)
{
	_cleanup_free_ char *real = NULL;
	struct stat st = { 0 };

	*ret_stream = false;
	if (is_stdout(path)) {
		*ret_stream = true;
	} else if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		*ret_stream = !S_ISREG(st.st_mode);
		real = *ret_stream ? NULL : realpath(path, NULL);
		if (!real && !*ret_stream)
			return -errno;
	}
	if (!real)
		real = strdup(path);
	if (!real)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(real);
	return 0;
}

int op_output_init(struct op_output *o, const char *path)
{
	struct op_output out = { .fd = -1, .published_fd = -1 };
	bool stream = false;
	int r;

	out.owner = op_owner_behind_sudo();
	if (is_of_others(&out, path))
		return -EPERM;
	r = resolve(path, &out.path, &stream);
	if (r < 0)
		return r;
	r = stream ? open_stream(&out, path) : op_output_open(&out);
	if (r < 0) {
		free(out.path);
		return r;
	}
	*o = out;
	return 0;
}

void op_output_deinit(struct op_output *o)
{
	if (!o->stream)
		op_output_discard(o);
	op_output_forget(o);
}

void op_output_forget(struct op_output *o)
{
	op_closep(&o->fd);
	op_closep(&o->published_fd);
	op_freep(&o->temp);
	op_freep(&o->path);
}

static char *temp_name(const char *path, unsigned int try)
{
	uint64_t seed = op_hash_seed() ^ op_clock_monotonic_ns();
	char *name = NULL;

	if (asprintf(&name, "%s.%08" PRIx32 ".tmp", path,
		     (uint32_t)op_hash_u64(seed + try)) < 0)
		return NULL;
	return name;
}

/* The folder of @path, or NULL without memory. */
static char *folder_of(const char *path)
{
	char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (slash)
		slash[slash == folder] = '\0';
	else if (folder)
		(void)snprintf(folder, strlen(folder) + 1, ".");
	return folder;
}

static void fd_path(int fd, char ret[FD_PATH_BYTES])
{
	(void)snprintf(ret, FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

/* A file without a name disappears with its last descriptor, however this process ends.
 * Some file systems do not have such files, and without /proc the file could not get a
 * name later. */
static int open_unnamed(const char *path)
{
	_cleanup_free_ char *folder = folder_of(path);
	_cleanup_close_ int fd = folder ? op_open(folder, O_RDWR | O_TMPFILE) : -ENOMEM;
	char name[FD_PATH_BYTES];

	if (fd < 0)
		return fd;
	fd_path(fd, name);
	return access(name, F_OK) == 0 ? OP_TAKE_FD(fd) : -EOPNOTSUPP;
}

static int open_new(const char *name)
{
	return op_open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
}

/* Make a file with the name of a temporary one: @fd gets it, or if that is negative, a new file.
 * Returns the descriptor or -errno. */
static int make_temp(struct op_output *o, int fd)
{
	char from[FD_PATH_BYTES];
	unsigned int try;
	int r = -EEXIST;

	fd_path(fd, from);
	for (try = 0; r == -EEXIST && try < TEMP_NAME_TRIES; try++) {
		_cleanup_free_ char *name = temp_name(o->path, try);

		if (!name)
			return -ENOMEM;
		if (fd < 0)
			r = open_new(name);
		else
			r = linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
				    ? fd
				    : -errno;
		if (r >= 0)
			o->temp = OP_TAKE_PTR(name);
	}
	return r;
}

int op_output_open(struct op_output *o)
{
	int r;

	if (o->fd >= 0)
		return 0;
	r = open_unnamed(o->path);
	if (r < 0)
		r = make_temp(o, -1);
	if (r < 0)
		return r;
	o->fd = r;
	/* The file is private, because profiles reveal much about a host. Not every file
	 * system has owners. */
	if (o->owner.known)
		(void)!fchown(o->fd, o->owner.uid, o->owner.gid);
	if (fchmod(o->fd, FILE_MODE) == 0)
		return 0;
	r = -errno;
	op_output_discard(o);
	return r;
}

int op_output_name(struct op_output *o)
{
	int r = o->temp ? 0 : make_temp(o, o->fd);

	return r < 0 ? r : 0;
}

/* Does the path now lead to another file than the published one @st, or to none? */
static bool has_moved(const struct op_output *o, const struct stat *st)
{
	struct stat now;

	if (stat(o->path, &now) < 0)
		return errno == ENOENT;
	return now.st_dev != st->st_dev || now.st_ino != st->st_ino;
}

/* The file was truncated, renamed or removed: the next one starts from nothing. */
static int begin_anew(struct op_output *o)
{
	op_closep(&o->published_fd);
	if (ftruncate(o->fd, 0) < 0 || lseek(o->fd, 0, SEEK_SET) < 0)
		return -errno;
	return -ENODATA;
}

int op_output_continue(struct op_output *o, uint64_t len)
{
	struct stat st = { 0 };
	off_t off = 0;

	if (o->published_fd >= 0 && fstat(o->published_fd, &st) < 0)
		return -errno;
	if (o->published_fd >= 0 && ((uint64_t)st.st_size < len || has_moved(o, &st)))
		return begin_anew(o);

	while (o->published_fd >= 0 && (uint64_t)off < len) {
		size_t want = OP_MIN(len - (uint64_t)off, (uint64_t)COPY_BYTES);
		ssize_t n = sendfile(o->fd, o->published_fd, &off, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return begin_anew(o);
	}
	return 0;
}

/* Wait until the data is on the disk. Some file systems report errors only at close(2). */
static int settle(int fd)
{
	int copy, r = fsync(fd) < 0 ? -errno : 0;

	/* Some file systems lack the call. */
	if (r < 0 && r != -EINVAL && r != -ENOSYS && r != -EOPNOTSUPP)
		return r;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return -errno;
	return close(copy) < 0 && errno != EINTR ? -errno : 0;
}

/* The new name must be permanent, too. Ignore a directory that cannot be opened. */
static void settle_name(const char *path)
{
	_cleanup_free_ char *folder = folder_of(path);
	_cleanup_close_ int fd = folder ? op_open(folder, O_RDONLY | O_DIRECTORY) : -1;

	if (fd >= 0)
		(void)fsync(fd);
}

static int name_new(const char *temp, const char *path)
{
	if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return 0;
	/* Some file systems lack the flag. */
	if (errno != EINVAL || access(path, F_OK) == 0)
		return errno == EINVAL ? -EEXIST : -errno;
	return rename(temp, path) < 0 ? -errno : 0;
}

int op_output_publish(struct op_output *o)
{
	int r = settle(o->fd);

	r = r ? r : op_output_name(o);
	if (r == 0 && rename(o->temp, o->path) < 0)
		r = -errno;
	if (r < 0) {
		op_output_discard(o);
		return r;
	}
	settle_name(o->path);
	op_freep(&o->temp);
	op_closep(&o->published_fd);
	o->published_fd = OP_TAKE_FD(o->fd);
	return 0;
}

int op_output_publish_new(struct op_output *o, const char *path)
{
	int r = settle(o->fd);

	r = r ? r : op_output_name(o);
	r = r ? r : name_new(o->temp, path);
	if (r == -EEXIST)
		return r;
	if (r < 0) {
		op_output_discard(o);
		return r;
	}
	settle_name(path);
	op_freep(&o->temp);
	op_closep(&o->fd);
	return 0;
}

void op_output_discard(struct op_output *o)
{
	if (o->temp)
		(void)unlink(o->temp);
	op_freep(&o->temp);
	op_closep(&o->fd);
}
