/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the labels of an OP_RECORD_LABELS. A process wrote them, so every length is
 * checked. */
#ifndef OP_PROCESS_CONTEXT_LABELS_H
#define OP_PROCESS_CONTEXT_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_schema;

/* Pointers into the record or the schema, not NUL-terminated. */
struct op_context_label {
	const char *key;
	const char *value;
	uint8_t key_len;
	uint8_t value_len;
};

struct op_context_labels {
	struct op_context_label label[OP_LABELS_MAX];
	uint32_t len;
	uint32_t cut;	  /* labels past the limit */
	bool unknown_key; /* a key has no name in @schema, which may have grown since */
};

/*
 * Read @len bytes in the form @form (enum op_context_form). In OP_CONTEXT_OTEL @schema
 * names the keys. It may be NULL. If a key occurs twice the last value counts, in
 * OP_CONTEXT_CUSTOM the first. Reading stops at the first damage.
 */
void op_context_labels_parse(uint32_t form, const void *bytes, size_t len,
			     const struct op_schema *schema,
			     struct op_context_labels *ret);

#endif
