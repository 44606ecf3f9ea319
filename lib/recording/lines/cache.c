/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and their lines, in memory and encoded for a file. */
#include "recording/lines/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/macros.h"
#include "base/reader.h"
#include "base/vec.h"
#include "export/format/collect/collect.h"

enum {
	PLACE_BYTES = 16,
	FRAME_BYTES = 20,
	CRC_END = 16, /* the magic, the version and the checksum */
};

/* In a file, with the number of frames: the name was looked up, too. */
static const uint32_t is_named = UINT32_C(1) << 31;

static const char magic[8] = "OTPLINES";

struct place {
	uint64_t vaddr;
	uint32_t first; /* frames */
	uint32_t len;
	bool named;	  /* the name was looked up */
	const char *name; /* NULL: none */
};

struct lines_cache {
	OP_VEC(struct place) places;
	OP_VEC(struct debuginfo_line) frames;
	size_t read; /* number of places that were read and are sorted */
};

struct lines_cache *lines_cache_new(void)
{
	return calloc(1, sizeof(struct lines_cache));
}

static void empty(struct lines_cache *c)
{
	op_vec_clear(&c->places);
	op_vec_clear(&c->frames);
	c->read = 0;
}

struct lines_cache *lines_cache_free(struct lines_cache *c)
{
	if (!c)
		return NULL;
	empty(c);
	free(c);
	return NULL;
}

/* The strings of a file. The last byte is a NUL, so that each string has an end. */
struct pool {
	const char *text;
	uint32_t len;
};

/* Returns false if there is no such string. *@ret: NULL for the first one. */
static bool take_text(struct op_reader *r, const struct pool *p, const char **ret)
{
	uint32_t at = op_read_u32(r);

	*ret = at ? p->text + at : NULL;
	return at < p->len;
}

static bool take_frame(struct op_reader *r, const struct pool *p,
		       struct debuginfo_line *ret)
{
	bool there = take_text(r, p, &ret->function) && take_text(r, p, &ret->linkage) &&
		     take_text(r, p, &ret->file);

	ret->line = op_read_u32(r);
	ret->start_line = op_read_u32(r);
	return there && !r->failed;
}

static bool take_place(struct op_reader *r, const struct pool *p, uint32_t first,
		       struct place *ret)
{
	bool there;

	ret->vaddr = op_read_u64(r);
	there = take_text(r, p, &ret->name);
	ret->len = op_read_u32(r);
	ret->named = ret->len & is_named;
	ret->len &= ~is_named;
	ret->first = first;
	return there && !r->failed && ret->len <= DEBUGINFO_LINES_MAX;
}

static int take_all(struct lines_cache *c, struct op_reader *r, const struct pool *p,
		    uint32_t places, uint32_t frames)
{
	uint32_t first = 0, i;
	struct place *place;

	/* lines_cache_parse() has checked the numbers against the size. */
	if (op_vec_reserve(&c->places, places) || op_vec_reserve(&c->frames, frames))
		return -ENOMEM;
	for (i = 0; i < places; i++) {
		place = &c->places.data[c->places.len++];
		if (!take_place(r, p, first, place) || place->len > frames - first ||
		    (i && place->vaddr <= place[-1].vaddr))
			return -EBADMSG;
		first += place->len;
	}
	for (i = 0; i < frames; i++) {
		if (!take_frame(r, p, &c->frames.data[c->frames.len++]))
			return -EBADMSG;
	}
	c->read = places;
	return first == frames ? 0 : -EBADMSG;
}

int lines_cache_parse(struct lines_cache *c, const void *bytes, size_t len,
		      const char *build_id)
{
	struct op_reader reader = op_reader_init(bytes, len);
	uint32_t version, crc, id_len, places, frames;
	const uint8_t *start, *id;
	struct pool p;
	int r;

	start = op_read_bytes(&reader, sizeof(magic));
	version = op_read_u32(&reader);
	crc = op_read_u32(&reader);
	if (reader.failed || memcmp(start, magic, sizeof(magic)) != 0 ||
	    version != LINES_CACHE_VERSION || len > LINES_CACHE_FILE_BYTES_MAX ||
	    crc32(0, reader.pos, (uInt)op_reader_left(&reader)) != crc)
		return -EBADMSG;
	id_len = op_read_u32(&reader);
	p.len = op_read_u32(&reader);
	places = op_read_u32(&reader);
	frames = op_read_u32(&reader);
	id = op_read_bytes(&reader, id_len);
	p.text = (const char *)op_read_bytes(&reader, p.len);
	if (reader.failed || id_len != strlen(build_id) ||
	    memcmp(id, build_id, id_len) != 0 || !p.len || p.text[p.len - 1] ||
	    places > LINES_CACHE_PLACES_MAX ||
	    op_reader_left(&reader) !=
		    (uint64_t)places * PLACE_BYTES + (uint64_t)frames * FRAME_BYTES)
		return -EBADMSG;
	r = take_all(c, &reader, &p, places, frames);
	if (r)
		empty(c);
	return r;
}

bool lines_cache_find(const struct lines_cache *c, uint64_t vaddr, bool named,
		      struct debuginfo_line ret[DEBUGINFO_LINES_MAX], size_t *ret_len,
		      const char **ret_name)
{
	size_t at = op_first_where(i, c->read, c->places.data[i].vaddr >= vaddr);
	const struct place *s;

	if (at == c->read)
		return false;
	s = &c->places.data[at];
	if (s->vaddr != vaddr || (named && !s->named))
		return false;
	if (s->len)
		memcpy(ret, c->frames.data + s->first, s->len * sizeof(*ret));
	*ret_len = s->len;
	*ret_name = s->name;
	return true;
}

int lines_cache_add(struct lines_cache *c, uint64_t vaddr,
		    const struct debuginfo_line *lines, size_t len, bool named,
		    const char *name)
{
	if (c->places.len == LINES_CACHE_PLACES_MAX)
		return -ENOSPC;
	if (op_vec_reserve(&c->places, 1) || op_vec_reserve(&c->frames, len))
		return -ENOMEM;
	c->places.data[c->places.len++] = (struct place){
		.vaddr = vaddr,
		.first = (uint32_t)c->frames.len,
		.len = (uint32_t)len,
		.named = named,
		.name = name,
	};
	if (len)
		memcpy(c->frames.data + c->frames.len, lines, len * sizeof(*lines));
	c->frames.len += len;
	return 0;
}

bool lines_cache_changed(const struct lines_cache *c)
{
	return c->places.len > c->read;
}

/* Order by address, then entries with a name first, then by position in memory. */
static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	if (x->named != y->named)
		return x->named ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void remove_doubles(struct lines_cache *c)
{
	size_t kept = 0, i;

	for (i = 0; i < c->places.len; i++) {
		if (!kept || c->places.data[i].vaddr != c->places.data[kept - 1].vaddr)
			c->places.data[kept++] = c->places.data[i];
	}
	c->places.len = kept;
}

/* State of writing: the strings grow while places and frames refer to them. */
struct writing {
	struct op_strings strings;
	struct op_strbuf places;
	struct op_strbuf frames;
	uint32_t frames_len;
	bool failed;
};

static void put_u32(struct op_strbuf *s, uint32_t v)
{
	op_strbuf_add(s, &v, sizeof(v));
}

static void put_u64(struct op_strbuf *s, uint64_t v)
{
	op_strbuf_add(s, &v, sizeof(v));
}

/* The offset of a string among the others, each with a NUL behind it. */
static void put_text(struct writing *w, struct op_strbuf *s, const char *text)
{
	struct otlp_text t = { .data = text ? text : "", .len = text ? strlen(text) : 0 };
	uint32_t number = 0;

	if (op_strings_add(&w->strings, t, &number) < 0)
		w->failed = true;
	else
		put_u32(s, (uint32_t)w->strings.places.data[number].offset + number);
}

static void put_place(struct writing *w, const struct lines_cache *c,
		      const struct place *s)
{
	const struct debuginfo_line *f = c->frames.data + s->first;
	uint32_t i;

	put_u64(&w->places, s->vaddr);
	put_text(w, &w->places, s->name);
	put_u32(&w->places, s->len | (s->named ? is_named : 0));
	for (i = 0; i < s->len; i++) {
		put_text(w, &w->frames, f[i].function);
		put_text(w, &w->frames, f[i].linkage);
		put_text(w, &w->frames, f[i].file);
		put_u32(&w->frames, f[i].line);
		put_u32(&w->frames, f[i].start_line);
	}
	w->frames_len += s->len;
}

static void put_file(const struct writing *w, const char *build_id, uint32_t places,
		     struct op_strbuf *ret)
{
	uint32_t i, crc;

	op_strbuf_reset(ret);
	op_strbuf_add(ret, magic, sizeof(magic));
	put_u32(ret, LINES_CACHE_VERSION);
	put_u32(ret, 0);
	put_u32(ret, (uint32_t)strlen(build_id));
	put_u32(ret, (uint32_t)(w->strings.text.len + w->strings.places.len));
	put_u32(ret, places);
	put_u32(ret, w->frames_len);
	op_strbuf_puts(ret, build_id);
	for (i = 0; i < w->strings.places.len; i++) {
		struct otlp_text t = op_strings_get(&w->strings, i);

		op_strbuf_add(ret, t.data, t.len);
		op_strbuf_add(ret, "", 1);
	}
	op_strbuf_add(ret, w->places.data, w->places.len);
	op_strbuf_add(ret, w->frames.data, w->frames.len);
	if (ret->failed || ret->len > LINES_CACHE_FILE_BYTES_MAX)
		return;
	crc = (uint32_t)crc32(0, (const uint8_t *)ret->data + CRC_END,
			      (uInt)(ret->len - CRC_END));
	memcpy(ret->data + CRC_END - sizeof(crc), &crc, sizeof(crc));
}

int lines_cache_encode(struct lines_cache *c, const char *build_id, struct op_strbuf *ret)
{
	struct writing w = { 0 };
	size_t i;

	if (c->places.len)
		qsort(c->places.data, c->places.len, sizeof(*c->places.data),
		      compare_places);
	remove_doubles(c);
	c->read = c->places.len;
	w.failed = op_strings_init(&w.strings, op_hash_seed()) < 0;
	for (i = 0; !w.failed && i < c->places.len; i++)
		put_place(&w, c, &c->places.data[i]);
	w.failed |= w.places.failed || w.frames.failed;
	if (!w.failed)
		put_file(&w, build_id, (uint32_t)c->places.len, ret);
	w.failed |= ret->failed;
	op_strings_deinit(&w.strings);
	op_strbuf_deinit(&w.places);
	op_strbuf_deinit(&w.frames);
	if (w.failed)
		return -ENOMEM;
	return ret->len > LINES_CACHE_FILE_BYTES_MAX ? -EFBIG : 0;
}
