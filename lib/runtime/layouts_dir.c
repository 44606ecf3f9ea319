/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, checks and reads the files of a layout directory. */
#include "runtime/layouts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"

static const char suffix[] = ".layout";

/* The names of a directory's layout files. */
struct names {
	char *name[OP_LAYOUTS_FILES_MAX];
	size_t len;
	size_t refused; /* files beyond the limit */
};

static void names_deinit(struct names *names)
{
	while (names->len)
		free(names->name[--names->len]);
}

/* Whoever can write these files can choose which memory of every process is read. Returns
 * NULL, or what is wrong with the owner or the mode. */
static const char *unsafe(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user; it must be root's or your own";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others; take that right away (chmod go-w)";
	return NULL;
}

static bool is_layout(const char *name)
{
	size_t len = strlen(name);

	return name[0] != '.' && len > sizeof(suffix) - 1 &&
	       strcmp(name + len - (sizeof(suffix) - 1), suffix) == 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list(int fd, struct names *names)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	int copy = op_openat(fd, ".", O_RDONLY | O_DIRECTORY);

	if (copy < 0)
		return copy;
	dir = fdopendir(copy);
	if (!dir) {
		(void)close(copy);
		return -ENOMEM;
	}
	while ((entry = readdir(dir))) {
		if (!is_layout(entry->d_name))
			continue;
		if (names->len == OP_LAYOUTS_FILES_MAX) {
			names->refused++;
			continue;
		}
		names->name[names->len] = strdup(entry->d_name);
		if (!names->name[names->len])
			return -ENOMEM;
		names->len++;
	}
	qsort(names->name, names->len, sizeof(*names->name), compare);
	return 0;
}

/* Read one file. Returns 0; -ENOMEM; or another -errno and a sentence in @error. */
static int read_file(struct op_layouts *layouts, int dir, const char *name,
		     const char *path, char error[OP_LAYOUTS_ERROR_MAX])
{
	_cleanup_close_ int fd = op_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	_cleanup_free_ char *text = NULL;
	const char *why = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0) {
		int r = fd < 0 ? fd : -errno;

		(void)snprintf(error, OP_LAYOUTS_ERROR_MAX, "%s cannot be read: %s", path,
			       r == -ELOOP ? "it is a link; put the file itself here"
					   : strerror(-r));
		return r;
	}
	why = S_ISREG(st.st_mode) ? unsafe(&st) : "is no plain file";
	if (why) {
		(void)snprintf(error, OP_LAYOUTS_ERROR_MAX, "%s %s", path, why);
		return -EPERM;
	}
	n = op_read_fd(fd, OP_LAYOUTS_FILE_BYTES_MAX, &text);
	if (n >= 0)
		return op_layouts_read(layouts, path, text, (size_t)n, error);
	(void)snprintf(error, OP_LAYOUTS_ERROR_MAX, "%s cannot be read: %s", path,
		       n == -EFBIG ? "it has more than 64 KiB; make several files of it"
				   : strerror((int)-n));
	return (int)n;
}

/* Read all files of the open directory. */
static int read_files(struct op_layouts *layouts, int fd, const char *dir,
		      const struct names *names, struct op_log *log)
{
	char error[OP_LAYOUTS_ERROR_MAX];
	char path[256]; /* for messages */
	size_t i;

	for (i = 0; i < names->len; i++) {
		int r;

		(void)snprintf(path, sizeof(path), "%s/%s", dir, names->name[i]);
		r = read_file(layouts, fd, names->name[i], path, error);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			op_log(log, OP_LOG_WARNING, "%s; this file is left out", error);
	}
	if (names->refused)
		op_log(log, OP_LOG_WARNING,
		       "%s has more than %d layout files; %zu of them are left out", dir,
		       OP_LAYOUTS_FILES_MAX, names->refused);
	op_log(log, OP_LOG_DEBUG, "%s: %zu layouts", dir, op_layouts_count(layouts));
	return 0;
}

int op_layouts_read_dir(struct op_layouts *layouts, const char *dir, struct op_log *log)
{
	_cleanup_close_ int fd = op_open(dir, O_RDONLY | O_DIRECTORY);
	_cleanup_(names_deinit) struct names names = { .len = 0 };
	struct stat st;
	const char *why;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0) {
		r = fd < 0 ? fd : -errno;
		return op_fail(log, r, "layouts_dir: the directory %s cannot be read: %s",
			       dir, strerror(-r));
	}
	why = unsafe(&st);
	if (why)
		return op_fail(log, -EPERM, "layouts_dir: the directory %s %s", dir, why);
	r = list(fd, &names);
	return r < 0 ? r : read_files(layouts, fd, dir, &names, log);
}
