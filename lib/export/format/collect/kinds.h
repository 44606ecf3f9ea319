/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of samples of a collection: which samples belong to one kind, and which kind
 * is shown first.
 *
 * Samples of a clock are counts, and each covers the period of its profile. If a budget,
 * a rule or another recording changed the period, counts cannot be added up. Then the
 * kind is weighed: its values are the times that the samples cover.
 */
#ifndef OP_EXPORT_FORMAT_COLLECT_KINDS_H
#define OP_EXPORT_FORMAT_COLLECT_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "export/format/collect/collect.h"
#include "otlp/reader.h"

/* Find or add the kind of @v; a kind that was counted may become weighed. Returns 0 or
 * -ENOMEM. */
int op_collect_find_kind(struct op_collect *c, const struct otlp_sample_view *v,
			 uint32_t *ret);
/* The value that a sample of @v adds to a stack of @kind. */
int64_t op_collect_kind_value(const struct op_collect *c, uint32_t kind,
			      const struct otlp_sample_view *v);

/* Does each sample of the kind count, and stand for a time? */
bool op_collect_is_clock(const struct op_collect *c, const struct op_collect_kind *k);
bool op_collect_is_weighed(const struct op_collect_kind *k);
/* Are the samples those of the CPUs' clock, and the nanoseconds that those of @s stand for? */
bool op_collect_is_cpu(const struct op_collect *c, const struct op_collect_kind *k);
double op_collect_cpu_ns(const struct op_collect *c, const struct op_collect_stack *s);

/* Is kind @a shown before kind @b? The order is that of op_kinds.def, CPU samples first, and
 * does not depend on what came first. */
bool op_collect_kind_before(const struct op_collect *c, uint32_t a, uint32_t b);
/* The kind that is shown first; 0 if there is none. */
uint32_t op_collect_main_kind(const struct op_collect *c);

/* The kind of @c that corresponds to @kind of @of: equal in type and unit as recorded.
 * Returns 0 or -ENOENT. */
int op_collect_same_kind(const struct op_collect *c, const struct op_collect *of,
			 uint32_t kind, uint32_t *ret);
/* Let a clock's kind be weighed in both collections if it is weighed in one, or if their
 * periods differ, so that their values can be compared. */
void op_collect_match_kinds(struct op_collect *a, struct op_collect *b);

#endif
