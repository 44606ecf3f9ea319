/* SPDX-License-Identifier: Apache-2.0 */
#include "quality.h"

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

bool quality_is_unnamed(const char *name, size_t len)
{
	size_t digits = 0;

	while (len && strchr("0123456789abcdef", name[len - 1])) {
		len--;
		digits++;
	}
	/* without a file it is the address alone */
	if (digits && len == 2)
		return memcmp(name, "0x", 2) == 0;
	return digits && len >= 3 && memcmp(name + len - 3, "+0x", 3) == 0;
}

static struct otlp_text last_part(struct otlp_text path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	if (!slash)
		return path;
	path.len -= (size_t)(slash + 1 - path.data);
	path.data = slash + 1;
	return path;
}

/* Frames that find no room count as unnamed all the same. */
static void add_file(struct quality *q, struct otlp_text module, uint64_t count)
{
	struct otlp_text name = last_part(module);
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
	size_t i;

	for (i = 0; i < s->frames_len; i++) {
		f = &s->frames[i];
		if (quality_is_ending(f->function.data, f->function.len))
			continue;
		q->frames += s->count;
		if (f->function.len &&
		    !quality_is_unnamed(f->function.data, f->function.len))
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
