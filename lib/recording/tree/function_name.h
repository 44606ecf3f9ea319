/* SPDX-License-Identifier: Apache-2.0 */
/* The function that a request names. */
#ifndef OP_RECORDING_TREE_FUNCTION_NAME_H
#define OP_RECORDING_TREE_FUNCTION_NAME_H

#include <stdint.h>

#include "otlp/reader.h"
#include "recording/tree/view.h"

/*
 * Find the name of the function that the request of @v means, of those with samples in the
 * view: that name, else the one with the most samples that has it inside. The text may be as a
 * report shows it: cut with "…", and with the characters of function_name_shown(). @ret_also, which
 * is empty, gets the others that it could mean, heaviest first, by their strings; it may be NULL.
 * Returns 0 with a string of the collection, -ENOENT or -ENOMEM.
 */
int function_name_find(const struct view *v, uint32_t *ret, struct sums *ret_also);

/* Add up the values of the samples that each function is in, by the string of its name: @ret has
 * one for each string of the collection. Returns 0 or -ENOMEM. */
int function_name_weigh(const struct view *v, int64_t *ret);

/* The last part of a path. */
struct otlp_text function_name_base(struct otlp_text path);

/* How a character of a name is shown in Markdown, where some have a meaning. */
char function_name_shown(char c);

#endif
