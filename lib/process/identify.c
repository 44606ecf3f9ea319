/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <otelprof/config.h>

#include "base/io.h"
#include "process/context/schema.h"
#include "process/resource/environment.h"
#include "process/resource/identity.h"
#include "process/resource/process_context.h"
#include "process/state.h"

enum {
	/* After 16 processes of one native file without a context, only one in 16 is
	 * searched at its first sample. The others are searched when they are older. */
	CONTEXT_MISSES = 16,
	CGROUP_PATH_BYTES = 1024, /* a longer one is not reported */
};

/* The interval of reading names again, while a thread uses an attribute whose name is not
 * known. */
static const uint64_t CONTEXT_ASK_NS = UINT64_C(100000000);
/* If /proc shows code outside the program's mappings, an exec event must arrive within
 * this time. Otherwise the program moved its own code, as UPX does. */
static const uint64_t DOUBT_NS = UINT64_C(1000000000);
static const uint64_t DOUBT_AGAIN_NS = UINT64_C(20000000);

/* If no event named the first file, take it from the mappings: the executable is
 * lowest. */
static void note_first_file(struct op_program *program,
			    const struct op_mappings *mappings)
{
	size_t i;

	for (i = 0; !program->first_file && mappings && i < mappings->len; i++) {
		const struct op_executable *exe = mappings->vma[i].exe;

		if (exe && exe->path && exe->path[0] == '/')
			program->first_file = strdup(exe->path);
	}
}

static void read_cgroup_path(struct op_processes *p, struct op_program *program)
{
	/* the form of /proc/PID/cgroup */
	char path[CGROUP_PATH_BYTES] = "0::";
	size_t len = strlen(path);

	free(program->cgroup_path);
	program->cgroup_path = NULL;
	if (op_cgroup_path_read(p->procfs_root, program->proc_pid, path + len,
				sizeof(path) - len) == 0)
		program->cgroup_path = strdup(path);
}

static void identify_container(struct op_processes *p, struct op_program *program,
			       uint64_t cgroup, bool alive)
{
	struct op_membership *new = op_membership_find(
		&p->memberships, alive ? program->proc_pid : 0, cgroup);

	program->cgroup = cgroup;
	if (alive)
		read_cgroup_path(p, program);
	if (!new && !alive)
		return; /* it keeps its parent's membership, if any */
	(void)op_membership_put(program->membership);
	program->membership = new;
}

/* The process is gone. If its parent still lives in that cgroup, the parent's files
 * describe the cgroup. */
static void ask_parent(struct op_processes *p, struct op_program *program,
		       uint64_t cgroup)
{
	if (program->membership || !program->parent)
		return;
	(void)op_membership_put(
		op_membership_find(&p->memberships, program->parent, cgroup));
	program->membership = op_membership_find(&p->memberships, 0, cgroup);
}

/* An SDK publishes its context when it starts, some time after exec. So the library looks
 * at the first sample, then after 1 s, 2 s, 4 s and so on. */
static void wait_for_context(struct op_processes *p, struct op_program *program)
{
	program->context.wait_ns =
		op_program_context_next_wait_ns(program->context.wait_ns);
	program->context.after_ns = p->now_ns + program->context.wait_ns;
}

/* The process context was read again: replace its description of the threads'
 * contexts. */
static void take_schema(struct op_processes *p, struct op_program *program,
			struct op_schema *schema, const struct op_mappings *mappings)
{
	program->context.schema = op_schema_free(program->context.schema);
	if (schema->form)
		program->context.schema = malloc(sizeof(*schema));
	if (program->context.schema) {
		*program->context.schema = *schema;
		*schema = (struct op_schema){ 0 };
	}
	program->context.asked = false;
	program->context.asked_ns = p->now_ns;
	if (program->context.place.form == OP_CONTEXT_OTEL &&
	    (!program->context.schema || program->context.schema->form != OP_SCHEMA_TLS))
		op_program_context_publish(p, program, (struct op_context_place){ 0 });
	op_program_context_find(p, program, mappings);
}

/* Read what the program says about itself. The first value of a key counts. */
static void read_attributes(struct op_processes *p, struct op_program *program,
			    const struct op_mappings *mappings)
{
	_cleanup_(op_schema_deinit) struct op_schema schema = { 0 };
	_cleanup_(op_resource_attributes_put_refp) struct op_resource_attributes
		*attributes = op_resource_attributes_new();
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
	if (len <= 0 && !program->context.addr && program->attributes)
		return; /* an exiting child keeps its parent's attributes */
	program->context.published_ns = 0;
	if (!program->context.addr ||
	    op_process_context_read(&program->memory.memory, program->context.addr,
				    attributes, &schema,
				    &program->context.published_ns) == 0)
		take_schema(p, program, &schema, mappings);
	if (len > 0)
		op_environ_attributes(environ, (size_t)len, attributes);
	(void)op_resource_attributes_put_ref(program->attributes);
	program->attributes = OP_TAKE_PTR(attributes);
}

/* Is it time to search, and is there time? */
static bool may_find_context(struct op_processes *p, const struct op_program *program)
{
	return p->now_ns >= program->context.after_ns &&
	       !op_allowance_must_wait(p->config.allowance) &&
	       !op_allowance_poll_is_half_over(p->config.allowance);
}

static void find_context(struct op_processes *p, struct op_program *program)
{
	wait_for_context(p, program);
	if (op_process_context_find(p->target, program->proc_pid,
				    &program->context.addr) < 0)
		program->context.addr = 0;
}

static bool has_runtime(const struct op_mappings *mappings)
{
	size_t i;

	for (i = 0; i < mappings->len; i++)
		if (mappings->vma[i].exe && mappings->vma[i].exe->image &&
		    mappings->vma[i].exe->image->runtime)
			return true;
	return false;
}

/*
 * The search reads all mappings of a process. All processes of a native file have an SDK
 * or none has. So after many without a context few others are searched at the start. An
 * interpreter's processes run different programs, so all of them are searched.
 */
static void find_first_context(struct op_processes *p, struct op_program *program,
			       const struct op_stat *stat,
			       const struct op_mappings *mappings)
{
	const struct op_mapping *code = op_same_code(stat, mappings);
	struct op_executable *exe = code && !has_runtime(mappings) ? code->exe : NULL;

	if (exe && ++exe->context_misses > CONTEXT_MISSES &&
	    exe->context_misses % CONTEXT_MISSES) {
		wait_for_context(p, program);
		return;
	}
	find_context(p, program);
	if (exe && program->context.addr)
		exe->context_misses = 0;
}

/* A program of these files publishes a context after all. */
static void note_context(const struct op_mappings *mappings)
{
	size_t i;

	for (i = 0; mappings && i < mappings->len; i++)
		if (mappings->vma[i].exe)
			mappings->vma[i].exe->context_misses = 0;
}

static void read_command_line(struct op_processes *p, struct op_program *program)
{
	ssize_t len;

	free(program->command_line);
	program->command_line = NULL;
	len = op_command_line_read(p->target, program->proc_pid, &program->command_line);
	program->command_line_len = len > 0 ? (size_t)len : 0;
}

/* Call read_attributes(), and undo it if another program was executed since @stat was
 * read. Returns whether the attributes are the program's own. */
static bool read_own_attributes(struct op_processes *p, struct op_program *program,
				const struct op_stat *stat,
				const struct op_mappings *mappings)
{
	struct op_resource_attributes *before =
		program->attributes ? op_resource_attributes_ref(program->attributes)
				    : NULL;

	read_attributes(p, program, mappings);
	if (op_same_exec(p, program, stat)) {
		(void)op_resource_attributes_put_ref(before);
		return true;
	}
	(void)op_resource_attributes_put_ref(program->attributes);
	program->attributes = before;
	return false;
}

static void read_status(struct op_processes *p, struct op_program *program)
{
	struct op_status status;

	(void)op_status_read(p->procfs_root, program->proc_pid, &status);
	program->namespace_pid = status.namespace_pid;
	program->user = status.user_known ? status.user + 1 : 0;
}

/* Read /proc and the program's memory. An exec meanwhile makes the result worthless: all
 * of it may describe the next program. */
static void read_program(struct op_processes *p, struct op_program *program,
			 const struct op_stat *stat, const struct op_mappings *mappings)
{
	if (op_exe_path_read(p->procfs_root, program->proc_pid, &program->exe_path) < 0)
		program->exe_path = NULL;
	if (!program->exe_path && !program->first_file)
		return; /* a kernel thread */
	read_status(p, program);
	if (may_find_context(p, program))
		find_first_context(p, program, stat, mappings);
	if (p->config.flags & OTELPROF_COMMAND_LINE)
		read_command_line(p, program);
	if (read_own_attributes(p, program, stat, mappings))
		return;
	free(program->exe_path);
	program->exe_path = NULL;
	free(program->command_line);
	program->command_line = NULL;
	program->command_line_len = 0;
	program->context.addr = 0;
	note_first_file(program, mappings);
}

static void note_comm(struct op_program *program, const struct op_record *record)
{
	memcpy(program->comm, record->comm, sizeof(program->comm));
	program->comm[sizeof(program->comm) - 1] = 0;
}

void op_identify_identify(struct op_processes *p, struct op_program *program,
			  const struct op_record *record,
			  const struct op_mappings *mappings)
{
	struct op_stat stat;
	bool there;

	note_comm(program, record);
	there = op_stat_read(p->procfs_root, program->proc_pid, &stat) == 0 &&
		op_same_process(program, &stat);
	identify_container(p, program, record->cgroup, there);
	if (!there || program->until_ns) {
		/* /proc shows another program, or none */
		if (!there)
			ask_parent(p, program, record->cgroup);
		note_first_file(program, mappings);
		program->identified = true;
		return;
	}
	if (!program->start_time_ns)
		program->start_time_ns =
			op_clock_realtime_ns() - op_clock_boottime_ns() + stat.start_ns;
	if (!op_same_program(&stat, mappings)) {
		note_first_file(program, mappings);
		if (!program->doubted_ns)
			program->doubted_ns = p->now_ns;
		program->doubt_after_ns = p->now_ns + DOUBT_AGAIN_NS;
		if (p->now_ns - program->doubted_ns < DOUBT_NS)
			return;
	}
	program->identified = true;
	read_program(p, program, &stat, mappings);
}

/* Did the context appear, change or disappear? */
static bool context_changed(struct op_processes *p, struct op_program *program,
			    const struct op_mappings *mappings)
{
	struct op_process_context_header h;
	int r;

	if (program->context.addr) {
		r = op_process_context_header_read(&program->memory.memory,
						   program->context.addr, &h);
		if (r >= 0)
			return h.published_ns != program->context.published_ns;
		if (r == -EAGAIN)
			return false; /* next time */
		program->context.addr = 0;
		return true;
	}
	if (!may_find_context(p, program))
		return false;
	find_context(p, program);
	if (program->context.addr)
		note_context(mappings);
	return program->context.addr != 0;
}

void op_identify_refresh(struct op_processes *p, struct op_program *program,
			 const struct op_record *record,
			 const struct op_mappings *mappings)
{
	struct op_stat stat;

	if (program->until_ns)
		return;
	if (program->cgroup != record->cgroup)
		identify_container(p, program, record->cgroup, true);
	/* a kernel thread, or it ended before it was identified */
	if (!program->attributes)
		return;
	if (!context_changed(p, program, mappings) && !program->unread)
		op_program_context_find(p, program,
					/* a library loaded since may have it */
					mappings);
	else if (op_same_runs(p, program, mappings, &stat))
		(void)read_own_attributes(p, program, &stat, mappings);
}

void op_identify_context(struct op_processes *p, struct op_program *program,
			 const struct op_mappings *mappings)
{
	_cleanup_(op_schema_deinit) struct op_schema schema = { 0 };
	_cleanup_(op_resource_attributes_put_refp) struct op_resource_attributes
		*attributes = NULL;
	uint64_t published_ns;
	bool found = false;

	if (!program->attributes || program->until_ns || !program->identified)
		return;
	if (!program->context.addr && may_find_context(p, program)) {
		find_context(p, program);
		found = program->context.addr != 0;
		if (found)
			note_context(mappings);
	}
	if (!found && (!program->context.asked || !program->context.addr ||
		       p->now_ns < program->context.asked_ns + CONTEXT_ASK_NS))
		return;
	/* the attributes reach the resource in the next window */
	attributes = op_resource_attributes_new();
	if (attributes &&
	    op_process_context_read(&program->memory.memory, program->context.addr,
				    attributes, &schema, &published_ns) == 0 &&
	    op_same_runs(p, program, mappings, NULL))
		take_schema(p, program, &schema, mappings);
	program->context.asked = false;
	program->context.asked_ns = p->now_ns;
}
