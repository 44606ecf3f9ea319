/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the unwind tables of images, in slices. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "process/image/file.h"
#include "process/image/image.h"

enum {
	OWNER_SHARE = 2,
	/* User memory to make a table, besides that for gaps without unwind data. */
	JOB_BYTES = 1 << 20,
};

/* A table that could not be made is tried again after this time, which doubles with each
 * failure, at most 5 times. */
static const uint64_t TABLE_RETRY_NS = UINT64_C(2000000000);
/* A table that nobody continued for this time is dropped: its process is gone. Time
 * without CPU time for jobs does not count. A closed file's table is dropped after the
 * second time in any case. */
static const uint64_t JOB_IDLE_NS = UINT64_C(2000000000);
static const uint64_t JOB_CLOSED_NS = UINT64_C(30000000000);

void op_image_end_job(struct op_images *x, struct op_image *image)
{
	/* early pages use single rules without a job, too */
	image->job.direct = op_source_direct_free(image->job.direct);
	if (!image->job.running)
		return;
	image->job.running = op_unwind_table_job_free(image->job.running);
	image->job.postponed = false;
	x->jobs--;
}

/* Do the tables of this file's owner use half of the arena or of the rules? Root is
 * exempt, because its files are the host's. */
static bool owner_is_greedy(const struct op_images *x, const struct op_image *image)
{
	const struct op_image *i;
	struct op_arena_stats stats;
	uint64_t bytes = 0;
	uint64_t rules = 0;

	if (!image->stamp.uid)
		return false;
	TAILQ_FOREACH(i, &x->lru, lru) {
		if (!i->table || i->stamp.uid != image->stamp.uid)
			continue;
		bytes += i->table->arena_bytes;
		rules += i->table->rules.numbers.len;
	}
	op_arena_get_stats(x->arena, &stats);
	return bytes > stats.room_bytes / OWNER_SHARE ||
	       rules > OP_UNWIND_RULES_MAX / OWNER_SHARE;
}

void op_images_check_jobs(struct op_images *x, uint64_t now_ns)
{
	struct op_image *image;

	if (!x->allowance || !x->allowance->cpu_was_out)
		x->allowed_ns += now_ns - x->jobs_checked_ns;
	if (x->allowance)
		x->allowance->cpu_was_out = !op_allowance_has_cpu(x->allowance);
	x->jobs_checked_ns = now_ns;
	if (!x->jobs)
		return;
	TAILQ_FOREACH(image, &x->lru, lru) {
		if (!image->job.running)
			continue;
		if (x->allowed_ns >= image->job.allowed_ns + JOB_IDLE_NS ||
		    (!op_image_has_file(image) &&
		     now_ns >= image->job.asked_ns + JOB_CLOSED_NS))
			op_image_end_job(x, image);
	}
}

/* Drop the job of a closed file that was not asked for the longest time, because the
 * number of jobs is limited. Returns false if there is none. */
static bool give_up_oldest(struct op_images *x, uint64_t now_ns)
{
	struct op_image *oldest = NULL;
	struct op_image *image;

	TAILQ_FOREACH(image, &x->lru, lru)
		if (image->job.running && !op_image_has_file(image) &&
		    now_ns >= image->job.asked_ns + JOB_IDLE_NS &&
		    (!oldest || image->job.asked_ns < oldest->job.asked_ns))
			oldest = image;
	if (oldest)
		op_image_end_job(x, oldest);
	return oldest;
}

static struct op_unwind_table_loop loop_of(const struct op_image *image, bool with_loop)
{
	struct op_unwind_table_loop loop = { 0 };

	if (image->runtime && with_loop) {
		loop.runtime = image->runtime->id;
		loop.count = OP_MIN(image->loop.count, 2u);
		memcpy(loop.range, image->loop.range, sizeof(loop.range));
	}
	return loop;
}

/* @ends: the caller's time has an end, and a later call continues. Another caller's job
 * is complete when this call returns, so it may exceed the limit by one. */
static int begin_job(struct op_images *x, struct op_image *image, bool with_loop,
		     bool ends)
{
	struct op_unwind_table_loop loop = loop_of(image, with_loop);
	int r;

	if (x->jobs >= OP_IMAGES_JOBS_MAX && !give_up_oldest(x, image->job.asked_ns) &&
	    ends)
		return -EINPROGRESS;
	if (owner_is_greedy(x, image))
		return -EDQUOT;
	if (!op_allowance_may_take(x->allowance,
				   OP_MIN(op_elf_size(image->elf), JOB_BYTES), true)) {
		x->tables_postponed++;
		return -ENOSPC;
	}
	r = op_unwind_table_job_new(image->elf, &loop, x->arena, x->rules, x->log,
				    &image->job.running);
	if (r == 0)
		x->jobs++;
	return r;
}

bool op_image_may_work(const struct op_images *x, const struct op_image *image)
{
	return image->runtime || op_allowance_has_cpu(x->allowance);
}

/* Must the job wait for CPU time? A caller whose time has no end does not wait. */
static bool postpone_job(struct op_images *x, struct op_image *image,
			 const struct op_allowance *allowance)
{
	if (!allowance || !allowance->end_ns || op_image_may_work(x, image))
		return false;
	x->tables_postponed += !image->job.postponed;
	image->job.postponed = true;
	return true;
}

/* If the table may take more than one call, publish pages of a large file before it. */
static void begin_early(struct op_images *x, struct op_image *image, bool with_loop)
{
	struct op_unwind_table_loop loop = loop_of(image, with_loop);

	if (!image->early && !image->job.not_early && op_image_has_file(image))
		image->job.not_early = op_unwind_early_new(image->elf, &loop, x->arena,
							   x->rules, &image->early) == 0;
}

/* Begin the job if needed, and continue it. A file with early pages continues only if
 * @go_on. */
static int do_job(struct op_images *x, struct op_image *image, bool with_loop, bool go_on,
		  struct op_allowance *allowance)
{
	uint64_t begin_ns = op_allowance_begin_cpu(x->allowance);
	bool ends = allowance && allowance->end_ns;
	int r = 0;

	if (!image->job.running)
		r = begin_job(x, image, with_loop, ends);
	if ((r == 0 || r == -EINPROGRESS) && ends && !go_on)
		begin_early(x, image, with_loop);
	if (r == 0 &&
	    (postpone_job(x, image, allowance) || (image->early && ends && !go_on)))
		r = -EINPROGRESS;
	if (r == 0)
		r = op_unwind_table_job_run(image->job.running, allowance, &image->table);
	op_allowance_take_cpu(x->allowance, begin_ns);
	return r;
}

/* The table is complete, or failed with @r: end its early pages accordingly. */
static void end_early(struct op_image *image, int r, uint64_t now_ns)
{
	if (!image->early)
		return;
	if (r < 0) {
		op_unwind_early_give_up(image->early, now_ns);
		return;
	}
	op_unwind_early_complete(image->early, image->table, now_ns);
	image->early = op_unwind_early_free(image->early, now_ns);
}

static int make_table(struct op_images *x, struct op_image *image, bool with_loop,
		      bool go_on, uint64_t now_ns, struct op_allowance *allowance)
{
	int r;

	if (image->table)
		return 0;
	if (now_ns < image->job.retry_ns)
		return -EAGAIN;
	image->job.asked_ns = now_ns;
	if (!go_on)
		image->job.waited_ns = now_ns;
	image->job.allowed_ns = x->allowed_ns;
	r = do_job(x, image, with_loop, go_on, allowance);
	if (r == -EINPROGRESS)
		return r;
	op_image_end_job(x, image);
	end_early(image, r, now_ns);
	op_unwind_rules_reclaim(x->rules, now_ns);
	if (r < 0) {
		/* no BPF program has seen the unfinished table: its memory can be reused
		 * at once */
		op_arena_reclaim(x->arena, now_ns);
		image->job.retry_ns =
			now_ns + (TABLE_RETRY_NS << OP_MIN(image->job.failures, 5u));
		/* memory may become free at any time, so a lack of it does not lengthen
		 * the interval */
		image->job.failures += r != -ENOSPC && r != -EDQUOT;
		x->tables_failed++;
		op_log(x->log, OP_LOG_DEBUG, "No unwind table for %s: %s", image->file,
		       strerror(-r));
	}
	return r;
}

int op_image_make_table(struct op_images *x, struct op_image *image, bool with_loop,
			uint64_t now_ns, struct op_allowance *allowance)
{
	return make_table(x, image, with_loop, false, now_ns, allowance);
}

int op_image_go_on(struct op_images *x, struct op_image *image, uint64_t now_ns,
		   struct op_allowance *allowance)
{
	return make_table(x, image, false, true, now_ns, allowance);
}

bool op_image_is_early(const struct op_image *image)
{
	return image->early && !op_unwind_early_is_over(image->early);
}

bool op_image_page(struct op_images *x, struct op_image *image, uint64_t vaddr,
		   uint64_t now_ns)
{
	uint64_t begin_ns = op_allowance_begin_cpu(x->allowance);
	int r;

	if (!op_image_is_early(image) || !op_image_has_file(image) ||
	    !op_image_may_work(x, image))
		return false;
	r = op_unwind_early_page(image->early, vaddr, now_ns);
	op_allowance_take_cpu(x->allowance, begin_ns);
	return r > 0;
}

bool op_image_rule(struct op_image *image, uint64_t vaddr, struct op_unwind_rule *ret)
{
	if (!(image->job.running || op_image_is_early(image)) ||
	    !op_image_has_file(image))
		return false;
	if (!image->job.direct &&
	    op_source_direct_new(image->elf, &image->job.direct) <= 0)
		return false;
	return op_source_direct_find(image->job.direct, vaddr, ret) > 0;
}
