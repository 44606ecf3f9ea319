/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a process, from events and from readings of its maps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/generation.h"
#include "process/image/new_files.h"
#include "process/registry.h"
#include "process/state.h"
#include "process/target/scan.h"

/* The pause between two readings of a process's maps that samples ask for: at least the
 * first number, or the factor times the CPU time of the last reading. It doubles after
 * each reading without new files, up to one of two maxima: the second applies if mappings
 * changed. */
#define LOOK_LEAST_NS	     UINT64_C(2000000)
#define LOOK_PAUSE_FACTOR    20
#define LOOK_MOST_NS	     UINT64_C(64000000000)
#define LOOK_CHANGED_MOST_NS UINT64_C(50000000)
/* a sample waits for a reading that may come within this time */
#define LOOK_SOON_NS UINT64_C(10000000)

enum {
	/* Pieces of made code that are looked for in a process's memory at a reading,
	 * because they are not executable any longer. Others count as unmapped. */
	WRITTEN_MAX = 16,
};

/* A reading of the maps of a process. */
struct op_reading {
	struct op_processes *p;
	struct op_mappings *mappings; /* so far */
	struct op_maps_reader reader;
	struct op_look look; /* of the sample that asked for it */
	bool asked;
	bool told;   /* no events were lost before it began */
	bool missed; /* events may have been lost since the last reading */
	bool kept;   /* code that is not executable now */
	uint32_t sweep;
	uint64_t began_ns;
	uint64_t work_ns;
};

static void reading_deinit(struct op_processes *p, struct op_reading *s)
{
	op_maps_reader_end(p->target, &s->reader);
	op_mappings_put(s->mappings, &p->executables, p->now_ns);
	s->mappings = NULL;
}

void op_registry_stop_reading(struct op_processes *p, struct op_proc *proc)
{
	if (!proc->reading)
		return;
	TAILQ_REMOVE(&p->sweep.reading, proc, reading_link);
	reading_deinit(p, proc->reading);
	free(proc->reading);
	proc->reading = NULL;
}

/* The executable of an event. *@ret is NULL for memory without one. Returns 0 or
 * -errno. */
static int executable_of(struct op_processes *p, const struct op_mmap_event *e,
			 struct op_executable **ret, struct op_claim *ret_claim)
{
	const struct op_file_key key = { e->dev_major, e->dev_minor, e->inode,
					 e->generation };
	const char *path = e->path ? e->path : "";
	int r;

	*ret = NULL;
	p->executables.now_ns = p->now_ns;
	if (strcmp(path, "[vdso]") == 0)
		return op_executable_get_vdso(&p->executables, ret);
	if (!e->inode)
		return 0;
	r = op_executable_get(&p->executables, &key, path, ret);
	if (r == 0) {
		*ret_claim = op_claim_of(*ret, &key, path,
					 e->time_ns ? e->time_ns : p->now_ns);
		ret_claim->told = e->time_ns;
	}
	return r == -ENFILE ? 0 : r;
}

/* @vma is already in @mappings. The path may lead to another file, or the file waited for
 * this event. Returns 0 if the mapping must be published again, 1 if nothing changed. */
static int map_again(struct op_mappings *mappings, const struct op_mapping *vma)
{
	struct op_mapping *there = op_mappings_find(mappings, vma->start);
	bool waits;

	if (!vma->exe)
		return 1;
	/* other holders of the list get the doubt too, and settle it at their next
	 * publication */
	there->claim = vma->claim;
	waits = there->exe->retry_ns && !there->exe->failures;
	if (waits)
		there->exe->retry_ns = 0;
	return waits || op_mapping_is_doubted(there) ? 0 : 1;
}

/* May the new file mapping @vma have come where one is that found no room in @mappings? */
static bool is_on_left_out(const struct op_mappings *mappings,
			   const struct op_mapping *vma)
{
	return mappings->refused && vma->exe;
}

/* Insert an event's mapping into *@mappings, which is copied first if it is shared.
 * Returns 0, 1 if nothing changed, or -errno. *@ret_replaces: another mapping was there.
 * @ret_replaces may be NULL. */
static int insert(struct op_processes *p, struct op_mappings **mappings,
		  const struct op_mmap_event *e, bool *ret_replaces)
{
	struct op_mapping vma = { .start = e->start,
				  .end = e->end,
				  .offset = e->offset,
				  .writable = e->writable };
	bool left_out;
	int r;

	/* The kernel emulates its calls; no user code runs there. */
	if (e->path && strcmp(e->path, "[vsyscall]") == 0)
		return 1;
	r = executable_of(p, e, &vma.exe, &vma.claim);
	if (r < 0)
		return r;
	/* also "[uprobes-trampoline]" */
	vma.uprobes = !vma.exe && e->path && strncmp(e->path, "[uprobes", 8) == 0;
	/* of a file that must be compared first, it may be another one */
	if (ret_replaces)
		*ret_replaces = op_mappings_replaces(*mappings, &vma) ||
				(op_mapping_is_doubted(&vma) &&
				 op_mappings_find(*mappings, vma.start));
	if (op_mappings_has(*mappings, &vma)) {
		r = map_again(*mappings, &vma);
	} else {
		r = op_mappings_own(mappings, &p->executables, p->now_ns);
		left_out = is_on_left_out(*mappings, &vma);
		if (r == 0)
			r = op_mappings_insert(*mappings, &vma, &p->executables);
		if (r == 0 && ret_replaces)
			*ret_replaces = *ret_replaces || left_out;
	}
	if (vma.exe)
		op_new_files_note(&p->executables, vma.exe,
				  &(struct op_executable_place){ .pid = e->pid,
								 .start = e->start,
								 .end = e->end });
	op_executable_put(&p->executables, vma.exe);
	return r;
}

int op_registry_map(struct op_processes *p, struct op_proc *proc,
		    const struct op_mmap_event *e)
{
	uint64_t time_ns = e->time_ns ? e->time_ns : p->now_ns;
	struct op_program *program = proc->program;
	bool replaces = false;
	int r;

	/* The first mapping is that of the executable: the kernel maps it before the
	 * dynamic linker. */
	if (!program->first_file && e->inode && e->path && e->path[0] == '/')
		program->first_file = strdup(e->path);
	r = insert(p, &proc->mappings, e, &replaces);
	replaces = replaces ||
		   op_changes_has_gone(&proc->changes, e->start, e->end, e->inode != 0);
	if (proc->reading)
		(void)insert(p, &proc->reading->mappings, e, NULL);
	/* what found no room has still taken the place of what was there */
	if (r == 0 || (r == -E2BIG && replaces)) {
		proc->changes.number++;
		proc->listed_ns = time_ns;
		op_proc_lists_touch(p, proc);
		if (replaces)
			op_generation_changed(p, proc, e->start, e->end,
					      e->inode ? e->start - e->offset : 0,
					      time_ns, time_ns);
	}
	return r;
}

static int rescan_one(void *ctx, const struct op_mmap_event *e)
{
	struct op_reading *s = ctx;
	int r = insert(s->p, &s->mappings, e, NULL);

	return r == -ENOMEM ? r : s->mappings->full;
}

static bool layout_equal(const struct op_mappings *a, const struct op_mappings *b)
{
	size_t i;

	if (a->len != b->len)
		return false;
	for (i = 0; i < a->len; i++)
		if (a->vma[i].start != b->vma[i].start ||
		    a->vma[i].end != b->vma[i].end || a->vma[i].exe != b->vma[i].exe ||
		    a->vma[i].writable != b->vma[i].writable ||
		    (a->vma[i].exe && a->vma[i].offset != b->vma[i].offset))
			return false;
	return true;
}

/* The mappings of @proc look as before. But events were lost, so each may be a new one:
 * its file is compared again. */
static void take_claims(struct op_processes *p, struct op_proc *proc,
			const struct op_mappings *from)
{
	bool doubted = false;
	size_t i;

	for (i = 0; i < from->len; i++) {
		struct op_mapping *v = &proc->mappings->vma[i];

		v->claim = from->vma[i].claim;
		v->claim.since_ns = proc->sure_ns;
		doubted = doubted || op_mapping_is_doubted(v);
	}
	if (doubted)
		op_proc_lists_touch(p, proc);
}

/* Note @change at @v. @came: @v is the new mapping. */
static void note_change(struct op_processes *p, struct op_proc *proc,
			struct op_change *change, const struct op_mapping *v, bool came)
{
	change->start = v->start;
	change->end = v->end;
	change->base = came && v->exe ? v->start - v->offset : 0;
	op_generation_note(p, proc, change);
}

/*
 * The file of @v is there as before. But another may have been there since, and may have gone.
 * The change has the number of the mappings: what was walked by the published ones, whose marks
 * were checked, is valid.
 */
static void note_doubt(struct op_processes *p, struct op_proc *proc,
		       const struct op_mapping *v, uint64_t until_ns)
{
	struct op_change change = {
		.since_ns = OP_MAX(proc->listed_ns, proc->born_ns),
		.until_ns = until_ns,
	};

	note_change(p, proc, &change, v, true);
}

/* Events were lost: what replaced another file may have been replaced again. */
static void note_doubts(struct op_processes *p, struct op_proc *proc)
{
	uint64_t now_ns = OP_MAX(p->now_ns, op_clock_monotonic_ns());
	size_t i;

	for (i = 0; i < proc->mappings->len; i++)
		if (proc->mappings->vma[i].replaced)
			note_doubt(p, proc, &proc->mappings->vma[i], now_ns);
}

/* Does @mappings have the file of @v where @v begins? */
static bool has_same(const struct op_mappings *mappings, const struct op_mapping *v)
{
	const struct op_mapping *there = op_mappings_find(mappings, v->start);

	return there && op_mapping_is_same(there, v);
}

/* Does the new mapping @v of @proc replace another? If @proc replaced mappings before, @v
 * may have replaced one that is not known. */
static bool is_replacing(const struct op_proc *proc, const struct op_mapping *v)
{
	const struct op_mappings *before = proc->mappings;

	if (op_mappings_replaces(before, v) ||
	    (proc->program->code.replaces && v->exe && !has_same(before, v)))
		return true;
	return !op_mappings_has(before, v) &&
	       (is_on_left_out(before, v) ||
		op_changes_has_gone(&proc->changes, v->start, v->end, v->exe != NULL));
}

/* Note where nothing is now of what @v was. What comes there then is not seen to replace it, but
 * earlier lists have it. */
static void note_gone(struct op_processes *p, struct op_proc *proc,
		      const struct op_change *change, const struct op_mapping *v,
		      const struct op_mappings *now)
{
	struct op_change gone = *change;

	gone.gone = true;
	gone.counted = false;
	gone.base = v->exe ? v->start - v->offset : 0;
	for (gone.start = op_mappings_gap(now, v->start, v->end, &gone.end);
	     gone.start < v->end;
	     gone.start = op_mappings_gap(now, gone.end, v->end, &gone.end))
		op_generation_note(p, proc, &gone);
}

/* How many mappings of @a does @b not have? *@ret is one of them, if there are any. */
static size_t count_others(const struct op_mappings *a, const struct op_mappings *b,
			   const struct op_mapping **ret)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < a->len; i++) {
		if (op_mappings_has(b, &a->vma[i]))
			continue;
		*ret = &a->vma[i];
		n++;
	}
	return n;
}

/* Do @before and @now differ in one place only? */
static bool is_one_place(const struct op_mappings *before, const struct op_mappings *now)
{
	const struct op_mapping *went = NULL;
	const struct op_mapping *came = NULL;

	return count_others(before, now, &went) <= 1 &&
	       count_others(now, before, &came) <= 1 &&
	       (!went || !came || (went->start == came->start && went->end == came->end));
}

/* The mappings of @proc changed to @now, some time after the last record that matched the
 * old ones. @missed: events may be missing since the last reading. */
static void note_changes(struct op_processes *p, struct op_proc *proc,
			 const struct op_mappings *now, bool missed)
{
	const struct op_mappings *before = proc->mappings;
	/* not if there may have been others between */
	bool differs = !missed && op_mappings_code_pages(before, UINT64_MAX) !=
					  op_mappings_code_pages(now, UINT64_MAX);
	/* the list before was made by an event or a reading of that time */
	uint64_t listed_ns = OP_MAX(proc->listed_ns, differs ? proc->matched_ns : 0);
	struct op_change change = {
		.since_ns = OP_MAX(missed ? proc->sure_ns : listed_ns, proc->born_ns),
		.until_ns = OP_MAX(p->now_ns, op_clock_monotonic_ns()),
		/* changes in two places may add up to the same number */
		.counted = differs && is_one_place(before, now),
	};
	size_t i;

	proc->changes.number++;
	for (i = 0; i < now->len; i++)
		if (is_replacing(proc, &now->vma[i]))
			note_change(p, proc, &change, &now->vma[i], true);
	for (i = 0; i < before->len; i++) {
		const struct op_mapping *v = &before->vma[i];

		if (!v->exe || has_same(now, v)) {
			note_gone(p, proc, &change, v, now);
			continue;
		}
		note_change(p, proc, &change, v, false);
		proc->program->code.replaces = true;
	}
}

/* Keep the state of mappings that are in @before, too. @told: no events were lost, so a
 * mapping without an event is still the same. Others came after @sure_ns. */
static void keep_known(struct op_mappings *now, const struct op_mappings *before,
		       bool told, uint64_t sure_ns)
{
	size_t i;

	for (i = 0; i < now->len; i++) {
		struct op_mapping *v = &now->vma[i];
		const struct op_mapping *there;

		if (!v->exe)
			continue;
		v->claim.since_ns = sure_ns;
		if (!has_same(before, v)) {
			v->replaced = op_mappings_replaces(before, v);
			continue;
		}
		there = op_mappings_find(before, v->start);
		v->replaced = there->replaced;
		if (told)
			v->claim = there->claim;
	}
}

/* Do the mappings of @proc explain the sample? */
static bool explains(const struct op_proc *proc, const struct op_look *look)
{
	if (look->pc)
		return op_mappings_has_pc(proc->mappings, look->pc);
	return look->code_pages &&
	       !op_registry_differs(proc->mappings, look->code_pages, look->time_ns);
}

/* A sample asked for the reading @s: set when a sample may ask again. @before and @files:
 * the mappings known before, and their files. */
static void note_look(struct op_processes *p, struct op_proc *proc,
		      const struct op_reading *s, const struct op_mappings *before,
		      uint64_t files)
{
	uint64_t least_ns = OP_MAX(LOOK_LEAST_NS, s->work_ns * LOOK_PAUSE_FACTOR);
	uint64_t most_ns = LOOK_MOST_NS;

	if (files != op_mappings_files_sum(proc->mappings)) {
		proc->vain_looks = 0;
		proc->looks.wait_ns = 0;
	} else {
		proc->vain_looks += !proc->program->code.replaces && !s->kept;
		if (explains(proc, &s->look))
			proc->looks.wait_ns = 0;
		op_proc_lists_touch(p, proc);
	}
	if (proc->mappings != before)
		most_ns = LOOK_CHANGED_MOST_NS;
	proc->looks.wait_ns = OP_MIN(OP_MAX(2 * proc->looks.wait_ns, least_ns),
				     OP_MAX(most_ns, least_ns));
	proc->looks.last_ns = s->began_ns;
	proc->looks.after_ns = s->began_ns + proc->looks.wait_ns;
}

/* Read the next slice. Returns like op_target_executables(). */
static int read_slice(struct op_processes *p, struct op_proc *proc, struct op_reading *s)
{
	uint64_t work_ns = op_allowance_now(p->config.allowance);
	uint32_t thread = proc->program->proc_pid;
	int r = op_scan_maps(p->target, proc->pid, &thread, &s->reader, rescan_one, s);

	s->work_ns += op_allowance_now(p->config.allowance) - work_ns;
	if (thread != proc->program->proc_pid) {
		proc->program->proc_pid = thread;
		op_remote_follow(&proc->program->memory, (int)thread);
	}
	return r;
}

/* Is there memory at @v? What cannot be read for now may be there. */
static bool is_mapped(struct op_proc *proc, const struct op_mapping *v)
{
	struct op_memory *memory = &proc->program->memory.memory;
	uint8_t byte;

	return op_memory_read(memory, v->start, &byte, 1) != -EFAULT &&
	       op_memory_read(memory, v->end - 1, &byte, 1) != -EFAULT;
}

/* Keep what @s lacks of the made code @there. Returns how many mappings may still be looked
 * for. */
static uint32_t keep_made(struct op_processes *p, struct op_proc *proc,
			  struct op_reading *s, const struct op_mapping *there,
			  uint32_t left)
{
	struct op_mapping v = { .exe = there->exe,
				.claim = there->claim,
				.writable = true };

	for (v.start = op_mappings_gap(s->mappings, there->start, there->end, &v.end);
	     v.start < there->end && left && !op_allowance_is_over(p->config.allowance);
	     v.start = op_mappings_gap(s->mappings, v.end, there->end, &v.end)) {
		v.offset = there->offset + (v.start - there->start);
		left--;
		if (is_mapped(proc, &v) &&
		    op_mappings_insert(s->mappings, &v, &p->executables) == 0)
			s->kept = true;
	}
	return left;
}

/*
 * Code that the process makes may not be executable while the process writes it, such as that
 * of PHP, and its functions are on stacks meanwhile. So it stays in the list as memory that the
 * process can write.
 */
static void keep_written(struct op_processes *p, struct op_proc *proc,
			 struct op_reading *s)
{
	uint64_t work_ns = op_allowance_now(p->config.allowance);
	const struct op_mappings *old = proc->mappings;
	uint32_t left = WRITTEN_MAX;
	size_t i;

	for (i = 0; i < old->len && left; i++)
		if (op_mapping_is_made(&old->vma[i]) && !old->vma[i].uprobes)
			left = keep_made(p, proc, s, &old->vma[i], left);
	s->work_ns += op_allowance_now(p->config.allowance) - work_ns;
}

/* @s is complete: its mappings replace those of @proc. */
static void take_reading(struct op_processes *p, struct op_proc *proc,
			 struct op_reading *s)
{
	struct op_mappings *old = proc->mappings;
	uint64_t files = op_mappings_files_sum(old);

	if (s->missed)
		note_doubts(p, proc);
	keep_written(p, proc, s);
	if (layout_equal(s->mappings, old)) {
		if (!s->told)
			take_claims(p, proc, s->mappings);
	} else {
		keep_known(s->mappings, old, s->told, proc->sure_ns);
		note_changes(p, proc, s->mappings, s->missed);
		proc->mappings = s->mappings;
		proc->listed_ns = s->began_ns;
		s->mappings = old;
		op_proc_lists_touch(p, proc);
	}
	proc->sure_ns = s->began_ns;
	if (s->asked)
		note_look(p, proc, s, old, files);
}

/* Continue @s at the next op_sweep_settle(). Returns -EINPROGRESS or -ENOMEM. */
static int postpone_reading(struct op_processes *p, struct op_proc *proc,
			    const struct op_reading *s)
{
	if (proc->reading) {
		TAILQ_REMOVE(&p->sweep.reading, proc, reading_link);
	} else {
		proc->reading = malloc(sizeof(*s));
		if (!proc->reading)
			return -ENOMEM;
		*proc->reading = *s;
	}
	TAILQ_INSERT_TAIL(&p->sweep.reading, proc, reading_link);
	p->settle_on = true;
	return -EINPROGRESS;
}

/* @look: the sample that asks for the reading. NULL: none. */
static int rescan(struct op_processes *p, struct op_proc *proc,
		  const struct op_look *look)
{
	bool missed = op_registry_missed(p, proc);
	struct op_reading first = { .p = p,
				    .asked = look != NULL,
				    .told = look && !missed,
				    .missed = !look || missed,
				    .sweep = p->sweep.number,
				    .began_ns =
					    OP_MAX(p->now_ns, op_clock_monotonic_ns()) };
	struct op_reading *s = proc->reading ?: &first;
	int r = 0;

	if (look)
		first.look = *look;
	if (s == &first)
		r = op_mappings_new(&first.mappings);
	if (r < 0)
		return r;
	r = read_slice(p, proc, s);
	if (r == -EINPROGRESS)
		r = postpone_reading(p, proc, s);
	if (r == -EINPROGRESS)
		return r;
	if (r >= 0) {
		proc->kernel = r == 0;
		proc->rescan = proc->rescan && s->sweep != p->sweep.number;
	}
	if (r > 0)
		take_reading(p, proc, s);
	else if (r == 0 && s->asked)
		note_look(p, proc, s, proc->mappings,
			  op_mappings_files_sum(proc->mappings));
	if (s == &first)
		reading_deinit(p, s);
	else
		op_registry_stop_reading(p, proc);
	return r < 0 ? r : 0;
}

int op_registry_rescan(struct op_processes *p, struct op_proc *proc)
{
	return rescan(p, proc, NULL);
}

int op_registry_restart(struct op_processes *p, struct op_proc *proc)
{
	op_registry_stop_reading(p, proc);
	return rescan(p, proc, NULL);
}

bool op_registry_is_unread(const struct op_proc *proc)
{
	return proc->rescan && proc->reading;
}

int op_registry_look_again(struct op_processes *p, struct op_proc *proc,
			   const struct op_look *look)
{
	uint64_t now_ns = OP_MAX(p->now_ns, op_clock_monotonic_ns());
	int r;

	if (look->time_ns && look->time_ns < proc->looks.last_ns)
		return 1;
	if (proc->past || proc->ended_ns)
		return 0;
	if (proc->reading)
		return -EINPROGRESS;
	if (now_ns < proc->looks.after_ns)
		return proc->looks.after_ns - now_ns <= LOOK_SOON_NS ? -EINPROGRESS : 0;
	r = rescan(p, proc, look);
	if (r < 0)
		return r == -EINPROGRESS ? r : 0;
	return 1;
}

bool op_registry_missed(const struct op_processes *p, const struct op_proc *proc)
{
	const struct op_sweep *s = &p->sweep;

	return proc->rescan || s->lost || (s->reread && proc->reread != s->number);
}

void op_registry_was_other(struct op_processes *p, struct op_proc *proc, uint64_t pc,
			   uint64_t time_ns)
{
	const struct op_mapping *v = op_mappings_find(proc->mappings, pc);

	if (v && v->exe && !op_changes_after(&proc->changes, time_ns, pc))
		note_doubt(p, proc, v, OP_MAX(time_ns + 1, op_clock_monotonic_ns()));
}

bool op_registry_differs(const struct op_mappings *mappings, uint16_t code_pages,
			 uint64_t time_ns)
{
	return code_pages &&
	       (uint16_t)op_mappings_code_pages(mappings, time_ns) != code_pages;
}

void op_registry_matched(struct op_proc *proc, uint64_t time_ns)
{
	proc->matched_ns = OP_MAX(proc->matched_ns, time_ns);
}

void op_registry_explained(struct op_proc *proc, uint64_t time_ns)
{
	op_changes_were_before(&proc->changes, time_ns);
}
