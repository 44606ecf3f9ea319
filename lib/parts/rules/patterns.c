/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/patterns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

static struct op_pattern *pattern_of(uint64_t word)
{
	return (struct op_pattern *)(uintptr_t)word;
}

void op_patterns_init(struct op_patterns *p)
{
	memset(p, 0, sizeof(*p));
	p->seed = op_hash_seed();
}

void op_patterns_deinit(struct op_patterns *p)
{
	uint64_t word;
	size_t at = 0;

	while (op_map64_next(&p->by_hash, &at, &word)) {
		struct op_pattern *pattern = pattern_of(word);

		while (pattern) {
			struct op_pattern *next = pattern->next;

			free(pattern);
			pattern = next;
		}
	}
	op_map64_clear(&p->by_hash);
	op_vec_clear(&p->globs);
}

static uint64_t hash_of(const struct op_patterns *p, uint32_t kind, const char *text,
			size_t len)
{
	return op_hash_bytes(text, len, p->seed + kind);
}

static struct op_pattern *first(const struct op_patterns *p, uint64_t hash)
{
	uint64_t word;

	return op_map64_get(&p->by_hash, hash, &word) ? pattern_of(word) : NULL;
}

struct op_pattern *op_patterns_find(const struct op_patterns *p, uint32_t kind,
				    const char *text, size_t len)
{
	struct op_pattern *at = first(p, hash_of(p, kind, text, len));

	for (; at; at = at->next)
		if (at->kind == kind && at->len == len &&
		    memcmp(at->text, text, len) == 0)
			return at;
	return NULL;
}

int op_patterns_add(struct op_patterns *p, uint32_t kind, const char *text,
		    struct op_pattern **ret)
{
	_cleanup_free_ struct op_pattern *pattern = NULL;
	size_t len = strlen(text);
	uint64_t hash = hash_of(p, kind, text, len);

	pattern = calloc(1, sizeof(*pattern) + len + 1);
	if (!pattern)
		return -ENOMEM;
	pattern->kind = kind;
	pattern->len = len;
	memcpy(pattern->text, text, len);
	pattern->glob = kind == OP_RULE_EXECUTABLE && strchr(text, '*');
	if (op_vec_reserve(&p->globs, 1))
		return -ENOMEM;
	pattern->next = first(p, hash);
	if (op_map64_put(&p->by_hash, hash, (uint64_t)(uintptr_t)pattern) < 0)
		return -ENOMEM;
	if (pattern->glob)
		p->globs.data[p->globs.len++] = pattern;
	p->len[kind]++;
	*ret = OP_TAKE_PTR(pattern);
	return 0;
}

void op_patterns_remove(struct op_patterns *p, struct op_pattern *pattern)
{
	uint64_t hash = hash_of(p, pattern->kind, pattern->text, pattern->len);
	struct op_pattern *at = first(p, hash);
	size_t i;

	if (at == pattern && pattern->next)
		/* replacing takes no memory */
		(void)op_map64_put(&p->by_hash, hash, (uint64_t)(uintptr_t)pattern->next);
	else if (at == pattern)
		(void)op_map64_remove(&p->by_hash, hash);
	for (; at && at != pattern; at = at->next)
		if (at->next == pattern)
			at->next = pattern->next;
	for (i = 0; pattern->glob && i < p->globs.len; i++)
		if (p->globs.data[i] == pattern)
			p->globs.data[i] = p->globs.data[--p->globs.len];
	p->len[pattern->kind]--;
	free(pattern);
}

/* If the text does not match, the last * takes one byte more and the search continues
 * there. Earlier ones stay, so the cost is at most the product of both lengths. */
bool op_glob_matches(const char *glob, size_t glob_len, const char *text, size_t len)
{
	size_t star = SIZE_MAX; /* position in @glob behind the last * */
	size_t from = 0;	/* position in @text where the part behind it was tried */
	size_t g = 0;
	size_t t = 0;

	while (t < len) {
		if (g < glob_len && glob[g] == '*') {
			star = ++g;
			from = t;
		} else if (g < glob_len && glob[g] == text[t]) {
			g++;
			t++;
		} else if (star != SIZE_MAX) {
			g = star;
			t = ++from;
		} else {
			return false;
		}
	}
	while (g < glob_len && glob[g] == '*')
		g++;
	return g == glob_len;
}

void op_patterns_of_path(const struct op_patterns *p, const char *path, op_pattern_fn fn,
			 void *ctx)
{
	size_t len = strlen(path);
	struct op_pattern *found = op_patterns_find(p, OP_RULE_EXECUTABLE, path, len);
	size_t i;

	/* a pattern with a * is tried below, also for a file with that very name */
	if (found && !found->glob)
		fn(ctx, found);
	for (i = 0; i < p->globs.len; i++) {
		const struct op_pattern *glob = p->globs.data[i];

		if (op_glob_matches(glob->text, glob->len, path, len))
			fn(ctx, p->globs.data[i]);
	}
}

void op_patterns_of_environ(const struct op_patterns *p, const char *text, size_t len,
			    op_pattern_fn fn, void *ctx)
{
	const char *end = text + len;
	const char *at = text;

	while (at < end) {
		const char *nul = memchr(at, 0, (size_t)(end - at));
		const char *equals;
		struct op_pattern *found;

		if (!nul)
			return;
		equals = memchr(at, '=', (size_t)(nul - at));
		if (equals) {
			found = op_patterns_find(p, OP_RULE_ENVIRONMENT, at,
						 (size_t)(nul - at));
			if (found)
				fn(ctx, found);
			found = op_patterns_find(p, OP_RULE_ENVIRONMENT, at,
						 (size_t)(equals - at));
			if (found)
				fn(ctx, found);
		}
		at = nul + 1;
	}
}
