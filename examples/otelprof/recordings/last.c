/* SPDX-License-Identifier: Apache-2.0 */
#include "recordings/last.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "record/child.h"
#include "recording/write/output.h"

enum {
	KEPT_MAX = 10,
	NAMES_MAX = 4096, /* files that are read; a folder with more is not ours */
	STEP_BYTES = 1 << 16,
	STAMP_BYTES = 64,
};
#define KEPT_BYTES_MAX (UINT64_C(200) << 20)
#define ENDING	       ".otlp"

/* The home of the caller, or under sudo of the user who called sudo. */
static const char *home_of_caller(void)
{
	const char *uid = getenv("SUDO_UID");
	const struct passwd *pw;
	char *end = NULL;
	unsigned long n = uid && geteuid() == 0 ? strtoul(uid, &end, 10) : 0;

	if (!n || *end)
		return getenv("HOME");
	pw = getpwuid((uid_t)n);
	return pw ? pw->pw_dir : NULL;
}

/* The folder, on the heap. NULL: there is no home. @make: create it. */
static char *folder_of(const char *home, bool make)
{
	const char *state = getenv("SUDO_UID") ? NULL : getenv("XDG_STATE_HOME");
	bool has_state = state && *state == '/';
	const char *base = has_state ? state : home;
	char *path = NULL, *at;

	if (!base || *base != '/' || (make && !output_folder_is_ours(base)) ||
	    asprintf(&path, "%s%s/otelprof", base, has_state ? "" : "/.local/state") < 0)
		return NULL;
	for (at = path + strlen(base); make && (at = strchr(at + 1, '/'));) {
		*at = 0;
		(void)mkdir(path, 0700);
		*at = '/';
	}
	if (make)
		(void)mkdir(path, 0700);
	return path;
}

/* Does the folder belong to the caller, and to nobody else? */
static bool is_private(const char *path, uid_t owner)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       (st.st_uid == owner || st.st_uid == 0) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

struct names {
	char *of[NAMES_MAX];
	size_t len;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

/* List the recordings of a folder, newest first. Their names begin with their time. */
static void list(const char *folder, struct names *ret)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	size_t len;

	ret->len = 0;
	while (d && ret->len < NAMES_MAX && (e = readdir(d))) {
		len = strlen(e->d_name);
		if (len <= strlen(ENDING) || *e->d_name < '0' || *e->d_name > '9' ||
		    strcmp(e->d_name + len - strlen(ENDING), ENDING) != 0)
			continue;
		ret->of[ret->len] = strdup(e->d_name);
		if (ret->of[ret->len])
			ret->len++;
	}
	if (d)
		(void)closedir(d);
	if (ret->len)
		qsort(ret->of, ret->len, sizeof(ret->of[0]), compare_names);
}

static void names_clear(struct names *n)
{
	while (n->len)
		free(n->of[--n->len]);
}

/* Remove the oldest recordings. The newest stays, whatever its size. */
static void prune(const char *folder)
{
	struct names *n = calloc(1, sizeof(*n));
	uint64_t bytes = 0;
	struct stat st;
	char *path;
	size_t i;

	if (!n)
		return;
	list(folder, n);
	for (i = 0; i < n->len; i++) {
		if (asprintf(&path, "%s/%s", folder, n->of[i]) < 0)
			break;
		if (lstat(path, &st) == 0) {
			bytes += (uint64_t)st.st_size;
			if (i >= KEPT_MAX || (i && bytes > KEPT_BYTES_MAX))
				(void)unlink(path);
		}
		free(path);
	}
	names_clear(n);
	free(n);
}

static int copy(void *data, int to)
{
	int from = *(const int *)data;
	char buf[STEP_BYTES];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, buf, sizeof(buf), at)) > 0) {
		ssize_t done = 0, w;

		for (; done < n; done += w) {
			w = write(to, buf + done, (size_t)(n - done));
			if (w < 0)
				return STATUS_FAILED;
		}
		at += n;
	}
	return n < 0 ? STATUS_FAILED : 0;
}

/* Runs in a child process, with the rights of the caller. */
static int keep_as_caller(int fd)
{
	struct timespec now;
	char *folder, *path = NULL, stamp[STAMP_BYTES];
	struct tm tm;
	int r = STATUS_FAILED;

	if (child_become_caller())
		return STATUS_FAILED;
	folder = folder_of(home_of_caller(), true);
	if (folder && is_private(folder, geteuid()) &&
	    clock_gettime(CLOCK_REALTIME, &now) == 0 && gmtime_r(&now.tv_sec, &tm) &&
	    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm) &&
	    asprintf(&path, "%s/%s-%03ld" ENDING, folder, stamp, now.tv_nsec / 1000000) >
		    0)
		r = output_write(path, NULL, 0, copy, &fd);
	if (!r)
		prune(folder);
	free(path);
	free(folder);
	return r;
}

void last_keep(int fd, uint64_t bytes)
{
	int status = 0;
	pid_t pid;

	if (!bytes || bytes > KEPT_BYTES_MAX)
		return;
	pid = fork();
	if (pid == 0)
		_exit(keep_as_caller(fd));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

char *last_find(void)
{
	char *folder = folder_of(home_of_caller(), false), *path = NULL;
	struct names *n = calloc(1, sizeof(*n));

	if (folder && n)
		list(folder, n);
	if (n && n->len && asprintf(&path, "%s/%s", folder, n->of[0]) < 0)
		path = NULL;
	if (!path)
		(void)fail(
			"report takes a recording, and none is kept yet: 'otelprof record' "
			"makes one");
	if (n)
		names_clear(n);
	free(n);
	free(folder);
	return path;
}
