/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the host back for executables, processes and windows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handle.h"
#include "api/settings/config.h"
#include "base/hash.h"
#include "base/io.h"
#include "process/image/executable.h"
#include "process/program.h"
#include "process/resource/attributes.h"
#include "process/resource/membership.h"
#include "profile/utf8.h"

enum {
	OBSERVED_MAX = 6, /* number of attributes that the library observes */
	NUMBER_BYTES = 32,
	NAME_BYTES = OP_COMM_BYTES + 2,
};

/* The attributes of a process, and storage for those that are not text. */
struct rows {
	struct otelprof_attribute list[OBSERVED_MAX + OP_RESOURCE_ATTRIBUTES_MAX];
	char numbers[OP_RESOURCE_ATTRIBUTES_MAX][NUMBER_BYTES];
	char name[NAME_BYTES];
	size_t len;
	size_t numbers_len;
};

static void put(struct rows *rows, const char *key, const char *value)
{
	/* Paths and texts of processes may contain any bytes. */
	if (value && *value && rows->len < OP_ARRAY_SIZE(rows->list) &&
	    op_utf8_valid(key, strlen(key)) && op_utf8_valid(value, strlen(value)))
		rows->list[rows->len++] = (struct otelprof_attribute){ key, value };
}

/* The name of the file, or of a kernel thread in brackets. */
static const char *put_executable(struct rows *rows, const struct op_program *program)
{
	const char *path = program->exe_path ? program->exe_path : program->first_file;
	const char *name = path ? op_base_name(path) : NULL;

	if (!path) {
		(void)snprintf(rows->name, sizeof(rows->name), "[%s]", program->comm);
		name = rows->name;
	}
	put(rows, "process.executable.name", name);
	put(rows, "process.executable.path", path);
	return path ? name : NULL;
}

/* The same choice as in process/program.c. */
static const char *service_of(const struct otelprof *p, const struct op_program *program,
			      const char *executable)
{
	if (program->attributes && *program->attributes->service_name)
		return program->attributes->service_name;
	return p->config.service_name ? p->config.service_name : executable;
}

/* The text of a typed value of op_resource.attributes. */
static const char *text_of(struct rows *rows, char type, const char *value)
{
	uint64_t bits;
	double number;
	char *text;

	if (type == OP_VALUE_BOOL)
		return *value == '1' ? "true" : "false";
	if (type != OP_VALUE_DOUBLE || rows->numbers_len == OP_RESOURCE_ATTRIBUTES_MAX)
		return value;
	bits = strtoull(value, NULL, 16);
	memcpy(&number, &bits, sizeof(number));
	text = rows->numbers[rows->numbers_len++];
	(void)snprintf(text, NUMBER_BYTES, "%.17g", number);
	return text;
}

static void put_said(const struct otelprof *p, struct rows *rows,
		     const struct op_resource_attributes *attributes)
{
	const char *pos = attributes->text.data;
	const char *end = pos + attributes->text.len;

	while (pos && pos < end) {
		const char *key = pos;
		const char *value = key + strlen(key) + 1;

		if (value >= end)
			break;
		pos = value + strlen(value) + 1;
		/* the operator's attribute wins over the process's */
		if (!op_config_has_attribute(&p->config, key))
			put(rows, key, text_of(rows, *value, value + 1));
	}
}

static void fill(const struct otelprof *p, const struct op_program *program,
		 struct rows *rows)
{
	const char *executable;

	rows->len = rows->numbers_len = 0;
	executable = put_executable(rows, program);
	put(rows, "service.name", service_of(p, program, executable));
	if (program->membership) {
		put(rows, "container.id", program->membership->container.id);
		put(rows, "container.name", program->membership->container.name);
		put(rows, "k8s.pod.uid", program->membership->container.pod_uid);
	}
	if (program->attributes)
		put_said(p, rows, program->attributes);
}

static uint64_t digest_of(const struct rows *rows)
{
	uint64_t digest = rows->len;
	size_t i;

	for (i = 0; i < rows->len; i++) {
		const struct otelprof_attribute *a = &rows->list[i];

		digest = op_hash_bytes(a->key, strlen(a->key) + 1, digest);
		digest = op_hash_bytes(a->value, strlen(a->value) + 1, digest);
	}
	return digest ? digest : 1;
}

static uint64_t on_process(void *ctx, const struct op_program *program)
{
	const struct otelprof *p = ctx;
	_cleanup_free_ struct rows *rows = malloc(sizeof(*rows));
	struct otelprof_process event = {
		.size = sizeof(event),
		.change = program->reported ? OTELPROF_PROCESS_CHANGED
					    : OTELPROF_PROCESS_CAME,
		.pid = program->pid,
		.start_time_ns = program->start_time_ns,
	};
	uint64_t digest;

	if (!rows)
		return program->reported; /* the next window calls for it */
	fill(p, program, rows);
	digest = digest_of(rows);
	if (digest == program->reported)
		return digest;
	event.attributes = rows->list;
	event.attributes_len = rows->len;
	p->events.process(p->events.userdata, &event);
	return digest;
}

static void on_process_went(void *ctx, const struct op_program *program)
{
	const struct otelprof *p = ctx;
	const struct otelprof_process event = {
		.size = sizeof(event),
		.change = OTELPROF_PROCESS_WENT,
		.pid = program->pid,
		.start_time_ns = program->start_time_ns,
	};

	p->events.process(p->events.userdata, &event);
}

static void on_executable(void *ctx, const struct op_executable *e, uint32_t pid)
{
	const struct otelprof *p = ctx;
	const struct op_image *image = e->image;
	const struct otelprof_executable event = {
		.size = sizeof(event),
		.path = e->path,
		.build_id = image->ids.gnu,
		.go_build_id = image->ids.go,
		.htlhash = image->ids.htlhash,
		.file_bytes = op_elf_size(image->elf),
		.fd = op_elf_fd(image->elf),
		.pid = pid,
	};

	p->events.executable(p->events.userdata, &event);
}

void op_handle_report_window(struct otelprof *p, uint64_t start_ns, uint64_t end_ns,
			     uint64_t samples)
{
	const struct otelprof_window event = {
		.size = sizeof(event),
		.start_time_ns = start_ns,
		.end_time_ns = end_ns,
		.samples = samples,
	};

	if (p->events.window)
		p->events.window(p->events.userdata, &event);
}

struct op_event_handlers op_handle_events(struct otelprof *p)
{
	return (struct op_event_handlers){
		.ctx = p,
		.executable = p->events.executable ? on_executable : NULL,
		.process = p->events.process ? on_process : NULL,
		.process_went = p->events.process ? on_process_went : NULL,
	};
}

int otelprof_set_events(struct otelprof *p, const struct otelprof_events *events)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct otelprof_events copy = { 0 };
	int r = op_handle_enter(p, &held);

	if (r == 0 && events)
		r = op_config_copy(&copy, sizeof(copy), events,
				   OP_CONFIG_THROUGH(struct otelprof_events, window),
				   &p->log, "struct otelprof_events");
	if (r < 0)
		return r;
	p->events = copy;
	op_processes_set_events(p->processes, op_handle_events(p));
	return 0;
}
