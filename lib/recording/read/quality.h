/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that stand for no function. */
#ifndef OP_RECORDING_READ_QUALITY_H
#define OP_RECORDING_READ_QUALITY_H

#include <stdbool.h>
#include <stddef.h>

/* Does the frame name the reason why a stack is not whole? The library puts those names
 * in brackets. */
bool quality_is_ending(const char *name, size_t len);
/* The meaning of a name in brackets: a sentence. NULL: it is a function, or a name of a
 * later version. */
const char *quality_words(const char *name, size_t len);

#endif
