/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kinds/kind.h"
#include "process/processes.h"
#include "sample/parsed.h"
#include "sample/state.h"

/* Add an attribute of a kind. */
static int add_attribute(const struct op_kind_attribute *a, struct op_window *window,
			 struct op_attribute_set *labels)
{
	uint32_t *index = &labels->index[labels->len];
	struct op_attribute number = { .integer = a->integer, .is_int = 1 };
	int r;

	if (a->is_integer) {
		r = op_window_string(window, a->key, strlen(a->key), &number.key);
		if (r == 0)
			r = op_window_attribute(window, &number, index);
	} else {
		r = op_window_string_attribute(window, a->key, a->text, index);
	}
	if (r == 0)
		labels->len++;
	return r;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int add_attributes(struct op_sampler *sampler, const struct op_record *h,
			  uint32_t extra, const struct op_kind *kind,
			  struct op_window *window, struct op_attribute_set *labels)
{
	const struct op_kind_sample sample = {
		.value = h->value,
		.extra = extra,
		.detail = h->detail,
		.sysfs_root = op_processes_config(sampler->processes)->sysfs_root,
		.names = &sampler->names,
	};
	struct op_kind_attribute attribute[OP_KIND_ATTRIBUTES_MAX];
	size_t len = kind->attributes(&sample, attribute);
	size_t i;
	int r = 0;

	for (i = 0; i < len && r == 0; i++)
		r = add_attribute(&attribute[i], window, labels);
	qsort(labels->index, labels->len, sizeof(labels->index[0]), compare_u32);
	return r;
}

const struct op_detail *op_labels_detail(const struct op_sampler *sampler,
					 const struct op_record *h)
{
	return sampler->detail ? sampler->detail(sampler->detail_ctx, h->detail) : NULL;
}

int op_labels_type(const struct op_sampler *sampler, const struct op_record *h,
		   struct op_window *window, struct op_window_sample *sample)
{
	const struct op_kind *kind = op_kind_of(h->event);
	const struct op_detail *detail = NULL;
	int r;

	if (kind && kind->details_by_number)
		detail = op_labels_detail(sampler, h);
	if (!detail || !detail->type)
		return 0;
	r = op_window_string(window, detail->type, strlen(detail->type), &sample->type);
	if (r == 0)
		r = op_window_string(window, detail->unit, strlen(detail->unit),
				     &sample->unit);
	sample->alone = detail->alone;
	sample->period_ns = detail->period;
	return r;
}

int op_labels_text(const struct op_sampler *sampler, const struct op_parsed *parsed,
		   struct op_window *window, struct op_attribute_set *labels)
{
	const struct op_kind *kind = op_kind_of(parsed->header.event);
	const struct op_detail *detail = NULL;
	char text[OP_TEXT_BYTES + 1];
	int r;

	if (parsed->text && kind && kind->details_by_number)
		detail = op_labels_detail(sampler, &parsed->header);
	if (!detail || !detail->text_key)
		return 0;
	(void)snprintf(text, sizeof(text), "%.*s", OP_TEXT_BYTES, parsed->text);
	r = op_window_string_attribute(window, detail->text_key, text,
				       &labels->index[labels->len]);
	if (r == 0)
		labels->len++;
	return r;
}

/* Add the probe's name. A probe that was detached may have no name. */
static int add_probe(struct op_sampler *sampler, const struct op_record *h,
		     struct op_window *window, struct op_attribute_set *labels)
{
	const struct op_detail *detail = op_labels_detail(sampler, h);

	if (!detail)
		return 0;
	return op_window_string_attribute(window, "probe", detail->name,
					  &labels->index[labels->len++]);
}

int op_labels_add(struct op_sampler *sampler, const struct op_record *h, uint32_t extra,
		  struct op_window *window, struct op_attribute_set *labels)
{
	const struct op_kind *kind = op_kind_of(h->event);

	if (kind && kind->details_by_number)
		return add_probe(sampler, h, window, labels);
	if (kind && kind->attributes)
		return add_attributes(sampler, h, extra, kind, window, labels);
	if (!kind || !kind->detail_key || h->detail >= kind->details_len)
		return 0;
	return op_window_string_attribute(window, kind->detail_key,
					  kind->details[h->detail],
					  &labels->index[labels->len++]);
}
