/* SPDX-License-Identifier: Apache-2.0 */
/* The Firefox profiler's categories (names and colours) of the types of frames. */
#ifndef OP_RECORDING_WRITE_CATEGORIES_H
#define OP_RECORDING_WRITE_CATEGORIES_H

#include <stdint.h>
#include <stdio.h>

#include "export/format/collect.h"

/* Write the list of categories; the first one is the default. */
void categories_write(FILE *f);
/* The number in this list of the frames of @type, a string such as "native". */
uint32_t category_of(const struct op_collect *c, uint32_t type);

#endif
