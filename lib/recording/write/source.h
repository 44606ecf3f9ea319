/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a source file with the time of its lines. */
#ifndef OP_RECORDING_WRITE_SOURCE_H
#define OP_RECORDING_WRITE_SOURCE_H

#include <stdio.h>

#include "recording/tree/source/source.h"

/* Write the lines of @s with at least this share, or of them those of @place's function, with a few
 * around. */
void source_write(const struct source *s, const struct source_place *place,
		  double min_percent, FILE *f);

#endif
