/* SPDX-License-Identifier: Apache-2.0 */
#include "process/mappings/mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "code/unwind/arena.h"
#include "process/image/executable.h"

enum {
	LARGE_PAGE_BYTES = 2 << 20,
	ENTRY_BYTES = sizeof(uint64_t) + sizeof(struct op_arena_mapping),
	/* all shares together are this part of the arena */
	SHARE_PARTS = 8,
};

int op_mappings_new(struct op_mappings **ret)
{
	struct op_mappings *mappings = calloc(1, sizeof(*mappings));

	if (!mappings)
		return -ENOMEM;
	mappings->refs = 1;
	*ret = mappings;
	return 0;
}

struct op_mappings *op_mappings_ref(struct op_mappings *mappings)
{
	mappings->refs++;
	return mappings;
}

void op_mappings_put(struct op_mappings *mappings, struct op_executables *x,
		     uint64_t now_ns)
{
	size_t i;

	if (!mappings || --mappings->refs)
		return;
	for (i = 0; i < mappings->len; i++)
		op_executable_put(x, mappings->vma[i].exe);
	x->mappings_len -= mappings->len;
	op_arena_release(x->arena, mappings->block, mappings->block_bytes, now_ns);
	free(mappings->vma);
	free(mappings);
}

int op_mappings_own(struct op_mappings **mappings, struct op_executables *x,
		    uint64_t now_ns)
{
	const struct op_mappings *old = *mappings;
	struct op_mappings *copy;
	size_t i;

	if (old->refs == 1 && !old->block)
		return 0;
	if (op_mappings_new(&copy) < 0)
		return -ENOMEM;
	if (op_vec_grow((void **)&copy->vma, &copy->cap, 0, old->len + 1,
			sizeof(*copy->vma)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	for (i = 0; i < old->len; i++) {
		copy->vma[i] = old->vma[i];
		copy->vma[i].mark = 0;
		if (copy->vma[i].exe)
			op_executable_ref(copy->vma[i].exe);
	}
	copy->len = old->len;
	x->mappings_len += copy->len;
	copy->refused = old->refused;
	op_mappings_put(*mappings, x, now_ns);
	*mappings = copy;
	return 0;
}

/* The index of the first mapping that ends above @addr. */
static size_t first_above(const struct op_mappings *mappings, uint64_t addr)
{
	return op_first_where(i, mappings->len, mappings->vma[i].end > addr);
}

struct op_mapping *op_mappings_find(const struct op_mappings *mappings, uint64_t addr)
{
	size_t i = first_above(mappings, addr);

	if (i == mappings->len || mappings->vma[i].start > addr)
		return NULL;
	return &mappings->vma[i];
}

struct op_mapping *op_mappings_find_room(const struct op_mappings *mappings,
					 uint64_t addr)
{
	size_t i = first_above(mappings, addr);

	if (i < mappings->len && mappings->vma[i].start - mappings->vma[i].room <= addr)
		return &mappings->vma[i];
	if (i && addr - mappings->vma[i - 1].end < mappings->vma[i - 1].above)
		return &mappings->vma[i - 1];
	return NULL;
}

uint64_t op_mappings_gap(const struct op_mappings *mappings, uint64_t start, uint64_t end,
			 uint64_t *ret_end)
{
	size_t i = first_above(mappings, start);

	*ret_end = end;
	for (; i < mappings->len && mappings->vma[i].start < end; i++) {
		if (mappings->vma[i].start > start) {
			*ret_end = mappings->vma[i].start;
			return start;
		}
		start = mappings->vma[i].end;
	}
	return OP_MIN(start, end);
}

bool op_mappings_has_pc(const struct op_mappings *mappings, uint64_t pc)
{
	return op_mappings_find_room(mappings, pc) ||
	       op_mappings_find_room(mappings, pc - 1);
}

const struct op_mapping *op_mappings_find_named(const struct op_mappings *mappings,
						const char *prefix)
{
	size_t i;

	for (i = 0; i < mappings->len; i++) {
		const struct op_executable *e = mappings->vma[i].exe;

		if (e && !e->vdso &&
		    strncmp(op_base_name(e->path), prefix, strlen(prefix)) == 0)
			return &mappings->vma[i];
	}
	return NULL;
}

const struct op_mapping *op_mappings_find_image(const struct op_mappings *mappings,
						const struct op_image *image)
{
	size_t i;

	for (i = 0; i < mappings->len; i++)
		if (mappings->vma[i].exe && mappings->vma[i].exe->image == image)
			return &mappings->vma[i];
	return NULL;
}

bool op_mapping_is_doubted(const struct op_mapping *v)
{
	return v->exe && op_claim_is_doubted(v->exe, &v->claim);
}

bool op_mapping_is_made(const struct op_mapping *v)
{
	return !v->exe || v->exe->state == OP_EXECUTABLE_FOREIGN;
}

uint64_t op_mappings_made_sum(const struct op_mappings *mappings)
{
	uint64_t sum = 1;
	size_t i;

	for (i = 0; i < mappings->len; i++) {
		const struct op_mapping *v = &mappings->vma[i];

		if (op_mapping_is_made(v))
			sum = (sum ^ v->start) * UINT64_C(0x9e3779b97f4a7c15) + v->end;
	}
	return sum;
}

uint64_t op_mappings_files_sum(const struct op_mappings *mappings)
{
	uint64_t sum = 1;
	size_t i;

	for (i = 0; i < mappings->len; i++) {
		const struct op_mapping *v = &mappings->vma[i];

		if (v->exe)
			sum = op_hash_u64(sum ^ v->start ^ (uintptr_t)v->exe) + v->end;
	}
	return sum;
}

bool op_mappings_has(const struct op_mappings *mappings, const struct op_mapping *vma)
{
	const struct op_mapping *there = op_mappings_find(mappings, vma->start);

	if (!there || there->exe != vma->exe || there->end < vma->end ||
	    there->writable != vma->writable)
		return false;
	if (!vma->exe)
		return true;
	return there->start == vma->start && there->end == vma->end &&
	       there->offset == vma->offset;
}

/* Are both code that the process makes? It grows in steps, so such neighbours become one. */
static bool is_one_piece(const struct op_mapping *a, const struct op_mapping *b)
{
	return !a->exe && !b->exe && a->writable == b->writable &&
	       a->uprobes == b->uprobes;
}

/* Open a gap of @more elements at @at. */
static void shift(struct op_mappings *mappings, size_t at, size_t more)
{
	memmove(&mappings->vma[at + more], &mappings->vma[at],
		(mappings->len - at) * sizeof(*mappings->vma));
	mappings->len += more;
}

/* Remove @count elements at @at. Their references were dropped or taken over before. */
static void unshift(struct op_mappings *mappings, size_t at, size_t count)
{
	memmove(&mappings->vma[at], &mappings->vma[at + count],
		(mappings->len - at - count) * sizeof(*mappings->vma));
	mappings->len -= count;
}

/* Count a mapping for which there is no room. */
static void refuse(struct op_mappings *mappings, struct op_executables *x)
{
	mappings->refused++;
	x->mappings_refused++;
}

/* Unmap [@start, @end). The caller has allocated one more element. At the limit of
 * mappings a split mapping loses its upper part. */
static void punch(struct op_mappings *mappings, uint64_t start, uint64_t end,
		  struct op_executables *x)
{
	size_t i = first_above(mappings, start);
	size_t gone = 0;
	struct op_mapping *v = &mappings->vma[i];

	if (i < mappings->len && v->start < start && v->end > end &&
	    mappings->len < OP_MAPPINGS_MAX) {
		/* The range is in the middle of the mapping: two remain. */
		shift(mappings, i, 1);
		v[0].end = start;
		v[1].offset += end - v[1].start;
		v[1].start = end;
		if (v[1].exe)
			op_executable_ref(v[1].exe);
		return;
	}
	if (i < mappings->len && v->start < start) {
		if (v->end > end)
			refuse(mappings, x);
		v->end = start;
		i++;
	}
	while (i + gone < mappings->len && mappings->vma[i + gone].end <= end)
		op_executable_put(x, mappings->vma[i + gone++].exe);
	if (gone)
		unshift(mappings, i, gone);
	v = &mappings->vma[i];
	if (i < mappings->len && v->start < end) {
		v->offset += end - v->start;
		v->start = end;
	}
}

/* Does the file mapping @vma replace another file's, or one that had replaced another? */
static bool replaces_file(const struct op_mappings *mappings,
			  const struct op_mapping *vma)
{
	size_t i;

	if (!vma->exe)
		return false;
	for (i = first_above(mappings, vma->start);
	     i < mappings->len && mappings->vma[i].start < vma->end; i++)
		if (mappings->vma[i].replaced ||
		    (mappings->vma[i].exe && mappings->vma[i].exe != vma->exe))
			return true;
	return false;
}

/* Drop a mapping without a file, because one with a file has a table and names. Returns
 * false if there is none. */
static bool drop_made(struct op_mappings *mappings, struct op_executables *x)
{
	size_t i = mappings->full ? 0 : mappings->len;

	while (i && mappings->vma[i - 1].exe)
		i--;
	mappings->full = !i;
	if (!i)
		return false;
	unshift(mappings, i - 1, 1);
	refuse(mappings, x);
	return true;
}

bool op_mapping_is_same(const struct op_mapping *a, const struct op_mapping *b)
{
	return a->exe == b->exe && a->start - a->offset == b->start - b->offset;
}

bool op_mappings_replaces(const struct op_mappings *mappings,
			  const struct op_mapping *vma)
{
	size_t i;

	for (i = first_above(mappings, vma->start);
	     i < mappings->len && mappings->vma[i].start < vma->end; i++) {
		const struct op_mapping *v = &mappings->vma[i];

		if (v->exe ? !op_mapping_is_same(v, vma) : vma->exe != NULL)
			return true;
	}
	return false;
}

/* Memory in large pages that fills the gap between two mappings of one file is the file's
 * code, moved there (node --use-largepages, libhugetlbfs): mapping number @i gets that
 * file. */
static void adopt(struct op_mappings *mappings, size_t i)
{
	struct op_mapping *v = &mappings->vma[i];

	if (i == 0 || i + 1 >= mappings->len || v->exe || v->writable || !v[-1].exe ||
	    v[-1].end != v->start || v->end != v[1].start ||
	    (v->start | v->end) % LARGE_PAGE_BYTES || !op_mapping_is_same(&v[-1], &v[1]))
		return;
	v->exe = v[-1].exe;
	op_executable_ref(v->exe);
	v->claim = v[-1].claim;
	v->offset = v[-1].offset + (v->start - v[-1].start);
}

static int insert(struct op_mappings *mappings, const struct op_mapping *vma,
		  struct op_executables *x)
{
	size_t most =
		x->mappings_len < OP_MAPPINGS_ALL ? OP_MAPPINGS_MAX : OP_MAPPINGS_EACH;
	struct op_mapping new = *vma;
	size_t i;

	if (new.start >= new.end)
		return 0;
	/* two more: the new mapping, and the second half of one that it splits */
	if (op_vec_grow((void **)&mappings->vma, &mappings->cap, mappings->len, 2,
			sizeof(*mappings->vma)) < 0)
		return -ENOMEM;
	if (new.exe)
		op_executable_ref(new.exe);
	new.replaced = replaces_file(mappings, &new);
	mappings->full = mappings->full && new.exe && mappings->len >= most;
	punch(mappings, new.start, new.end, x);
	if (mappings->len + 1 > most && (!new.exe || !drop_made(mappings, x))) {
		op_executable_put(x, new.exe);
		refuse(mappings, x);
		return -E2BIG;
	}
	new.bias = 0;
	new.room = 0;
	new.above = 0;
	new.segment = 0;
	i = first_above(mappings, new.start);
	if (i < mappings->len &&
	    mappings->vma[i].start == new.end &&is_one_piece(&mappings->vma[i], &new)) {
		new.end = mappings->vma[i].end;
		unshift(mappings, i, 1);
	}
	if (i > 0 && mappings->vma[i - 1].end == new.start &&
	    is_one_piece(&mappings->vma[i - 1], &new)) {
		mappings->vma[i - 1].end = new.end;
		adopt(mappings, i - 1);
		return 0;
	}
	shift(mappings, i, 1);
	mappings->vma[i] = new;
	adopt(mappings, i);
	adopt(mappings, i + 1);
	if (i)
		adopt(mappings, i - 1);
	return 0;
}

int op_mappings_insert(struct op_mappings *mappings, const struct op_mapping *vma,
		       struct op_executables *x)
{
	size_t before = mappings->len;
	int r = insert(mappings, vma, x);

	x->mappings_len += mappings->len - before;
	return r;
}

uint64_t op_mappings_code_pages(const struct op_mappings *mappings, uint64_t time_ns)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < mappings->len; i++)
		if (!mappings->vma[i].writable &&
		    (!mappings->vma[i].exe ||
		     mappings->vma[i].claim.mapped_ns <= time_ns))
			bytes += mappings->vma[i].end - mappings->vma[i].start;
	return bytes / page_bytes;
}

/* Is @v published as code that the process made, which is walked by what is there at that
 * time, and not by its rules or a runtime? */
static bool is_plain_made(const struct op_mapping *v)
{
	return !v->exe && !v->uprobes && !v->segment && v->flags == OP_MAPPING_ANON;
}

bool op_mappings_are_copies(const struct op_mappings *before,
			    const struct op_mappings *now, uint64_t addr)
{
	const struct op_mapping *a = op_mappings_find(before, addr);
	const struct op_mapping *b = op_mappings_find(now, addr);
	const struct op_build_ids *ids;

	if (a && b && is_plain_made(a) && is_plain_made(b))
		return true;
	if (!a || !b || !a->segment || !a->exe || !a->exe->image || !b->exe ||
	    !b->exe->image || a->start - a->offset != b->start - b->offset ||
	    op_mapping_is_doubted(b))
		return false;
	ids = &a->exe->image->ids;
	return ids->gnu[0] && strcmp(ids->gnu, b->exe->image->ids.gnu) == 0 &&
	       strcmp(ids->htlhash, b->exe->image->ids.htlhash) == 0;
}

uint64_t op_mappings_start_ns(const struct op_mappings *mappings)
{
	/* in this time a process opens the files that it was linked with */
	static const uint64_t start_ns = UINT64_C(100000000);
	uint64_t first_ns = UINT64_MAX - start_ns;
	size_t i;

	for (i = 0; i < mappings->len; i++)
		if (mappings->vma[i].exe && !mappings->vma[i].exe->vdso)
			first_ns = OP_MIN(first_ns, mappings->vma[i].claim.mapped_ns);
	return first_ns + start_ns;
}

/* Does @v have a mark, by which the BPF programs see whether its file is still mapped? */
static bool has_mark(const struct op_mapping *v)
{
	return (v->flags & OP_MAPPING_REPLACED) && v->segment && v->exe &&
	       v->exe->image && v->exe->image->mark;
}

size_t op_mappings_share(const struct op_arena *arena, size_t processes)
{
	size_t share = op_arena_room(arena) / SHARE_PARTS / OP_MAX(processes, (size_t)1) /
		       ENTRY_BYTES;

	return OP_MAX(share, (size_t)OP_MAPPINGS_LEAST);
}

static size_t most_of(const struct op_mappings *mappings)
{
	return OP_MIN(mappings->len, (size_t)OP_MAPPINGS_MAX);
}

bool op_mappings_may_grow(const struct op_mappings *mappings,
			  const struct op_arena *arena)
{
	size_t n = most_of(mappings);

	return mappings->block && mappings->written < n &&
	       op_arena_in_half(arena, n * ENTRY_BYTES);
}

/* Is mapping @i the first of successive mappings of one file? */
static bool is_first(const struct op_mappings *mappings, size_t i)
{
	const struct op_mapping *v = &mappings->vma[i];

	return v->exe && (!i || v[-1].exe != v->exe);
}

/* Write @n mappings and their marks, those that are first of their file before others. */
static void write_table(struct op_mappings *mappings, size_t n, size_t firsts,
			uint64_t *start, struct op_arena_mapping *mapping)
{
	struct op_mark *mark = (struct op_mark *)(mapping + n);
	size_t rest;
	size_t i;

	firsts = OP_MIN(firsts, n);
	rest = n - firsts;
	mappings->mark_count = 0;
	for (i = 0; firsts + rest; i++) {
		struct op_mapping *v = &mappings->vma[i];
		size_t *left = is_first(mappings, i) ? &firsts : &rest;

		if (!*left)
			continue;
		--*left;
		*start++ = v->start - v->room;
		*mapping = (struct op_arena_mapping){ .end = v->end + v->above,
						      .bias = v->bias,
						      .segment = v->segment,
						      .flags = v->flags };
		if (has_mark(v) && mappings->mark_count < OP_MARKS_MAX) {
			*mark++ = (struct op_mark){ .at = v->bias +
							  v->exe->image->mark_vaddr,
						    .word = v->exe->image->mark };
			v->mark = (uint8_t)++mappings->mark_count;
			mapping->flags |= (uint32_t)v->mark << OP_MAPPING_MARK_SHIFT;
		}
		mapping++;
	}
}

int op_mappings_write(struct op_mappings *mappings, struct op_arena *arena, size_t share)
{
	size_t n = most_of(mappings);
	size_t firsts = 0;
	size_t marks = 0;
	uint64_t *start;
	size_t bytes;
	void *block;
	size_t i;
	int r;

	if (mappings->block || !n)
		return 0;
	if (n > share && !op_arena_in_half(arena, n * ENTRY_BYTES))
		n = share;
	for (i = 0; i < most_of(mappings); i++) {
		marks += has_mark(&mappings->vma[i]);
		firsts += is_first(mappings, i);
	}
	bytes = n * ENTRY_BYTES;
	mappings->marks = (op_ref)(bytes >> OP_REF_SHIFT);
	bytes += OP_MIN(marks, (size_t)OP_MARKS_MAX) * sizeof(struct op_mark);
	r = op_arena_alloc(arena, bytes, &mappings->block, &block);
	if (r < 0)
		return r;
	mappings->block_bytes = bytes;
	mappings->written = (uint32_t)n;
	mappings->marks += mappings->block;
	start = block;
	write_table(mappings, n, firsts, start, (struct op_arena_mapping *)(start + n));
	return 0;
}
