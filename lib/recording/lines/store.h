/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache's folder, with a file for each build id. It is used only if it belongs to
 * this user and is closed to others, because its contents are trusted.
 */
#ifndef OP_RECORDING_LINES_STORE_H
#define OP_RECORDING_LINES_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	STORE_BYTES_MAX = 64 << 20, /* of all files; the oldest go first */
	STORE_FILES_MAX = 4096,
};

struct store {
	int fd;
	char *path;
};

/* Open the folder @path. NULL: otelprof in XDG_CACHE_HOME or in ~/.cache. The folder is
 * made if it does not exist. If a folder that the user named, or an unsafe one, is not
 * used, the reason goes to stderr. Returns false then. */
bool store_open(const char *path, struct store *ret);
void store_close(struct store *s);

/* Is @name possible as the name of a file of the cache? */
bool store_can_name(const char *build_id);

/* Read the file of @build_id, which the caller frees. It counts as used at this time.
 * Returns its length; -ENOENT; -EPERM if it does not belong to this user; -EFBIG; or
 * another error. */
ssize_t store_read(const struct store *s, const char *build_id, char **ret);

/* Write the file, in place of an older one. Returns 0 or a negative errno. */
int store_write(const struct store *s, const char *build_id, const void *bytes,
		size_t len);

/* Remove the least recently used files until all together have at most @bytes and there
 * are at most STORE_FILES_MAX. Also remove files of interrupted writes. */
void store_trim(const struct store *s, uint64_t bytes);

#endif
