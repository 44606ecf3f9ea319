/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where a program's threads keep their trace contexts, and publishes that place to
 * the kernel. */
#include <errno.h>
#include <string.h>

#include "code/elf/file.h"
#include "process/context/schema.h"
#include "process/program.h"
#include "process/state.h"

enum {
	WAIT_FACTOR = 2,
	FILES_MAX = 64, /* files of one process that one call reads */
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
		/* if the numbers differ, the place belongs to a later program of this
		 * pid */
		(void)p->config.publish_context(p->config.ctx, program->pid, NULL);
		op_map64_remove(&p->contexts.numbers, program->pid);
	}
	program->context.place = place;
}

/* Publish @place only while the process still runs this program: the kernel would read
 * the next program's memory by it. The kernel forgets a place at exec, so the second
 * check catches an exec before the call. */
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

/* Search one file of the program with @find. Returns 1 and *@ret, 0 or -errno. */
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

/* Search the executable. If the place depends on the file alone, one search serves all
 * its processes. */
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
		/* a place of custom-labels may also depend on the process's own memory */
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

/* For a program that publishes no context: search its executable, and libraries with the
 * names of custom-labels. */
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

/* Find the variable that leads to the threads' contexts, in the first file that has it.
 * The next call continues where one call stops. If no file has the variable, all are
 * searched again after a wait that grows. */
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
