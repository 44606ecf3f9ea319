/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only these functions read the structs of callers. Each op_config_* copies a caller's
 * sized struct into a complete one of ours. A missing tail becomes zero, and an unknown
 * tail must be zero. The rest of the library uses only the copy.
 */
#ifndef OP_API_SETTINGS_CONFIG_H
#define OP_API_SETTINGS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "otelprof/config.h"
#include "otelprof/error.h"
#include "otelprof/export.h"

enum {
	OP_CONFIG_RATE_HZ_MAX = 1000,
};

/* The size of a struct up to and including @member, its last one in version 0.1. */
#define OP_CONFIG_THROUGH(type, member)                                                  \
	(offsetof(type, member) + sizeof(((type *)NULL)->member))

/*
 * Copy @from, whose first member is its size, to @to of @to_size bytes. @min_size is the
 * size of the struct in the first released version. Returns 0; -EINVAL for a size below
 * @min_size or above 4096; -E2BIG if a byte is set that this library does not know.
 */
int op_config_copy(void *to, size_t to_size, const void *from, size_t min_size,
		   struct op_log *log, const char *what);

/* Copy the struct at @from to a caller's struct @to, as far as its size permits. */
int op_config_give(void *to, const void *from, size_t from_size, size_t min_size);

/* Is the size of @ret one that op_config_give_error() accepts? */
bool op_config_takes_error(const struct otelprof_error_info *ret);

/* Fill a caller's struct from the last failure of @log. */
int op_config_give_error(const struct op_log *log, struct otelprof_error_info *ret);

/* Check the configuration, copy it with all strings, and fill in defaults. The caller
 * frees *@ret with op_config_deinit(). */
int op_config_init(const struct otelprof_config *from, struct op_log *log,
		   struct otelprof_config *ret);
/* Is there an attribute @key for every resource? */
bool op_config_has_attribute(const struct otelprof_config *c, const char *key);
/* Add attributes of the host, named by the semantic conventions, unless the user gave the
 * same key or forbade it. Returns 0 or -ENOMEM. */
int op_config_add_host(struct otelprof_config *config);
void op_config_deinit(struct otelprof_config *config);

/* Check a rule and copy it into a complete struct, which borrows its text. @what: its name in
 * sentences. */
int op_config_rule(const struct otelprof_rule *from, const char *what, struct op_log *log,
		   struct otelprof_rule *ret);

/* The same for @len rules, whose structs may be shorter or longer than ours. */
int op_config_rules(const struct otelprof_rule *from, size_t len, struct op_log *log,
		    struct otelprof_rule *ret);

/* Are all of these bits known OTELPROF_KIND_*? Returns 0, or -E2BIG with a sentence. */
int op_config_kinds(uint64_t kinds, struct op_log *log);

#endif
