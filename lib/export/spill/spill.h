/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a spill directory that belongs to one destination: a directory of its own,
 * locked by its user, with one file for each request (export/spill/spill_file.h).
 *
 * A file is written under a temporary name and renamed when it is complete, so that a
 * crash leaves a whole request or nothing. Files are not synced: they survive the
 * process, even after SIGKILL. If the machine loses power, the youngest files may be
 * missing or torn; their checksums reveal torn ones.
 *
 * Damaged files get the suffix ".bad" and stay for examination, at most OP_SPILL_BAD_MAX
 * of them. Files with other names, and those of other versions of the library, are left
 * alone.
 *
 * Nothing here is locked against threads: put, get and remove may run in several threads
 * as long as each works on a different file.
 */
#ifndef OP_EXPORT_SPILL_SPILL_H
#define OP_EXPORT_SPILL_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "export/sink/notes.h"
#include "export/spill/spill_file.h"

enum {
	/* of one destination; beyond that the oldest are dropped */
	OP_SPILL_FILES_MAX = 65536,
	OP_SPILL_BAD_MAX = 16,
};

struct op_spill;

/* A file that was there when the directory was opened. */
struct op_spill_found {
	char name[OP_SPILL_NAME_BYTES];
	uint64_t samples;
	uint64_t len; /* of the request */
};

struct op_spill_list {
	OP_VEC(struct op_spill_found) files; /* oldest first */
	uint64_t bad;			     /* files that were set aside */
};

/*
 * Make and lock the directory of @target in @dir; @dir itself is made too if only its
 * last component is missing. Reads the headers of the existing files into @list (the
 * caller clears its files). Returns 0; -EBUSY if somebody else has locked it; an errno of
 * the file system; -ENOMEM.
 */
int op_spill_open(const char *dir, const char *target, struct op_log *log,
		  struct op_spill_list *list, struct op_spill **ret);
struct op_spill *op_spill_close(struct op_spill *s);
OP_DEFINE_CLEANUP(struct op_spill *, op_spill_close)

/* The path, for messages. */
const char *op_spill_path(const struct op_spill *s);

/* Write one request; fills @ret_name. Returns 0, or -errno without leaving a file. */
int op_spill_put(struct op_spill *s, const void *request, size_t len, uint64_t samples,
		 char ret_name[OP_SPILL_NAME_BYTES]);
/* Read a request back. The caller frees *@ret with free(). Returns 0; -EBADMSG if the
 * file is damaged; -errno. */
int op_spill_get(struct op_spill *s, const char *name, void **ret, size_t *ret_len);
void op_spill_remove(struct op_spill *s, const char *name);
/* Rename a damaged file, so that it is not read again. */
void op_spill_set_aside(struct op_spill *s, const char *name);

#endif
