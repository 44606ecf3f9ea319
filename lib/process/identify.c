/* SPDX-License-Identifier: Apache-2.0 */
#include "process/identify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <otelprof/config.h>

#include "base/io.h"
#include "context/place.h"
#include "context/schema.h"
#include "elf/file.h"
#include "process/state.h"
#include "resource/context.h"
#include "resource/environment.h"
#include "resource/identity.h"

enum {
	CONTEXT_WAIT_FACTOR = 4,
	/* After so many processes of one native file without a context, only one in so many
	 * is searched for one at its first sample; the others when they are older. */
	CONTEXT_MISSES = 16,
	CONTEXT_FILES_MAX = 64, /* of one process, that are looked into at one time */
};

/* An SDK publishes its context when it starts, some time after exec: looked for with the
 * first sample, then after 1 s, 4 s and so on. */
static const uint64_t CONTEXT_WAIT_FIRST_NS = UINT64_C(1000000000);
static const uint64_t CONTEXT_WAIT_MAX_NS = UINT64_C(256000000000);
/* Names of attributes that a thread uses before they were read are read again so often. */
static const uint64_t CONTEXT_ASK_NS = UINT64_C(100000000);
/* The exec that explains a program that is not where its code should be is heard of by
 * then; if none was, the program moved its code (UPX does). */
static const uint64_t DOUBT_NS = UINT64_C(1000000000);
static const uint64_t DOUBT_AGAIN_NS = UINT64_C(20000000);
/* A start by /proc and one by the fork event, which differ by a tick and by rounding. */
static const uint64_t SAME_START_NS = UINT64_C(100000000);

/* Is what /proc has under the program's pid still the same process? Another one of that pid
 * began later. (No wall clock, which may be set; time asleep makes the sum only smaller.) */
static bool same_process(const struct op_program *program, const struct op_stat *stat)
{
	uint64_t asleep = op_clock_boottime_ns() - op_clock_monotonic_ns();

	/* A thread that stands for its process began later too. */
	return !program->born_ns || program->proc_pid != program->pid ||
	       stat->start_ns < asleep + program->born_ns + SAME_START_NS;
}

/* Find the mapping of the program's own code, as /proc tells where it ends, or NULL. */
static const struct op_vma *find_code(const struct op_stat *stat,
				      const struct op_layout *layout)
{
	size_t i;

	for (i = 0; layout && stat->end_code > 1 && i < layout->len; i++) {
		const struct op_vma *vma = &layout->vma[i];

		/* end_code is the first byte behind */
		if (stat->end_code > vma->start && stat->end_code <= vma->end)
			return vma;
	}
	return NULL;
}

/* Does the code that /proc tells of lie in what the program had mapped? True where that
 * cannot be told. */
static bool same_program(const struct op_stat *stat, const struct op_layout *layout)
{
	size_t i;

	if (!layout || stat->end_code <= 1 || find_code(stat, layout))
		return true;
	for (i = 0; i < layout->len; i++)
		if (layout->vma[i].exe)
			return false;
	return true;
}

/* Its first file by what was mapped, where no event told: the executable lies lowest. */
static void note_first_file(struct op_program *program, const struct op_layout *layout)
{
	size_t i;

	for (i = 0; !program->first_file && layout && i < layout->len; i++) {
		const struct op_executable *exe = layout->vma[i].exe;

		if (exe && exe->path && exe->path[0] == '/')
			program->first_file = strdup(exe->path);
	}
}

static void identify_container(struct op_processes *p, struct op_program *program,
			       uint64_t cgroup, bool alive)
{
	struct op_membership *new = op_membership_find(
		&p->memberships, alive ? program->proc_pid : 0, cgroup);

	program->cgroup = cgroup;
	if (!new && !alive)
		return; /* that of its parent, if any */
	(void)op_membership_put(program->membership);
	program->membership = new;
}

/* Of one that is gone: its parent may live on in that cgroup, and teach what it is. */
static void ask_parent(struct op_processes *p, struct op_program *program,
		       uint64_t cgroup)
{
	if (program->membership || !program->parent)
		return;
	(void)op_membership_put(
		op_membership_find(&p->memberships, program->parent, cgroup));
	program->membership = op_membership_find(&p->memberships, 0, cgroup);
}

/* When the context may be looked for again. */
static void wait_for_context(struct op_processes *p, struct op_program *program)
{
	uint64_t wait = program->context_wait_ns;

	program->context_after_ns = p->now_ns + OP_MAX(wait, CONTEXT_WAIT_FIRST_NS);
	wait = wait ? wait * CONTEXT_WAIT_FACTOR : CONTEXT_WAIT_FIRST_NS;
	program->context_wait_ns = OP_MIN(wait, CONTEXT_WAIT_MAX_NS);
}

/* Tell the kernel where the program's threads have their contexts; form 0: nowhere. */
static void publish_place(struct op_processes *p, struct op_program *program,
			  struct op_context_place place)
{
	uint64_t known;

	if (!p->config.publish_context)
		return;
	if (place.form) {
		place.number = ++p->next_context;
		if (op_map64_put(&p->contexts, program->pid, place.number) < 0 ||
		    p->config.publish_context(p->config.ctx, program->pid, &place) < 0) {
			(void)p->config.publish_context(p->config.ctx, program->pid,
							NULL);
			op_map64_remove(&p->contexts, program->pid);
			program->context_place = (struct op_context_place){ 0 };
			p->contexts_refused++;
			return;
		}
	} else if (program->context_place.form &&
		   op_map64_get(&p->contexts, program->pid, &known) &&
		   known == program->context_place.number) {
		/* a later program of this pid may have one by now */
		(void)p->config.publish_context(p->config.ctx, program->pid, NULL);
		op_map64_remove(&p->contexts, program->pid);
	}
	program->context_place = place;
}

void op_identify_forget(struct op_processes *p, struct op_program *program)
{
	publish_place(p, program, (struct op_context_place){ 0 });
}

/* Does the program still run in its process? *@ret is of what does, if it is true. */
static bool runs_as(struct op_processes *p, const struct op_program *program,
		    const struct op_layout *layout, struct op_stat *ret)
{
	return !program->until_ns && !program->memory.gone &&
	       op_stat_read(p->procfs_root, program->proc_pid, ret) == 0 &&
	       same_process(program, ret) && same_program(ret, layout);
}

static bool still_runs(struct op_processes *p, const struct op_program *program,
		       const struct op_layout *layout)
{
	struct op_stat stat;

	return runs_as(p, program, layout, &stat);
}

/* Has no other program been executed since @before was read? */
static bool no_exec_since(struct op_processes *p, const struct op_program *program,
			  const struct op_stat *before)
{
	struct op_stat stat;

	return op_stat_read(p->procfs_root, program->proc_pid, &stat) == 0 &&
	       same_process(program, &stat) && op_stat_same_exec(&stat, before);
}

/* Publish what was found, unless the process runs another program by now: it would be read by
 * the place of this one. The kernel forgets a place at exec, so the program is looked at again
 * when the place stands there. */
static void offer_place(struct op_processes *p, struct op_program *program,
			const struct op_layout *layout, struct op_context_place place)
{
	if (!still_runs(p, program, layout))
		return;
	publish_place(p, program, place);
	if (!still_runs(p, program, layout))
		publish_place(p, program, (struct op_context_place){ 0 });
}

static bool is_musl(const struct op_layout *layout)
{
	size_t i;

	for (i = 0; i < layout->len; i++)
		if (layout->vma[i].exe && strstr(layout->vma[i].exe->path, "/ld-musl-"))
			return true;
	return false;
}

typedef int (*place_fn)(const struct op_context_file *file, struct op_context_place *ret);

/* Look into one of its files. 1 and *@ret, 0 or -errno. */
static int place_in(struct op_processes *p, struct op_program *program,
		    const struct op_vma *v, bool musl, place_fn find,
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
			       const struct op_layout *layout, const struct op_vma *v)
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
		offer_place(p, program, layout, place);
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
			     const struct op_layout *layout)
{
	struct op_context_place place = { 0 };
	const struct op_executable *before = NULL;
	bool first = true;
	size_t i;

	for (i = 0; layout && i < layout->len && !program->context_place.form; i++) {
		const struct op_vma *v = &layout->vma[i];

		if (!v->exe || v->exe->vdso || v->exe == before)
			continue;
		if (has_custom_labels(v->exe->path)) {
			if (before || op_slice_is_over(&p->slice))
				continue; /* one is enough */
			before = v->exe;
			if (place_in(p, program, v, is_musl(layout),
				     op_context_place_custom, &place) > 0)
				offer_place(p, program, layout, place);
		} else if (first && program->exe_path &&
			   strcmp(program->exe_path, v->exe->path) == 0) {
			first = false;
			find_in_executable(p, program, layout, v);
		}
	}
}

/* Look for the variable that leads to its threads' contexts: the first file that has it. What
 * one call leaves, the next one goes on with; where no file has it, all are looked at again
 * after a wait that grows. */
static void find_variable(struct op_processes *p, struct op_program *program,
			  const struct op_layout *layout)
{
	struct op_context_place place = { 0 };
	const struct op_executable *before = NULL;
	uint64_t wait = program->place_wait_ns;
	uint32_t files = 0;
	size_t i;

	for (i = program->place_at; i < layout->len; i++) {
		const struct op_vma *v = &layout->vma[i];

		if (!v->exe || v->exe->vdso || v->exe == before)
			continue;
		if (files++ == CONTEXT_FILES_MAX || op_slice_is_over(&p->slice)) {
			program->place_at = i;
			return;
		}
		before = v->exe;
		if (place_in(p, program, v, is_musl(layout), op_context_place_otel,
			     &place) > 0) {
			offer_place(p, program, layout, place);
			return;
		}
	}
	program->place_at = 0;
	wait = OP_MIN(OP_MAX(wait * CONTEXT_WAIT_FACTOR, CONTEXT_WAIT_FIRST_NS),
		      CONTEXT_WAIT_MAX_NS);
	program->place_wait_ns = wait;
	program->place_after_ns = p->now_ns + wait;
}

static void find_place(struct op_processes *p, struct op_program *program,
		       const struct op_layout *layout)
{
	if (program->schema && program->schema->form == OP_SCHEMA_TLS) {
		if (layout && program->context_place.form != OP_CONTEXT_OTEL &&
		    p->now_ns >= program->place_after_ns)
			find_variable(p, program, layout);
	} else if (!program->context_place.form) {
		find_unpublished(p, program, layout);
	}
}

/* A new reading of what its own context says of its threads'. */
static void take_schema(struct op_processes *p, struct op_program *program,
			struct op_schema *schema, const struct op_layout *layout)
{
	program->schema = op_schema_free(program->schema);
	if (schema->form)
		program->schema = malloc(sizeof(*schema));
	if (program->schema) {
		*program->schema = *schema;
		*schema = (struct op_schema){ 0 };
	}
	program->context_asked = false;
	program->context_asked_ns = p->now_ns;
	if (program->context_place.form == OP_CONTEXT_OTEL &&
	    (!program->schema || program->schema->form != OP_SCHEMA_TLS))
		publish_place(p, program, (struct op_context_place){ 0 });
	find_place(p, program, layout);
}

/* What it says of itself: of a key the first one stands. */
static void read_attributes(struct op_processes *p, struct op_program *program,
			    const struct op_layout *layout)
{
	_cleanup_(op_schema_deinit) struct op_schema schema = { 0 };
	_cleanup_(op_attributes_put_refp) struct op_attributes *attributes =
		op_attributes_new();
	_cleanup_free_ char *environ = NULL;
	ssize_t len;
	size_t i;

	if (!attributes)
		return;
	len = op_environ_read(p->target, program->proc_pid, &environ);
	program->unread = len == -EAGAIN || len == -ETIMEDOUT;
	for (i = 0; len > 0 && i < p->config.environment_len; i++)
		op_environ_variable(environ, (size_t)len, p->config.environment[i],
				    attributes);
	if (len <= 0 && !program->context_addr && program->attributes)
		return; /* a child that is going: what its parent says */
	program->context_published_ns = 0;
	if (!program->context_addr ||
	    op_context_read(&program->memory.memory, program->context_addr, attributes,
			    &schema, &program->context_published_ns) == 0)
		take_schema(p, program, &schema, layout);
	if (len > 0)
		op_environ_attributes(environ, (size_t)len, attributes);
	(void)op_attributes_put_ref(program->attributes);
	program->attributes = OP_TAKE_PTR(attributes);
}

static void find_context(struct op_processes *p, struct op_program *program)
{
	if (op_context_find(p->target, program->proc_pid, &program->context_addr) < 0)
		program->context_addr = 0;
}

static bool has_runtime(const struct op_layout *layout)
{
	size_t i;

	for (i = 0; i < layout->len; i++)
		if (layout->vma[i].exe && layout->vma[i].exe->image &&
		    layout->vma[i].exe->image->runtime)
			return true;
	return false;
}

/*
 * The search reads all mappings of a process. A native program has an SDK or has none, so
 * where many processes of one file had no context, few others are searched at the start. An
 * interpreter's processes run different programs, and all of them are searched.
 */
static void find_first_context(struct op_processes *p, struct op_program *program,
			       const struct op_stat *stat, const struct op_layout *layout)
{
	const struct op_vma *code = find_code(stat, layout);
	struct op_executable *exe = code && !has_runtime(layout) ? code->exe : NULL;

	if (exe && ++exe->context_misses > CONTEXT_MISSES &&
	    exe->context_misses % CONTEXT_MISSES)
		return;
	find_context(p, program);
	if (exe && program->context_addr)
		exe->context_misses = 0;
}

/* One of these files has a program that publishes a context after all. */
static void note_context(const struct op_layout *layout)
{
	size_t i;

	for (i = 0; layout && i < layout->len; i++)
		if (layout->vma[i].exe)
			layout->vma[i].exe->context_misses = 0;
}

static void read_command_line(struct op_processes *p, struct op_program *program)
{
	ssize_t len;

	free(program->command_line);
	program->command_line = NULL;
	len = op_command_line_read(p->target, program->proc_pid, &program->command_line);
	program->command_line_len = len > 0 ? (size_t)len : 0;
}

/* As read_attributes(), if it is what the program says: @stat was read before. */
static bool read_own_attributes(struct op_processes *p, struct op_program *program,
				const struct op_stat *stat,
				const struct op_layout *layout)
{
	struct op_attributes *before =
		program->attributes ? op_attributes_ref(program->attributes) : NULL;

	read_attributes(p, program, layout);
	if (no_exec_since(p, program, stat)) {
		(void)op_attributes_put_ref(before);
		return true;
	}
	(void)op_attributes_put_ref(program->attributes);
	program->attributes = before;
	return false;
}

/* What /proc and the program's memory tell. An exec that was not heard of yet may come while
 * they are read, and all of it may be of the next program then. */
static void read_program(struct op_processes *p, struct op_program *program,
			 const struct op_stat *stat, const struct op_layout *layout)
{
	if (op_exe_path_read(p->procfs_root, program->proc_pid, &program->exe_path) < 0)
		program->exe_path = NULL;
	if (!program->exe_path && !program->first_file)
		return; /* a kernel thread */
	program->namespace_pid = op_namespace_pid_read(p->procfs_root, program->proc_pid);
	find_first_context(p, program, stat, layout);
	wait_for_context(p, program);
	if (p->config.flags & OTELPROF_COMMAND_LINE)
		read_command_line(p, program);
	if (read_own_attributes(p, program, stat, layout))
		return;
	free(program->exe_path);
	program->exe_path = NULL;
	free(program->command_line);
	program->command_line = NULL;
	program->command_line_len = 0;
	program->context_addr = 0;
	note_first_file(program, layout);
}

static void note_comm(struct op_program *program, const struct op_record *record)
{
	memcpy(program->comm, record->comm, sizeof(program->comm));
	program->comm[sizeof(program->comm) - 1] = 0;
}

void op_identify_identify(struct op_processes *p, struct op_program *program,
			  const struct op_record *record, const struct op_layout *layout)
{
	struct op_stat stat;
	bool there;

	note_comm(program, record);
	there = op_stat_read(p->procfs_root, program->proc_pid, &stat) == 0 &&
		same_process(program, &stat);
	identify_container(p, program, record->cgroup, there);
	if (!there || program->until_ns) {
		/* /proc tells of another program by now, or of none. */
		if (!there)
			ask_parent(p, program, record->cgroup);
		note_first_file(program, layout);
		program->identified = true;
		return;
	}
	if (!program->start_time_ns)
		program->start_time_ns =
			op_clock_realtime_ns() - op_clock_boottime_ns() + stat.start_ns;
	if (!same_program(&stat, layout)) {
		note_first_file(program, layout);
		if (!program->doubted_ns)
			program->doubted_ns = p->now_ns;
		program->doubt_after_ns = p->now_ns + DOUBT_AGAIN_NS;
		if (p->now_ns - program->doubted_ns < DOUBT_NS)
			return;
	}
	program->identified = true;
	read_program(p, program, &stat, layout);
}

/* Has the context gone, come or changed? */
static bool context_changed(struct op_processes *p, struct op_program *program,
			    const struct op_layout *layout)
{
	struct op_context_header h;
	int r;

	if (program->context_addr) {
		r = op_context_header_read(&program->memory.memory, program->context_addr,
					   &h);
		if (r >= 0)
			return h.published_ns != program->context_published_ns;
		if (r == -EAGAIN)
			return false; /* next time */
		program->context_addr = 0;
		return true;
	}
	if (p->now_ns < program->context_after_ns)
		return false;
	wait_for_context(p, program);
	find_context(p, program);
	if (program->context_addr)
		note_context(layout);
	return program->context_addr != 0;
}

void op_identify_refresh(struct op_processes *p, struct op_program *program,
			 const struct op_record *record, const struct op_layout *layout)
{
	struct op_stat stat;

	if (program->until_ns)
		return;
	if (program->cgroup != record->cgroup)
		identify_container(p, program, record->cgroup, true);
	if (!program->attributes) /* a kernel thread, or gone before it was looked at */
		return;
	if (!context_changed(p, program, layout) && !program->unread)
		find_place(p, program, layout); /* its file may be loaded by now */
	else if (runs_as(p, program, layout, &stat))
		(void)read_own_attributes(p, program, &stat, layout);
}

void op_identify_context(struct op_processes *p, struct op_program *program,
			 const struct op_layout *layout)
{
	_cleanup_(op_schema_deinit) struct op_schema schema = { 0 };
	_cleanup_(op_attributes_put_refp) struct op_attributes *attributes = NULL;
	uint64_t published_ns;
	bool found = false;

	if (!program->attributes || program->until_ns || !program->identified)
		return;
	if (!program->context_addr && p->now_ns >= program->context_after_ns) {
		wait_for_context(p, program);
		find_context(p, program);
		found = program->context_addr != 0;
		if (found)
			note_context(layout);
	}
	if (!found && (!program->context_asked || !program->context_addr ||
		       p->now_ns < program->context_asked_ns + CONTEXT_ASK_NS))
		return;
	/* the resource has it from the next window on */
	attributes = op_attributes_new();
	if (attributes &&
	    op_context_read(&program->memory.memory, program->context_addr, attributes,
			    &schema, &published_ns) == 0 &&
	    still_runs(p, program, layout))
		take_schema(p, program, &schema, layout);
	program->context_asked = false;
	program->context_asked_ns = p->now_ns;
}
