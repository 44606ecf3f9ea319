/* SPDX-License-Identifier: Apache-2.0 */
/* How good the stacks of a recording are, summed while it is made: how many frames have a
 * name, and which files those without one are of. */
#ifndef OP_RECORDING_READ_QUALITY_H
#define OP_RECORDING_READ_QUALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/format/classes.h"
#include "otlp/reader.h"

enum {
	/* files without symbols that are told apart; frames of further ones are
	 * counted together */
	QUALITY_FILES_MAX = 256,
};

struct quality_file {
	char *name; /* the last part of its path */
	uint64_t frames;
};

struct quality {
	uint64_t frames; /* of all samples; those that say why a stack ends are none */
	uint64_t unnamed;
	uint64_t samples;
	uint64_t guessed; /* of them: with a frame that was found by a guess */
	struct quality_file files[QUALITY_FILES_MAX];
	size_t files_len;
};

void quality_add(struct quality *q, const struct otlp_sample_view *s);
/* Sort the files, those with most frames first. */
void quality_sort(struct quality *q);
void quality_clear(struct quality *q);

/* Is it a frame that says why a stack is not whole? The library names those in
 * brackets. */
bool quality_is_ending(const char *name, size_t len);
/* What a name in brackets, which is no function's, means: a sentence. NULL: it is none of
 * these, or of a later version. */
const char *quality_words(const char *name, size_t len);

#endif
