/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/quality.h"

#include <stdlib.h>
#include <string.h>

bool quality_is_ending(const char *name, size_t len)
{
	static const char *const endings[] = { "[unwind error: ", "[truncated]",
					       "[no unwind table yet]", "[stack lost]" };
	size_t i, n;

	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		n = strlen(endings[i]);
		if (len >= n && memcmp(name, endings[i], n) == 0)
			return true;
	}
	return false;
}

static bool is_text(const char *name, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(name, text, len) == 0;
}

/* Of "[unwind error: NAME]". */
static const char *words_of_error(const char *name, size_t len)
{
	static const char before[] = "[unwind error: ";
	static const struct {
		const char *name;
		const char *words;
	} errors[] = {
#define OP_ERROR(number, name, sentence) { #name, sentence },
#include "op_errors.def"
#undef OP_ERROR
	};
	size_t n = sizeof(before) - 1, i;

	if (len <= n || memcmp(name, before, n) != 0 || name[len - 1] != ']')
		return NULL;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (is_text(name + n, len - n - 1, errors[i].name))
			return errors[i].words;
	}
	return NULL;
}

const char *quality_words(const char *name, size_t len)
{
	static const struct {
		const char *name;
		const char *words;
	} known[] = {
		{ "[truncated]",
		  "The stack is longer than --max-frames, or than the copy of a first sample's "
		  "stack. Its outer frames are missing." },
		{ "[no unwind table yet]",
		  "The table that leads to the callers was not made yet; this passes." },
		{ "[stack lost]", "The stack was sent once and did not arrive." },
		{ "[running]",
		  "The thread was on a CPU, where a stack cannot be read from outside." },
		{ "[frames left out]", "Frames in the middle of a long stack." },
		{ "[other stacks]",
		  "Stacks beyond the number that a report tells apart." },
		{ "[kernel]", "The kernel's names are hidden on that host." },
		{ "[V8 code]", "Code of V8's own without a function." },
		{ "[WebAssembly]", "WebAssembly code without a name." },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (is_text(name, len, known[i].name))
			return known[i].words;
	}
	return words_of_error(name, len);
}

/* Frames that find no room count as unnamed all the same. */
static void add_file(struct quality *q, struct otlp_text module, uint64_t count)
{
	struct otlp_text name = otlp_base_name(module);
	struct quality_file *f;
	size_t i;

	if (!name.len)
		name = (struct otlp_text){ "[no file]", strlen("[no file]") };
	for (i = 0; i < q->files_len; i++) {
		f = &q->files[i];
		if (otlp_text_is(name, f->name)) {
			f->frames += count;
			return;
		}
	}
	if (q->files_len == QUALITY_FILES_MAX)
		return;
	f = &q->files[q->files_len];
	f->name = strndup(name.data, name.len);
	if (!f->name)
		return;
	f->frames = count;
	q->files_len++;
}

void quality_add(struct quality *q, const struct otlp_sample_view *s)
{
	const struct otlp_frame *f;
	bool guessed = false;
	size_t i;

	for (i = 0; i < s->frames_len; i++)
		guessed |= s->frames[i].guessed;
	q->samples += s->count;
	q->guessed += guessed ? s->count : 0;
	for (i = 0; i < s->frames_len; i++) {
		f = &s->frames[i];
		if (quality_is_ending(f->function.data, f->function.len))
			continue;
		q->frames += s->count;
		if (f->function.len &&
		    !op_frame_is_unnamed(f->function.data, f->function.len))
			continue;
		q->unnamed += s->count;
		add_file(q, f->module, s->count);
	}
}

static int more_frames(const void *a, const void *b)
{
	const struct quality_file *x = a, *y = b;

	if (x->frames != y->frames)
		return x->frames > y->frames ? -1 : 1;
	return strcmp(x->name, y->name);
}

void quality_sort(struct quality *q)
{
	if (q->files_len)
		qsort(q->files, q->files_len, sizeof(q->files[0]), more_frames);
}

void quality_clear(struct quality *q)
{
	while (q->files_len)
		free(q->files[--q->files_len].name);
	q->frames = q->unnamed = 0;
}
