/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds profile by profile to the open request. If the request would grow too large, the
 * entries of the last profile are taken back, the request is emitted, and the profile
 * begins the next one.
 */
#include "recording/requests/join.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "recording/requests/rewrite.h"

enum {
	UNKNOWN = -1,	    /* an entry whose new number is not known yet */
	GROUP_BYTES = 64,   /* the heads around a group's parts, and more */
	FIELD_RESOURCE = 1, /* ExportProfilesServiceRequest.resource_profiles */
	FIELD_DICTIONARY = 2,
	FIELD_SCOPE = 2,   /* ResourceProfiles.scope_profiles */
	FIELD_PROFILE = 2, /* ScopeProfiles.profiles */
};

struct entry {
	size_t offset; /* in table.bytes */
	size_t len;
};

/* A table of the open request. */
struct table_out {
	struct op_bytes bytes; /* encoded as fields of the dictionary */
	OP_VEC(struct entry) entries;
	struct op_index index;
	struct op_bytes scratch; /* an entry under construction */
	/* by number in the request that is read: the new number, or UNKNOWN */
	OP_VEC(int64_t) numbers;
};

/* Profiles of one resource and scope. */
struct group {
	struct op_bytes head; /* both heads */
	size_t resource_len;  /* of the first */
	struct op_bytes profiles;
};

struct join {
	join_emit_fn emit;
	void *data;
	uint64_t seed;
	const struct otlp_profiles *in; /* the current request */
	struct table_out tables[OTLP_TABLES];
	OP_VEC(struct group) groups;
	struct op_index group_index;
	size_t groups_bytes;
	struct op_bytes head; /* both heads of the current profile */
	size_t resource_len;  /* of the first */
	bool resource_made;   /* these belong to the current resource and scope */
	bool scope_made;
	struct op_bytes profile;
	struct op_bytes request;
	uint64_t bytes_in, bytes_out;
};

static void clear_groups(struct join *j)
{
	struct group *g;

	op_vec_foreach(g, &j->groups) {
		op_vec_clear(&g->head);
		op_vec_clear(&g->profiles);
	}
	j->groups.len = 0;
	j->groups_bytes = 0;
	op_index_reset(&j->group_index);
}

struct join *join_free(struct join *j)
{
	struct table_out *t;

	if (!j)
		return NULL;
	clear_groups(j);
	for (t = j->tables; t < j->tables + OTLP_TABLES; t++) {
		op_vec_clear(&t->bytes);
		op_vec_clear(&t->entries);
		op_vec_clear(&t->scratch);
		op_vec_clear(&t->numbers);
		op_index_clear(&t->index);
	}
	op_vec_clear(&j->groups);
	op_index_clear(&j->group_index);
	op_vec_clear(&j->head);
	op_vec_clear(&j->profile);
	op_vec_clear(&j->request);
	free(j);
	return NULL;
}

static uint32_t hash_of(const struct join *j, const void *bytes, size_t len)
{
	return (uint32_t)op_hash_bytes(bytes, len, j->seed);
}

static bool entry_equal(const void *elements, uint32_t i, const void *key)
{
	const struct table_out *t = elements;
	const struct otlp_text *bytes = key;
	const struct entry *e = &t->entries.data[i];

	return e->len == bytes->len &&
	       (!e->len || memcmp(t->bytes.data + e->offset, bytes->data, e->len) == 0);
}

/* The number of the entry with these bytes, which is added if it is new. */
static int intern(struct join *j, enum otlp_table table, struct otlp_text bytes,
		  uint32_t *ret)
{
	struct table_out *t = &j->tables[table];
	uint32_t hash = hash_of(j, bytes.data, bytes.len);
	struct entry *e;

	*ret = op_index_find(&t->index, hash, t, &bytes, entry_equal);
	if (*ret != UINT32_MAX)
		return 0;
	if (op_bytes_field(&t->bytes, table, bytes.data, bytes.len))
		return -ENOMEM;
	e = op_vec_push(&t->entries);
	if (!e)
		return -ENOMEM;
	*e = (struct entry){ t->bytes.len - bytes.len, bytes.len };
	*ret = (uint32_t)t->entries.len - 1;
	return op_index_add(&t->index, hash, *ret);
}

/* A rewrite_number_fn. Copies an entry at its first use, after those to which it
 * refers. */
static int number_of(void *data, enum otlp_table table, int32_t old, uint32_t *ret)
{
	struct join *j = data;
	struct table_out *t = &j->tables[table];
	struct rewrite w = { number_of, j };
	struct otlp_text bytes;
	int r = 0;

	/* A number outside of the table reads as "none". */
	*ret = 0;
	if (old < 0 || (size_t)old >= t->numbers.len)
		return 0;
	if (t->numbers.data[old] != UNKNOWN) {
		*ret = (uint32_t)t->numbers.data[old];
		return 0;
	}
	bytes = otlp_table_entry(j->in, table, (uint32_t)old);
	if (table != OTLP_TABLE_STRING) {
		/* No table refers to itself, so its scratch memory is free. */
		t->scratch.len = 0;
		r = rewrite_message(&w, schema_of_table(table), bytes, &t->scratch);
		bytes = (struct otlp_text){ (const char *)t->scratch.data,
					    t->scratch.len };
	}
	if (!r)
		r = intern(j, table, bytes, ret);
	if (!r)
		t->numbers.data[old] = *ret;
	return r;
}

static void forget_numbers(struct join *j)
{
	struct table_out *t;
	size_t i;

	for (t = j->tables; t < j->tables + OTLP_TABLES; t++) {
		for (i = 0; i < t->numbers.len; i++)
			t->numbers.data[i] = UNKNOWN;
	}
}

/* Begin a request: the dictionary has only the zero entries. */
static int begin(struct join *j)
{
	struct table_out *t;
	enum otlp_table i;
	uint32_t zero;
	int r = 0;

	clear_groups(j);
	forget_numbers(j);
	j->resource_made = j->scope_made = false;
	for (i = OTLP_TABLE_MAPPING; !r && i < OTLP_TABLES; i++) {
		t = &j->tables[i];
		t->bytes.len = 0;
		t->entries.len = 0;
		op_index_reset(&t->index);
		r = intern(j, i, (struct otlp_text){ "", 0 }, &zero);
	}
	return r;
}

static size_t dictionary_bytes(const struct join *j)
{
	size_t sum = 0;
	enum otlp_table t;

	for (t = OTLP_TABLE_MAPPING; t < OTLP_TABLES; t++)
		sum += j->tables[t].bytes.len;
	return sum;
}

/* The bytes of a field with its tag and length. */
static size_t field_bytes(size_t len)
{
	size_t n = len + 2;

	for (; len >= 0x80; len >>= 7)
		n++;
	return n;
}

static int put_group(struct op_bytes *b, const struct group *g)
{
	size_t scope = g->head.len - g->resource_len + g->profiles.len;
	int r = op_bytes_head(b, FIELD_RESOURCE, g->resource_len + field_bytes(scope));

	if (!r)
		r = op_bytes_add(b, g->head.data, g->resource_len);
	if (!r)
		r = op_bytes_head(b, FIELD_SCOPE, scope);
	if (!r)
		r = op_bytes_add(b, g->head.data + g->resource_len,
				 g->head.len - g->resource_len);
	return r ? r : op_bytes_add(b, g->profiles.data, g->profiles.len);
}

static int emit(struct join *j)
{
	const struct group *g;
	enum otlp_table t;
	int r = 0;

	if (!j->groups.len)
		return 0;
	j->request.len = 0;
	op_vec_foreach(g, &j->groups) {
		r = put_group(&j->request, g);
		if (r)
			return r;
	}
	r = op_bytes_head(&j->request, FIELD_DICTIONARY, dictionary_bytes(j));
	for (t = OTLP_TABLE_MAPPING; !r && t < OTLP_TABLES; t++)
		r = op_bytes_add(&j->request, j->tables[t].bytes.data,
				 j->tables[t].bytes.len);
	j->bytes_out += j->request.len;
	if (!r && j->bytes_out > j->bytes_in * JOIN_GROWTH + JOIN_GROWTH_BYTES)
		r = -EFBIG;
	return r ? r : j->emit(j->data, j->request.data, j->request.len);
}

static bool group_equal(const void *elements, uint32_t i, const void *key)
{
	const struct join *j = elements;
	const struct group *g = &j->groups.data[i], *wanted = key;

	return g->head.len == wanted->head.len &&
	       g->resource_len == wanted->resource_len &&
	       (!g->head.len ||
		memcmp(g->head.data, wanted->head.data, g->head.len) == 0);
}

/* Add the profile in j->profile to the group of the heads in j->head. */
static int add_to_group(struct join *j)
{
	struct group wanted = { .head = j->head, .resource_len = j->resource_len };
	uint32_t hash = hash_of(j, j->head.data, j->head.len);
	uint32_t at = op_index_find(&j->group_index, hash, j, &wanted, group_equal);
	size_t before = j->groups.len;
	struct group *g;
	int r;

	if (at == UINT32_MAX) {
		g = op_vec_push(&j->groups);
		if (!g)
			return -ENOMEM;
		*g = (struct group){ .resource_len = j->resource_len };
		r = op_bytes_add(&g->head, j->head.data, j->head.len);
		if (!r)
			r = op_index_add(&j->group_index, hash, (uint32_t)before);
		if (r)
			return r;
		at = (uint32_t)before;
		j->groups_bytes += j->head.len + GROUP_BYTES;
	}
	g = &j->groups.data[at];
	before = g->profiles.len;
	r = op_bytes_field(&g->profiles, FIELD_PROFILE, j->profile.data, j->profile.len);
	j->groups_bytes += g->profiles.len - before;
	return r;
}

/* The pieces of the current request. */
struct piece {
	struct otlp_text resource;
	struct otlp_text scope;
	struct otlp_text profile;
};

/* Encode the heads, unless they are those of the previous profile. */
static int copy_heads(struct join *j, const struct piece *piece)
{
	struct rewrite w = { number_of, j };
	int r = 0;

	if (!j->resource_made) {
		j->head.len = 0;
		r = rewrite_message(&w, &schema_resource_head, piece->resource, &j->head);
		j->resource_len = j->head.len;
		j->scope_made = false;
	}
	j->resource_made = !r;
	if (!r && !j->scope_made) {
		j->head.len = j->resource_len;
		r = rewrite_message(&w, &schema_scope_head, piece->scope, &j->head);
		j->scope_made = !r;
	}
	return r;
}

static int copy_piece(struct join *j, const struct piece *piece)
{
	struct rewrite w = { number_of, j };
	int r = copy_heads(j, piece);

	j->profile.len = 0;
	return r ? r : rewrite_message(&w, &schema_profile, piece->profile, &j->profile);
}

static int add_piece(struct join *j, const struct piece *piece)
{
	size_t bytes[OTLP_TABLES], entries[OTLP_TABLES];
	enum otlp_table t;
	int r;

	for (t = OTLP_TABLE_MAPPING; t < OTLP_TABLES; t++) {
		bytes[t] = j->tables[t].bytes.len;
		entries[t] = j->tables[t].entries.len;
	}
	r = copy_piece(j, piece);
	if (!r && j->groups.len &&
	    dictionary_bytes(j) + j->groups_bytes + j->head.len + j->profile.len +
			    2 * GROUP_BYTES >
		    JOIN_REQUEST_BYTES) {
		for (t = OTLP_TABLE_MAPPING; t < OTLP_TABLES; t++) {
			j->tables[t].bytes.len = bytes[t];
			j->tables[t].entries.len = entries[t];
		}
		r = emit(j);
		if (!r)
			r = begin(j);
		if (!r)
			r = copy_piece(j, piece);
	}
	return r ? r : add_to_group(j);
}

static int add_scope(struct join *j, struct piece *piece)
{
	struct op_reader reader = op_reader_init(piece->scope.data, piece->scope.len);
	struct wire_field f;
	int r = 0;

	j->scope_made = false;
	while (!r && wire_next(&reader, &f)) {
		piece->profile = f.bytes;
		if (f.number == FIELD_PROFILE && f.type == WIRE_BYTES)
			r = add_piece(j, piece);
	}
	return !r && reader.failed ? -EBADMSG : r;
}

static int add_resource(struct join *j, struct otlp_text resource)
{
	struct op_reader reader = op_reader_init(resource.data, resource.len);
	struct piece piece = { .resource = resource };
	struct wire_field f;
	int r = 0;

	j->resource_made = false;
	while (!r && wire_next(&reader, &f)) {
		piece.scope = f.bytes;
		if (f.number == FIELD_SCOPE && f.type == WIRE_BYTES)
			r = add_scope(j, &piece);
	}
	return !r && reader.failed ? -EBADMSG : r;
}

static int prepare_numbers(struct join *j)
{
	struct table_out *t;
	uint32_t len;
	enum otlp_table i;

	for (i = OTLP_TABLE_MAPPING; i < OTLP_TABLES; i++) {
		t = &j->tables[i];
		len = otlp_table_len(j->in, i);
		t->numbers.len = 0;
		if (op_vec_reserve(&t->numbers, len))
			return -ENOMEM;
		t->numbers.len = len;
	}
	forget_numbers(j);
	return 0;
}

int join_new(join_emit_fn fn, void *data, struct join **ret)
{
	_cleanup_(join_freep) struct join *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->emit = fn;
	j->data = data;
	j->seed = op_hash_seed();
	if (begin(j))
		return -ENOMEM;
	*ret = OP_TAKE_PTR(j);
	return 0;
}

int join_add(struct join *j, const void *request, size_t len)
{
	struct op_reader reader = op_reader_init(request, len);
	struct otlp_profiles *p = NULL;
	struct wire_field f;
	int r = otlp_read(request, len, &p, NULL);

	if (r)
		return r;
	j->in = p;
	j->bytes_in += len;
	r = prepare_numbers(j);
	while (!r && wire_next(&reader, &f)) {
		if (f.number == FIELD_RESOURCE && f.type == WIRE_BYTES)
			r = add_resource(j, f.bytes);
	}
	if (!r && reader.failed)
		r = -EBADMSG;
	j->in = NULL;
	(void)otlp_free(p);
	return r;
}

int join_finish(struct join *j)
{
	int r = emit(j);

	return r ? r : begin(j);
}
