/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a configuration has of each key of the table. */
#ifndef FAKE_DUMP_H
#define FAKE_DUMP_H

#include <otelprof/otelprof.h>
#include <stdio.h>

#define DUMP_NUMBER(field)     fprintf(stderr, "%llu\n", (unsigned long long)c->field)
#define DUMP_U32(field, bit)   DUMP_NUMBER(field)
#define DUMP_U64(field, bit)   DUMP_NUMBER(field)
#define DUMP_LIMIT(field, bit) DUMP_NUMBER(field)
#define DUMP_POWER(field, bit) DUMP_NUMBER(field)
#define DUMP_FLAG(field, bit)  DUMP_NUMBER(field)
#define DUMP_WORD(field, bit)  DUMP_NUMBER(field)
#define DUMP_BITS(field, bit)  DUMP_NUMBER(field)
#define DUMP_ON(field, bit)    DUMP_NUMBER(field &(bit))
#define DUMP_OFF(field, bit)   DUMP_NUMBER(field &(bit))
#define DUMP_TEXT(field, bit)  fprintf(stderr, "\"%s\"\n", c->field ? c->field : "NULL")
#define DUMP_PAIRS(field, bit) dump_pairs(c->field, c->field##_len)
#define DUMP_NAMES(field, bit) dump_names(c->field, c->field##_len)

static void dump_pairs(const struct otelprof_attribute *pairs, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		(void)fprintf(stderr, "%s=%s ", pairs[i].key, pairs[i].value);
	(void)fputc('\n', stderr);
}

static void dump_names(const char *const *names, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		(void)fprintf(stderr, "%s ", names[i]);
	(void)fputc('\n', stderr);
}

#define DUMP(name, field, type, bit)                                                     \
	(void)fputs("dump: " #name " ", stderr);                                         \
	(void)DUMP_##type(field, bit);
#define DUMP_IF_config_config DUMP
#define DUMP_IF_otlp_otlp     DUMP
#define DUMP_IF_config_otlp(...)
#define DUMP_IF_config_more(...)
#define DUMP_IF_otlp_config(...)
#define DUMP_IF_otlp_more(...)

static void dump_config(const struct otelprof_config *c)
{
#define OP_KEY(name, of, field, type, min, ...)                                          \
	DUMP_IF_config_##of(name, field, type, min)
#include "api/settings/each.h"
}

static void dump_otlp(const struct otelprof_otlp_config *c)
{
#define OP_KEY(name, of, field, type, min, ...) DUMP_IF_otlp_##of(name, field, type, min)
#include "api/settings/each.h"
}

#endif
