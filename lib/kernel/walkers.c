/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that walk stacks. Each type of entry programs has a set of them, made
 * when the first kind of that type is turned on. It has the steps of all runtimes that
 * are not off: in one program (kernels with bpf_loop), or in a program for each
 * runtime. Steps that are needed later reload the one program, or add a program. If the
 * entries walk stacks themselves, there are no walkers, and the entries are loaded
 * again.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/object.h"
#include "kernel/state.h"
#include "otelprof/error.h"

static const char *program_of(enum op_walker_form form)
{
	return form == OP_WALKER_LOOP ? "op_walk" : "op_walk_each";
}

/* Load a program with the steps of @runtimes and put it at index @place of the map of
 * @w. */
static int load_at(struct op_capture *c, struct op_walkers *w, uint64_t runtimes,
		   uint32_t place)
{
	const char *name = program_of(c->form);
	struct op_settings settings = op_capture_settings_of(c, w->type, w->holds);
	_cleanup_close_ int walkers = -1;
	_cleanup_close_ int held = -1;
	_cleanup_close_ int program = -1;
	struct bpf_object *object;
	int r;

	settings.runtimes_on = op_capture_steps(c, runtimes);
	r = op_object_open(c, &op_walkers_source, &settings, w, &object);
	if (r < 0)
		return r;
	r = op_object_want(object, name, w->type);
	if (r == 0)
		r = op_object_load(c, object);
	if (r == 0) {
		program = op_object_program_fd(object, name);
		walkers = op_object_map_fd(object, "op_walkers");
		if (w->holds)
			held = op_object_map_fd(object, "op_held");
	}
	op_object_close(object); /* the map of walkers keeps the program */
	if (r < 0 || program < 0 || walkers < 0 || (w->holds && held < 0))
		return r < 0 ? r : -EMFILE;
	r = bpf_map_update_elem(walkers, &place, &program, BPF_ANY);
	if (r == 0 && w->fd < 0) {
		w->fd = OP_TAKE_FD(walkers);
		w->held_fd = OP_TAKE_FD(held);
	}
	return r;
}

/* Add the steps of @runtimes to @w. */
static int add_runtimes(struct op_capture *c, struct op_walkers *w, uint64_t runtimes)
{
	uint32_t runtime;
	int r = 0;

	if (c->form == OP_WALKER_LOOP)
		return load_at(c, w, c->settings.runtimes_on, 0);
	for (runtime = 1; r == 0 && runtime < OP_RUNTIME_MAX; runtime++)
		if (runtimes >> runtime & 1)
			r = load_at(c, w, UINT64_C(1) << runtime, runtime);
	return r;
}

static int make(struct op_capture *c, struct op_walkers *w)
{
	int r = 0;

	if (c->form != OP_WALKER_LOOP)
		r = load_at(c, w, 0, 0);
	return r < 0 ? r : add_runtimes(c, w, c->settings.runtimes_on);
}

static void close_walkers(struct op_walkers *w)
{
	op_closep(&w->fd);
	op_closep(&w->held_fd);
}

int op_walkers_need(struct op_capture *c, const struct op_kind *kind,
		    const struct op_walkers **ret)
{
	struct op_walkers *w;
	size_t i;
	int r;

	*ret = NULL;
	if (c->form == OP_WALKER_WHOLE)
		return 0;
	for (i = 0; i < c->kinds.walkers_len; i++) {
		w = &c->kinds.walkers[i];
		if (w->type == kind->program_type && w->holds == kind->holds)
			goto out;
	}
	if (i == OP_PROGRAM_TYPES_MAX)
		return -ENOSPC;
	w = &c->kinds.walkers[i];
	*w = (struct op_walkers){
		.type = kind->program_type, .holds = kind->holds, .fd = -1, .held_fd = -1
	};
	r = make(c, w);
	if (r < 0) {
		close_walkers(w);
		return r;
	}
	c->kinds.walkers_len++;
out:
	*ret = w;
	return 0;
}

void op_walkers_close(struct op_capture *c)
{
	size_t i;

	for (i = 0; i < c->kinds.walkers_len; i++)
		close_walkers(&c->kinds.walkers[i]);
	c->kinds.walkers_len = 0;
}

int op_walkers_add(struct op_capture *c, uint64_t runtimes)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < c->kinds.walkers_len; i++)
		r = add_runtimes(c, &c->kinds.walkers[i], runtimes);
	return r;
}
