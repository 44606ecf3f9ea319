/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/print.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	DEPTH_MAX = 64,	 /* a name that is nested deeper stays as it is */
	HASH_BYTES = 16, /* of Rust's legacy names */
	WORTH_BYTES = 4, /* names up to the length of the mark are not cut */
};

static int columns_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Length of an operator or arrow at @at, in which < > ( are no brackets. 0: none. */
static size_t plain_at(const char *name, size_t at)
{
	static const char *const operators[] = {
		"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "<", ">",
	};
	static const char word[] = "operator";
	size_t i, n = sizeof(word) - 1;

	if (strncmp(name + at, "->", 2) == 0 || strncmp(name + at, "=>", 2) == 0)
		return 2;
	if (strncmp(name + at, word, n) != 0)
		return 0;
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (strncmp(name + at + n, operators[i], strlen(operators[i])) == 0)
			return n + strlen(operators[i]);
	}
	return n;
}

static char closing(char c)
{
	return c == '<' ? '>' : c == '(' ? ')' : c == '[' ? ']' : '}';
}

/* The index at which the bracket at @at closes. 0: nowhere. */
static size_t close_of(const char *name, size_t at)
{
	char open[DEPTH_MAX];
	size_t depth = 0, n;

	for (; name[at]; at++) {
		n = plain_at(name, at);
		if (n) {
			at += n - 1;
		} else if (strchr("<([{", name[at])) {
			if (depth == DEPTH_MAX)
				return 0;
			open[depth++] = closing(name[at]);
		} else if (strchr(">)]}", name[at])) {
			if (open[--depth] != name[at])
				return 0;
			if (!depth)
				return at;
		}
	}
	return 0;
}

/* Does it belong to the word before it: arguments, but not "(anonymous namespace)" or
 * Rust's "<T as Trait>::f"? */
static bool follows_word(const char *name, size_t at)
{
	unsigned char before = at ? (unsigned char)name[at - 1] : 0;

	return isalnum(before) || before >= 0x80 || (before && strchr("_>)]}", before));
}

/* A place where the name may be cut. */
struct cut {
	char open;    /* '<' or '(' */
	size_t level; /* how many '<' are around it */
};

/* Cut the contents of all brackets of the kinds in @meant. */
static void cut_all(char *name, struct cut meant)
{
	size_t ends[DEPTH_MAX], depth = 0, from = 0, to = 0, end, n, word = SIZE_MAX;
	bool arguments, cut;

	while (name[from]) {
		n = plain_at(name, from);
		end = !n && strchr("<(", name[from]) ? close_of(name, from) : 0;
		/* "operator<< <int>" */
		if (n && name[from] == 'o')
			word = from + n + (name[from + n] == ' ');
		arguments = end && (follows_word(name, from) || from == word);
		cut = arguments && name[from] == meant.open && depth == meant.level &&
		      end - from - 1 >= WORTH_BYTES;
		if (arguments && !cut && name[from] == '<' && depth < DEPTH_MAX)
			ends[depth++] = end;
		if (depth && from == ends[depth - 1])
			depth--;
		if (cut) {
			name[to++] = name[from];
			memcpy(name + to, SHORT_MARK, strlen(SHORT_MARK));
			to += strlen(SHORT_MARK);
			from = end;
			n = 0;
		}
		for (n = n ? n : 1; n; n--)
			name[to++] = name[from++];
	}
	name[to] = 0;
}

/* "::h0123456789abcdef", in a name that was not demangled. */
static void cut_hash(char *name)
{
	size_t len = strlen(name);
	char *hash = name + len - HASH_BYTES;

	if (len > HASH_BYTES + 3 && strspn(hash, "0123456789abcdef") == HASH_BYTES &&
	    memcmp(hash - 3, "::h", 3) == 0)
		hash[-3] = 0;
}

void name_shorten(char *name, int columns)
{
	static const struct cut cuts[] = {
		{ '(', 0 }, { '(', 1 }, { '<', 1 }, { '<', 0 }
	};
	size_t i;

	cut_hash(name);
	for (i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		if (columns_of(name) <= columns)
			return;
		cut_all(name, cuts[i]);
	}
}
