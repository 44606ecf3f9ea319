/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a spill directory that belongs to one destination: a directory of its own,
 * locked by whoever uses it, with a file a request (export/spill_file.h).
 *
 * A file is written under a temporary name and renamed when whole, so that what a crash
 * leaves behind is a request or nothing. It is not synced: it outlives the process, also
 * one killed by SIGKILL; of a machine that loses its power the youngest files may be missing
 * or torn, and torn ones are found out by their checksums.
 *
 * Files that are damaged get the ending ".bad" and stay for somebody to look at, at most
 * OP_SPILL_BAD_MAX; files with other names, and of other versions of the library, are left
 * alone.
 *
 * Nothing here is locked against threads: put, get and remove may run in several of them
 * as long as each works on a file of its own.
 */
#ifndef OP_DELIVERY_SPILL_H
#define OP_DELIVERY_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "delivery/spill_file.h"
#include "export/notes.h"

enum {
	OP_SPILL_FILES_MAX = 65536, /* of one destination; the oldest are dropped */
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
	uint64_t bad;			     /* files that were moved aside */
};

/*
 * Make and lock the directory of @target in @dir, which is made too where only its last
 * part is missing. Reads the headers of the files that are there into @list (caller clears
 * its files). Returns 0; -EBUSY where somebody else has it; the errno of the file system;
 * -ENOMEM.
 */
int op_spill_open(const char *dir, const char *target, struct op_log *log,
		  struct op_spill_list *list, struct op_spill **ret);
struct op_spill *op_spill_close(struct op_spill *s);
OP_DEFINE_CLEANUP(struct op_spill *, op_spill_close)

/* The path, for messages. */
const char *op_spill_path(const struct op_spill *s);

/* Write one request; fills @ret_name. Returns 0 or -errno, and then nothing is there. */
int op_spill_put(struct op_spill *s, const void *request, size_t len, uint64_t samples,
		 char ret_name[OP_SPILL_NAME_BYTES]);
/*
 * Read a request back. Caller frees *@ret with free(). Returns 0; -EBADMSG where it is not
 * what was written; -errno.
 */
int op_spill_get(struct op_spill *s, const char *name, void **ret, size_t *ret_len);
void op_spill_remove(struct op_spill *s, const char *name);
/* Out of the way with a damaged file. */
void op_spill_set_aside(struct op_spill *s, const char *name);

#endif
