/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds source lines and inlined functions to native code, from the debug info on this
 * machine: in the files themselves, in /usr/lib/debug, or from debuginfod servers if
 * DEBUGINFOD_URLS names some. Files are identified by build id, so a file that was
 * replaced since is not used.
 *
 * One file after the other is open. Its sections are measured before they are loaded,
 * and debug info beyond the memory limit is left out. A cache on disk keeps the
 * results, so that the next report does not open the debug info.
 */
#ifndef OP_RECORDING_LINES_LINES_H
#define OP_RECORDING_LINES_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/format/collect/collect.h"

struct lines_stats {
	size_t locations;     /* native locations without a line */
	size_t found;	      /* of these: those that got one */
	size_t named;	      /* those that had no name and got one */
	size_t late;	      /* not looked up, because the time was over */
	size_t heavy;	      /* without a line for want of memory */
	size_t heavy_files;   /* files of these locations */
	uint64_t heaviest;    /* memory that the largest file's debug info would need */
	uint32_t heaviest_of; /* its mapping */
	size_t files;	      /* files with such locations */
	/* of these: files whose debug info is missing, wholly or in part */
	size_t files_without;
	size_t files_packaged; /* of these: files whose debug info is in a .dwp file, which is not read */
	size_t cached;	/* locations that the cache knew */
	size_t written; /* files that were written to the cache */
	size_t refused; /* files of the cache that were damaged or another user's */
};

/* Options of the look-ups. */
struct lines_request {
	const char *directory; /* more files, by name or by build id, or NULL */
	uint64_t memory;       /* memory limit for the debug info of one file, in bytes */
	/* after this time the other locations are left as they are */
	double seconds;
	const char *cache; /* the cache's folder; NULL: the default one */
	bool no_cache;
};

/*
 * Add lines to the locations of @c, and names to those without one. Nothing may be
 * added to @c afterwards. Returns 0 or -ENOMEM. Locations of a file that cannot be read
 * stay as they are.
 */
int lines_add(struct op_collect *c, const struct lines_request *request,
	      struct lines_stats *ret);

#endif
