/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of functions by owner, filled from requests. */
#include "recording/read/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
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

static uint32_t hash_key(const struct function_sums *r, const struct key *k)
{
	uint64_t h = op_hash_u64((uint64_t)k->id ^ r->seed);

	/* A process or thread may be renamed. So if it has a number, only the number
	 * counts. */
	if (!k->id)
		h = op_hash_bytes(k->owner.data, k->owner.len, h);
	h = op_hash_bytes(k->function, strlen(k->function), h);
	return (uint32_t)op_hash_bytes(k->module.data, k->module.len, h);
}

static bool row_equal(const void *elements, uint32_t i, const void *key)
{
	const struct function_row *row = (const struct function_row *)elements + i;
	const struct key *k = key;

	return row->id == k->id && strcmp(row->function, k->function) == 0 &&
	       otlp_text_is(k->module, row->module) &&
	       (k->id || otlp_text_is(k->owner, row->owner));
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
	uint32_t hash, i;

	if (!r->seed)
		r->seed = op_hash_seed();
	hash = hash_key(r, k);
	i = op_index_find(&r->index, hash, r->rows, k, row_equal);
	if (i != UINT32_MAX)
		return &r->rows[i];
	if (op_vec_grow((void **)&r->rows, &r->cap, r->len, 1, sizeof(*r->rows)))
		return NULL;
	row = &r->rows[r->len];
	if (fill_row(row, k, s, f) || op_index_add(&r->index, hash, (uint32_t)r->len)) {
		free_row(row);
		return NULL;
	}
	r->len++;
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
		k->owner = c_text(s->resource->container_id.len
					  ? s->resource->container_id
					  : s->resource->container_name);
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

static int compare_rows(const void *a, const void *b, void *by_total)
{
	const struct function_row *x = a, *y = b;
	int self = compare_sums(x->self_value, y->self_value);
	int total = compare_sums(x->total_value, y->total_value);
	int first = *(const bool *)by_total ? total : self;
	int second = *(const bool *)by_total ? self : total;

	return first ? first : second ? second : compare_names(x, y);
}

void functions_sort(struct function_sums *r, enum function_order order)
{
	bool by_total = order == FUNCTIONS_BY_TOTAL;

	if (r->len)
		qsort_r(r->rows, r->len, sizeof(*r->rows), compare_rows, &by_total);
	/* It refers to the old order. */
	op_index_clear(&r->index);
}

void functions_clear(struct function_sums *r)
{
	size_t i;

	for (i = 0; i < r->len; i++)
		free_row(&r->rows[i]);
	free(r->rows);
	op_index_clear(&r->index);
	*r = (struct function_sums){ .owner = r->owner };
}
