/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/kind_word.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/foreign/text.h"
#include "base/macros.h"
#include "export/format/kinds.h"

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

static bool text_is(const struct op_collect *c, uint32_t string, const char *text)
{
	return otlp_text_is(op_strings_get(&c->strings, string), text);
}

/* Waits for locks of programs and for those of the kernel have the same type; what they say of the
 * lock tells them apart. */
static bool is_of_kernel(const struct op_collect *c, uint32_t kind)
{
	const struct op_collect_stack *s;

	op_vec_foreach(s, &c->stacks)
		if (s->kind == kind)
			return s->reason && !text_is(c, s->reason, "futex");
	return false;
}

const char *kind_word(const struct op_collect *c, uint32_t kind,
		      char buf[static KIND_WORD_BYTES])
{
	const struct op_collect_kind *k = &c->kinds.data[kind];
	struct otlp_text text;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(words); i++) {
		if (!text_is(c, k->counted_type, words[i].type) ||
		    (words[i].unit && !text_is(c, k->counted_unit, words[i].unit)))
			continue;
		(void)snprintf(buf, KIND_WORD_BYTES, "%s%s",
			       !strncmp(words[i].word, "locks", 5) &&
					       is_of_kernel(c, kind)
				       ? "kernel_"
				       : "",
			       words[i].word);
		return buf;
	}
	/* "samples" would say nothing: what was sampled does. */
	text = op_strings_get(&c->strings,
			      text_is(c, k->counted_type, "samples") && k->period_type
				      ? k->period_type
				      : k->counted_type);
	(void)op_text_show(text.data, text.len, buf, KIND_WORD_BYTES);
	return buf;
}

int kind_by_word(const struct op_collect *c, const char *word, uint32_t *ret)
{
	char buf[KIND_WORD_BYTES];
	uint32_t i;

	for (i = 0; i < c->kinds.len; i++) {
		if (strcmp(kind_word(c, i, buf), word) != 0)
			continue;
		*ret = i;
		return 0;
	}
	return -ENOENT;
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
