/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/rows/rows.h"
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

/* The probe of the number in the record, or NULL. */
static const struct op_detail *detail_of(const struct op_sampler *sampler,
					 const struct op_record *h)
{
	return sampler->detail ? sampler->detail(sampler->detail_ctx, h->detail) : NULL;
}

/* Give @sample the type that its probe has, if any. */
static int add_type(const struct op_sampler *sampler, const struct op_record *h,
		    struct op_window *window, struct op_window_sample *sample)
{
	const struct op_kind *kind = op_kind_of(h->event);
	const struct op_detail *detail = NULL;
	int r;

	if (kind && kind->details_by_number)
		detail = detail_of(sampler, h);
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
		detail = detail_of(sampler, &parsed->header);
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
	const struct op_detail *detail = detail_of(sampler, h);

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

/* The value of a record with @value that stands for @hits events. */
static int64_t value_of(uint64_t value, uint32_t hits)
{
	int64_t one = (int64_t)value;
	int64_t all;

	if (hits <= 1)
		return one;
	if (__builtin_mul_overflow(one, (int64_t)hits, &all))
		return one < 0 ? INT64_MIN : INT64_MAX;
	return all;
}

/* The events for which the sample of @h counts, in the kind of @row. */
static void set_value(const struct op_record *h, const struct op_otlp_kind *row,
		      struct op_window_sample *ret)
{
	const struct op_kind *kind = op_kind_of(h->event);
	uint32_t hits = OP_MAX(h->hits, 1U);

	/* one number and not several in a word: its weight is multiplied here */
	if (!row || (!row->mask && !row->part && !kind->count)) {
		ret->value = value_of(h->value, hits);
		ret->count = hits;
	} else {
		ret->value = (int64_t)h->value;
		ret->count = kind->count ? kind->count(h->value) : 1;
		ret->hits = hits;
	}
	if (!row || row->period != OP_OTLP_PERIOD_WINDOW)
		return;
	ret->value = 0;
	ret->period_ns = (uint32_t)h->value;
	/* an idle CPU: the number is seldom the same, and each would be a period */
	if (!h->pid)
		return;
	if (h->value * hits <= UINT32_MAX) {
		ret->period_ns = (uint32_t)(h->value * hits);
		ret->count = 1;
	}
}

int op_labels_kind(struct op_sampler *sampler, const struct op_record *h, uint32_t extra,
		   struct op_window *window, struct op_window_sample *sample)
{
	int r;

	set_value(h, op_rows_otlp_of(h->event), sample);
	r = add_type(sampler, h, window, sample);
	if (r == 0)
		r = op_parked_type(&sampler->parked, h, window, sample);
	return r ?: op_labels_add(sampler, h, extra, window, &sample->labels);
}

int op_sampler_recast(struct op_sampler *sampler, enum op_event event, uint64_t value,
		      uint16_t detail, struct op_window *window,
		      struct op_window_sample *sample)
{
	const struct op_record h = { .event = event, .value = value, .detail = detail };

	sample->event = event;
	sample->labels.len = 0;
	return op_labels_kind(sampler, &h, 0, window, sample);
}
