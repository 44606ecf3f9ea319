/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a process context (process/resource/process_context.h) that describes the
 * contexts of threads: their form, and the names of their numbered attributes (OTEP
 * 4947). The process wrote it.
 */
#ifndef OP_PROCESS_CONTEXT_SCHEMA_H
#define OP_PROCESS_CONTEXT_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum {
	OP_SCHEMA_KEYS_MAX = 256,   /* a number is one byte */
	OP_SCHEMA_BYTES_MAX = 8192, /* of all names, with a NUL each */
	OP_SCHEMA_NAME_MAX = 255,   /* bytes of a name */
};

enum op_schema_form {
	OP_SCHEMA_NONE = 0,
	OP_SCHEMA_TLS, /* tlsdesc_v1_dev, tls_v1, tlsdesc_v1: a record of each thread */
	OP_SCHEMA_GO,  /* go_pprof_labels_v1 */
};

struct op_schema {
	enum op_schema_form form;
	uint32_t keys_len;
	uint32_t cut;			  /* names past a limit, which are "" */
	uint16_t key[OP_SCHEMA_KEYS_MAX]; /* offset in text */
	struct op_strbuf text;
};

void op_schema_deinit(struct op_schema *s);
/* Free a schema from malloc(). Takes NULL, returns NULL. */
struct op_schema *op_schema_free(struct op_schema *s);

/* Read a ProcessContext message into @ret, which is all zero. Returns 0, or -EBADMSG if
 * it is damaged. @ret then has what came before the damage. */
int op_schema_parse(const void *bytes, size_t len, struct op_schema *ret);

/* The name of attribute @key, or NULL. */
const char *op_schema_name(const struct op_schema *s, uint8_t key);

#endif
