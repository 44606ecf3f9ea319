/* SPDX-License-Identifier: Apache-2.0 */
/* What frames say that stand for no function. */
#ifndef OP_RECORDING_READ_QUALITY_H
#define OP_RECORDING_READ_QUALITY_H

#include <stdbool.h>
#include <stddef.h>

/* Is it a frame that says why a stack is not whole? The library names those in
 * brackets. */
bool quality_is_ending(const char *name, size_t len);
/* What a name in brackets, which is no function's, means: a sentence. NULL: it is none of
 * these, or of a later version. */
const char *quality_words(const char *name, size_t len);

#endif
