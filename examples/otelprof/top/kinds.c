/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions for each kind of samples. */
#include "top/kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "otlp/reader.h"

static void copy_name(char to[KIND_NAME_BYTES], struct otlp_text from)
{
	size_t len = from.len < KIND_NAME_BYTES ? from.len : KIND_NAME_BYTES - 1;

	if (len)
		memcpy(to, from.data, len);
	to[len] = '\0';
}

static struct kind_sums *kind_of(struct kinds *k, const struct otlp_sample_view *s)
{
	struct kind_sums named = { .clock = functions_is_clock(s) };
	size_t i;

	copy_name(named.type, s->type);
	copy_name(named.unit, s->unit);
	for (i = 0; i < k->len; i++)
		if (strcmp(k->of[i].type, named.type) == 0 &&
		    strcmp(k->of[i].unit, named.unit) == 0)
			return &k->of[i];
	if (k->len == KINDS_MAX)
		return NULL;
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
	/* nanoseconds before bytes before count: the costs first */
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
	size_t i;

	for (i = 0; i < k->len; i++)
		if (strcmp(k->of[i].type, like->type) == 0 &&
		    strcmp(k->of[i].unit, like->unit) == 0)
			return &k->of[i];
	return k->len ? &k->of[0] : NULL;
}

void kinds_clear(struct kinds *k)
{
	size_t i;

	for (i = 0; i < k->len; i++)
		functions_clear(&k->of[i].sums);
	k->len = 0;
}

static void time_amount(double ns, char buf[KIND_AMOUNT_BYTES])
{
	if (ns < OP_NS_PER_MS)
		(void)snprintf(buf, KIND_AMOUNT_BYTES, "%.1f us", ns / OP_NS_PER_US);
	else if (ns < OP_NS_PER_S)
		(void)snprintf(buf, KIND_AMOUNT_BYTES, "%.1f ms", ns / OP_NS_PER_MS);
	else
		(void)snprintf(buf, KIND_AMOUNT_BYTES, "%.2f s", ns / OP_NS_PER_S);
}

static void byte_amount(double bytes, char buf[KIND_AMOUNT_BYTES])
{
	static const char *const UNITS[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	for (; bytes >= 1024 && i + 1 < sizeof(UNITS) / sizeof(UNITS[0]); i++)
		bytes /= 1024;
	(void)snprintf(buf, KIND_AMOUNT_BYTES, i ? "%.1f %s" : "%.0f %s", bytes,
		       UNITS[i]);
}

const char *kind_amount(const struct kind_sums *k, uint64_t value,
			char buf[KIND_AMOUNT_BYTES])
{
	if (k->clock || strcmp(k->unit, "nanoseconds") == 0)
		time_amount((double)value, buf);
	else if (strcmp(k->unit, "bytes") == 0)
		byte_amount((double)value, buf);
	else
		(void)snprintf(buf, KIND_AMOUNT_BYTES, "%" PRIu64, value);
	return buf;
}
