/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process says about itself: service.name and other resource attributes, from its
 * process context (process_context.h) and environment (environment.h). Everything is
 * bounded, because a process can say anything. Attributes past a limit are counted, and
 * the count is exported with the resource (dropped_attributes_count).
 *
 * Such claims never override what is observed from outside: process.*, container.id,
 * host.*, k8s.* and other keys are not accepted, see op_resource_attributes_put(). Nor do they
 * override what the configuration sets (profile/otlp/resource.c).
 */
#ifndef OP_PROCESS_RESOURCE_ATTRIBUTES_H
#define OP_PROCESS_RESOURCE_ATTRIBUTES_H

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

/* Reference-counted: a child process shares its parent's until it is examined itself. */
struct op_resource_attributes {
	uint32_t refs;
	uint32_t len;
	uint32_t dropped; /* past a limit, or of a type that is not supported */
	char service_name[OP_SERVICE_NAME_MAX]; /* "": none */
	/* in the form of op_resource.attributes */
	struct op_strbuf text;
};

/* Returns an empty set with one reference, or NULL without memory. */
struct op_resource_attributes *op_resource_attributes_new(void);
struct op_resource_attributes *
op_resource_attributes_ref(struct op_resource_attributes *c);
/* Accepts NULL; returns NULL. */
struct op_resource_attributes *
op_resource_attributes_put_ref(struct op_resource_attributes *c);
OP_DEFINE_CLEANUP(struct op_resource_attributes *, op_resource_attributes_put_ref)

/*
 * Add one attribute. @type is an enum op_value_type (profile/window.h), and @value the
 * text for it. The first value of a key is kept. An empty key and keys that are observed
 * are ignored. A NUL in either text, or a length past its limit, is counted in dropped.
 */
void op_resource_attributes_put(struct op_resource_attributes *c, const char *key,
				size_t key_len, char type, const char *value,
				size_t value_len);

/* Is it a key that a process cannot set? */
bool op_resource_is_observed(const char *key, size_t len);
/* As above for an observed attribute: any key is accepted. */
void op_resource_attributes_put_observed(struct op_resource_attributes *c,
					 const char *key, const char *value,
					 size_t value_len);

#endif
