/* SPDX-License-Identifier: Apache-2.0 */
#include "process/evict.h"

#include <errno.h>

#include "process/image/file.h"
#include "process/image/memory_use.h"
#include "process/publish.h"
#include "process/registry.h"
#include "process/state.h"
#include "process/target/scan.h"

enum {
	/* About one process, with its names, paths and own mappings; a child often shares
	 * its parent's. */
	PROCESS_BYTES = sizeof(struct op_proc) + sizeof(struct op_program) +
			sizeof(struct op_generation) + sizeof(struct op_mappings) +
			8 * sizeof(struct op_mapping) + 256,
	EXECUTABLE_BYTES = sizeof(struct op_executable) + 128,
};

/* Bytes of tables freed at once. The table that did not fit is likely to be smaller. */
static const uint64_t EVICT_BYTES = UINT64_C(1) << 20;

static bool layout_uses(const struct op_mappings *mappings, const struct op_image *image)
{
	size_t i;

	for (i = 0; i < mappings->len; i++)
		if (mappings->vma[i].segment && mappings->vma[i].exe &&
		    mappings->vma[i].exe->image == image)
			return true;
	return false;
}

/*
 * Before a table is freed, nothing published may lead to it: publish its processes again.
 * Without memory for that, unpublish the process. Its next sample brings it back.
 */
static void detach_table(struct op_processes *p, const struct op_image *image)
{
	uint64_t value;
	size_t at = 0;

	while (op_map64_next(&p->by_pid, &at, &value)) {
		struct op_proc *proc = (struct op_proc *)(uintptr_t)value;

		if (proc->ended_ns || !proc->current ||
		    !layout_uses(proc->current->mappings, image))
			continue;
		if (op_publish(p, proc, true) < 0)
			op_unpublish(p, proc);
	}
}

/* Free tables, except that of @keep, until they add up to @bytes. @runtimes: also those
 * of runtimes, which are made again at once while a process maps them. Returns the bytes
 * freed. */
static uint64_t evict(struct op_processes *p, uint64_t bytes, bool runtimes,
		      const struct op_image *keep)
{
	struct op_images *images = &p->executables.images;
	uint64_t freed = 0;

	while (freed < bytes) {
		struct op_image *image = op_images_coldest(images, runtimes);
		struct op_unwind_table *table;
		struct op_unwind_early *early;

		if (!image || image == keep)
			break;
		table = image->table;
		early = image->early;
		freed += table ? table->arena_bytes : op_unwind_early_arena_bytes(early);
		op_image_end_job(images, image);
		image->table = NULL;
		image->early = NULL;
		detach_table(p, image);
		op_log(p->config.log, OP_LOG_DEBUG,
		       "The memory budget is full: dropped the table of %s", image->file);
		(void)op_unwind_table_free(table, p->config.arena, p->config.rules,
					   p->now_ns);
		(void)op_unwind_early_free(early, p->now_ns);
		p->tables_evicted++;
	}
	return freed;
}

void op_evict_table(struct op_processes *p, const struct op_image *keep)
{
	(void)evict(p, EVICT_BYTES, true, keep);
}

uint64_t op_evict_tables(struct op_processes *p, uint64_t bytes)
{
	return evict(p, bytes, false, NULL);
}

void op_evict_processes(struct op_processes *p, uint64_t bytes, size_t most)
{
	uint64_t freed = 0;
	size_t i;

	for (i = 0; i < most && freed < bytes; i++) {
		struct op_proc *oldest = op_proc_lists_least_used(p);

		if (!oldest)
			return;
		/* a process whose maps cannot be read could not be learnt again */
		if (!op_scan_readable(p->procfs_root, oldest->pid)) {
			op_proc_lists_use(p, oldest);
			continue;
		}
		op_registry_forget(p, oldest);
		p->processes_evicted++;
		freed += PROCESS_BYTES;
	}
}

uint64_t op_evict_pending_bytes(const struct op_processes *p)
{
	return p->kept * PROCESS_BYTES;
}

uint64_t op_evict_bytes(const struct op_processes *p)
{
	return (p->alive + p->kept) * PROCESS_BYTES +
	       p->executables.len * EXECUTABLE_BYTES +
	       op_images_own_bytes(&p->executables.images) +
	       op_made_pages_bytes(&p->made);
}

int op_evict_make_table(struct op_processes *p, const struct op_program *program,
			const struct op_mapping *v)
{
	int r = op_publish_make_table(p, program, v);

	if (r == -ENOSPC)
		op_evict_table(p, v->exe->image);
	return r;
}

/* The ELF address of @pc in the image of @v. Returns false where that is not known. */
static bool find_vaddr(const struct op_mapping *v, uint64_t pc, uint64_t *ret)
{
	const struct op_image_segment *s;
	size_t i;

	if (!v->exe || !v->exe->image || op_mapping_is_doubted(v))
		return false;
	i = op_image_find_segment(v->exe->image, v->offset, v->end - v->start);
	if (i == SIZE_MAX)
		return false;
	s = &v->exe->image->segments[i];
	*ret = pc - v->start + v->offset - s->offset + s->vaddr;
	return true;
}

bool op_evict_rule(const struct op_mapping *v, uint64_t pc, struct op_unwind_rule *ret)
{
	uint64_t vaddr;

	/* only a segment shows where a runtime's loop is */
	return find_vaddr(v, pc, &vaddr) && (!v->exe->image->runtime || v->segment) &&
	       op_image_rule(v->exe->image, vaddr, ret);
}

bool op_evict_page(struct op_processes *p, const struct op_mapping *v, uint64_t pc)
{
	uint64_t vaddr;

	return find_vaddr(v, pc, &vaddr) && !op_allowance_is_over(p->config.allowance) &&
	       op_image_page(&p->executables.images, v->exe->image, vaddr, p->now_ns);
}

bool op_evict_waits(const struct op_mapping *v)
{
	return v->exe &&
	       ((v->flags & OP_MAPPING_LAZY) ||
		(v->segment && v->exe->image && op_image_is_early(v->exe->image)));
}

/* Mark @proc for publication if it has mapped the file. */
static void touch_user(struct op_processes *p, struct op_proc *proc,
		       const struct op_image *image)
{
	size_t i;

	for (i = 0; i < proc->mappings->len; i++) {
		const struct op_mapping *v = &proc->mappings->vma[i];

		if (v->exe && v->exe->image == image) {
			op_proc_lists_touch(p, proc);
			return;
		}
	}
}

/* The table with the latest waiting sample. Early pages serve the others. */
static struct op_image *next_job(struct op_images *x)
{
	struct op_image *next = NULL;
	struct op_image *image;

	if (x->jobs)
		TAILQ_FOREACH(image, &x->lru, lru) {
			if (image->job.running && op_image_has_file(image) &&
			    (!next || image->job.waited_ns > next->job.waited_ns))
				next = image;
		}
	return next;
}

void op_evict_go_on(struct op_processes *p, uint32_t parts)
{
	struct op_allowance part = op_allowance_within(
		p->config.allowance,
		op_allowance_part(p->config.allowance,
				  op_allowance_now(p->config.allowance), parts));
	struct op_image *image = next_job(&p->executables.images);
	uint64_t value;
	size_t at = 0;
	int r;

	if (!image || !op_image_may_work(&p->executables.images, image))
		return;
	p->settle_on = true; /* settle again at once */
	r = op_image_go_on(&p->executables.images, image, p->now_ns, &part);
	if (r == -EINPROGRESS)
		return;
	if (r == -ENOSPC)
		op_evict_table(p, image);
	while (op_map64_next(&p->by_pid, &at, &value)) {
		struct op_proc *proc = (struct op_proc *)(uintptr_t)value;

		if (!proc->ended_ns)
			touch_user(p, proc, image);
	}
}
