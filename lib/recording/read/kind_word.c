/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/kind_word.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/foreign/text.h"
#include "base/macros.h"
#include "export/format/collect/kinds.h"

static const struct {
	const char *type;
	const char *unit; /* NULL: any */
	const char *word;
} words[] = {
	{ "memory_growth", NULL, "page_faults/bytes" },
	{ "off_cpu_wakers", NULL, "wakers" },
	{ "contentions", NULL, "locks/count" },
	{ "delay", "nanoseconds", "locks" },
	{ "block_io", "nanoseconds", "block_io" },
	{ "block_io", "bytes", "block_io/bytes" },
	{ "block_io", "count", "block_io/count" },
	{ "block_io_queue", NULL, "block_io/queue" },
	{ "block_io_service", NULL, "block_io/service" },
	{ "events", NULL, "probes" },
	{ "alloc_space", NULL, "heap" },
	{ "alloc_objects", NULL, "heap/count" },
	{ "inuse_space", NULL, "heap/inuse" },
	{ "inuse_objects", NULL, "heap/inuse_count" },
};

/* Waits for locks of programs and for those of the kernel have the same type; what they say of the
 * lock tells them apart. */
static bool is_of_kernel(const struct op_collect *c, uint32_t kind)
{
	const struct op_collect_stack *s;

	op_vec_foreach(s, &c->stacks)
		if (s->kind == kind)
			return s->reason &&
			       !otlp_text_is(op_strings_get(&c->strings, s->reason),
					     "futex");
	return false;
}

static const char *word_of(const struct kind_names *n, char buf[static KIND_WORD_BYTES])
{
	struct otlp_text text = n->type;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(words); i++) {
		if (!otlp_text_is(n->type, words[i].type) ||
		    (words[i].unit && !otlp_text_is(n->unit, words[i].unit)))
			continue;
		(void)snprintf(buf, KIND_WORD_BYTES, "%s%s",
			       n->of_kernel && !strncmp(words[i].word, "locks", 5)
				       ? "kernel_"
				       : "",
			       words[i].word);
		return buf;
	}
	/* "samples" would not help: use the type of what was sampled. */
	if (otlp_text_is(text, "samples") && n->period_type.len)
		text = n->period_type;
	(void)op_text_show(text.data, text.len, buf, KIND_WORD_BYTES);
	return buf;
}

/* The names of the counted values, or without @counted those of the shown values. */
static struct kind_names names_of(const struct op_collect *c, uint32_t kind, bool counted)
{
	const struct op_collect_kind *k = &c->kinds.data[kind];

	return (struct kind_names){
		.type = op_strings_get(&c->strings, counted ? k->counted_type : k->type),
		.unit = op_strings_get(&c->strings, counted ? k->counted_unit : k->unit),
		.period_type = op_strings_get(&c->strings, k->period_type),
		.of_kernel = is_of_kernel(c, kind),
	};
}

const char *kind_word(const struct op_collect *c, uint32_t kind,
		      char buf[static KIND_WORD_BYTES])
{
	const struct kind_names names = names_of(c, kind, true);

	return word_of(&names, buf);
}

/* Is @text the @len bytes at @word? */
static bool text_is(struct otlp_text text, const char *word, size_t len)
{
	return text.len == len && memcmp(text.data, word, len) == 0;
}

static bool fits_one(const char *word, size_t len, const struct kind_names *n)
{
	char buf[KIND_WORD_BYTES];
	const char *of = word_of(n, buf);

	if (!len)
		return false;
	if (strncmp(of, word, len) == 0 && (!of[len] || of[len] == '/'))
		return true;
	if (text_is(n->type, word, len) || text_is(n->period_type, word, len))
		return true;
	return n->type.len && len > n->type.len && word[n->type.len] == '/' &&
	       text_is(n->type, word, n->type.len) &&
	       text_is(n->unit, word + n->type.len + 1, len - n->type.len - 1);
}

bool kind_fits(const char *list, const struct kind_names *names)
{
	size_t len;

	for (;; list += len + 1) {
		len = strcspn(list, ",");
		if (fits_one(list, len, names))
			return true;
		if (!list[len])
			return false;
	}
}

/* If it is weighed, also by the shown values. */
static bool kind_is_asked_for(const struct op_collect *c, uint32_t kind, const char *word)
{
	const struct kind_names counted = names_of(c, kind, true);
	const struct kind_names shown = names_of(c, kind, false);

	return kind_fits(word, &counted) || kind_fits(word, &shown);
}

int kind_by_word(const struct op_collect *c, const char *word, uint32_t *ret)
{
	char buf[KIND_WORD_BYTES];
	uint32_t i, found = UINT32_MAX;

	for (i = 0; i < c->kinds.len; i++) {
		if (strcmp(kind_word(c, i, buf), word) == 0) {
			*ret = i;
			return 0;
		}
		if (kind_is_asked_for(c, i, word) &&
		    (found == UINT32_MAX || op_collect_kind_before(c, i, found)))
			found = i;
	}
	if (found == UINT32_MAX)
		return -ENOENT;
	*ret = found;
	return 0;
}

uint32_t kind_by_default(const struct op_collect *c)
{
	uint32_t kind = op_collect_main_kind(c);
	char word[KIND_WORD_BYTES];

	if (!c->kinds.len)
		return 0;
	(void)kind_word(c, kind, word);
	word[strcspn(word, "/")] = 0;
	(void)kind_by_word(c, word, &kind);
	return kind;
}
