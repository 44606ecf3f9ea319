/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that distinguish stacks with equal frames: thread, trace, reason, label. */
#include "export/format/collect/collect.h"

#include <string.h>

#include "base/macros.h"

enum {
	TRACE_ID_BYTES = 16,
};

int op_collect_add_text(struct op_collect *c, struct otlp_text text, uint32_t *ret)
{
	struct op_collect_recent *e =
		&c->recent[op_hash_u64((uintptr_t)text.data) % OP_COLLECT_RECENT];
	int r;

	if (e->request == c->requests && e->data == text.data && e->len == text.len) {
		*ret = e->number;
		return 0;
	}
	r = op_strings_add(&c->strings, text, ret);
	if (!r)
		*e = (struct op_collect_recent){ text.data, text.len, c->requests, *ret };
	return r;
}

/* The trace to which a sample is linked. Link 0 is none. */
static int collect_trace(struct op_collect *c, const struct otlp_profiles *p,
			 const struct otlp_sample_view *v, uint32_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * TRACE_ID_BYTES];
	struct otlp_text id;
	size_t i;

	if (v->sample->link <= 0 || (uint32_t)v->sample->link >= p->links.len)
		return 0;
	id = p->links.data[v->sample->link].trace_id;
	if (id.len != TRACE_ID_BYTES)
		return 0;
	for (i = 0; i < id.len; i++) {
		text[2 * i] = digits[(uint8_t)id.data[i] >> 4];
		text[2 * i + 1] = digits[(uint8_t)id.data[i] & 15];
	}
	return op_strings_add(&c->strings, (struct otlp_text){ text, sizeof(text) }, ret);
}

/* Why a thread left its CPU, for which type of lock it waited, or its state. */
static int collect_reason(struct op_collect *c, const struct otlp_profiles *p,
			  const struct otlp_sample_view *v, uint32_t *ret)
{
	static const char *const keys[] = { "off_cpu.reason", "wall.state", "lock.type",
					    "thread.state" };
	const struct otlp_attribute *at = NULL;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(keys) && !at; i++)
		at = otlp_find_attribute(p, v->sample->attributes, keys[i]);
	return at ? op_collect_add_text(c, otlp_attribute_text(p, at), ret) : 0;
}

/* The first of the keys for which the sample has a value. */
static int collect_label(struct op_collect *c, const struct otlp_profiles *p,
			 const struct otlp_sample_view *v, uint32_t *ret)
{
	char number[OTLP_LABEL_NUMBER_BYTES];
	const char *key = c->label_key;
	struct otlp_text value;
	size_t len;

	for (;; key += len + 1) {
		len = strcspn(key, ",");
		value = otlp_label(p, v, key, len, number);
		if (value.len || !key[len])
			break;
	}
	return op_strings_add(&c->strings, value, ret);
}

int op_collect_attributes(struct op_collect *c, const struct otlp_profiles *p,
			  const struct otlp_sample_view *v, struct op_collect_stack *ret)
{
	int r = 0;

	if (c->detail >= OP_COLLECT_LOCATIONS) {
		ret->thread_id = v->thread_id;
		r = op_collect_add_text(c, v->thread_name, &ret->thread_name);
	}
	if (!r && c->detail >= OP_COLLECT_LINES)
		r = collect_reason(c, p, v, &ret->reason);
	if (!r && c->detail >= OP_COLLECT_TRACES)
		r = collect_trace(c, p, v, &ret->trace);
	if (!r && c->label_key)
		r = collect_label(c, p, v, &ret->label);
	return r;
}

bool op_collect_is_astray(const struct otlp_profiles *p, const struct otlp_sample *s)
{
	uint32_t i;

	if (s->stack < 0 || ((uint32_t)s->stack >= p->stacks.len && s->stack))
		return true;
	for (i = 0; i < s->attributes.len; i++) {
		int32_t number = p->ints.data[s->attributes.first + i];

		if (number < 0 || ((uint32_t)number >= p->attributes.len && number))
			return true;
	}
	return false;
}

double op_collect_lost_of(const struct otlp_profiles *p,
			  const struct otlp_profile *profile)
{
	const struct otlp_attribute *lost, *taken;

	if (!profile->attributes.len)
		return 0;
	lost = otlp_find_attribute(p, profile->attributes,
				   "otelprof.window.samples_lost");
	taken = otlp_find_attribute(p, profile->attributes,
				    "otelprof.window.samples_taken");
	if (!lost || !taken || lost->kind != OTLP_VALUE_INT ||
	    taken->kind != OTLP_VALUE_INT || lost->integer <= 0 ||
	    taken->integer <= lost->integer)
		return 0;
	return (double)lost->integer / (double)(taken->integer - lost->integer);
}

double op_collect_lost_percent(const struct op_collect *c, uint32_t kind)
{
	const struct op_collect_stack *s;
	double lost = 0;
	double all = 0;

	op_vec_foreach(s, &c->stacks) {
		if (s->kind != kind)
			continue;
		lost += s->lost;
		all += (double)s->value + s->lost;
	}
	return lost > 0 && all > 0 ? 100 * lost / all : 0;
}

const char *op_collect_lost_text(double percent, char *buf, size_t size)
{
	static const char sentence[] =
		"of the samples were lost. All values are too small by that share.";

	if (percent <= 0)
		return NULL;
	if (percent < 0.1)
		(void)snprintf(buf, size, "Less than 0.1%% %s", sentence);
	else
		(void)snprintf(buf, size, "%.1f%% %s", percent, sentence);
	return buf;
}
