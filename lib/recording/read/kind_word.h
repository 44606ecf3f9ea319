/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people call the kinds of a recording: the words of --kinds, which --kind takes, too. A kind
 * of events has one, and what else is recorded of the same events has a part behind it: "locks" is
 * the time of waits, "locks/count" how many there were.
 */
#ifndef OP_RECORDING_READ_KIND_WORD_H
#define OP_RECORDING_READ_KIND_WORD_H

#include <stddef.h>
#include <stdint.h>

#include "export/format/collect.h"

enum {
	KIND_WORD_BYTES = 96,
};

/* The word of a kind. Returns @buf. */
const char *kind_word(const struct op_collect *c, uint32_t kind,
		      char buf[static KIND_WORD_BYTES]);
/* The kind of that word. Returns 0 or -ENOENT. */
int kind_by_word(const struct op_collect *c, const char *word, uint32_t *ret);
/* The kind that is shown where none is asked for. */
uint32_t kind_by_default(const struct op_collect *c);

#endif
