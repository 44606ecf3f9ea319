/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of settings, and the values that they set. */
#ifndef OP_API_SETTINGS_KEYS_H
#define OP_API_SETTINGS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rows/rows.h"
#include "base/vec.h"
#include "otelprof/config.h"
#include "otelprof/export.h"

enum op_key_type {
	OP_TYPE_U32,
	OP_TYPE_U64,
	OP_TYPE_LIMIT,	/* uint64_t: 0, or a number */
	OP_TYPE_POWER,	/* uint32_t: 0, or a power of two */
	OP_TYPE_ON,	/* true sets a bit */
	OP_TYPE_OFF,	/* false sets a bit */
	OP_TYPE_FLAG,	/* uint32_t: 0 or 1 */
	OP_TYPE_WORD,	/* uint32_t: the value of a word */
	OP_TYPE_BITS,	/* uint64_t: the values of words, or'ed */
	OP_TYPE_TEXT,	/* const char *, owned */
	OP_TYPE_PAIRS,	/* struct op_pairs */
	OP_TYPE_NAMES,	/* struct op_texts, with commas */
	OP_TYPE_PROBES, /* struct op_texts, one at a time */
	OP_TYPE_RULES,	/* struct op_rule_list */
};

/* The units of numbers without one. */
enum op_unit {
	OP_UNIT_NONE,
	OP_UNIT_BYTES,
	OP_UNIT_NS,
	OP_UNIT_MS,
	OP_UNIT_PERMILLE,
};

enum op_key_words {
	OP_WORDS_KINDS,
	OP_WORDS_RUNTIMES,
	OP_WORDS_LEVELS,
	OP_WORDS_PROTOCOLS,
	OP_WORDS_COMPRESSIONS,
	OP_WORDS_LEN,
};

/* The lists own their strings. */
struct op_pairs {
	struct otelprof_attribute *data;
	size_t len;
	size_t cap;
};

struct op_texts {
	const char **data;
	size_t len;
	size_t cap;
};

struct op_rule_list {
	struct otelprof_rule *data;
	size_t len;
	size_t cap;
};

/* The values of all keys. Lists stay beside the structs until a call returns them. */
struct op_values {
	struct {
		struct otelprof_config config;
		struct otelprof_otlp_config otlp;
	} plain;
	struct {
		struct op_pairs attributes;
		struct op_pairs headers;
		struct op_texts environment;
		struct op_texts probes;
		struct op_rule_list rules;
	} list;
};

enum op_key_number {
#define OP_KEY(name, ...) OP_KEY_NUMBER_##name,
#include "api/settings/each.h"
	OP_KEYS,
};

struct op_key {
	const char *name;
	const char *text;
	const char *fallback;
	size_t offset; /* of the value in struct op_values */
	uint64_t min;
	uint64_t max;
	enum op_key_type type;
	enum op_unit unit;
	bool live;
};

const struct op_key *op_key_get(enum op_key_number number);
/* The key of that name, or NULL. *@ret_as: how to read an alias; "": a key itself. */
const struct op_key *op_key_find(const char *name, const char **ret_as);
/* The key with the name most similar to @name, or NULL. */
const struct op_key *op_key_like(const char *name);
size_t op_key_number(const struct op_key *key);

const struct op_word *op_key_words_get(enum op_key_words which);

#endif
