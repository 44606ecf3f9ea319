/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions for each kind of samples. */
#include "recording/read/kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "otlp/reader.h"
#include "recording/read/print.h"

static void copy_name(char to[KIND_NAME_BYTES], struct otlp_text from)
{
	size_t len = from.len < KIND_NAME_BYTES ? from.len : KIND_NAME_BYTES - 1;

	if (len)
		memcpy(to, from.data, len);
	to[len] = '\0';
}

/* The number of the kind with the type and unit of @like, or k->len. */
static size_t same_as(const struct kinds *k, const struct kind_sums *like)
{
	size_t i;

	for (i = 0; i < k->len; i++)
		if (strcmp(k->of[i].type, like->type) == 0 &&
		    strcmp(k->of[i].unit, like->unit) == 0)
			break;
	return i;
}

static struct kind_sums *kind_of(struct kinds *k, const struct otlp_sample_view *s)
{
	struct kind_sums named = { .clock = functions_is_clock(s) };
	size_t i;

	copy_name(named.type, s->type);
	copy_name(named.unit, s->unit);
	i = same_as(k, &named);
	if (i < k->len || i == KINDS_MAX)
		return i < k->len ? &k->of[i] : NULL;
	named.sums.owner = k->owner;
	k->of[k->len] = named;
	return &k->of[k->len++];
}

static int add_sample(void *data, const struct otlp_sample_view *s)
{
	struct kind_sums *kind = kind_of(data, s);

	return kind ? functions_add_sample(&kind->sums, s) : 0;
}

int kinds_add(struct kinds *k, const void *request, size_t len)
{
	struct otlp_profiles *p = NULL;
	int ret = otlp_read(request, len, &p, NULL);

	if (!ret)
		ret = otlp_each_sample(p, add_sample, k);
	(void)otlp_free(p);
	return ret;
}

static int by_name(const void *a, const void *b)
{
	const struct kind_sums *x = a, *y = b;
	int c;

	if (x->clock != y->clock)
		return x->clock ? -1 : 1;
	c = strcmp(x->type, y->type);
	/* nanoseconds before bytes before count: costs first */
	return c ? c : -strcmp(x->unit, y->unit);
}

void kinds_sort(struct kinds *k, enum function_order order)
{
	size_t i;

	if (k->len)
		qsort(k->of, k->len, sizeof(k->of[0]), by_name);
	for (i = 0; i < k->len; i++)
		functions_sort(&k->of[i].sums, order);
}

const struct kind_sums *kinds_find(const struct kinds *k, const struct kind_sums *like)
{
	size_t i = same_as(k, like);

	return k->len ? &k->of[i < k->len ? i : 0] : NULL;
}

void kinds_clear(struct kinds *k)
{
	size_t i;

	for (i = 0; i < k->len; i++)
		functions_clear(&k->of[i].sums);
	k->len = 0;
}

const char *kind_amount(const struct kind_sums *k, uint64_t value,
			char buf[KIND_AMOUNT_BYTES])
{
	if (k->clock || strcmp(k->unit, "nanoseconds") == 0)
		print_seconds((double)value / OP_NS_PER_S, buf, KIND_AMOUNT_BYTES);
	else if (strcmp(k->unit, "bytes") == 0)
		print_bytes((double)value, buf, KIND_AMOUNT_BYTES);
	else
		(void)snprintf(buf, KIND_AMOUNT_BYTES, "%" PRIu64, value);
	return buf;
}
