/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of events: each one's programs are in the kernel while it is on, and only then. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/object.h"
#include "capture/state.h"
#include "otelprof/error.h"

enum {
	PROGRAM_NAME_BYTES = 64,
};

/* Load @kind's entry: a descriptor, or -errno. */
static int load_entry(struct op_capture *c, const struct op_kind *kind)
{
	const struct op_object_source source = { kind->name, kind->object };
	char name[PROGRAM_NAME_BYTES];
	struct bpf_object *object;
	void *before;
	int walkers;
	int r;

	before = op_loader_hush();
	r = op_walkers_need(c, kind->program_type, &walkers);
	if (r == 0)
		r = op_object_open(c, &source, &c->settings, walkers, &object);
	if (r == 0) {
		(void)snprintf(name, sizeof(name), "op_%s%s", kind->name,
			       c->form == OP_WALKER_WHOLE ? "_whole" : "");
		r = op_object_want(object, name, kind->program_type);
		if (r == 0)
			r = op_object_load(c, object);
		if (r == 0)
			r = op_object_program_fd(object, name);
		op_object_close(object);
	}
	op_loader_unhush(before);
	return r;
}

int op_kinds_load(struct op_capture *c, const struct op_kind *kind)
{
	int fd = c->program[kind->event];

	if (fd < 0)
		fd = load_entry(c, kind);
	if (fd < 0)
		return fd;
	c->program[kind->event] = fd;
	return 0;
}

/* Keep what the kernel counted of a program that is about to go. */
static void keep_run_time(struct op_capture *c, int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return;
	c->gone_run_ns += info.run_time_ns;
	c->gone_run_count += info.run_cnt;
}

static void turn_off(struct op_capture *c, const struct op_kind *kind)
{
	op_perf_close_kind(c, kind);
	if (c->program[kind->event] >= 0)
		keep_run_time(c, c->program[kind->event]);
	op_closep(&c->program[kind->event]);
}

int op_kinds_reload(struct op_capture *c)
{
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && i < OP_KINDS; i++) {
		int fd = c->program[i] < 0 ? -1 : load_entry(c, op_kinds()[i]);

		if (c->program[i] < 0)
			continue;
		if (fd < 0)
			return fd;
		turn_off(c, op_kinds()[i]);
		c->program[i] = fd;
		if (c->sampling)
			r = op_perf_update_cpus(c);
	}
	return r;
}

static int turn_on(struct op_capture *c, const struct op_kind *kind)
{
	int r = op_kinds_load(c, kind);

	if (r == 0 && c->sampling)
		r = op_perf_update_cpus(c);
	if (r < 0)
		turn_off(c, kind);
	return r;
}

int op_capture_set_kinds(struct op_capture *c, uint64_t kinds)
{
	uint32_t i;
	int error = 0;

	for (i = 0; i < OP_KINDS; i++) {
		const struct op_kind *kind = op_kinds()[i];
		int r = 0;

		if (kinds >> i & 1)
			r = turn_on(c, kind);
		else
			turn_off(c, kind);
		if (r < 0)
			error = r;
	}
	return error;
}

void op_kinds_close(struct op_capture *c)
{
	uint32_t i;

	for (i = 0; i < OP_KINDS; i++)
		op_closep(&c->program[i]);
}

void op_capture_run_time(struct op_capture *c, uint64_t *ret_ns, uint64_t *ret_count)
{
	uint32_t i;

	*ret_ns = c->gone_run_ns;
	*ret_count = c->gone_run_count;
	for (i = 0; i < OP_KINDS && !c->forked; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (c->program[i] < 0 ||
		    bpf_obj_get_info_by_fd(c->program[i], &info, &len))
			continue;
		*ret_ns += info.run_time_ns;
		*ret_count += info.run_cnt;
	}
}
