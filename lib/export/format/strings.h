/* SPDX-License-Identifier: Apache-2.0 */
/* A table of strings, each stored once; number 0 is "". */
#ifndef OP_EXPORT_FORMAT_STRINGS_H
#define OP_EXPORT_FORMAT_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "otlp/reader.h"

struct op_string_place {
	size_t offset; /* in text */
	size_t len;
};

struct op_strings {
	uint64_t seed;
	OP_VEC(char) text;
	OP_VEC(struct op_string_place) places;
	struct op_index index;
};

/* Make the table, which is all zero, with string 0. Returns 0 or -ENOMEM. */
int op_strings_init(struct op_strings *s, uint64_t seed);
void op_strings_deinit(struct op_strings *s);
/* The number of a string, which is added if it is not there. Returns 0 or -ENOMEM. */
int op_strings_add(struct op_strings *s, struct otlp_text text, uint32_t *ret);
/* Not NUL-terminated; valid until the next op_strings_add(). */
struct otlp_text op_strings_get(const struct op_strings *s, uint32_t number);

#endif
