/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the cache: opened, replaced and removed below one verified folder. */
#include "recording/lines/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign/owner.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/vec.h"
#include "recording/lines/cache.h"
#include "recording/read/say.h"

enum {
	ID_CHARS_MIN = 8,
	ID_CHARS_MAX = 128,
	NAME_BYTES = ID_CHARS_MAX + 64,
	LEFT_SECONDS = 3600, /* an unfinished file of this age has no writer */
};

static const char ending[] = ".lines";
static const char unfinished[] = ".new";

/* The owner of a folder can replace it as a whole. Root's is safe, also /tmp, which is
 * sticky. */
static bool is_safe_parent(char *path)
{
	char *slash = strrchr(path, '/');
	struct stat st;
	bool known;

	if (slash > path)
		*slash = 0;
	known = stat(slash ? slash == path ? "/" : path : ".", &st) == 0;
	if (slash)
		*slash = '/';
	return known && (st.st_uid == geteuid() || st.st_uid == 0) &&
	       (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX));
}

/* Open @path, which must be closed to others. Returns a descriptor, -EPERM or another
 * error. */
static int open_own(char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!is_safe_parent(path))
		return -EPERM;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = op_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO)))
		return -EPERM;
	return OP_TAKE_FD(fd);
}

static bool is_at_home(char *path)
{
	char *slash = strrchr(path, '/');
	bool ours;

	if (slash == path)
		return geteuid() == 0;
	*slash = 0;
	ours = op_owner_folder_is_ours(path);
	*slash = '/';
	return ours;
}

/* The folder that the XDG base directory specification prescribes, or NULL. It is not
 * made in the home of another user, which sudo may leave to root. */
static char *default_path(void)
{
	const char *base = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	_cleanup_free_ char *parent = NULL;
	char *path = NULL;

	if (base && *base == '/')
		parent = strdup(base);
	else if (!home || *home != '/' || asprintf(&parent, "%s/.cache", home) < 0)
		return NULL;
	if (!parent || !is_at_home(parent) ||
	    (mkdir(parent, 0700) < 0 && errno != EEXIST))
		return NULL;
	return asprintf(&path, "%s/otelprof", parent) < 0 ? NULL : path;
}

bool store_open(const char *path, struct store *ret)
{
	_cleanup_free_ char *name = path ? strdup(path) : default_path();
	size_t len = name ? strlen(name) : 0;
	int fd;

	while (len > 1 && name[len - 1] == '/')
		name[--len] = 0;
	if (!len)
		return false;
	fd = open_own(name);
	if (fd == -EPERM)
		note("source lines: %s is no cache: it must be yours and closed to others",
		     name);
	else if (fd < 0 && path)
		note("source lines: there is no cache at %s: %s", name, strerror(-fd));
	if (fd < 0)
		return false;
	*ret = (struct store){ fd, OP_TAKE_PTR(name) };
	return true;
}

void store_close(struct store *s)
{
	op_closep(&s->fd);
	free(s->path);
	s->path = NULL;
}

bool store_can_name(const char *build_id)
{
	size_t len = strlen(build_id);

	return len >= ID_CHARS_MIN && len <= ID_CHARS_MAX &&
	       strspn(build_id, "0123456789abcdef") == len;
}

static void name_of(const char *build_id, char ret[NAME_BYTES])
{
	(void)snprintf(ret, NAME_BYTES, "%s%s", build_id, ending);
}

ssize_t store_read(const struct store *s, const char *build_id, char **ret)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_BYTES];
	struct stat st;

	name_of(build_id, name);
	fd = op_openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	(void)futimens(fd, NULL);
	return op_read_fd(fd, LINES_CACHE_FILE_BYTES_MAX, ret);
}

int store_write(const struct store *s, const char *build_id, const void *bytes,
		size_t len)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_BYTES], temporary[NAME_BYTES];
	int r;

	name_of(build_id, name);
	(void)snprintf(temporary, sizeof(temporary), "%s%016" PRIx64, unfinished,
		       op_hash_seed());
	fd = op_openat(s->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	/* Without fsync(): after a crash the checksum shows the damage. */
	r = fchmod(fd, 0600) < 0 ? -errno : op_write_full(fd, bytes, len);
	if (!r && renameat(s->fd, temporary, s->fd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(s->fd, temporary, 0);
	return r;
}

struct entry {
	char name[NAME_BYTES];
	uint64_t bytes;
	struct timespec used;
};

struct entries {
	OP_VEC(struct entry) items;
	uint64_t bytes;
};

static bool ends_so(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && len < NAME_BYTES && strcmp(name + len - n, end) == 0;
}

/* Add a file to @all, or remove it if it was never finished. */
static void look_at(const struct store *s, const char *name, struct entries *all)
{
	struct entry *e;
	struct stat st;

	if (fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	if (strncmp(name, unfinished, strlen(unfinished)) == 0) {
		if (time(NULL) - st.st_mtime > LEFT_SECONDS)
			(void)unlinkat(s->fd, name, 0);
		return;
	}
	e = ends_so(name, ending) ? op_vec_push(&all->items) : NULL;
	if (!e)
		return;
	e->bytes = (uint64_t)st.st_size;
	e->used = st.st_mtim;
	memcpy(e->name, name, strnlen(name, sizeof(e->name) - 1) + 1);
	e->name[sizeof(e->name) - 1] = '\0';
	all->bytes += e->bytes;
}

static int compare_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->used;
	const struct timespec *y = &((const struct entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

void store_trim(const struct store *s, uint64_t bytes)
{
	struct entries all = { 0 };
	_cleanup_closedir_ DIR *dir = NULL;
	int fd = op_openat(s->fd, ".", O_RDONLY | O_DIRECTORY);
	struct dirent *d;
	size_t i;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		op_closep(&fd);
		return;
	}
	while ((d = readdir(dir)))
		look_at(s, d->d_name, &all);
	if (all.items.len)
		qsort(all.items.data, all.items.len, sizeof(*all.items.data),
		      compare_use);
	for (i = 0; i < all.items.len &&
		    (all.bytes > bytes || all.items.len - i > STORE_FILES_MAX);
	     i++) {
		if (unlinkat(s->fd, all.items.data[i].name, 0) == 0)
			all.bytes -= all.items.data[i].bytes;
	}
	op_vec_clear(&all.items);
}
