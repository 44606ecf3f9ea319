/* SPDX-License-Identifier: Apache-2.0 */
#include "process/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <otelprof/config.h>

#include "base/io.h"
#include "process/container.h"
#include "process/identity.h"
#include "process/open.h"
#include "process/runtimes.h"
#include "process/state.h"
#include "symbol/perfmap.h"

enum {
	CGROUP_FILE_MAX = 65536,
	CGROUP_ROOT_ID = 1,
	PERFMAPS_MAX = 128, /* processes whose JIT code is named at one time */
	CONTAINERS_MAX =
		65536, /* ids kept; past it they start afresh is not worth the care */
};

int op_program_new(uint32_t pid, uint64_t since_ns, struct op_program **ret)
{
	struct op_program *program = calloc(1, sizeof(*program));

	if (!program)
		return -ENOMEM;
	program->refs = 1;
	program->pid = pid;
	program->proc_pid = pid;
	program->since_ns = since_ns;
	program->perfmap_dir = -1;
	op_remote_init(&program->memory, (int)pid);
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
	op_runtimes_detach(p, program);
	if (program->perfmap)
		p->perfmaps--;
	(void)op_perfmap_free(program->perfmap);
	op_closep(&program->perfmap_dir);
	op_map64_clear(&program->places);
	free(program->first_file);
	free(program->exe_path);
	free(program->command_line);
	free(program->service_name);
	free(program);
}

void op_program_end(struct op_program *program, uint64_t time_ns)
{
	program->until_ns = time_ns ? time_ns : 1;
	program->memory.gone = true;
}

/* A string of the handle equal to @id, or NULL without memory. Ids are few. */
static const char *keep_container(struct op_processes *p, const char *id, size_t *ret)
{
	char **slot;
	size_t i;

	for (i = p->containers.len; i-- > 0;) {
		*ret = i;
		if (strcmp(p->containers.data[i], id) == 0)
			return p->containers.data[i];
	}
	if (p->containers.len >= CONTAINERS_MAX)
		return NULL;
	slot = op_vec_push(&p->containers);
	if (!slot)
		return NULL;
	*slot = strdup(id);
	if (!*slot) {
		p->containers.len--;
		return NULL;
	}
	*ret = p->containers.len - 1;
	return *slot;
}

/*
 * The container by /proc/PID/cgroup; where the process is gone, by another process that
 * was met in the same cgroup.
 */
static void identify_container(struct op_processes *p, struct op_program *program,
			       uint64_t cgroup)
{
	_cleanup_free_ char *text = NULL;
	char id[OP_CONTAINER_ID_MAX];
	char path[PATH_MAX];
	bool unified = false;
	uint64_t known;
	size_t number;
	ssize_t len;

	if (cgroup > CGROUP_ROOT_ID && op_map64_get(&p->cgroups, cgroup, &known)) {
		program->container_id = p->containers.data[known];
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/%u/cgroup", p->procfs_root,
		       program->proc_pid);
	len = op_read_file(path, CGROUP_FILE_MAX, &text);
	if (len <= 0 || !op_container_of_text(text, (size_t)len, id, &unified))
		return;
	program->container_id = keep_container(p, id, &number);
	/* A cgroup of the unified hierarchy is of one container, if it names one. */
	if (program->container_id && unified && cgroup > CGROUP_ROOT_ID)
		(void)op_map64_put(&p->cgroups, cgroup, number);
}

/* When the process began, by /proc where no fork event told. */
static void identify_start(struct op_processes *p, struct op_program *program)
{
	struct timespec boot = { 0 };
	uint64_t since_boot;

	if (program->start_time_ns ||
	    op_start_time_read(p->procfs_root, program->proc_pid, &since_boot) < 0)
		return;
	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	program->start_time_ns =
		op_clock_realtime_ns() -
		((uint64_t)boot.tv_sec * UINT64_C(1000000000) + (uint64_t)boot.tv_nsec) +
		since_boot;
}

static void identify(struct op_processes *p, struct op_program *program,
		     const struct op_record *record)
{
	char service[OP_SERVICE_NAME_MAX];

	program->identified = true;
	memcpy(program->comm, record->comm, sizeof(program->comm));
	program->comm[sizeof(program->comm) - 1] = 0;
	if (program->until_ns) {
		/* /proc tells of another program by now, or of none. */
		identify_container(p, program, record->cgroup);
		return;
	}
	identify_start(p, program);
	identify_container(p, program, record->cgroup);
	if (op_exe_path_read(p->procfs_root, program->proc_pid, &program->exe_path) < 0)
		program->exe_path = NULL;
	if (!program->exe_path && !program->first_file)
		return;
	if (op_service_name_read(p->procfs_root, program->proc_pid, service))
		program->service_name = strdup(service);
	if (p->config.flags & OTELPROF_COMMAND_LINE) {
		ssize_t len = op_command_line_read(p->procfs_root, program->proc_pid,
						   &program->command_line);

		program->command_line_len = len > 0 ? (size_t)len : 0;
	}
}

static int intern(struct op_window *window, const char *text, uint32_t *ret)
{
	*ret = 0;
	return text && *text ? op_window_string(window, text, strlen(text), ret) : 0;
}

/* Its name: of the file; a kernel thread's in brackets, as ps(1) shows it. */
static int intern_name(const struct op_program *program, struct op_window *window,
		       struct op_resource *resource)
{
	const char *path = program->exe_path ? program->exe_path : program->first_file;
	const char *slash;
	char name[OP_COMM_BYTES + 2];
	int r;

	if (!path) {
		(void)snprintf(name, sizeof(name), "[%s]", program->comm);
		return intern(window, name, &resource->executable_name);
	}
	slash = strrchr(path, '/');
	r = intern(window, slash ? slash + 1 : path, &resource->executable_name);
	return r < 0 ? r : intern(window, path, &resource->executable_path);
}

int op_program_resource(struct op_processes *p, struct op_program *program,
			const struct op_record *record, struct op_window *window,
			uint32_t *ret)
{
	struct op_resource resource = { .pid = program->pid };
	const char *service;
	int r;

	if (program->epoch == op_window_epoch(window)) {
		*ret = program->resource;
		return 0;
	}
	if (!program->identified)
		identify(p, program, record);
	resource.start_time_ns = program->start_time_ns;
	service = program->service_name ? program->service_name : p->service_name;
	r = intern_name(program, window, &resource);
	if (r == 0)
		r = intern(window, program->container_id, &resource.container_id);
	if (r == 0)
		r = intern(window, service, &resource.service_name);
	if (r == 0)
		r = op_window_string(window,
				     program->command_line ? program->command_line : "",
				     program->command_line_len, &resource.command_args);
	if (r == 0)
		r = op_window_resource(window, &resource, &program->resource);
	if (r < 0)
		return r;
	program->epoch = op_window_epoch(window);
	*ret = program->resource;
	return 0;
}

/*
 * The file is opened again by its path when another takes its place, so its directory is
 * held: a link in the process's own root cannot lead out of it.
 */
static void open_perfmap(struct op_processes *p, struct op_program *program)
{
	char path[64];

	program->perfmap_tried = true;
	if (program->until_ns || p->perfmaps >= PERFMAPS_MAX)
		return;
	program->perfmap_dir =
		op_open_dir_in_root(p->procfs_root, program->proc_pid, "/tmp");
	if (program->perfmap_dir < 0) {
		program->perfmap_dir = -1;
		return;
	}
	/* Named by the pid that the process itself sees. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/perf-%u.map",
		       program->perfmap_dir,
		       op_namespace_pid_read(p->procfs_root, program->proc_pid));
	if (op_perfmap_new(path, &program->perfmap) < 0)
		op_closep(&program->perfmap_dir);
	else
		p->perfmaps++;
}

const char *op_program_jit_name(struct op_processes *p, struct op_program *program,
				uint64_t addr)
{
	if (!program->perfmap_tried)
		open_perfmap(p, program);
	return program->perfmap ? op_perfmap_find(program->perfmap, addr) : NULL;
}
