/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds source lines and inlined functions to native code, from the debug info on this
 * machine: in the files themselves, in /usr/lib/debug, or from debuginfod servers if
 * DEBUGINFOD_URLS names some. Files are identified by build id, so a file that was
 * replaced since is not used.
 *
 * One file after the other is open. Its debug info is left out if it would take more memory
 * than there may be: its sections are measured before they are loaded. What was
 * looked up is kept in a cache on disk, so that the next report does not open it.
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
	size_t late;	      /* those that were not looked up: the time was over */
	size_t heavy;	      /* those that got no line for want of memory */
	size_t heavy_files;   /* files of these */
	uint64_t heaviest;    /* what the largest one's debug info would have taken */
	uint32_t heaviest_of; /* its mapping */
	size_t files;	      /* files with such locations */
	size_t files_without; /* of these: files whose debug info is not here, or not all */
	size_t files_packaged; /* of these: files whose debug info is in a .dwp file, which is not read */
	size_t cached;	/* locations that the cache knew */
	size_t written; /* files that were written into the cache */
	size_t refused; /* files of the cache that were damaged or not this user's */
};

/* How they are looked up. */
struct lines_request {
	const char *directory; /* more files, by name or by build id, or NULL */
	uint64_t memory;       /* bytes that one file's debug info may take */
	double seconds;	       /* after so long the others are left as they are */
	const char *cache;     /* the cache's folder; NULL: the default one */
	bool no_cache;
};

/*
 * Add lines to the locations of @c, and names to those that have none. Nothing may be
 * added to @c afterwards. Returns 0 or -ENOMEM; what cannot be read is left as it is.
 */
int lines_add(struct op_collect *c, const struct lines_request *request,
	      struct lines_stats *ret);

#endif
