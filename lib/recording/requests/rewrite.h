/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies encoded OTLP messages with other numbers of dictionary entries. A table lists
 * the fields that are such numbers. All other fields, also those of later versions, are
 * copied as bytes.
 */
#ifndef OP_RECORDING_REQUESTS_REWRITE_H
#define OP_RECORDING_REQUESTS_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "otlp/reader.h"
#include "profile/otlp/bytes.h"
#include "recording/read/wire.h"

extern const struct schema
	schema_resource_head; /* ResourceProfiles without scope_profiles */
extern const struct schema schema_scope_head; /* ScopeProfiles without profiles */
extern const struct schema schema_profile;

/* The schema of an entry of @t. */
const struct schema *schema_of_table(enum otlp_table t);
/* Get the new number of entry @old of table @t. Returns 0 or a negative errno. */
typedef int (*rewrite_number_fn)(void *data, enum otlp_table t, int32_t old,
				 uint32_t *ret);

struct rewrite {
	rewrite_number_fn number;
	void *data;
};

/* Append the message @in to @out. Returns 0, -EBADMSG, -ENOMEM or what the number
 * function returned. After an error a part has been appended. */
int rewrite_message(const struct rewrite *w, const struct schema *s, struct otlp_text in,
		    struct op_bytes *out);

#endif
