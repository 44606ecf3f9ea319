/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people call the kinds of a recording: the words of --kinds, which --kind
 * accepts, too. The first profile of a kind has the kind's word. Others have a second
 * part: "locks" is the time of waits, "locks/count" their number.
 */
#ifndef OP_RECORDING_READ_KIND_WORD_H
#define OP_RECORDING_READ_KIND_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/format/collect/collect.h"
#include "otlp/reader.h"

enum {
	KIND_WORD_BYTES = 96,
};

/* The names of a kind of samples, as recorded. */
struct kind_names {
	struct otlp_text type;
	struct otlp_text unit;
	struct otlp_text period_type; /* empty if there is none */
	/* of waits for locks: it is for locks of the kernel, whose type is the same */
	bool of_kernel;
};

/*
 * Does @list contain samples with these names? It may have their word ("locks/count"),
 * that of the kind of events ("locks"), the type ("contentions"), type and unit
 * ("block_io/bytes"), the type of the period ("cpu"), or several of these with commas.
 */
bool kind_fits(const char *list, const struct kind_names *names);

/* The word of a kind. Returns @buf. */
const char *kind_word(const struct op_collect *c, uint32_t kind,
		      char buf[static KIND_WORD_BYTES]);
/* The kind with that word, or the kind that is shown first among those that match.
 * Returns 0 or -ENOENT. */
int kind_by_word(const struct op_collect *c, const char *word, uint32_t *ret);
/* The kind that is shown by default. */
uint32_t kind_by_default(const struct op_collect *c);

#endif
