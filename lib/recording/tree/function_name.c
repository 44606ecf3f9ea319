/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the function that a user names. The name may be copied from a report, which
 * shortens long names and replaces some characters.
 */
#include "recording/tree/function_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/read/print.h"

enum {
	NAME_BYTES = 65536,
	/* how well a name matches */
	FITS_NOT = 0,
	FITS_INSIDE,
	FITS_BEGINNING,
	FITS_WHOLE,
	FITS_EXACTLY,
};

char function_name_shown(char c)
{
	return c == '|' || c == '`' ? '\'' : c;
}

static void show(char *text)
{
	for (; *text; text++)
		*text = function_name_shown(*text);
}

/*
 * Find @pattern in @text. A "…" in it matches the part that a report left out. Returns
 * the end of the match, and where it begins, or NULL.
 */
static const char *find_parts(const char *text, char *pattern, const char **ret_start)
{
	char *mark = strstr(pattern, SHORT_MARK), *part = pattern;
	const char *at = text;
	size_t len;

	for (; mark; mark = strstr(part, SHORT_MARK)) {
		*mark = 0;
		at = strstr(at, part);
		*mark = SHORT_MARK[0];
		if (!at)
			return NULL;
		*ret_start = part == pattern ? at : *ret_start;
		at += (size_t)(mark - part);
		part = mark + strlen(SHORT_MARK);
	}
	len = strlen(part);
	/* A name whose last part is the text matches it whole. Other names only contain
	 * it at their end. */
	if (part != pattern && len && strlen(at) >= len &&
	    strcmp(at + strlen(at) - len, part) == 0)
		return at + strlen(at);
	at = strstr(at, part);
	if (!at)
		return NULL;
	*ret_start = part == pattern ? at : *ret_start;
	return at + len;
}

static int fit(const struct view *v, uint32_t string, char *part, char *buf)
{
	const char *at = buf, *end;

	if (view_text_is(v->c, string, v->request.function))
		return FITS_EXACTLY;
	show((char *)view_text(v->c, string, buf, NAME_BYTES));
	end = find_parts(buf, part, &at);
	if (!end)
		return FITS_NOT;
	if (at != buf)
		return FITS_INSIDE;
	return *end ? FITS_BEGINNING : FITS_WHOLE;
}

int function_name_weigh(const struct view *v, int64_t *ret)
{
	_cleanup_free_ uint32_t *last =
		calloc(v->c->strings.places.len + 1, sizeof(*last));
	struct op_collect_path path = { 0 };
	const struct op_collect_stack *s;
	uint32_t stack = 0, name;
	int r = last ? 0 : -ENOMEM;
	size_t i;

	op_vec_foreach(s, &v->c->stacks) {
		if (r)
			break;
		if (!view_wants(v, s))
			continue;
		stack++;
		r = op_collect_path(v->c, s, &path);
		for (i = 0; !r && i < path.len; i++) {
			name = v->c->functions.data[path.data[i]].name;
			if (last[name] != stack)
				ret[name] = op_collect_sum(ret[name], s->value);
			last[name] = stack;
		}
	}
	free(path.data);
	return r;
}

/* Is it a match, and better than the best so far? An equal name comes first, then the
 * heaviest one, because a name that only begins with the text says little. */
struct best {
	uint32_t name;
	int fits;
	int64_t weight;
};

static bool is_better(const struct best *b, int fits, int64_t weight)
{
	bool whole = fits >= FITS_WHOLE || b->fits >= FITS_WHOLE;

	if (whole && fits != b->fits)
		return fits > b->fits;
	return weight != b->weight ? weight > b->weight : fits > b->fits;
}

/* Keep the best match, and the others that match as well. */
static int choose(const struct view *v, const int64_t *weights, const uint8_t *fits,
		  uint32_t *ret, struct sums *ret_also)
{
	struct best best = { 0 };
	uint32_t i;
	int r = 0;

	for (i = 1; i < v->c->strings.places.len; i++)
		if (fits[i] && is_better(&best, fits[i], weights[i]))
			best = (struct best){ i, fits[i], weights[i] };
	if (!best.fits)
		return -ENOENT;
	for (i = 1; !r && ret_also && i < v->c->strings.places.len; i++)
		if (fits[i] && i != best.name && best.fits != FITS_EXACTLY &&
		    (best.fits < FITS_WHOLE || fits[i] == best.fits))
			r = sums_add(ret_also, i, weights[i]);
	if (ret_also)
		sums_sort(ret_also);
	*ret = best.name;
	return r;
}

int function_name_find(const struct view *v, uint32_t *ret, struct sums *ret_also)
{
	size_t strings = v->c->strings.places.len;
	_cleanup_free_ int64_t *weights = calloc(strings + 1, sizeof(*weights));
	_cleanup_free_ uint8_t *fits = calloc(strings + 1, sizeof(*fits));
	_cleanup_free_ char *part = strdup(v->request.function);
	_cleanup_free_ char *buf = malloc(NAME_BYTES);
	const struct op_collect_function *f;
	int r;

	if (!weights || !fits || !part || !buf)
		return -ENOMEM;
	r = function_name_weigh(v, weights);
	if (r)
		return r;
	show(part);
	op_vec_foreach(f, &v->c->functions)
		if (weights[f->name] && !fits[f->name])
			fits[f->name] = (uint8_t)fit(v, f->name, part, buf);
	return choose(v, weights, fits, ret, ret_also);
}

struct otlp_text function_name_base(struct otlp_text path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (slash) {
		path.len -= (size_t)(slash + 1 - path.data);
		path.data = slash + 1;
	}
	return path;
}
