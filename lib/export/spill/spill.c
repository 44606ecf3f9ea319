/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a destination: its checks, its lock, and the files in it. */
#include "export/spill/spill.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "export/sink/sink.h"

enum {
	DIR_MODE = 0700, /* profiles reveal much about a host */
	TARGET_BYTES_MAX = 64,
	SUFFIX_BYTES = 8,
};

static const char lock_name[] = "lock";
static const char temporary[] = ".tmp";
static const char aside[] = ".bad";

struct op_spill {
	char *path;
	int dir_fd;
	int lock_fd;
	/* so that names never go back in time, even if the clock does */
	uint64_t last_ns;
	uint64_t random;
	uint64_t bad; /* damaged files in the directory */
};

/* A name that tells a person the destination, with a checksum that distinguishes
 * destinations. */
static char *directory_name(const char *dir, const char *target)
{
	char text[TARGET_BYTES_MAX + 1];
	char *path = NULL;
	const char *c;
	size_t n = 0;

	for (c = target; *c && n < TARGET_BYTES_MAX; c++) {
		if (isalnum((unsigned char)*c) || *c == '.')
			text[n++] = *c;
		else if (n && text[n - 1] != '-')
			text[n++] = '-';
	}
	text[n] = 0;
	if (asprintf(&path, "%s/%s-%08x", dir, text,
		     op_spill_crc(target, strlen(target))) < 0)
		return NULL;
	return path;
}

static int make_directory(const char *path)
{
	return mkdir(path, DIR_MODE) < 0 && errno != EEXIST ? -errno : 0;
}

/* Anybody else with write access to the directory could remove or insert requests. */
static int check_directory(int fd, const char *path, mode_t others, struct op_log *log)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return op_fail(log, -errno, "spill_dir: cannot examine %s: %s", path,
			       strerror(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return op_fail(
			log, -EPERM,
			"spill_dir: %s belongs to user %u: make it this user's (%u)",
			path, (unsigned int)st.st_uid, (unsigned int)geteuid());
	/* In a directory with the sticky bit, like /tmp, only the owner of a name can
	 * replace it. */
	if (st.st_mode & others && !(st.st_mode & S_ISVTX))
		return op_fail(
			log, -EPERM,
			"spill_dir: others may write to %s (mode %04o): chmod go-w", path,
			(unsigned int)(st.st_mode & 07777));
	return 0;
}

static int check_parent(const char *dir, struct op_log *log)
{
	_cleanup_close_ int fd = op_open(dir, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return op_fail(log, fd, "spill_dir: cannot open %s: %s", dir,
			       strerror(-fd));
	return check_directory(fd, dir, S_IWGRP | S_IWOTH, log);
}

/* Check the destination's own directory: nobody else may read it, either. */
static int check_own(const struct op_spill *s, struct op_log *log)
{
	struct stat st;
	int r = check_directory(s->dir_fd, s->path, 0, log);

	if (r < 0)
		return r;
	if (fstat(s->dir_fd, &st) < 0 || !(st.st_mode & (S_IRWXG | S_IRWXO)))
		return 0;
	return fchmod(s->dir_fd, DIR_MODE) < 0
		       ? op_fail(log, -errno, "spill_dir: cannot chmod %s: %s", s->path,
				 strerror(errno))
		       : 0;
}

static int lock_directory(struct op_spill *s, struct op_log *log)
{
	s->lock_fd = op_openat(s->dir_fd, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW);
	if (s->lock_fd < 0)
		return op_fail(log, s->lock_fd, "spill_dir: cannot make %s/%s: %s",
			       s->path, lock_name, strerror(-s->lock_fd));
	if (!flock(s->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return op_fail(log, -errno, "spill_dir: cannot lock %s: %s", s->path,
			       strerror(errno));
	return op_fail(log, -EBUSY,
		       "spill_dir: %s is in use by another exporter; give each its own "
		       "directory",
		       s->path);
}

static bool ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name);
	size_t m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

/* Read the header of a file and check its length. *@ret_why says what is wrong
 * with it. */
static int read_header(int fd, struct op_spill_header *ret, const char **ret_why)
{
	uint8_t bytes[OP_SPILL_HEADER_BYTES];
	struct op_spill_header h;
	struct stat st;
	ssize_t n;
	int r;

	n = op_pread_full(fd, bytes, sizeof(bytes), 0);
	*ret_why = "it cannot be read";
	if (n < 0)
		return (int)n;
	r = op_spill_decode(bytes, (size_t)n, &h, ret_why);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size != sizeof(bytes) + h.len) {
		*ret_why = "it is cut short or too long";
		return -EBADMSG;
	}
	*ret = h;
	return 0;
}

/* Add one file of an earlier run to @list, or set it aside. */
static int take_file(struct op_spill *s, const char *name, struct op_log *log,
		     struct op_spill_list *list)
{
	_cleanup_close_ int fd =
		op_openat(s->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	struct op_spill_header h = { 0 };
	struct op_spill_found *f;
	const char *why = "it cannot be opened";
	int r = fd < 0 ? fd : read_header(fd, &h, &why);

	if (r == -EPROTONOSUPPORT) {
		op_log(log, OP_LOG_WARNING, "spill_dir: %s/%s is left alone: %s", s->path,
		       name, why);
		return 0;
	}
	if (r < 0) {
		list->bad++;
		op_log(log, OP_LOG_WARNING, "spill_dir: %s/%s cannot be used: %s%s",
		       s->path, name, why,
		       r == -EBADMSG ? "; its name now ends with .bad" : "");
		if (r == -EBADMSG)
			op_spill_set_aside(s, name);
		return 0;
	}
	f = op_vec_push(&list->files);
	if (!f)
		return -ENOMEM;
	(void)strlcpy(f->name, name, sizeof(f->name));
	f->samples = h.samples;
	f->len = h.len;
	return 0;
}

static int take_entry(struct op_spill *s, const char *name, struct op_log *log,
		      struct op_spill_list *list)
{
	uint64_t time_ns = 0;

	if (ends_with(name, temporary)) {
		/* Its writer was killed before the file was complete. */
		(void)unlinkat(s->dir_fd, name, 0);
		return 0;
	}
	s->bad += ends_with(name, aside);
	if (!op_spill_name_read(name, &time_ns)) {
		if (name[0] != '.' && strcmp(name, lock_name) != 0)
			op_log(log, OP_LOG_DEBUG, "spill_dir: %s/%s is left alone",
			       s->path, name);
		return 0;
	}
	s->last_ns = OP_MAX(s->last_ns, time_ns);
	return take_file(s, name, log, list);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct op_spill_found *)a)->name,
		      ((const struct op_spill_found *)b)->name);
}

static int scan(struct op_spill *s, struct op_log *log, struct op_spill_list *list)
{
	_cleanup_closedir_ DIR *dir = opendir(s->path);
	struct dirent *e;
	int r;

	if (!dir)
		return op_fail(log, -errno, "spill_dir: cannot list %s: %s", s->path,
			       strerror(errno));
	while ((e = readdir(dir))) {
		r = take_entry(s, e->d_name, log, list);
		if (r < 0)
			return r;
	}
	if (list->files.len)
		qsort(list->files.data, list->files.len, sizeof(*list->files.data),
		      by_name);
	return 0;
}

int op_spill_open(const char *dir, const char *target, struct op_log *log,
		  struct op_spill_list *list, struct op_spill **ret)
{
	_cleanup_(op_spill_closep) struct op_spill *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->dir_fd = s->lock_fd = -1;
	s->random = op_hash_seed() ^ op_clock_realtime_ns();
	s->path = directory_name(dir, target);
	if (!s->path)
		return -ENOMEM;
	r = make_directory(dir);
	if (r < 0)
		return op_fail(log, r, "spill_dir: cannot make %s: %s", dir,
			       strerror(-r));
	r = check_parent(dir, log);
	if (r < 0)
		return r;
	r = make_directory(s->path);
	if (r < 0)
		return op_fail(log, r, "spill_dir: cannot make %s: %s", s->path,
			       strerror(-r));
	s->dir_fd = op_open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (s->dir_fd < 0)
		return op_fail(log, s->dir_fd, "spill_dir: cannot open %s: %s", s->path,
			       strerror(-s->dir_fd));
	r = check_own(s, log);
	if (r == 0)
		r = lock_directory(s, log);
	if (r < 0)
		return r;
	r = scan(s, log, list);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(s);
	return 0;
}

struct op_spill *op_spill_close(struct op_spill *s)
{
	if (!s)
		return NULL;
	op_closep(&s->lock_fd);
	op_closep(&s->dir_fd);
	free(s->path);
	free(s);
	return NULL;
}

const char *op_spill_path(const struct op_spill *s)
{
	return s->path;
}

static void next_name(struct op_spill *s, char ret[OP_SPILL_NAME_BYTES])
{
	uint64_t now = op_clock_realtime_ns();

	s->last_ns = OP_MAX(now, s->last_ns + 1);
	op_spill_name(s->last_ns, op_random_next(&s->random), ret);
}

static int write_file(int fd, const struct op_spill_header *h, const void *request)
{
	uint8_t header[OP_SPILL_HEADER_BYTES];
	int r;

	op_spill_encode(h, header);
	r = op_write_full(fd, header, sizeof(header));
	return r < 0 ? r : op_write_full(fd, request, h->len);
}

int op_spill_put(struct op_spill *s, const void *request, size_t len, uint64_t samples,
		 char ret_name[OP_SPILL_NAME_BYTES])
{
	char temp[OP_SPILL_NAME_BYTES + SUFFIX_BYTES];
	char name[OP_SPILL_NAME_BYTES];
	_cleanup_close_ int fd = -1;
	struct op_spill_header h = {
		.samples = samples,
		.len = len,
		.crc = op_spill_crc(request, len),
	};
	int r;

	next_name(s, name);
	h.time_ns = s->last_ns;
	(void)snprintf(temp, sizeof(temp), "%s%s", name, temporary);
	fd = op_openat(s->dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	r = fchmod(fd, 0600) < 0 ? -errno : write_file(fd, &h, request);
	if (!r && renameat(s->dir_fd, temp, s->dir_fd, name) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(s->dir_fd, temp, 0);
		return r;
	}
	(void)strlcpy(ret_name, name, OP_SPILL_NAME_BYTES);
	return 0;
}

int op_spill_get(struct op_spill *s, const char *name, void **ret, size_t *ret_len)
{
	_cleanup_close_ int fd =
		op_openat(s->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	_cleanup_free_ void *body = NULL;
	struct op_spill_header h;
	const char *why;
	ssize_t n;
	int r;

	if (fd < 0)
		return fd;
	r = read_header(fd, &h, &why);
	if (r < 0)
		return r;
	body = malloc(h.len);
	if (!body)
		return -ENOMEM;
	n = op_pread_full(fd, body, h.len, OP_SPILL_HEADER_BYTES);
	if (n < 0)
		return (int)n;
	if (!op_spill_body_ok(&h, body, (size_t)n))
		return -EBADMSG;
	*ret = OP_TAKE_PTR(body);
	*ret_len = h.len;
	return 0;
}

void op_spill_remove(struct op_spill *s, const char *name)
{
	(void)unlinkat(s->dir_fd, name, 0);
}

void op_spill_set_aside(struct op_spill *s, const char *name)
{
	char bad[OP_SPILL_NAME_BYTES + SUFFIX_BYTES];

	(void)snprintf(bad, sizeof(bad), "%s%s", name, aside);
	if (s->bad < OP_SPILL_BAD_MAX && !renameat(s->dir_fd, name, s->dir_fd, bad))
		s->bad++;
	else
		(void)unlinkat(s->dir_fd, name, 0);
}
