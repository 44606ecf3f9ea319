/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache's folder: a file for each build id. It is used only if it is this user's own
 * and closed to others, because what stands in it is believed.
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

/* Open the folder @path, NULL: otelprof in XDG_CACHE_HOME or in ~/.cache. It is made if it
 * is not there. Says on stderr why it is not used: of a folder that was asked for, and of
 * one that is not safe. Returns false then. */
bool store_open(const char *path, struct store *ret);
void store_close(struct store *s);

/* Can a file of the cache be named so? */
bool store_can_name(const char *build_id);

/* Read the file of @build_id, which the caller frees. It counts as used now. Returns its
 * length, -ENOENT, -EPERM if it is not a file of this user, -EFBIG, or another error. */
ssize_t store_read(const struct store *s, const char *build_id, char **ret);

/* Write it, in place of an older one. Returns 0 or a negative errno. */
int store_write(const struct store *s, const char *build_id, const void *bytes,
		size_t len);

/* Remove the files that were not used for longest, until all have at most @bytes and there
 * are at most STORE_FILES_MAX, and what interrupted writes left. */
void store_trim(const struct store *s, uint64_t bytes);

#endif
