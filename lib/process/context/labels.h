/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of an OP_RECORD_LABELS. A process wrote them: every length is looked at. */
#ifndef OP_PROCESS_CONTEXT_LABELS_H
#define OP_PROCESS_CONTEXT_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_schema;

/* Not NUL-terminated; a part of the record, or of the schema. */
struct op_context_label {
	const char *key;
	const char *value;
	uint8_t key_len;
	uint8_t value_len;
};

struct op_context_labels {
	struct op_context_label label[OP_LABELS_MAX];
	uint32_t len;
	uint32_t cut;	  /* there were so many more */
	bool unknown_key; /* @schema does not name all: it may have grown since */
};

/*
 * Read @len bytes of enum op_context_form @form; of OP_CONTEXT_OTEL keys are named by @schema,
 * which may be NULL. Of one key given twice the last value stands, in OP_CONTEXT_CUSTOM the
 * first. What is damaged ends them.
 */
void op_context_labels_parse(uint32_t form, const void *bytes, size_t len,
			     const struct op_schema *schema,
			     struct op_context_labels *ret);

#endif
