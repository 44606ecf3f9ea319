/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people call the kinds of a recording: the words of --kinds, which --kind takes, too. A kind
 * of events has one, and what else is recorded of the same events has a part behind it: "locks" is
 * the time of waits, "locks/count" how many there were.
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

/* What a recording says of the samples of a kind. */
struct kind_names {
	struct otlp_text type;
	struct otlp_text unit;
	struct otlp_text period_type; /* empty where there is none */
	bool of_kernel; /* waits for locks: for those of the kernel, which have the same type */
};

/*
 * Does @list mean samples of these names? It is their word ("locks/count"), that of the kind of events
 * ("locks"), the type ("contentions"), type and unit ("block_io/bytes"), or the type of the period
 * ("cpu"); or several of these with commas.
 */
bool kind_fits(const char *list, const struct kind_names *names);

/* The word of a kind. Returns @buf. */
const char *kind_word(const struct op_collect *c, uint32_t kind,
		      char buf[static KIND_WORD_BYTES]);
/* The kind of that word; else the first to be shown of those that it fits. Returns 0 or -ENOENT. */
int kind_by_word(const struct op_collect *c, const char *word, uint32_t *ret);
/* The kind that is shown where none is asked for. */
uint32_t kind_by_default(const struct op_collect *c);

#endif
