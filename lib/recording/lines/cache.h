/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was looked up in the debug info of one file, by address, and its form in a file of
 * the cache. An address has the lines that the lookup found, or none, and the name of its
 * function if that was looked up, too.
 *
 * In a file all numbers are little endian: "OTPLINES", a version, the CRC-32 of what
 * follows; the lengths of the build id and of the strings, the numbers of places and of
 * frames; the build id; the strings, each with a NUL, the first of which is empty and
 * stands for none; the places by ascending address (address, name, number of frames,
 * with a bit if the name was looked up); the frames of all places (function, linkage name,
 * file, line, first line).
 */
#ifndef OP_RECORDING_LINES_CACHE_H
#define OP_RECORDING_LINES_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "recording/lines/debuginfo.h"

enum {
	LINES_CACHE_VERSION = 1,
	LINES_CACHE_FILE_BYTES_MAX = 16 << 20,
	LINES_CACHE_FULL_BYTES = 12 << 20, /* a larger file is not used */
	LINES_CACHE_PLACES_MAX = 1 << 20,  /* of one file */
};

struct lines_cache;

struct lines_cache *lines_cache_new(void);
struct lines_cache *lines_cache_free(struct lines_cache *c);
OP_DEFINE_CLEANUP(struct lines_cache *, lines_cache_free)

/* Read the @len bytes of a file into the empty @c. They are borrowed and must outlive
 * it. Returns 0; -EBADMSG if they are damaged, of another version, or of another file
 * than @build_id; -ENOMEM. After an error @c is empty. */
int lines_cache_parse(struct lines_cache *c, const void *bytes, size_t len,
		      const char *build_id);

/* Find @vaddr among the places that were read. @named: only one whose name was looked
 * up. Returns whether there is one, with *@ret_len lines and *@ret_name as from
 * debuginfo_name(). */
bool lines_cache_find(const struct lines_cache *c, uint64_t vaddr, bool named,
		      struct debuginfo_line ret[DEBUGINFO_LINES_MAX], size_t *ret_len,
		      const char **ret_name);

/* Add a place. @name is NULL if it is unknown or not @named. Strings are borrowed, and
 * must outlive @c. Returns 0, -ENOSPC if there are too many places, -ENOMEM. */
int lines_cache_add(struct lines_cache *c, uint64_t vaddr,
		    const struct debuginfo_line *lines, size_t len, bool named,
		    const char *name);

/* Was anything added? */
bool lines_cache_changed(const struct lines_cache *c);

/* Write all places. If an address has several, the one with a name stays. Returns 0,
 * -EFBIG or -ENOMEM. */
int lines_cache_encode(struct lines_cache *c, const char *build_id,
		       struct op_strbuf *ret);

#endif
