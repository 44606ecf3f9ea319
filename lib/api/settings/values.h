/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the text of a key's value, and compares values. */
#ifndef OP_API_SETTINGS_VALUES_H
#define OP_API_SETTINGS_VALUES_H

#include <stdbool.h>

#include "api/settings/keys.h"
#include "base/log.h"
#include "otelprof/otelprof.h"

enum {
	OP_PAIRS_MAX = 64, /* of attributes and headers */
	OP_RULE_LINES_MAX = 4096,
	OP_PROBE_LINES_MAX = OTELPROF_PROBES_MAX,
	OP_VALUE_QUOTED = 64, /* bytes of a value that an error quotes */
};

/*
 * Set the value of @key to @text, or append to it if it is a list. @as: how to read an
 * alias, see keys.def. A sentence begins with @what. Returns 0; -EINVAL with a
 * sentence; or -ENOMEM.
 */
int op_value_set(struct op_values *v, const struct op_key *key, const char *text,
		 const char *as, const char *what, struct op_log *log);
/* If a number or word is 0, set the default. Returns 0, or -EINVAL with a sentence if
 * it is out of its range. */
int op_value_settle(struct op_values *v, const struct op_key *key, struct op_log *log);
/* Empty the list of @key. Does nothing if its value is no list. */
void op_value_clear(struct op_values *v, const struct op_key *key);
bool op_value_equal(const struct op_values *a, const struct op_values *b,
		    const struct op_key *key);
/* Free all that @v owns, and set it to nothing. */
void op_values_deinit(struct op_values *v);

void op_pairs_clear(struct op_pairs *pairs);

/* Add one "key=value" as it is. */
int op_parse_pair(struct op_pairs *pairs, const char *text, const char *what,
		  struct op_log *log);
/* Add "key=value" pairs separated by commas, with percent-decoded values. Skips keys
 * for which @skip returns true (NULL: none). An existing key gets the new value, or
 * keeps its own with @first_wins. */
int op_parse_pairs(struct op_pairs *pairs, const char *text,
		   bool (*skip)(const char *key), bool first_wins, const char *what,
		   struct op_log *log);
/* Parse a rule into *@ret, whose text the caller frees. */
int op_parse_rule(const char *text, const char *what, struct op_log *log,
		  struct otelprof_rule *ret);
/* Parse a decimal number without sign. Returns false if @text is anything else. */
bool op_parse_number(const char *text, uint64_t *ret);
/* Remove blanks at both ends. */
char *op_trim(char *s);

#endif
