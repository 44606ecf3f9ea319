/* SPDX-License-Identifier: Apache-2.0 */
/* What samples have by their kind: value, type, and labels. */
#ifndef OP_SAMPLE_LABELS_H
#define OP_SAMPLE_LABELS_H

#include <stdint.h>

#include "op_user_types.h"
#include "profile/window.h"
#include "sample/sampler.h"

struct op_parsed;

/* Add the labels that the kind of @h makes from its detail, its value and @extra
 * (op_named.extra). Returns 0 or a negative errno. */
int op_labels_add(struct op_sampler *sampler, const struct op_record *h, uint32_t extra,
		  struct op_window *window, struct op_attribute_set *labels);
/* Apply the kind of @h to the sample: value, type, and those labels. */
int op_labels_kind(struct op_sampler *sampler, const struct op_record *h, uint32_t extra,
		   struct op_window *window, struct op_window_sample *sample);

/* Add the string that a probe has read. Returns 0 or a negative errno. */
int op_labels_text(const struct op_sampler *sampler, const struct op_parsed *parsed,
		   struct op_window *window, struct op_attribute_set *labels);

#endif
