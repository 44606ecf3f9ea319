/* SPDX-License-Identifier: Apache-2.0 */
/* Parses layout files section by section; a section is complete or it is an error. */
#include "runtime/layouts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "runtime/layouts_text.h"

enum {
	WORD_MAX = 64,
	FIELDS_MAX = 64, /* fields of a schema; section.seen has a bit for each */
};

struct section {
	const struct op_layouts_schema *schema;
	uint32_t line; /* line where the section begins */
	uint64_t seen; /* keys already given, one bit a field */
	bool any;      /* at least one key was given */
	void *layout;
	char version[OP_LAYOUTS_VERSION_MAX + 1];
};

struct op_layouts {
	OP_VEC(const struct op_layouts_schema *) schemas;
	OP_VEC(struct section) sections;
};

/* A text that is being parsed. */
struct text {
	struct op_layouts *layouts;
	bool built_in; /* a section can refer only to sections of the same text */
	const char *file;
	uint32_t line;
	char *error; /* OP_LAYOUTS_ERROR_MAX */
};

/* Writes the place and the sentence to @t->error. Returns -EINVAL. */
static int _op_printf_(2, 3) wrong(const struct text *t, const char *fmt, ...)
{
	int n = snprintf(t->error, OP_LAYOUTS_ERROR_MAX, "%s:%u: ", t->file, t->line);
	size_t used = OP_MIN((size_t)OP_MAX(n, 0), (size_t)OP_LAYOUTS_ERROR_MAX - 1);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(t->error + used, OP_LAYOUTS_ERROR_MAX - used, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static const struct op_layouts_schema *schema_of(const struct op_layouts *layouts,
						 const char *runtime)
{
	size_t i;

	for (i = 0; i < layouts->schemas.len; i++)
		if (strcmp(layouts->schemas.data[i]->runtime, runtime) == 0)
			return layouts->schemas.data[i];
	return NULL;
}

/* The last section of @version among the first @len, or NULL. */
static const struct section *find_section(const struct op_layouts *layouts, size_t len,
					  const struct op_layouts_schema *schema,
					  const char *version)
{
	const struct section *s;

	while (len--) {
		s = &layouts->sections.data[len];
		if (s->schema == schema && strcmp(s->version, version) == 0)
			return s;
	}
	return NULL;
}

/* Drop all sections after the first @len. */
static void drop_sections(struct op_layouts *layouts, size_t len)
{
	while (layouts->sections.len > len)
		free(layouts->sections.data[--layouts->sections.len].layout);
}

/* A section ends: check that it is complete and valid. */
static int end_section(struct text *t)
{
	const struct section *s;
	const char *why;

	if (!t->layouts->sections.len)
		return 0;
	s = &t->layouts->sections.data[t->layouts->sections.len - 1];
	why = s->schema->check ? s->schema->check(s->layout) : NULL;
	if (!why)
		return 0;
	t->line = s->line;
	return wrong(t, "[%s %s] cannot be used: %s", s->schema->runtime, s->version,
		     why);
}

static int begin_section(struct text *t, const struct op_layouts_line *line)
{
	const struct op_layouts_schema *schema = schema_of(t->layouts, line->first);
	struct section *s;
	void *layout;

	if (!schema)
		return wrong(t, "no runtime \"%s\" takes its layout from a file",
			     line->first);
	if (strlen(line->second) > OP_LAYOUTS_VERSION_MAX)
		return wrong(t, "a version has at most %d bytes", OP_LAYOUTS_VERSION_MAX);
	if (t->layouts->sections.len >= OP_LAYOUTS_SECTIONS_MAX)
		return wrong(t, "all files together may have %d sections",
			     OP_LAYOUTS_SECTIONS_MAX);
	layout = calloc(1, schema->bytes);
	s = layout ? op_vec_push(&t->layouts->sections) : NULL;
	if (!s) {
		free(layout);
		return -ENOMEM;
	}
	*s = (struct section){ .schema = schema, .line = t->line, .layout = layout };
	memcpy(s->version, line->second, strlen(line->second) + 1);
	return 0;
}

/* Handle "like = VERSION": begin with a copy of that section. */
static int take_like(struct text *t, struct section *s, const char *version)
{
	const struct section *from = find_section(
		t->layouts, t->layouts->sections.len - 1, s->schema, version);
	int r;

	if (s->any)
		return wrong(t, "\"like\" must be the first key of its section");
	s->any = true;
	if (from) {
		memcpy(s->layout, from->layout, s->schema->bytes);
		return 0;
	}
	r = t->built_in ? -ENOENT : op_layouts_find(NULL, s->schema, version, s->layout);
	if (r == -ENOENT)
		return wrong(t, "there is no section [%s %s] before this one",
			     s->schema->runtime, version);
	return r;
}

/* The value of @word: one of the words of @f, or a number. Returns false if it is
 * neither. */
static bool take_word(const struct op_layouts_field *f, const char *word, uint64_t *ret)
{
	const struct op_layouts_word *w;

	if (!f->words)
		return op_layouts_number(word, ret) == 0;
	for (w = f->words; w->name; w++) {
		if (strcmp(w->name, word) == 0) {
			*ret |= w->value;
			return true;
		}
	}
	return false;
}

static int take_value(struct text *t, struct section *s, const struct op_layouts_field *f,
		      const char *text)
{
	uint8_t *at = (uint8_t *)s->layout + f->at;
	char word[WORD_MAX];
	uint64_t value = 0;
	uint32_t i = 0;

	while (op_layouts_next(&text, word, sizeof(word))) {
		if (!take_word(f, word, &value))
			return wrong(t,
				     f->words ? "\"%s\" is not a word that %s accepts"
					      : "\"%s\" is not a number, which %s takes",
				     word, f->key);
		if (f->bytes < 8 && value >> (f->bytes * 8))
			return wrong(t, "%s is too large for %s", word, f->key);
		if (f->words)
			continue;
		if (i >= f->count)
			return wrong(t, "%s takes %u number%s", f->key, f->count,
				     f->count == 1 ? "" : "s");
		/* OK on little-endian hosts, the only ones supported */
		memcpy(at + (size_t)i++ * f->bytes, &value, f->bytes);
	}
	if (f->words)
		memcpy(at, &value, f->bytes);
	else if (i < f->count)
		return wrong(t, "%s takes %u numbers", f->key, f->count);
	return 0;
}

static int take_entry(struct text *t, size_t first, const struct op_layouts_line *line)
{
	const struct op_layouts_schema *schema;
	struct section *s;
	size_t i;

	if (t->layouts->sections.len == first)
		return wrong(t, "there is no [RUNTIME VERSION] before this key");
	s = &t->layouts->sections.data[t->layouts->sections.len - 1];
	schema = s->schema;
	if (strcmp(line->first, "like") == 0)
		return take_like(t, s, line->second);
	s->any = true;
	for (i = 0; i < OP_MIN(schema->fields, (size_t)FIELDS_MAX); i++) {
		if (strcmp(schema->field[i].key, line->first) != 0)
			continue;
		if (s->seen & UINT64_C(1) << i)
			return wrong(t, "%s is given twice in this section", line->first);
		s->seen |= UINT64_C(1) << i;
		return take_value(t, s, &schema->field[i], line->second);
	}
	return wrong(t,
		     "%s has no key \"%s\"; the sections that come with the library "
		     "(share/otelprof/layouts) show them all",
		     schema->runtime, line->first);
}

static int take_line(struct text *t, size_t first, const char *text, size_t len)
{
	struct op_layouts_line line;
	const char *why = op_layouts_line(text, len, &line);
	int r;

	if (why)
		return wrong(t, "%s", why);
	switch (line.kind) {
	case OP_LAYOUTS_SECTION:
		r = t->layouts->sections.len > first ? end_section(t) : 0;
		return r < 0 ? r : begin_section(t, &line);
	case OP_LAYOUTS_ENTRY:
		return take_entry(t, first, &line);
	case OP_LAYOUTS_NOTHING:
	default:
		return 0;
	}
}

static int read_text(struct text *t, const char *text, size_t len)
{
	size_t first = t->layouts->sections.len;
	const char *end = text + len;
	int r = 0;

	t->error[0] = 0;
	while (text < end && r == 0) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;

		t->line++;
		r = take_line(t, first, text, (size_t)(line_end - text));
		text = line_end + 1;
	}
	if (r == 0 && t->layouts->sections.len > first)
		r = end_section(t);
	if (r < 0)
		drop_sections(t->layouts, first);
	return r;
}

int op_layouts_read(struct op_layouts *layouts, const char *file, const char *text,
		    size_t len, char ret_error[OP_LAYOUTS_ERROR_MAX])
{
	struct text t = { .layouts = layouts, .file = file, .error = ret_error };

	return read_text(&t, text, len);
}

/* Find the built-in section of @version. Its text is parsed again each time, which is
 * rare. */
static int find_built_in(const struct op_layouts_schema *schema, const char *version,
			 void *ret)
{
	char error[OP_LAYOUTS_ERROR_MAX];
	struct op_layouts layouts = { .schemas = { .data = &schema, .len = 1 } };
	struct text t = { .layouts = &layouts,
			  .built_in = true,
			  .file = schema->runtime,
			  .error = error };
	const char *text = (const char *)schema->built_in;
	const struct section *s = NULL;
	int r = text ? read_text(&t, text, strlen(text)) : 0;

	if (r == 0)
		s = find_section(&layouts, layouts.sections.len, schema, version);
	if (s)
		memcpy(ret, s->layout, schema->bytes);
	drop_sections(&layouts, 0);
	op_vec_clear(&layouts.sections);
	return r == -ENOMEM ? r : s ? 0 : -ENOENT;
}

int op_layouts_find(const struct op_layouts *layouts,
		    const struct op_layouts_schema *schema, const char *version,
		    void *ret)
{
	const struct section *s = NULL;

	if (layouts)
		s = find_section(layouts, layouts->sections.len, schema, version);
	if (!s)
		return find_built_in(schema, version, ret);
	memcpy(ret, s->layout, schema->bytes);
	return 0;
}

int op_layouts_find_number(const struct op_layouts *layouts,
			   const struct op_layouts_schema *schema, uint16_t version,
			   void *ret)
{
	char text[OP_LAYOUTS_VERSION_MAX + 1];

	(void)snprintf(text, sizeof(text), "%u.%u", version >> 8u, version & 255u);
	return op_layouts_find(layouts, schema, text, ret);
}

int op_layouts_unknown(const struct op_layouts_schema *schema, const char *version,
		       const char *path, struct op_log *log)
{
	op_log(log, OP_LOG_WARNING,
	       "%s: the layout of %s %s is not known, so its frames stay native; a "
	       "section [%s %s] in a file of layouts_dir (--layouts-dir DIR) would give it",
	       path, schema->title, version, schema->runtime, version);
	return -ENOTSUP;
}

size_t op_layouts_count(const struct op_layouts *layouts)
{
	return layouts ? layouts->sections.len : 0;
}

int op_layouts_new(struct op_layouts **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

int op_layouts_add(struct op_layouts *layouts, const struct op_layouts_schema *schema)
{
	const struct op_layouts_schema **s = op_vec_push(&layouts->schemas);

	if (!s)
		return -ENOMEM;
	*s = schema;
	return 0;
}

struct op_layouts *op_layouts_free(struct op_layouts *layouts)
{
	if (!layouts)
		return NULL;
	drop_sections(layouts, 0);
	op_vec_clear(&layouts->sections);
	op_vec_clear(&layouts->schemas);
	free(layouts);
	return NULL;
}
