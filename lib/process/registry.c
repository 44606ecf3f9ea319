/* SPDX-License-Identifier: Apache-2.0 */
#include "process/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/generation.h"
#include "process/identify.h"
#include "process/image/new_files.h"
#include "process/publish.h"
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

struct op_proc *op_registry_find(const struct op_processes *p, uint32_t pid)
{
	uint64_t value;

	if (!op_map64_get(&p->by_pid, pid, &value))
		return NULL;
	return (struct op_proc *)(uintptr_t)value;
}

struct op_proc *op_registry_find_alive(const struct op_processes *p, uint32_t pid)
{
	struct op_proc *proc = op_registry_find(p, pid);

	return proc && !proc->ended_ns ? proc : NULL;
}

static void proc_free(struct op_processes *p, struct op_proc *proc)
{
	if (!proc)
		return;
	if (proc->dirty)
		TAILQ_REMOVE(&p->dirty, proc, dirty_link);
	if (proc->waiting)
		TAILQ_REMOVE(&p->waiting, proc, waiting_link);
	op_generation_drop(p, proc);
	op_mappings_put(proc->mappings, &p->executables, p->now_ns);
	op_changes_clear(&proc->changes);
	op_program_put(p, proc->program);
	free(proc);
}

/* Remove an ended process from its chain and free it. */
static void expire(struct op_processes *p, struct op_proc *proc)
{
	struct op_proc *head = op_registry_find(p, proc->pid);

	if (head == proc && !proc->same_pid) {
		(void)op_map64_remove(&p->by_pid, proc->pid);
	} else if (head == proc) {
		/* The key exists, so this allocates no memory. */
		(void)op_map64_put(&p->by_pid, proc->pid, (uintptr_t)proc->same_pid);
	} else {
		while (head->same_pid != proc)
			head = head->same_pid;
		head->same_pid = proc->same_pid;
	}
	TAILQ_REMOVE(&p->ended, proc, ended_link);
	p->kept--;
	proc_free(p, proc);
}

/* The process is no longer tracked, but it is kept for late records. */
static void retire(struct op_processes *p, struct op_proc *proc)
{
	op_program_went(p, proc->program);
	op_proc_lists_remove(p, proc);
	op_unpublish(p, proc);
	op_program_context_publish(p, proc->program, (struct op_context_place){ 0 });
	proc->ended_ns = OP_MAX(p->now_ns, UINT64_C(1));
	TAILQ_INSERT_TAIL(&p->ended, proc, ended_link);
	p->alive--;
	p->kept++;
	/* a storm of short-lived processes: drop the oldest, whose late records are not
	 * resolved */
	while (p->kept > p->config.max_processes)
		expire(p, TAILQ_FIRST(&p->ended));
}

void op_registry_end(struct op_processes *p, struct op_proc *proc, uint64_t time_ns)
{
	if (proc->ended_ns)
		return;
	op_program_end(proc->program, time_ns ? time_ns : p->now_ns);
	p->now_ns = OP_MAX(p->now_ns, time_ns);
	retire(p, proc);
}

void op_registry_forget(struct op_processes *p, struct op_proc *proc)
{
	/* its exit will not be noticed, so its pid may belong to another process: do not
	 * read its memory */
	proc->program->memory.gone = true;
	retire(p, proc);
}

/* At max_processes: forget the least recently used process. */
static bool make_room(struct op_processes *p)
{
	struct op_proc *oldest = op_proc_lists_least_used(p);

	if (oldest) {
		op_registry_forget(p, oldest);
		p->processes_evicted++;
	}
	return oldest != NULL;
}

int op_registry_add(struct op_processes *p, uint32_t pid, uint64_t born_ns,
		    struct op_proc **ret)
{
	struct op_proc *proc = op_registry_find_alive(p, pid);

	if (proc)
		op_registry_end(p, proc, born_ns);
	if (p->alive >= p->config.max_processes && !make_room(p)) {
		p->unseen++;
		return -ENOSPC;
	}
	proc = calloc(1, sizeof(*proc));
	if (!proc)
		return -ENOMEM;
	proc->pid = pid;
	proc->born_ns = born_ns;
	/* after make_room(), which may free it */
	proc->same_pid = op_registry_find(p, pid);
	if (op_mappings_new(&proc->mappings) < 0 ||
	    op_program_new(p, pid, born_ns, &proc->program) < 0 ||
	    op_map64_put(&p->by_pid, pid, (uintptr_t)proc) < 0) {
		proc_free(p, proc);
		return -ENOMEM;
	}
	p->alive++;
	op_proc_lists_add(p, proc);
	op_proc_lists_touch(p, proc);
	*ret = proc;
	return 0;
}

void op_registry_use(struct op_processes *p, struct op_proc *proc)
{
	op_proc_lists_use(p, proc);
}

void op_registry_expire(struct op_processes *p)
{
	struct op_proc *proc;

	while ((proc = TAILQ_FIRST(&p->ended)) && op_process_is_over(p, proc->ended_ns))
		expire(p, proc);
}

void op_registry_clear(struct op_processes *p)
{
	uint64_t value;
	size_t at = 0;

	while (op_map64_next(&p->by_pid, &at, &value)) {
		struct op_proc *proc = (struct op_proc *)(uintptr_t)value;

		while (proc) {
			struct op_proc *next = proc->same_pid;

			proc_free(p, proc);
			proc = next;
		}
	}
	op_map64_clear(&p->by_pid);
	op_proc_lists_clear(p);
	TAILQ_INIT(&p->ended);
	p->alive = 0;
	p->kept = 0;
}

void op_registry_each(struct op_processes *p,
		      void (*fn)(struct op_processes *p, struct op_proc *proc))
{
	uint64_t value;
	size_t at = 0;

	while (op_map64_next(&p->by_pid, &at, &value)) {
		struct op_proc *proc = (struct op_proc *)(uintptr_t)value;

		if (!proc->ended_ns)
			fn(p, proc);
	}
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
	int r;

	/* The kernel emulates its calls; no user code runs there. */
	if (e->path && strcmp(e->path, "[vsyscall]") == 0)
		return 1;
	r = executable_of(p, e, &vma.exe, &vma.claim);
	if (r < 0)
		return r;
	if (ret_replaces)
		*ret_replaces = op_mappings_replaces(*mappings, &vma);
	if (op_mappings_has(*mappings, &vma)) {
		r = map_again(*mappings, &vma);
	} else {
		r = op_mappings_own(mappings, &p->executables, p->now_ns);
		if (r == 0)
			r = op_mappings_insert(*mappings, &vma, &p->executables);
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
	struct op_program *program = proc->program;
	bool replaces = false;
	int r;

	/* The first mapping is that of the executable: the kernel maps it before the
	 * dynamic linker. */
	if (!program->first_file && e->inode && e->path && e->path[0] == '/')
		program->first_file = strdup(e->path);
	r = insert(p, &proc->mappings, e, &replaces);
	if (r == 0) {
		proc->changes.number++;
		op_proc_lists_touch(p, proc);
	}
	if (r == 0 && replaces)
		op_generation_changed(p, proc, e->start, e->end,
				      e->time_ns ? e->time_ns : p->now_ns);
	return r;
}

struct rescan {
	struct op_processes *p;
	struct op_mappings *mappings;
};

static int rescan_one(void *ctx, const struct op_mmap_event *e)
{
	struct rescan *s = ctx;
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
		doubted = doubted || op_mapping_is_doubted(v);
	}
	if (doubted)
		op_proc_lists_touch(p, proc);
}

static void note_change(struct op_processes *p, struct op_proc *proc,
			const struct op_mapping *v)
{
	const struct op_change change = { .start = v->start,
					  .end = v->end,
					  .since_ns = proc->matched_ns,
					  .until_ns = OP_MAX(p->now_ns,
							     op_clock_monotonic_ns()) };

	op_changes_add(&proc->changes, &change, op_process_over_ns(p));
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

	return op_mappings_replaces(before, v) ||
	       (proc->replaces && v->exe && !has_same(before, v));
}

/* The mappings of @proc changed to @now, some time after the last record that matched the
 * old ones. */
static void note_changes(struct op_processes *p, struct op_proc *proc,
			 const struct op_mappings *now)
{
	const struct op_mappings *before = proc->mappings;
	size_t i;

	proc->changes.number++;
	for (i = 0; i < now->len; i++)
		if (is_replacing(proc, &now->vma[i]))
			note_change(p, proc, &now->vma[i]);
	for (i = 0; i < before->len; i++) {
		const struct op_mapping *v = &before->vma[i];

		if (!v->exe || has_same(now, v))
			continue;
		note_change(p, proc, v);
		proc->replaces = true;
	}
}

/* Keep the state of mappings that are in @before, too. @told: no events were lost, so a
 * mapping without an event is still the same. */
static void keep_known(struct op_mappings *now, const struct op_mappings *before,
		       bool told)
{
	size_t i;

	for (i = 0; i < now->len; i++) {
		struct op_mapping *v = &now->vma[i];
		const struct op_mapping *there;

		if (!v->exe || !has_same(before, v))
			continue;
		there = op_mappings_find(before, v->start);
		v->replaced = there->replaced;
		if (told)
			v->claim = there->claim;
	}
}

static int rescan(struct op_processes *p, struct op_proc *proc, bool told)
{
	struct rescan s = { .p = p };
	uint32_t thread;
	int r;

	r = op_mappings_new(&s.mappings);
	if (r < 0)
		return r;
	thread = proc->program->proc_pid;
	r = op_scan_maps(p->target, proc->pid, &thread, rescan_one, &s);
	if (thread != proc->program->proc_pid) {
		proc->program->proc_pid = thread;
		op_remote_follow(&proc->program->memory, (int)thread);
	}
	if (r >= 0) {
		proc->kernel = r == 0;
		proc->rescan = false;
	}
	if (r > 0 && layout_equal(s.mappings, proc->mappings)) {
		if (!told)
			take_claims(p, proc, s.mappings);
	} else if (r > 0) {
		struct op_mappings *old = proc->mappings;

		keep_known(s.mappings, old, told);
		note_changes(p, proc, s.mappings);
		proc->mappings = s.mappings;
		s.mappings = old;
		op_proc_lists_touch(p, proc);
	}
	op_mappings_put(s.mappings, &p->executables, p->now_ns);
	return r < 0 ? r : 0;
}

int op_registry_rescan(struct op_processes *p, struct op_proc *proc)
{
	return rescan(p, proc, false);
}

/* Do the mappings of @proc explain the sample? */
static bool explains(const struct op_proc *proc, const struct op_look *look)
{
	if (look->pc)
		return op_mappings_has_pc(proc->mappings, look->pc);
	return look->code_pages &&
	       !op_registry_differs(proc, look->code_pages, look->time_ns);
}

int op_registry_look_again(struct op_processes *p, struct op_proc *proc,
			   const struct op_look *look)
{
	const struct op_mappings *mappings = proc->mappings;
	uint64_t files = op_mappings_files_sum(mappings);
	uint64_t begin_ns = OP_MAX(p->now_ns, op_clock_monotonic_ns());
	uint64_t most_ns = LOOK_MOST_NS;
	uint64_t least_ns;
	uint64_t work_ns;

	if (look->time_ns && look->time_ns < proc->looked_ns)
		return 1;
	if (proc->past || proc->ended_ns)
		return 0;
	if (begin_ns < proc->look_after_ns)
		return proc->look_after_ns - begin_ns <= LOOK_SOON_NS ? -EINPROGRESS : 0;
	work_ns = op_allowance_now(p->config.allowance);
	if (rescan(p, proc, !proc->rescan) < 0)
		return 0;
	work_ns = op_allowance_now(p->config.allowance) - work_ns;
	least_ns = OP_MAX(LOOK_LEAST_NS, work_ns * LOOK_PAUSE_FACTOR);
	if (files != op_mappings_files_sum(proc->mappings)) {
		proc->vain_looks = 0;
		proc->look_wait_ns = 0;
	} else {
		proc->vain_looks += !proc->replaces;
		if (explains(proc, look))
			proc->look_wait_ns = 0;
		op_proc_lists_touch(p, proc);
	}
	if (proc->mappings != mappings)
		most_ns = LOOK_CHANGED_MOST_NS;
	proc->look_wait_ns = OP_MIN(OP_MAX(2 * proc->look_wait_ns, least_ns),
				    OP_MAX(most_ns, least_ns));
	proc->looked_ns = begin_ns;
	proc->look_after_ns = begin_ns + proc->look_wait_ns;
	return 1;
}

bool op_registry_differs(const struct op_proc *proc, uint32_t code_pages,
			 uint64_t time_ns)
{
	return code_pages &&
	       (uint32_t)op_mappings_code_pages(proc->mappings, time_ns) != code_pages;
}

void op_registry_matched(struct op_proc *proc, uint64_t time_ns)
{
	proc->matched_ns = OP_MAX(proc->matched_ns, time_ns);
}

struct op_proc *op_registry_learn(struct op_processes *p, uint32_t pid)
{
	struct op_proc *proc;

	if (!op_scan_exists(p->procfs_root, pid) || op_registry_add(p, pid, 0, &proc) < 0)
		return NULL;
	if (op_registry_rescan(p, proc) < 0)
		proc->rescan = true;
	return proc;
}

struct op_proc *op_registry_of_record(struct op_processes *p,
				      const struct op_record *record)
{
	/* a task may run for a moment after its exit event */
	static const uint64_t exit_ns = UINT64_C(20000000);
	struct op_proc *proc = op_registry_find(p, record->pid);
	struct op_proc *new;

	if (proc &&
	    (!proc->ended_ns || record->time_ns <= proc->program->until_ns + exit_ns)) {
		op_proc_lists_use(p, proc);
		return proc;
	}
	/* freeing much memory takes longer, and since Linux 6.16 comes after the event */
	if (proc && op_scan_is_ending(p->procfs_root, record->pid))
		return proc;
	new = op_registry_learn(p, record->pid);
	/* making room may have freed the process that ended */
	return new ? new : op_registry_find(p, record->pid);
}
