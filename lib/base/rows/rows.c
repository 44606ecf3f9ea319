/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rows/rows.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "otelprof/config.h"

const struct op_word op_word_kinds[] = {
#define OP_KIND(number, upper, lower, page, tells)                                       \
	{ #lower, OTELPROF_KIND_##upper, tells },
#define OP_KIND_PART(number, upper, lower)
#include "op_kinds.def"
	{ NULL, 0, NULL },
};

const struct op_word op_word_runtimes[] = {
#define OP_RUNTIME(number, upper, lower, page, tells)                                    \
	{ #lower, OTELPROF_RUNTIME_##upper, tells },
#include "op_runtimes.def"
	{ NULL, 0, NULL },
};

#define OP_KIND(number, upper, lower, page, tells)                                       \
	_Static_assert(OTELPROF_KIND_##upper == UINT64_C(1) << (number), #lower);
#define OP_KIND_PART(number, upper, lower)
#include "op_kinds.def"
#define OP_RUNTIME(number, upper, lower, page, tells)                                    \
	_Static_assert(OTELPROF_RUNTIME_##upper == UINT64_C(1) << (number), #lower);
#include "op_runtimes.def"

const struct op_word *op_word_find(const struct op_word *list, const char *name,
				   size_t len)
{
	for (; list->name; list++)
		if (strlen(list->name) == len && memcmp(list->name, name, len) == 0)
			return list;
	return NULL;
}

uint64_t op_word_bits(const struct op_word *list)
{
	uint64_t bits = 0;

	for (; list->name; list++)
		bits |= list->value;
	return bits;
}

void op_word_list(const struct op_word *list, char ret[static OP_WORD_LIST_BYTES])
{
	*ret = '\0';
	for (; list->name; list++) {
		(void)strlcat(ret, list->name, OP_WORD_LIST_BYTES);
		if (list[1].name)
			(void)strlcat(ret, ", ", OP_WORD_LIST_BYTES);
	}
}

void op_word_fill(const char *text, const struct op_word *list, char *ret, size_t size)
{
	static const char WORDS[] = "{words}";
	const char *at = strstr(text, WORDS);
	char words[OP_WORD_LIST_BYTES];

	if (!at) {
		(void)strlcpy(ret, text, size);
		return;
	}
	op_word_list(list, words);
	(void)snprintf(ret, size, "%.*s%s%s", (int)(at - text), text, words,
		       at + strlen(WORDS));
}

/* Functions of a sample's value, for values that are not a range of its bits. */
static uint64_t bytes_of_pages(uint64_t pages)
{
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t block_queue_ns(uint64_t value)
{
	return op_short_ns(value & ((1 << OP_BLOCK_SERVICE_SHIFT) - 1));
}

static uint64_t block_service_ns(uint64_t value)
{
	return block_queue_ns(value >> OP_BLOCK_SERVICE_SHIFT);
}

static uint64_t block_total_ns(uint64_t value)
{
	return block_queue_ns(value) + block_service_ns(value);
}

static const struct op_otlp_kind SAMPLES[] = {
#define OP_SAMPLES(of, of_shape, of_type, of_unit, of_period, ...)                       \
	{ OP_EVENT_##of, OP_OTLP_##of_shape,	     of_type,                            \
	  of_unit,	 OP_OTLP_PERIOD_##of_period, __VA_ARGS__ },
#include "op_kinds.def"
};

const struct op_otlp_kind *op_rows_otlp(size_t *ret_len)
{
	*ret_len = OP_ARRAY_SIZE(SAMPLES);
	return SAMPLES;
}

const struct op_otlp_kind *op_rows_otlp_of(uint32_t event)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(SAMPLES); i++)
		if (SAMPLES[i].event == event)
			return &SAMPLES[i];
	return NULL;
}
