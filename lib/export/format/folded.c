/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes folded stacks: "process;root;...;leaf count", one line for each distinct
 * stack, sorted. The lines have no place for a unit. So of several kinds of samples it
 * writes only the one that is shown first.
 */
#include "export/format/ops.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign/text.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "export/format/collect/collect.h"
#include "export/format/collect/kinds.h"
#include "otelprof/export.h"

struct folded_line {
	const char *text;
	int64_t value;
};

/* If a name ends with a blank and a number, like a line, the position of that blank.
 * Otherwise its end. Readers of diffs take two numbers at the end of a line. */
static const char *number_at_end(const char *s, size_t len)
{
	const char *digits = "0123456789.";
	const char *end = s + len, *at = end;

	while (at > s && strchr(digits, at[-1]) && at[-1])
		at--;
	return at < end && at > s && at[-1] == ' ' ? at - 1 : end;
}

/* Append a name. Characters with a meaning in this format are replaced. */
static void put_name(struct op_strbuf *out, const char *s, size_t len)
{
	const char *end = s + len, *number = number_at_end(s, len);
	char shown[OP_TEXT_CHAR_BYTES];

	if (!len)
		op_strbuf_puts(out, "?");
	while (s < end) {
		if (s == number) {
			op_strbuf_puts(out, "\xc2\xa0"); /* a non-breaking space */
			s++;
			continue;
		}
		s += op_text_show_char(s, (size_t)(end - s), shown);
		op_strbuf_puts(out, *shown == ';' ? ":" : shown);
	}
}

static int put_stack(const struct op_collect *c, const struct op_collect_stack *s,
		     struct op_collect_path *path, struct op_strbuf *out)
{
	const char *text;
	size_t len, i;
	int r = op_collect_path(c, s, path);

	if (r)
		return r;
	text = op_collect_text(c, c->processes.data[s->process].name, &len);
	put_name(out, text, len);
	for (i = 0; i < path->len; i++) {
		op_strbuf_add(out, ";", 1);
		text = op_collect_text(c, c->functions.data[path->data[i]].name, &len);
		put_name(out, text, len);
	}
	op_strbuf_add(out, "", 1);
	return out->failed ? -ENOMEM : 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct folded_line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* Sort and print @len lines, whose texts follow one another in @texts. */
static int print_lines(struct folded_line *lines, size_t len,
		       const struct op_strbuf *texts, struct op_strbuf *out)
{
	const char *text = texts->data;
	int64_t value;
	size_t i;

	for (i = 0; i < len; i++) {
		lines[i].text = text;
		text += strlen(text) + 1;
	}
	if (len)
		qsort(lines, len, sizeof(*lines), compare_lines);
	for (i = 0; i < len; i++) {
		value = lines[i].value;
		while (i + 1 < len && strcmp(lines[i].text, lines[i + 1].text) == 0)
			value = op_collect_sum(value, lines[++i].value);
		op_strbuf_puts(out, lines[i].text);
		op_strbuf_printf(out, " %" PRId64 "\n", value);
	}
	return out->failed ? -ENOMEM : 0;
}

static int folded_write(const struct op_collect *c, int fd)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf texts = { 0 };
	_cleanup_(op_strbuf_deinit) struct op_strbuf out = { 0 };
	_cleanup_free_ struct folded_line *lines = NULL;
	_cleanup_free_ uint32_t *numbers = NULL;
	struct op_collect_path path = { 0 };
	uint32_t kind = op_collect_main_kind(c);
	const struct op_collect_stack *s;
	size_t len = 0;
	int r = 0;

	lines = calloc(c->stacks.len + 1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	op_vec_foreach(s, &c->stacks) {
		if (s->kind != kind)
			continue;
		r = put_stack(c, s, &path, &texts);
		numbers = path.data;
		if (r)
			return r;
		lines[len++].value = s->value;
	}
	r = print_lines(lines, len, &texts, &out);
	return r ? r : op_write_full(fd, out.data, out.len);
}

const struct op_format op_format_folded = {
	.format = OTELPROF_FORMAT_FOLDED,
	.detail = OP_COLLECT_FUNCTIONS,
	.write = folded_write,
};
