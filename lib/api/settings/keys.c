/* SPDX-License-Identifier: Apache-2.0 */
#include "api/settings/keys.h"

#include <string.h>

#include "api/settings/config.h"
#include "base/allowance.h"
#include "base/macros.h"
#include "op_records.h"

/* The location of a value in its part of struct op_values. */
#define PLAIN(of, field)	 offsetof(struct op_values, plain.of.field)
#define LIST(of, field)		 offsetof(struct op_values, list.field)
#define OFFSET_U32(of, field)	 PLAIN(of, field)
#define OFFSET_U64(of, field)	 PLAIN(of, field)
#define OFFSET_LIMIT(of, field)	 PLAIN(of, field)
#define OFFSET_POWER(of, field)	 PLAIN(of, field)
#define OFFSET_ON(of, field)	 PLAIN(of, field)
#define OFFSET_OFF(of, field)	 PLAIN(of, field)
#define OFFSET_FLAG(of, field)	 PLAIN(of, field)
#define OFFSET_WORD(of, field)	 PLAIN(of, field)
#define OFFSET_BITS(of, field)	 PLAIN(of, field)
#define OFFSET_TEXT(of, field)	 PLAIN(of, field)
#define OFFSET_PAIRS(of, field)	 LIST(of, field)
#define OFFSET_NAMES(of, field)	 LIST(of, field)
#define OFFSET_PROBES(of, field) LIST(of, field)
#define OFFSET_RULES(of, field)	 LIST(of, field)

static const struct op_key KEYS[OP_KEYS] = {
#define OP_KEY(name, of, field, type, min, max, live, unit, where, word, fallback, text) \
	{ #name,                                                                         \
	  text " Default: " fallback ".",                                                \
	  fallback,                                                                      \
	  OFFSET_##type(of, field),                                                      \
	  min,                                                                           \
	  max,                                                                           \
	  OP_TYPE_##type,                                                                \
	  OP_UNIT_##unit,                                                                \
	  live },
#include "api/settings/each.h"
};

static const struct {
	const char *name;
	const char *as;
	enum op_key_number key;
} ALIASES[] = {
#define OP_ALIAS(name, letter, key, as, word) { #name, as, OP_KEY_NUMBER_##key },
#include "api/settings/each.h"
};

const struct op_key *op_key_get(enum op_key_number number)
{
	return &KEYS[number];
}

size_t op_key_number(const struct op_key *key)
{
	return (size_t)(key - KEYS);
}

const struct op_key *op_key_find(const char *name, const char **ret_as)
{
	static const char NO[] = "no_";
	bool no;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(ALIASES); i++)
		if (strcmp(ALIASES[i].name, name) == 0) {
			*ret_as = ALIASES[i].as;
			return &KEYS[ALIASES[i].key];
		}
	no = strncmp(name, NO, strlen(NO)) == 0;
	for (i = 0; i < OP_KEYS; i++)
		if ((!no || KEYS[i].type == OP_TYPE_OFF) &&
		    strcmp(KEYS[i].name, name + (no ? strlen(NO) : 0)) == 0) {
			*ret_as = no ? "not" : "";
			return &KEYS[i];
		}
	return NULL;
}

/* Length of the common beginning. */
static size_t common(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

const struct op_key *op_key_like(const char *name)
{
	static const size_t LEAST = 3;
	const struct op_key *best = NULL;
	size_t most = LEAST - 1;
	size_t i;

	for (i = 0; i < OP_KEYS; i++) {
		size_t n = common(KEYS[i].name, name);

		if (n <= most)
			continue;
		most = n;
		best = &KEYS[i];
	}
	return best;
}

static const struct op_word LEVELS[] = {
	{ "error", OTELPROF_LOG_ERROR },
	{ "warning", OTELPROF_LOG_WARNING },
	{ "info", OTELPROF_LOG_INFO },
	{ "debug", OTELPROF_LOG_DEBUG },
	{ NULL, 0 },
};

static const struct op_word PROTOCOLS[] = {
	{ "grpc", OTELPROF_PROTOCOL_GRPC },
	{ "http/protobuf", OTELPROF_PROTOCOL_HTTP },
	{ NULL, 0 },
};

static const struct op_word COMPRESSIONS[] = {
	{ "gzip", OTELPROF_COMPRESSION_GZIP },
	{ "zstd", OTELPROF_COMPRESSION_ZSTD },
	{ "none", OTELPROF_COMPRESSION_NONE },
	{ NULL, 0 },
};

const struct op_word *op_key_words_get(enum op_key_words which)
{
	static const struct op_word *const LISTS[OP_WORDS_LEN] = {
		[OP_WORDS_KINDS] = op_word_kinds,
		[OP_WORDS_RUNTIMES] = op_word_runtimes,
		[OP_WORDS_LEVELS] = LEVELS,
		[OP_WORDS_PROTOCOLS] = PROTOCOLS,
		[OP_WORDS_COMPRESSIONS] = COMPRESSIONS,
	};

	return LISTS[which];
}
