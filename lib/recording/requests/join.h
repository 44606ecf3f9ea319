/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins ExportProfilesServiceRequest messages into few with one dictionary each. An
 * entry that several requests have is written once, and an entry without references is
 * left out. Profiles, samples and all their fields stay as they are, except the numbers
 * of dictionary entries.
 */
#ifndef OP_RECORDING_REQUESTS_JOIN_H
#define OP_RECORDING_REQUESTS_JOIN_H

#include <stddef.h>

#include "base/cleanup.h"

enum {
	/* Receivers of OTLP accept requests up to 4 MiB by default. A request with a
	 * single profile may be larger. */
	JOIN_REQUEST_BYTES = 4000000,
	/* A joined request contains everything to which it refers. So many small
	 * profiles that refer to one large string would each repeat it. A result larger
	 * than this factor times the input, plus this many bytes, is refused. */
	JOIN_GROWTH = 8,
	JOIN_GROWTH_BYTES = 64 << 20,
};

/* Takes a joined request, which is valid during the call. Returns 0, or a number that
 * ends the work and becomes its result. */
typedef int (*join_emit_fn)(void *data, const void *request, size_t len);

struct join;

/* Returns 0 or -ENOMEM. The caller frees *@ret with join_free(). */
int join_new(join_emit_fn emit, void *data, struct join **ret);
struct join *join_free(struct join *j);
OP_DEFINE_CLEANUP(struct join *, join_free)

/* Add a request, and emit a joined one that is full. Memory is bounded by @len and
 * JOIN_REQUEST_BYTES. Returns 0, -EBADMSG, -EFBIG, -ENOMEM or what the emit function
 * returned. After an error a part of the request may have been added. */
int join_add(struct join *j, const void *request, size_t len);
/* Emit what is left. Returns 0, -ENOMEM or what the emit function returned. */
int join_finish(struct join *j);

#endif
