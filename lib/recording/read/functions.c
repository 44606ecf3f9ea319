/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of functions by owner, filled from requests. */
#include "recording/read/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/reader.h"

enum {
	NAME_MAX_BYTES = 4096
};

struct key {
	int64_t id;
	struct otlp_text owner;
	const char *function;
	struct otlp_text module;
};

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (; len; len--)
		h = (h ^ *p++) * UINT64_C(0x100000001b3); /* FNV-1a */
	return h;
}

static uint64_t hash_key(const struct key *k)
{
	uint64_t h = hash_bytes(UINT64_C(0xcbf29ce484222325), &k->id, sizeof(k->id));

	/* A process or thread may be renamed, so if it has a number only that counts. */
	if (!k->id)
		h = hash_bytes(h, k->owner.data, k->owner.len);
	h = hash_bytes(h, k->function, strlen(k->function) + 1);
	h = hash_bytes(h, k->module.data, k->module.len);
	return h ^ h >> 29;
}

static int rehash(struct function_sums *r)
{
	size_t slots = r->mask ? (r->mask + 1) * 2 : 256;
	uint32_t *table = calloc(slots, sizeof(*table));
	struct function_row *row;
	struct key k;
	size_t i, at;

	if (!table)
		return -ENOMEM;
	for (i = 0; i < r->len; i++) {
		row = &r->rows[i];
		k = (struct key){ row->id,
				  { row->owner, strlen(row->owner) },
				  row->function,
				  { row->module, strlen(row->module) } };
		for (at = hash_key(&k) & (slots - 1); table[at];
		     at = (at + 1) & (slots - 1))
			;
		table[at] = (uint32_t)i + 1;
	}
	free(r->slots);
	r->slots = table;
	r->mask = slots - 1;
	return 0;
}

static char *copy(struct otlp_text t)
{
	return strndup(t.data ? t.data : "", t.len);
}

static int fill_row(struct function_row *row, const struct key *k,
		    const struct otlp_sample_view *s, const struct otlp_frame *f)
{
	*row = (struct function_row){ .id = k->id };
	row->owner = copy(k->owner);
	row->container_id = copy(s->resource->container_id);
	row->function = strdup(k->function);
	row->module = copy(k->module);
	row->file = copy(f->file);
	row->type = copy(f->type);
	if (row->owner && row->container_id && row->function && row->module &&
	    row->file && row->type)
		return 0;
	return -ENOMEM;
}

static void free_row(struct function_row *row)
{
	free(row->owner);
	free(row->container_id);
	free(row->function);
	free(row->module);
	free(row->file);
	free(row->type);
}

/* The row of @k, which is added if needed; NULL without memory. */
static struct function_row *find(struct function_sums *r, const struct key *k,
				 const struct otlp_sample_view *s,
				 const struct otlp_frame *f)
{
	struct function_row *row;
	void *more;
	size_t at;

	if ((!r->mask || (r->len + 1) * 4 > r->mask * 3) && rehash(r))
		return NULL;
	for (at = hash_key(k) & r->mask; r->slots[at]; at = (at + 1) & r->mask) {
		row = &r->rows[r->slots[at] - 1];
		if (row->id == k->id && strcmp(row->function, k->function) == 0 &&
		    otlp_text_is(k->module, row->module) &&
		    (k->id || otlp_text_is(k->owner, row->owner)))
			return row;
	}
	if (r->len == r->cap) {
		more = reallocarray(r->rows, r->cap ? r->cap * 2 : 64, sizeof(*r->rows));
		if (!more)
			return NULL;
		r->rows = more;
		r->cap = r->cap ? r->cap * 2 : 64;
	}
	row = &r->rows[r->len];
	if (fill_row(row, k, s, f)) {
		free_row(row);
		return NULL;
	}
	r->slots[at] = (uint32_t)++r->len;
	return row;
}

/* Cut a text at its first zero byte, because names are compared as C strings. */
static struct otlp_text c_text(struct otlp_text t)
{
	t.len = strnlen(t.data ? t.data : "", t.len);
	return t;
}

static void set_owner(struct key *k, enum function_owner owner,
		      const struct otlp_sample_view *s)
{
	struct otlp_text program = s->resource->executable_name;

	if (!program.len)
		program = s->thread_name;
	*k = (struct key){ 0 };
	switch (owner) {
	case OWNER_PROCESS:
		k->id = s->resource->pid;
		k->owner = c_text(program);
		break;
	case OWNER_PROGRAM:
		k->owner = c_text(program);
		break;
	case OWNER_CONTAINER:
		k->owner = c_text(s->resource->container_id);
		break;
	case OWNER_THREAD:
		k->id = s->thread_id;
		k->owner = c_text(s->thread_name);
		break;
	default:
		break;
	}
}

bool functions_is_clock(const struct otlp_sample_view *s)
{
	return otlp_text_is(s->type, "samples");
}

static uint64_t value_of(const struct otlp_sample_view *s)
{
	if (!functions_is_clock(s))
		return s->value > 0 ? (uint64_t)s->value : 0;
	return s->profile->period > 0 ? s->count * (uint64_t)s->profile->period : 0;
}

int functions_add_sample(struct function_sums *r, const struct otlp_sample_view *s)
{
	uint64_t value = value_of(s);
	char name[NAME_MAX_BYTES];
	struct function_row *row;
	const struct otlp_frame *f;
	struct key k;
	size_t i;

	r->number++;
	r->samples += s->count;
	r->value += value;
	set_owner(&k, r->owner, s);
	for (i = 0; i < s->frames_len; i++) {
		f = &s->frames[i];
		k.function = otlp_frame_name(f, name, sizeof(name));
		k.module = c_text(f->module);
		row = find(r, &k, s, f);
		if (!row)
			return -ENOMEM;
		if (i == 0) {
			row->self += s->count;
			row->self_value += value;
		}
		if (row->seen != r->number) {
			row->total += s->count;
			row->total_value += value;
		}
		row->seen = r->number;
	}
	return 0;
}

static int add_tick(void *data, const struct otlp_sample_view *s)
{
	struct function_sums *r = data;

	if (r->quality)
		quality_add(r->quality, s);
	/* Other kinds of samples have other units. */
	return functions_is_clock(s) ? functions_add_sample(r, s) : 0;
}

int functions_add(struct function_sums *r, const void *request, size_t len)
{
	struct otlp_profiles *p = NULL;
	int ret = otlp_read(request, len, &p, NULL);

	if (!ret)
		ret = otlp_each_sample(p, add_tick, r);
	(void)otlp_free(p);
	return ret;
}

static int compare_names(const struct function_row *x, const struct function_row *y)
{
	int c = strcmp(x->function, y->function);

	if (!c)
		c = strcmp(x->module, y->module);
	if (!c)
		c = strcmp(x->owner, y->owner);
	return c ? c : x->id < y->id ? -1 : x->id > y->id;
}

static int compare_sums(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

static int by_self(const void *a, const void *b)
{
	const struct function_row *x = a, *y = b;
	int c = compare_sums(x->self_value, y->self_value);

	if (!c)
		c = compare_sums(x->total_value, y->total_value);
	return c ? c : compare_names(x, y);
}

static int by_total(const void *a, const void *b)
{
	const struct function_row *x = a, *y = b;
	int c = compare_sums(x->total_value, y->total_value);

	if (!c)
		c = compare_sums(x->self_value, y->self_value);
	return c ? c : compare_names(x, y);
}

void functions_sort(struct function_sums *r, enum function_order order)
{
	if (r->len)
		qsort(r->rows, r->len, sizeof(*r->rows),
		      order == FUNCTIONS_BY_TOTAL ? by_total : by_self);
	/* The slots refer to the old order. */
	free(r->slots);
	r->slots = NULL;
	r->mask = 0;
}

void functions_clear(struct function_sums *r)
{
	size_t i;

	for (i = 0; i < r->len; i++)
		free_row(&r->rows[i]);
	free(r->rows);
	free(r->slots);
	*r = (struct function_sums){ .owner = r->owner, .quality = r->quality };
}
