/* SPDX-License-Identifier: Apache-2.0 */
/* The function that the user named. */
#ifndef OP_RECORDING_TREE_FUNCTION_NAME_H
#define OP_RECORDING_TREE_FUNCTION_NAME_H

#include <stdint.h>

#include "otlp/reader.h"
#include "recording/tree/view.h"

/*
 * Find the function that the request of @v names, among those with samples in the view:
 * the one with that name, or the one with the most samples whose name contains it. The
 * text may be copied from a report: shortened with "…", and with the characters of
 * function_name_shown(). @ret_also, which is empty or NULL, gets the other candidates,
 * heaviest first, by their strings. Returns 0 with a string of the collection, -ENOENT
 * or -ENOMEM.
 */
int function_name_find(const struct view *v, uint32_t *ret, struct sums *ret_also);

/* Add up the values of the samples that contain each function, by the string of its
 * name. @ret has one for each string of the collection. Returns 0 or -ENOMEM. */
int function_name_weigh(const struct view *v, int64_t *ret);

/* The last part of a path. */
struct otlp_text function_name_base(struct otlp_text path);

/* How Markdown shows a character of a name, if it has a meaning there. */
char function_name_shown(char c);

#endif
