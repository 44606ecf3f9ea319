/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the function that somebody names. A name may be copied from a report, which shows
 * long ones cut and some characters as others.
 */
#include "report/named.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
	NAME_BYTES = 65536,
	/* how well a name fits */
	FITS_NOT = 0,
	FITS_INSIDE,
	FITS_BEGINNING,
	FITS_WHOLE,
	FITS_EXACTLY,
};
static const char cut_mark[] = "…";

char named_shown(char c)
{
	if ((unsigned char)c < 0x20 || c == 0x7f)
		return '?';
	return c == '|' || c == '`' ? '\'' : c;
}

static void show(char *text)
{
	for (; *text; text++)
		*text = named_shown(*text);
}

static int fit(const struct view *v, uint32_t string, const char *part, char *buf)
{
	const char *at;

	if (view_text_is(v->c, string, v->request.function))
		return FITS_EXACTLY;
	show((char *)view_text(v->c, string, buf, NAME_BYTES));
	at = strstr(buf, part);
	if (!at)
		return FITS_NOT;
	if (at != buf)
		return FITS_INSIDE;
	return buf[strlen(part)] ? FITS_BEGINNING : FITS_WHOLE;
}

/* The values of all samples that a function is in, by its name. */
static int weigh(const struct view *v, int64_t *ret)
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

int named_find(const struct view *v, uint32_t *ret)
{
	size_t strings = v->c->strings.places.len, len = strlen(v->request.function);
	_cleanup_free_ int64_t *weights = calloc(strings + 1, sizeof(*weights));
	_cleanup_free_ char *part = strdup(v->request.function);
	_cleanup_free_ char *buf = malloc(NAME_BYTES);
	const struct op_collect_function *f;
	int best = FITS_NOT, fits, r;

	if (!weights || !part || !buf)
		return -ENOMEM;
	r = weigh(v, weights);
	if (r)
		return r;
	if (len > strlen(cut_mark) &&
	    strcmp(part + len - strlen(cut_mark), cut_mark) == 0)
		part[len - strlen(cut_mark)] = 0;
	show(part);
	op_vec_foreach(f, &v->c->functions) {
		fits = weights[f->name] ? fit(v, f->name, part, buf) : FITS_NOT;
		if (fits > best ||
		    (fits && fits == best && weights[f->name] > weights[*ret])) {
			best = fits;
			*ret = f->name;
		}
	}
	return best ? 0 : -ENOENT;
}
