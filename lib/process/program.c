/* SPDX-License-Identifier: Apache-2.0 */
#include "process/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "code/symbol/perfmap.h"
#include "process/context/schema.h"
#include "process/image/executable.h"
#include "process/mappings/mappings.h"
#include "process/resource/attributes.h"
#include "process/resource/identity.h"
#include "process/state.h"
#include "process/target/open.h"

/* a perf map may appear while its process runs: the pause between two looks */
static const uint64_t PERFMAP_WAIT_NS = UINT64_C(1000000000);

enum {
	PERFMAPS_MAX = 128, /* processes whose JIT code is named at one time */
	/* addresses without a name in a window that cause a log line */
	NAMELESS_SAID = 8,
};

int op_program_new(struct op_processes *p, uint32_t pid, uint64_t since_ns,
		   struct op_program **ret)
{
	struct op_program *program = calloc(1, sizeof(*program));

	if (!program)
		return -ENOMEM;
	program->refs = 1;
	program->pid = pid;
	program->proc_pid = pid;
	program->since_ns = since_ns;
	program->code.of = ++p->next_generation;
	op_remote_init(&program->memory, p->target, (int)pid);
	*ret = program;
	return 0;
}

struct op_program *op_program_ref(struct op_program *program)
{
	program->refs++;
	return program;
}

void op_program_put(struct op_processes *p, struct op_program *program)
{
	if (!program || --program->refs)
		return;
	op_program_runtimes_detach(&program->runtimes, p->config.arena,
				   &p->executables.images, p->now_ns);
	if (program->code.perfmap)
		p->perfmaps--;
	(void)op_perfmap_free(program->code.perfmap);
	op_map64_clear(&program->code.places);
	(void)op_made_free(program->code.made, p->now_ns);
	free(program->first_file);
	free(program->exe_path);
	free(program->command_line);
	free(program->cgroup_path);
	(void)op_membership_put(program->membership);
	(void)op_resource_attributes_put_ref(program->attributes);
	(void)op_schema_free(program->context.schema);
	op_program_context_publish(p, program, (struct op_context_place){ 0 });
	free(program);
}

void op_program_inherit(struct op_program *program, const struct op_program *from)
{
	if (from->membership)
		program->membership = op_membership_ref(from->membership);
	program->user = from->user;
	if (from->cgroup_path)
		program->cgroup_path = strdup(from->cgroup_path);
}

void op_program_end(struct op_program *program, uint64_t time_ns)
{
	program->until_ns = time_ns ? time_ns : 1;
	program->memory.gone = true;
}

static int intern(struct op_window *window, const char *text, uint32_t *ret)
{
	*ret = 0;
	return text && *text ? op_window_string(window, text, strlen(text), ret) : 0;
}

/* The executable's name: the file's, or a kernel thread's in brackets, as in ps(1). */
static int intern_name(const struct op_program *program, struct op_window *window,
		       struct op_resource *resource)
{
	const char *path = program->exe_path ? program->exe_path : program->first_file;
	char name[OP_COMM_BYTES + 2];
	int r;

	if (!path) {
		(void)snprintf(name, sizeof(name), "[%s]", program->comm);
		return intern(window, name, &resource->executable_name);
	}
	r = intern(window, op_base_name(path), &resource->executable_name);
	return r < 0 ? r : intern(window, path, &resource->executable_path);
}

/*
 * service.name: the process's own, or else the configured name, or else the executable's
 * name. A configured "" sets none.
 */
static int intern_service(const struct op_processes *p, const struct op_program *program,
			  struct op_window *window, struct op_resource *resource)
{
	const char *said = program->attributes ? program->attributes->service_name : "";

	if (*said)
		return intern(window, said, &resource->service_name);
	if (p->service_name)
		return intern(window, p->service_name, &resource->service_name);
	/* a kernel thread has no executable, so it is no service */
	if (resource->executable_path)
		resource->service_name = resource->executable_name;
	return 0;
}

static int intern_container(const struct op_program *program, struct op_window *window,
			    struct op_resource *resource)
{
	const struct op_container *c;
	int r;

	if (!program->membership)
		return 0;
	c = &program->membership->container;
	r = intern(window, c->id, &resource->container_id);
	if (r == 0)
		r = intern(window, c->name, &resource->container_name);
	return r < 0 ? r : intern(window, c->pod_uid, &resource->pod_uid);
}

static int make_resource(struct op_processes *p, struct op_program *program,
			 struct op_window *window, uint32_t *ret)
{
	struct op_resource resource = { .pid = program->pid,
					.start_time_ns = program->start_time_ns,
					.user = program->user };
	const struct op_resource_attributes *attributes = program->attributes;
	int r;

	if (program->namespace_pid != program->pid)
		resource.namespace_pid = program->namespace_pid;
	if (attributes)
		resource.attributes_dropped = attributes->dropped;
	r = intern_name(program, window, &resource);
	if (r == 0)
		r = intern(window, program->cgroup_path, &resource.cgroup_path);
	if (r == 0)
		r = intern_container(program, window, &resource);
	if (r == 0)
		r = intern_service(p, program, window, &resource);
	if (r == 0)
		r = op_window_string(window,
				     program->command_line ? program->command_line : "",
				     program->command_line_len, &resource.command_args);
	if (r == 0 && attributes && attributes->text.len)
		r = op_window_string(window, attributes->text.data, attributes->text.len,
				     &resource.attributes);
	return r < 0 ? r : op_window_resource(window, &resource, ret);
}

/* Call the host program with @program, which is new or has a changed resource. */
static void tell(struct op_processes *p, struct op_program *program)
{
	const struct op_event_handlers *events = &p->executables.events;

	if (events->process && program->identified && !program->until_ns &&
	    !program->went)
		program->reported = events->process(events->ctx, program);
}

void op_program_went(struct op_processes *p, struct op_program *program)
{
	const struct op_event_handlers *events = &p->executables.events;

	if (events->process_went && program->reported)
		events->process_went(events->ctx, program);
	program->reported = 0;
	/* waiting samples of this program must not report it again */
	program->went = true;
}

/* Is the resource of this window valid for @record? A process that moves between cgroups
 * is read once a window, because its threads may be in several. */
static bool resource_holds(const struct op_processes *p, const struct op_program *program,
			   uint32_t epoch, const struct op_record *record)
{
	if (!program->identified && p->now_ns >= program->doubt_after_ns)
		return false;
	return program->window.epoch == epoch && (program->cgroup == record->cgroup ||
						  program->window.moved_epoch == epoch);
}

int op_program_resource(struct op_processes *p, struct op_program *program,
			const struct op_mappings *mappings,
			const struct op_record *record, struct op_window *window,
			uint32_t *ret)
{
	uint32_t epoch = op_window_epoch(window);
	int r;

	if (resource_holds(p, program, epoch, record)) {
		op_identify_context(p, program, mappings);
		*ret = program->window.resource;
		return 0;
	}
	if (program->identified && program->cgroup != record->cgroup)
		program->window.moved_epoch = epoch;
	if (!program->identified)
		op_identify_identify(p, program, record, mappings);
	else
		op_identify_refresh(p, program, record, mappings);
	r = make_resource(p, program, window, &program->window.resource);
	if (r < 0)
		return r;
	program->window.epoch = epoch;
	*ret = program->window.resource;
	tell(p, program);
	return 0;
}

int op_program_open_own(const struct op_program *program, const char *path)
{
	struct op_opened opened;
	int r = program->until_ns ? -ESRCH
				  : op_target_open_own(program->memory.target,
						       program->proc_pid, path, &opened);

	return r < 0 ? r : opened.fd;
}

/* The process's perf map, named by the pid in the process's own namespace. */
static int open_perfmap(void *ctx)
{
	const struct op_program *program = ctx;
	char path[64];

	if (program->until_ns)
		return -ESRCH;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%u.map",
		       op_namespace_pid_read(program->memory.target->procfs_root,
					     program->proc_pid));
	return op_program_open_own(program, path);
}

static const char *perfmap_name(struct op_processes *p, struct op_program *program,
				uint64_t addr)
{
	if (!program->code.perfmap && p->now_ns >= program->code.perfmap_after_ns &&
	    p->perfmaps < PERFMAPS_MAX) {
		program->code.perfmap_after_ns = p->now_ns + PERFMAP_WAIT_NS;
		if (op_perfmap_new(open_perfmap, program, &program->code.perfmap) == 0)
			p->perfmaps++;
	}
	return program->code.perfmap ? op_perfmap_find(program->code.perfmap, addr)
				     : NULL;
}

static uint64_t names_number(struct op_program_code *code, uint32_t moment)
{
	uint64_t number;

	if (!code->perfmap || code->moment == moment)
		return code->perfmap_number;
	code->moment = moment;
	number = op_perfmap_number(code->perfmap);
	if (number != code->perfmap_number)
		op_map64_clear(&code->places);
	code->perfmap_number = number;
	return number;
}

uint32_t op_program_code_number(const struct op_processes *p, struct op_program *program,
				uint32_t moment, uint64_t time_ns)
{
	uint64_t number =
		names_number(&program->code, moment) ^ op_hash_u64(program->code.of);

	if (program->code.made)
		number ^= op_hash_u64(
			op_made_number(program->code.made, time_ns, p->config.allowance));
	return (uint32_t)number;
}

enum op_made_word op_program_made_at(struct op_processes *p, struct op_program *program,
				     const struct op_mapping *v, uint64_t addr,
				     uint64_t time_ns)
{
	struct op_program_code *code = &program->code;
	/* the walk may have used rules of its parent, earlier rules, or none */
	bool other = v->segment != op_made_segment(code->made, v->start, v->end);
	enum op_made_word word = OP_MADE_DOUBT;

	if (!program->until_ns && !p->forked &&
	    (code->made ||
	     op_made_new(&p->made, &program->memory.memory, &code->made) == 0))
		word = op_made_at(code->made, addr, v->start, v->end, time_ns,
				  p->config.allowance, &code->made_new);
	if (!v->segment)
		return OP_MADE_NONE;
	return other ? OP_MADE_DOUBT : word;
}

/* Open a file that the process maps. Each call reads the process's user, which may
 * change. */
static int open_own(void *ctx, const struct op_mapping *v)
{
	const struct op_program *program = ctx;
	struct op_target *t = program->memory.target;
	const struct op_executable_place place = { .pid = program->proc_pid,
						   .start = v->start,
						   .end = v->end };
	struct op_opened opened;
	char path[OP_TARGET_PATH_MAX];
	struct stat st;
	int r;

	if (program->until_ns)
		return -ESRCH;
	r = op_executable_open_mapped(t, v->exe, &place, &opened);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/%u", t->procfs_root, program->proc_pid);
	if (stat(path, &st) < 0 || (opened.uid && opened.uid != st.st_uid)) {
		(void)close(opened.fd);
		return -EPERM;
	}
	return opened.fd;
}

/* Find the mapping of the program's own file, or NULL. */
static const struct op_mapping *own_mapping(const struct op_program *program,
					    const struct op_mappings *mappings)
{
	size_t i;

	for (i = 0; program->exe_path && i < mappings->len; i++)
		if (mappings->vma[i].exe &&
		    strcmp(mappings->vma[i].exe->path, program->exe_path) == 0)
			return &mappings->vma[i];
	return NULL;
}

/* Log once for each executable that nothing names the code its processes make. A few
 * addresses are normal: libraries make trampolines. */
static void note_nameless(struct op_processes *p, struct op_program *program,
			  const struct op_mappings *mappings)
{
	const struct op_mapping *v;

	/* After the process ended, no file can be read. The code of a runtime has names in
	 * stacks that its step walked; others were walked before it was attached. */
	if (program->until_ns || program->code.named || program->code.perfmap ||
	    op_program_runtimes_generates(&program->runtimes) ||
	    ++program->code.nameless != NAMELESS_SAID)
		return;
	v = own_mapping(program, mappings);
	if (!v || v->exe->nameless)
		return;
	v->exe->nameless = true;
	op_log(p->config.log, OP_LOG_WARNING,
	       "%s: process %u runs generated code without names: no runtime, perf map or "
	       "jitdump file names it; such frames are addresses",
	       v->exe->path, program->pid);
}

int op_program_describe_code(struct op_processes *p, struct op_program *program,
			     const struct op_mappings *mappings, uint64_t addr,
			     struct op_runtime_frame *ret)
{
	struct op_program_runtimes_context context = {
		.images = &p->executables.images,
		.log = p->config.log,
		.now_ns = p->now_ns,
		.pid = program->pid,
		.memory = &program->memory.memory,
		.mappings = mappings,
		.open_own = open_own,
		.ctx = program,
	};
	const char *name;

	if (op_program_runtimes_describe_code(&program->runtimes, &context, addr, ret) ==
	    1) {
		program->code.named = true;
		return 1;
	}
	name = perfmap_name(p, program, addr);
	if (!name) {
		note_nameless(p, program, mappings);
		return 0;
	}
	program->code.named = true;
	ret->function[0] = (struct op_runtime_function){ .name = name, .file = "" };
	ret->len = 1;
	return 1;
}
