/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where the threads of a program have their trace contexts, and tells the kernel, as long as
 * the program runs. */
#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "code/elf/file.h"
#include "process/context/schema.h"
#include "process/identify.h"
#include "process/resource/identity.h"
#include "process/state.h"

enum {
	WAIT_FACTOR = 2,
	FILES_MAX = 64, /* of one process, that are looked into at one time */
};

static const uint64_t WAIT_FIRST_NS = UINT64_C(1000000000);
static const uint64_t WAIT_MAX_NS = UINT64_C(256000000000);

uint64_t op_program_context_next_wait_ns(uint64_t wait_ns)
{
	return OP_MIN(OP_MAX(wait_ns * WAIT_FACTOR, WAIT_FIRST_NS), WAIT_MAX_NS);
}

void op_program_context_publish(struct op_processes *p, struct op_program *program,
				struct op_context_place place)
{
	uint64_t known;

	if (!p->config.publish_context)
		return;
	if (place.form) {
		place.number = ++p->contexts.next;
		if (op_map64_put(&p->contexts.numbers, program->pid, place.number) < 0 ||
		    p->config.publish_context(p->config.ctx, program->pid, &place) < 0) {
			(void)p->config.publish_context(p->config.ctx, program->pid,
							NULL);
			op_map64_remove(&p->contexts.numbers, program->pid);
			program->context.place = (struct op_context_place){ 0 };
			p->contexts.refused++;
			return;
		}
	} else if (program->context.place.form &&
		   op_map64_get(&p->contexts.numbers, program->pid, &known) &&
		   known == program->context.place.number) {
		/* a later program of this pid may have one by now */
		(void)p->config.publish_context(p->config.ctx, program->pid, NULL);
		op_map64_remove(&p->contexts.numbers, program->pid);
	}
	program->context.place = place;
}

/*
 * Is what /proc tells still of the program that a sample was taken from? It may have executed
 * another one, or ended, and its pid may have been given to another process.
 */

/* A start by /proc and one by the fork event, which differ by a tick and by rounding. */
static const uint64_t SAME_START_NS = UINT64_C(100000000);

bool op_same_process(const struct op_program *program, const struct op_stat *stat)
{
	/* no wall clock, which may be set; time asleep makes the sum only smaller */
	uint64_t asleep = op_clock_boottime_ns() - op_clock_monotonic_ns();

	/* A thread that stands for its process began later too. */
	return !program->born_ns || program->proc_pid != program->pid ||
	       stat->start_ns < asleep + program->born_ns + SAME_START_NS;
}

const struct op_mapping *op_same_code(const struct op_stat *stat,
				      const struct op_mappings *mappings)
{
	size_t i;

	for (i = 0; mappings && stat->end_code > 1 && i < mappings->len; i++) {
		const struct op_mapping *vma = &mappings->vma[i];

		/* end_code is the first byte behind */
		if (stat->end_code > vma->start && stat->end_code <= vma->end)
			return vma;
	}
	return NULL;
}

bool op_same_program(const struct op_stat *stat, const struct op_mappings *mappings)
{
	size_t i;

	if (!mappings || stat->end_code <= 1 || op_same_code(stat, mappings))
		return true;
	for (i = 0; i < mappings->len; i++)
		if (mappings->vma[i].exe)
			return false;
	return true;
}

bool op_same_runs(struct op_processes *p, const struct op_program *program,
		  const struct op_mappings *mappings, struct op_stat *ret)
{
	struct op_stat stat;

	if (!ret)
		ret = &stat;
	return !program->until_ns && !program->memory.gone &&
	       op_stat_read(p->procfs_root, program->proc_pid, ret) == 0 &&
	       op_same_process(program, ret) && op_same_program(ret, mappings);
}

bool op_same_exec(struct op_processes *p, const struct op_program *program,
		  const struct op_stat *before)
{
	struct op_stat stat;

	return op_stat_read(p->procfs_root, program->proc_pid, &stat) == 0 &&
	       op_same_process(program, &stat) && op_stat_same_exec(&stat, before);
}

/* Publish what was found, unless the process runs another program by now: it would be read by
 * the place of this one. The kernel forgets a place at exec, so the program is looked at again
 * when the place stands there. */
static void offer_place(struct op_processes *p, struct op_program *program,
			const struct op_mappings *mappings, struct op_context_place place)
{
	if (!op_same_runs(p, program, mappings, NULL))
		return;
	op_program_context_publish(p, program, place);
	if (!op_same_runs(p, program, mappings, NULL))
		op_program_context_publish(p, program, (struct op_context_place){ 0 });
}

static bool is_musl(const struct op_mappings *mappings)
{
	size_t i;

	for (i = 0; i < mappings->len; i++)
		if (mappings->vma[i].exe &&
		    strstr(mappings->vma[i].exe->path, "/ld-musl-"))
			return true;
	return false;
}

typedef int (*place_fn)(const struct op_context_file *file, struct op_context_place *ret);

/* Look into one of its files. 1 and *@ret, 0 or -errno. */
static int place_in(struct op_processes *p, struct op_program *program,
		    const struct op_mapping *v, bool musl, place_fn find,
		    struct op_context_place *ret)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	struct op_context_file file = { .musl = musl, .memory = &program->memory.memory };
	int r = p->open_file(p, program, v, &elf, &file.bias);

	if (r < 0)
		return r;
	file.elf = elf;
	return find(&file, ret);
}

/* Its executable tells, once for all of its processes, where that depends on the file alone. */
static void find_in_executable(struct op_processes *p, struct op_program *program,
			       const struct op_mappings *mappings,
			       const struct op_mapping *v)
{
	struct op_context_place place = v->exe->context;
	int r;

	if (!v->exe->context_looked) {
		r = place_in(p, program, v, false, op_context_place_executable, &place);
		if (r == -EAGAIN || r == -ENOMEM || r == -ESRCH)
			return;
		if (r <= 0)
			place = (struct op_context_place){ 0 };
		/* of custom-labels the process's own memory may have a part in the place */
		v->exe->context_looked = place.form != OP_CONTEXT_CUSTOM;
		if (v->exe->context_looked)
			v->exe->context = place;
	}
	if (place.form)
		offer_place(p, program, mappings, place);
}

static bool has_custom_labels(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && (strncmp(slash, "/libcustomlabels", 16) == 0 ||
			 strcmp(slash, "/customlabels.node") == 0);
}

/* A program that publishes nothing: its executable may tell. And libraries with custom-labels
 * have a name of their own. */
static void find_unpublished(struct op_processes *p, struct op_program *program,
			     const struct op_mappings *mappings)
{
	struct op_context_place place = { 0 };
	const struct op_executable *before = NULL;
	bool first = true;
	size_t i;

	for (i = 0; mappings && i < mappings->len && !program->context.place.form; i++) {
		const struct op_mapping *v = &mappings->vma[i];

		if (!v->exe || v->exe->vdso || v->exe == before)
			continue;
		if (has_custom_labels(v->exe->path)) {
			if (before || op_allowance_is_over(p->config.allowance))
				continue; /* one is enough */
			before = v->exe;
			if (place_in(p, program, v, is_musl(mappings),
				     op_context_place_custom, &place) > 0)
				offer_place(p, program, mappings, place);
		} else if (first && program->exe_path &&
			   strcmp(program->exe_path, v->exe->path) == 0) {
			first = false;
			find_in_executable(p, program, mappings, v);
		}
	}
}

/* Look for the variable that leads to its threads' contexts: the first file that has it. What
 * one call leaves, the next one goes on with; where no file has it, all are looked at again
 * after a wait that grows. */
static void find_variable(struct op_processes *p, struct op_program *program,
			  const struct op_mappings *mappings)
{
	struct op_context_place place = { 0 };
	const struct op_executable *before = NULL;
	uint32_t files = 0;
	size_t i;

	for (i = program->context.place_at; i < mappings->len; i++) {
		const struct op_mapping *v = &mappings->vma[i];

		if (!v->exe || v->exe->vdso || v->exe == before)
			continue;
		if (files++ == FILES_MAX || op_allowance_is_over(p->config.allowance)) {
			program->context.place_at = i;
			return;
		}
		before = v->exe;
		if (place_in(p, program, v, is_musl(mappings), op_context_place_otel,
			     &place) > 0) {
			offer_place(p, program, mappings, place);
			return;
		}
	}
	program->context.place_at = 0;
	program->context.place_wait_ns =
		op_program_context_next_wait_ns(program->context.place_wait_ns);
	program->context.place_after_ns = p->now_ns + program->context.place_wait_ns;
}

void op_program_context_find(struct op_processes *p, struct op_program *program,
			     const struct op_mappings *mappings)
{
	if (program->context.schema && program->context.schema->form == OP_SCHEMA_TLS) {
		if (mappings && program->context.place.form != OP_CONTEXT_OTEL &&
		    p->now_ns >= program->context.place_after_ns)
			find_variable(p, program, mappings);
	} else if (!program->context.place.form) {
		find_unpublished(p, program, mappings);
	}
}
