/* SPDX-License-Identifier: Apache-2.0 */
/* The message for a request that matches nothing. */
#ifndef OP_RECORDING_TREE_MISSING_H
#define OP_RECORDING_TREE_MISSING_H

#include <stddef.h>
#include <stdint.h>

#include "recording/tree/view.h"

/* Make the view, or name on standard error the condition that matches nothing in @what,
 * and similar names. Returns 0 or STATUS_FAILED. view_clear() must follow in both
 * cases. */
int view_make_or_say(const struct op_collect *c, const struct view_request *request,
		     const char *what, struct view *ret);

/* Name the condition of @f that lets nothing of @paths pass. Returns STATUS_FAILED. */
int missing_say(const struct filter *f, char *const *paths, size_t len);

/* List the recorded kinds on standard error. */
void missing_note_kinds(const struct op_collect *c);

/* Names similar to one that the user typed, for the message that it does not exist. */
enum {
	SUGGESTIONS_MAX = 5,	/* names that are kept */
	SUGGESTION_BYTES = 256, /* bytes of each that are compared */
};

struct suggestion {
	uint32_t label; /* the caller's */
	unsigned int distance;
	int64_t value;
};

/* Similar names, most similar first; and names with the largest values. */
struct suggestions {
	const char *wanted;
	struct suggestion nearest[SUGGESTIONS_MAX];
	size_t nearest_len;
	struct suggestion largest[SUGGESTIONS_MAX];
	size_t largest_len;
	size_t names;
};

/* Add a name with its value. */
void suggestions_add(struct suggestions *n, uint32_t label, const char *name,
		     int64_t value);

#endif
