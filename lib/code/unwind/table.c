/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "code/unwind/builder.h"
#include "code/unwind/source.h"

void op_unwind_table_find_segments(struct op_elf *elf, struct op_unwind_table *table)
{
	size_t len = 0;
	const struct op_elf_segment *s = op_elf_segments(elf, &len);
	uint64_t text = op_elf_data(elf) * OP_UNWIND_TABLE_TEXT_FACTOR +
			OP_UNWIND_TABLE_TEXT_MORE;
	uint64_t last_end = 0;
	size_t i;

	for (i = 0; i < len && table->segments_len < OP_UNWIND_TABLE_SEGMENTS_MAX; i++) {
		/* The part of a segment that is not in the file has no code. */
		uint64_t size = OP_MIN(s[i].memsz, s[i].filesz);
		uint64_t end;

		if (s[i].type != PT_LOAD || !(s[i].flags & PF_X) || !size)
			continue;
		/* The ELF specification requires ascending order. */
		if (s[i].vaddr < last_end || op_add_overflow(s[i].vaddr, size, &end) ||
		    (size >> OP_PAGE_SHIFT) + 2 > OP_BUILDER_PAGES_MAX || size > text)
			continue;
		last_end = end;
		text -= size;
		table->segments[table->segments_len++] = (struct op_unwind_table_segment){
			.vaddr = s[i].vaddr,
			.memsz = size,
			.offset = s[i].offset,
			.filesz = s[i].filesz,
		};
	}
}

void op_unwind_table_set_loop(const struct op_unwind_table *table, struct op_arena *arena,
			      const struct op_unwind_table_loop *loop)
{
	size_t i;
	size_t j;

	for (i = 0; i < table->segments_len; i++) {
		const struct op_unwind_table_segment *s = &table->segments[i];
		struct op_segment *segment = op_arena_at(arena, s->segment);

		for (j = 0; j < OP_MIN(loop->count, OP_ARRAY_SIZE(loop->range)); j++) {
			if (loop->range[j][0] < s->vaddr ||
			    loop->range[j][0] - s->vaddr >= s->memsz)
				continue;
			segment->runtime = loop->runtime;
			memcpy(segment->loop[segment->loop_count++], loop->range[j],
			       sizeof(loop->range[j]));
		}
	}
}

/* A table that is being made, in one pass over the file or two. */
struct op_unwind_table_job {
	struct op_elf *elf;
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	struct op_log *log;
	struct op_unwind_table_loop loop;
	struct op_builder builder;
	struct op_source *source;
	struct op_unwind_table *table; /* of the current pass */
	struct op_unwind_table *first; /* of the first pass, during a second one */
};

static void end_go(struct op_unwind_table_job *job)
{
	if (!job->source)
		return;
	job->source = op_source_free(job->source);
	op_builder_deinit(&job->builder);
	op_unwind_rule_set_close(&job->table->rules);
}

static int begin_go(struct op_unwind_table_job *job, bool keep)
{
	uint64_t entry = op_elf_type(job->elf) == ET_REL ? 0 : op_elf_entry(job->elf);
	int r;

	job->table = calloc(1, sizeof(*job->table));
	if (!job->table)
		return -ENOMEM;
	op_unwind_table_find_segments(job->elf, job->table);
	op_builder_init(&job->builder, job->table, job->arena, job->rules, entry);
	r = op_source_new(job->elf, &job->builder, keep, job->log, &job->source);
	if (r < 0)
		op_builder_deinit(&job->builder);
	return r;
}

int op_unwind_table_job_new(struct op_elf *elf, const struct op_unwind_table_loop *loop,
			    struct op_arena *arena, struct op_unwind_rules *rules,
			    struct op_log *log, struct op_unwind_table_job **ret)
{
	struct op_unwind_table_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	job->elf = elf;
	job->arena = arena;
	job->rules = rules;
	job->log = log;
	if (loop)
		job->loop = *loop;
	r = begin_go(job, false);
	if (r < 0) {
		op_unwind_table_job_free(job);
		return r;
	}
	*ret = job;
	return 0;
}

struct op_unwind_table_job *op_unwind_table_job_free(struct op_unwind_table_job *job)
{
	if (!job)
		return NULL;
	end_go(job);
	op_unwind_table_free(job->table, job->arena, job->rules, 0);
	op_unwind_table_free(job->first, job->arena, job->rules, 0);
	free(job);
	return NULL;
}

size_t op_unwind_table_job_bytes(const struct op_unwind_table_job *job)
{
	const struct op_builder *b = &job->builder;

	if (!job->source)
		return sizeof(*job);
	return sizeof(*job) + b->rows.cap * sizeof(*b->rows.data) +
	       (b->pages ? b->page_count * sizeof(*b->pages) : 0) +
	       op_source_bytes(job->source);
}

/* Rules that follow a register need more rows, so this is done only if a CFA needs it. */
static bool wants_second(const struct op_unwind_table_job *job)
{
	return !job->first && job->table->wants_kept &&
	       job->table->fdes <= OP_UNWIND_TABLE_KEEP_FDES_MAX;
}

/* A pass has ended with @r. Returns 0, -errno, or -EINPROGRESS if a second pass
 * begins. */
static int finish_go(struct op_unwind_table_job *job, int r)
{
	/* Rules are missing because other tables use all numbers. There may be some
	 * later. */
	if (r == 0 && job->table->rules.full)
		r = -ENOSPC;
	end_go(job);
	if (r == 0 && wants_second(job)) {
		job->first = job->table;
		job->table = NULL;
		r = begin_go(job, true);
		if (r == 0)
			return -EINPROGRESS;
	}
	if (r == 0 || !job->first)
		return r;
	/* The second pass failed: use the table of the first. */
	op_unwind_table_free(job->table, job->arena, job->rules, 0);
	job->table = job->first;
	job->first = NULL;
	return 0;
}

int op_unwind_table_job_run(struct op_unwind_table_job *job,
			    struct op_allowance *allowance, struct op_unwind_table **ret)
{
	int r;

	do {
		r = op_source_read(job->source, allowance);
		if (r == -EINPROGRESS)
			return r;
		r = finish_go(job, r);
	} while (r == -EINPROGRESS && !op_allowance_is_over(allowance));
	if (r < 0)
		return r;
	if (job->loop.runtime)
		op_unwind_table_set_loop(job->table, job->arena, &job->loop);
	*ret = OP_TAKE_PTR(job->table);
	return 0;
}

static void release_segment(struct op_arena *arena, op_ref ref, uint64_t now_ns)
{
	struct op_segment segment;
	const struct op_page *pages;
	uint32_t i;

	if (!ref)
		return;
	memcpy(&segment, op_arena_at(arena, ref), sizeof(segment));
	if (segment.pages) {
		pages = op_arena_at(arena, segment.pages);
		for (i = 0; i < segment.page_count; i++)
			op_arena_release(arena, pages[i].rows,
					 pages[i].count * sizeof(struct op_row), now_ns);
		op_arena_release(arena, segment.pages,
				 segment.page_count * sizeof(struct op_page), now_ns);
	}
	op_arena_release(arena, ref, sizeof(segment), now_ns);
}

struct op_unwind_table *op_unwind_table_free(struct op_unwind_table *table,
					     struct op_arena *arena,
					     struct op_unwind_rules *rules,
					     uint64_t now_ns)
{
	size_t i;

	if (!table)
		return NULL;
	for (i = 0; i < table->segments_len; i++)
		release_segment(arena, table->segments[i].segment, now_ns);
	op_unwind_rules_release(rules, &table->rules, now_ns);
	free(table);
	return NULL;
}
