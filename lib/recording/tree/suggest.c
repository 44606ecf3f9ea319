/* SPDX-License-Identifier: Apache-2.0 */
/* Compares names with typing mistakes: other case, a part, letters missing or swapped. */
#include "recording/tree/missing.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum {
	FAR = INT_MAX,
	PART_MIN = 3, /* a shorter part is too common */
	/* largest length of names that are compared letter by letter */
	LETTERS_MAX = 64,
	LETTERS_RIGHT = 3, /* penalty for each wrong letter */
};

static void lower(const char *text, size_t len, char *ret)
{
	size_t i;

	for (i = 0; i < len && i < SUGGESTION_BYTES - 1 && text[i]; i++)
		ret[i] = (char)tolower((unsigned char)text[i]);
	ret[i] = 0;
}

/* The last component of a path or of a qualified name, without parameters. */
static void last_part(const char *name, char *ret)
{
	size_t len = strcspn(name, "(<"), start;

	if (!len)
		len = strlen(name);
	for (start = len; start && !strchr("/.:", name[start - 1]);)
		start--;
	if (start == len)
		start = 0;
	memmove(ret, name + start, len - start);
	ret[len - start] = 0;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Number of letters to add, remove, replace or swap. */
static int letters(const char *a, const char *b)
{
	int rows[3][LETTERS_MAX + 1];
	int *before = rows[0], *last = rows[1], *row = rows[2], *free_row;
	size_t i, j, n = strlen(b);

	for (j = 0; j <= n; j++)
		last[j] = before[j] = (int)j;
	for (i = 1; a[i - 1]; i++) {
		row[0] = (int)i;
		for (j = 1; j <= n; j++) {
			row[j] = least(least(last[j], row[j - 1]) + 1,
				       last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		free_row = before;
		before = last;
		last = row;
		row = free_row;
	}
	return last[n];
}

static bool is_part(const char *part, const char *text)
{
	return strlen(part) >= PART_MIN && strstr(text, part);
}

static int distance_of(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), longer = n > m ? n : m;
	size_t wrong = longer / LETTERS_RIGHT;
	int d;

	if (strcmp(a, b) == 0)
		return 0;
	if (is_part(a, b) || is_part(b, a))
		return 1;
	if (!n || !m || longer > LETTERS_MAX || longer - (n < m ? n : m) > wrong)
		return FAR;
	d = letters(a, b);
	return (size_t)d <= wrong ? d : FAR;
}

/* Keep the best ones, in order. */
static void keep(struct suggestion *names, size_t *len, const struct suggestion *name)
{
	size_t i = *len < SUGGESTIONS_MAX ? *len : SUGGESTIONS_MAX;

	for (; i && (name->distance < names[i - 1].distance ||
		     (name->distance == names[i - 1].distance &&
		      name->value > names[i - 1].value));
	     i--) {
		if (i < SUGGESTIONS_MAX)
			names[i] = names[i - 1];
	}
	if (i == SUGGESTIONS_MAX)
		return;
	names[i] = *name;
	*len += *len < SUGGESTIONS_MAX;
}

void suggestions_add(struct suggestions *n, uint32_t label, const char *name,
		     int64_t value)
{
	char a[SUGGESTION_BYTES], b[SUGGESTION_BYTES];
	struct suggestion it = { label, 0, value };
	int d, last;

	n->names++;
	keep(n->largest, &n->largest_len, &it);
	lower(n->wanted, strlen(n->wanted), a);
	lower(name, strlen(name), b);
	d = distance_of(a, b);
	last_part(a, a);
	last_part(b, b);
	last = distance_of(a, b);
	/* A match of the last part alone is less similar. */
	if (last != FAR && last + 1 < d)
		d = last + 1;
	if (d == FAR)
		return;
	it.distance = (unsigned int)d;
	keep(n->nearest, &n->nearest_len, &it);
}
