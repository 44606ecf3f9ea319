/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process says of itself: service.name and other resource attributes, by its process
 * context (context.h) and environment (environment.h). Bounded, since any process may say
 * anything; what goes past a limit is counted, and the count goes out with the resource
 * (dropped_attributes_count).
 *
 * A claim never stands for what is observed from outside: keys of process.*, container.id,
 * host.*, k8s.* and others are not taken, see op_attributes_put(). Nor does it stand for what
 * the configuration sets (otlp/resource.c).
 */
#ifndef OP_RESOURCE_ATTRIBUTES_H
#define OP_RESOURCE_ATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

enum {
	OP_SERVICE_NAME_MAX = 256,	 /* with the NUL */
	OP_RESOURCE_ATTRIBUTES_MAX = 64, /* attributes */
	OP_RESOURCE_ATTRIBUTES_BYTES_MAX = 8192,
	OP_RESOURCE_KEY_MAX = 256, /* bytes, without the NUL */
	OP_RESOURCE_VALUE_MAX = 4096,
};

/* Counted: a child shares its parent's until it is looked at itself. */
struct op_attributes {
	uint32_t refs;
	uint32_t len;
	uint32_t dropped; /* past a limit, or of a kind that is not taken */
	char service_name[OP_SERVICE_NAME_MAX]; /* "": none */
	struct op_strbuf text;			/* as op_resource.attributes */
};

/* Returns one with one reference, or NULL without memory. */
struct op_attributes *op_attributes_new(void);
struct op_attributes *op_attributes_ref(struct op_attributes *c);
/* Takes NULL; returns NULL. */
struct op_attributes *op_attributes_put_ref(struct op_attributes *c);
OP_DEFINE_CLEANUP(struct op_attributes *, op_attributes_put_ref)

/*
 * Take one attribute. @type is of enum op_value_type (profile/window.h) and @value the text
 * it asks for. The first of a key stands. An empty key and keys of what is observed are left
 * out; a NUL in either text, or a length past its limit, is counted in dropped.
 */
void op_attributes_put(struct op_attributes *c, const char *key, size_t key_len,
		       char type, const char *value, size_t value_len);

/* As above, of what is observed: any key. */
void op_attributes_put_observed(struct op_attributes *c, const char *key,
				const char *value, size_t value_len);

#endif
