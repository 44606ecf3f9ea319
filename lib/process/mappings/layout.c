/* SPDX-License-Identifier: Apache-2.0 */
#include "process/mappings/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "code/unwind/arena.h"
#include "process/image/executable.h"

int op_layout_new(struct op_layout **ret)
{
	struct op_layout *layout = calloc(1, sizeof(*layout));

	if (!layout)
		return -ENOMEM;
	layout->refs = 1;
	*ret = layout;
	return 0;
}

struct op_layout *op_layout_ref(struct op_layout *layout)
{
	layout->refs++;
	return layout;
}

void op_layout_put(struct op_layout *layout, struct op_executables *x, uint64_t now_ns)
{
	size_t i;

	if (!layout || --layout->refs)
		return;
	for (i = 0; i < layout->len; i++)
		op_executable_put(x, layout->vma[i].exe);
	op_arena_release(x->arena, layout->block, layout->block_bytes, now_ns);
	free(layout->vma);
	free(layout);
}

int op_layout_own(struct op_layout **layout, struct op_executables *x, uint64_t now_ns)
{
	const struct op_layout *old = *layout;
	struct op_layout *copy;
	size_t i;

	if (old->refs == 1 && !old->block)
		return 0;
	if (op_layout_new(&copy) < 0)
		return -ENOMEM;
	if (op_vec_grow((void **)&copy->vma, &copy->cap, 0, old->len + 1,
			sizeof(*copy->vma)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	for (i = 0; i < old->len; i++) {
		copy->vma[i] = old->vma[i];
		if (copy->vma[i].exe)
			op_executable_ref(copy->vma[i].exe);
	}
	copy->len = old->len;
	copy->refused = old->refused;
	op_layout_put(*layout, x, now_ns);
	*layout = copy;
	return 0;
}

/* The index of the first mapping that ends above @addr. */
static size_t first_above(const struct op_layout *layout, uint64_t addr)
{
	size_t low = 0;
	size_t high = layout->len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (layout->vma[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

struct op_vma *op_layout_find(const struct op_layout *layout, uint64_t addr)
{
	size_t i = first_above(layout, addr);

	if (i == layout->len || layout->vma[i].start > addr)
		return NULL;
	return &layout->vma[i];
}

struct op_vma *op_layout_find_room(const struct op_layout *layout, uint64_t addr)
{
	size_t i = first_above(layout, addr);

	if (i == layout->len || layout->vma[i].start - layout->vma[i].room > addr)
		return NULL;
	return &layout->vma[i];
}

static bool base_name_begins(const char *path, const char *prefix)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)) == 0;
}

const struct op_vma *op_layout_find_named(const struct op_layout *layout,
					  const char *prefix)
{
	size_t i;

	for (i = 0; i < layout->len; i++) {
		const struct op_executable *e = layout->vma[i].exe;

		if (e && !e->vdso && base_name_begins(e->path, prefix))
			return &layout->vma[i];
	}
	return NULL;
}

const struct op_vma *op_layout_find_image(const struct op_layout *layout,
					  const struct op_image *image)
{
	size_t i;

	for (i = 0; i < layout->len; i++)
		if (layout->vma[i].exe && layout->vma[i].exe->image == image)
			return &layout->vma[i];
	return NULL;
}

bool op_vma_is_made(const struct op_vma *v)
{
	return !v->exe || v->exe->state == OP_EXECUTABLE_FOREIGN;
}

uint64_t op_layout_made_sum(const struct op_layout *layout)
{
	uint64_t sum = 1;
	size_t i;

	for (i = 0; i < layout->len; i++) {
		const struct op_vma *v = &layout->vma[i];

		if (op_vma_is_made(v))
			sum = (sum ^ v->start) * UINT64_C(0x9e3779b97f4a7c15) + v->end;
	}
	return sum;
}

bool op_layout_has(const struct op_layout *layout, const struct op_vma *vma)
{
	const struct op_vma *there = op_layout_find(layout, vma->start);

	if (!there || there->exe != vma->exe || there->end < vma->end)
		return false;
	if (!vma->exe)
		return true;
	return there->start == vma->start && there->end == vma->end &&
	       there->offset == vma->offset;
}

/* Open a gap of @more elements at @at. */
static void shift(struct op_layout *layout, size_t at, size_t more)
{
	memmove(&layout->vma[at + more], &layout->vma[at],
		(layout->len - at) * sizeof(*layout->vma));
	layout->len += more;
}

/* Remove @count elements at @at. Their references were dropped or taken over before. */
static void unshift(struct op_layout *layout, size_t at, size_t count)
{
	memmove(&layout->vma[at], &layout->vma[at + count],
		(layout->len - at - count) * sizeof(*layout->vma));
	layout->len -= count;
}

/* Unmap [@start, @end). The caller has made room for one more element. If a mapping must
 * be split at the limit of mappings, its upper part is dropped. */
static void punch(struct op_layout *layout, uint64_t start, uint64_t end,
		  struct op_executables *x)
{
	size_t i = first_above(layout, start);
	size_t gone = 0;
	struct op_vma *v = &layout->vma[i];

	if (i < layout->len && v->start < start && v->end > end &&
	    layout->len < OP_MAPPINGS_MAX) {
		/* The range is in the middle of the mapping: two remain. */
		shift(layout, i, 1);
		v[0].end = start;
		v[1].offset += end - v[1].start;
		v[1].start = end;
		if (v[1].exe)
			op_executable_ref(v[1].exe);
		return;
	}
	if (i < layout->len && v->start < start) {
		v->end = start;
		i++;
	}
	while (i + gone < layout->len && layout->vma[i + gone].end <= end)
		op_executable_put(x, layout->vma[i + gone++].exe);
	if (gone)
		unshift(layout, i, gone);
	v = &layout->vma[i];
	if (i < layout->len && v->start < end) {
		v->offset += end - v->start;
		v->start = end;
	}
}

/* Does the file mapping @vma replace one of another file, or one that had replaced
 * another? */
static bool replaces(const struct op_layout *layout, const struct op_vma *vma)
{
	size_t i;

	if (!vma->exe)
		return false;
	for (i = first_above(layout, vma->start);
	     i < layout->len && layout->vma[i].start < vma->end; i++)
		if (layout->vma[i].replaced ||
		    (layout->vma[i].exe && layout->vma[i].exe != vma->exe))
			return true;
	return false;
}

int op_layout_insert(struct op_layout *layout, const struct op_vma *vma,
		     struct op_executables *x)
{
	struct op_vma new = *vma;
	size_t i;

	if (new.start >= new.end)
		return 0;
	/* Room for two more: the new mapping, and the second half of one that it
	 * splits. */
	if (op_vec_grow((void **)&layout->vma, &layout->cap, layout->len, 2,
			sizeof(*layout->vma)) < 0)
		return -ENOMEM;
	if (new.exe)
		op_executable_ref(new.exe);
	new.replaced = replaces(layout, &new);
	punch(layout, new.start, new.end, x);
	if (layout->len + 1 > OP_MAPPINGS_MAX) {
		op_executable_put(x, new.exe);
		layout->refused++;
		return -E2BIG;
	}
	new.bias = 0;
	new.room = 0;
	new.segment = 0;
	i = first_above(layout, new.start);
	/* JIT code grows in steps, so adjacent mappings without a file become one. */
	if (!new.exe && i < layout->len && layout->vma[i].start == new.end &&
	    !layout->vma[i].exe) {
		new.end = layout->vma[i].end;
		unshift(layout, i, 1);
	}
	if (!new.exe && i > 0 && layout->vma[i - 1].end == new.start &&
	    !layout->vma[i - 1].exe) {
		layout->vma[i - 1].end = new.end;
		return 0;
	}
	shift(layout, i, 1);
	layout->vma[i] = new;
	return 0;
}

/* Has @v a mark, by which the programs see whether its file is still there? */
static bool has_mark(const struct op_vma *v)
{
	return (v->flags & OP_MAPPING_REPLACED) && v->segment && v->exe &&
	       v->exe->image && v->exe->image->mark;
}

/* Write the marks of the first @n mappings, and their numbers into @mapping. */
static void write_marks(struct op_layout *layout, size_t n, struct op_mapping *mapping,
			struct op_mark *mark)
{
	size_t i;

	for (i = 0; i < n && layout->mark_count < OP_MARKS_MAX; i++) {
		const struct op_vma *v = &layout->vma[i];

		if (!has_mark(v))
			continue;
		*mark++ = (struct op_mark){ .at = v->bias + v->exe->image->mark_vaddr,
					    .word = v->exe->image->mark };
		mapping[i].flags |= ++layout->mark_count << OP_MAPPING_MARK_SHIFT;
	}
}

int op_layout_write(struct op_layout *layout, struct op_arena *arena)
{
	size_t n = OP_MIN(layout->len, (size_t)OP_MAPPINGS_MAX);
	struct op_mapping *mapping;
	size_t marks = 0;
	uint64_t *start;
	size_t bytes;
	void *block;
	size_t i;
	int r;

	if (layout->block || !n)
		return 0;
	for (i = 0; i < n; i++)
		marks += has_mark(&layout->vma[i]);
	bytes = n * (sizeof(*start) + sizeof(*mapping));
	layout->marks = (op_ref)(bytes >> OP_REF_SHIFT);
	bytes += OP_MIN(marks, (size_t)OP_MARKS_MAX) * sizeof(struct op_mark);
	r = op_arena_alloc(arena, bytes, &layout->block, &block);
	if (r < 0)
		return r;
	layout->block_bytes = bytes;
	start = block;
	mapping = (struct op_mapping *)(start + n);
	for (i = 0; i < n; i++) {
		const struct op_vma *v = &layout->vma[i];

		start[i] = v->start - v->room;
		mapping[i] = (struct op_mapping){ .end = v->end,
						  .bias = v->bias,
						  .segment = v->segment,
						  .flags = v->flags };
	}
	layout->marks += layout->block;
	layout->mark_count = 0;
	write_marks(layout, n, mapping, (struct op_mark *)(mapping + n));
	return 0;
}
