/* SPDX-License-Identifier: Apache-2.0 */
/* Turns kinds of events on and off. The programs of a kind are loaded only while it is
 * on. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/macros.h"
#include "kernel/object.h"
#include "kernel/state.h"
#include "otelprof/error.h"

enum {
	PROGRAM_NAME_BYTES = 64,
	HEAP_SAMPLES_MAX = 10000, /* per second and CPU, forged ones included */
	OFF_THREAD_WORDS = 32,	  /* the size of a struct op_off_thread is at most this */
};

/* the maps of struct op_capture_heap */
static const char *const HEAP_MAPS[] = { "op_heap_lives", "op_heap_of_pid",
					 "op_heap_of_all" };
static const char CALLS[] = "op_calls"; /* calls at once whose latency is measured */

/* Probes at events of perf have an entry program of their own. */
static const char *entry_of(const struct op_kind *kind)
{
	if (kind->event == OP_EVENT_PROBES &&
	    kind->program_type == BPF_PROG_TYPE_PERF_EVENT)
		return "perf";
	return op_kind_name(kind);
}

/* Open the object of @kind, and make the types and walkers that it needs. */
static int open_entry(struct op_capture *c, const struct op_kind *kind,
		      const struct op_settings *settings, struct bpf_object **ret)
{
	const struct op_object_source source = { entry_of(kind), kind->object };
	const struct op_walkers *walkers;
	int r;

	op_types_need(c, UINT64_C(1) << kind->event);
	r = op_walkers_need(c, kind, &walkers);
	return r < 0 ? r : op_object_open(c, &source, settings, walkers, ret);
}

static int reuse(struct bpf_object *object, const char *name, int fd)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	if (fd < 0)
		return 0;
	return map ? bpf_map__reuse_fd(map, fd) : -ENOENT;
}

/* Load the prepared @object of @kind. Its entries share the maps of open events. */
static int load_shared(struct op_capture *c, const struct op_kind *kind,
		       struct bpf_object *object)
{
	int *begun = c->kinds.begun[kind->event];
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && i < OP_KIND_BEGUN_MAX && kind->begun[i]; i++)
		r = reuse(object, kind->begun[i], begun[i]);
	if (r == 0)
		r = op_object_load(c, object);
	for (i = 0; r >= 0 && i < OP_KIND_BEGUN_MAX && kind->begun[i]; i++)
		if (begun[i] < 0)
			r = begun[i] = op_object_map_fd(object, kind->begun[i]);
	return r < 0 ? r : 0;
}

/* Load the prepared @object of a probe of @value. If it measures latency, the programs
 * of the call and of the return share the map of calls. Other probes do not use it. */
static int share_calls(struct op_capture *c, struct bpf_object *object,
		       const struct op_argument *value)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, CALLS);
	int *calls = &c->kinds.begun[OP_EVENT_PROBES][0];
	bool wanted = value && (value->place == OP_ARGUMENT_CALL ||
				value->place == OP_ARGUMENT_LATENCY);
	int r = map ? 0 : -ENOENT;

	if (r == 0)
		r = wanted ? reuse(object, CALLS, *calls)
			   : bpf_map__set_max_entries(map, 1);
	if (r == 0)
		r = op_object_load(c, object);
	if (r >= 0 && wanted && *calls < 0)
		r = *calls = op_object_map_fd(object, CALLS);
	return r < 0 ? r : 0;
}

/* Load the entry of @kind for its perf event @i. Returns a descriptor or -errno. @most,
 * @value: for probes. */
static int load_entry(struct op_capture *c, const struct op_kind *kind, uint32_t i,
		      uint32_t most, const struct op_argument *value)
{
	struct op_settings settings =
		op_capture_settings_of(c, kind->program_type, kind->holds);
	char name[PROGRAM_NAME_BYTES];
	struct bpf_object *object;
	int r;

	settings.detail = i;
	if (kind->event == OP_EVENT_PROBES)
		settings.event_budget = most ? OP_MIN(most, c->config.probe_samples)
					     : c->config.probe_samples;
	if (value)
		settings.argument[0] = *value;
	r = open_entry(c, kind, &settings, &object);
	if (r < 0)
		return r;
	(void)snprintf(name, sizeof(name), "op_%s%s", entry_of(kind),
		       c->form == OP_WALKER_WHOLE ? "_whole" : "");
	r = op_object_want(object, name, kind->program_type);
	if (r == 0 && kind->event == OP_EVENT_PROBES)
		r = share_calls(c, object, value);
	else if (r == 0)
		r = load_shared(c, kind, object);
	if (r == 0)
		r = op_object_program_fd(object, name);
	op_object_close(object);
	return r;
}

int op_capture_load_probe(struct op_capture *c, uint32_t type, uint32_t number,
			  uint32_t most, const struct op_argument *value)
{
	struct op_kind kind = op_kind_probes;
	void *before = op_object_hush();
	int r;

	kind.program_type = type;
	r = load_entry(c, &kind, number, most, value);
	op_object_unhush(before);
	return r;
}

/* Load @name of the prepared @object. Returns a descriptor or -errno. */
static int load_heap(struct op_capture *c, struct bpf_object *object, const char *name,
		     struct op_capture_heap *heap)
{
	int *const map[] = { &heap->lives, &heap->of_pid, &heap->of_all };
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && i < OP_ARRAY_SIZE(map); i++)
		r = reuse(object, HEAP_MAPS[i], *map[i]);
	if (r == 0)
		r = op_object_want(object, name, op_kind_heap.program_type);
	if (r == 0)
		r = op_object_load(c, object);
	for (i = 0; r >= 0 && i < OP_ARRAY_SIZE(map); i++)
		if (*map[i] < 0)
			r = *map[i] = op_object_map_fd(object, HEAP_MAPS[i]);
	return r < 0 ? r : op_object_program_fd(object, name);
}

int op_capture_load_heap(struct op_capture *c, bool is_free,
			 const struct op_argument argument[OP_ARGUMENTS_MAX],
			 struct op_capture_heap *heap)
{
	const struct op_kind *kind = &op_kind_heap;
	struct op_settings settings =
		op_capture_settings_of(c, kind->program_type, false);
	bool whole = c->form == OP_WALKER_WHOLE;
	struct bpf_object *object;
	void *before = op_object_hush();
	int r;

	settings.event_budget = HEAP_SAMPLES_MAX;
	memcpy(settings.argument, argument, sizeof(settings.argument));
	r = open_entry(c, kind, &settings, &object);
	if (r == 0) {
		r = load_heap(c, object,
			      is_free ? "op_heap_free"
			      : whole ? "op_heap_whole"
				      : "op_heap",
			      heap);
		op_object_close(object);
	}
	op_object_unhush(before);
	return r;
}

static void add_run_time(int fd, uint64_t *ns, uint64_t *count)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return;
	*ns += info.run_time_ns;
	*count += info.run_cnt;
}

/* Runs that the program @fd missed. Kernels before 5.12 do not report it. */
static uint64_t missed_by(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ? 0
								 : info.recursion_misses;
}

static uint64_t missed(const struct op_capture *c, const struct op_kind *kind)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < kind->hooks_len; i++)
		if (kind->hooks[i].loses)
			n += missed_by(c->kinds.program[kind->event][i]);
	return n;
}

uint64_t op_capture_kind_missed(const struct op_capture *c, uint32_t kind)
{
	return c->kinds.gone_missed[kind] + missed(c, op_kinds()[kind]);
}

static void turn_off(struct op_capture *c, const struct op_kind *kind)
{
	uint32_t i;

	op_perf_close_kind(c, kind);
	op_hooks_close(c, kind);
	c->kinds.gone_missed[kind->event] += missed(c, kind);
	for (i = 0; i < OP_KIND_PROGRAMS_MAX; i++) {
		add_run_time(c->kinds.program[kind->event][i], &c->kinds.gone_run_ns,
			     &c->kinds.gone_run_count);
		op_closep(&c->kinds.program[kind->event][i]);
	}
}

int op_capture_kinds_load(struct op_capture *c, const struct op_kind *kind)
{
	void *before = op_object_hush();
	uint32_t i;
	int r = 0;

	for (i = 0; r >= 0 && i < kind->perf_events; i++)
		if (c->kinds.program[kind->event][i] < 0)
			r = c->kinds.program[kind->event][i] =
				load_entry(c, kind, i, 0, NULL);
	if (kind->hooks && c->kinds.program[kind->event][0] < 0)
		r = op_hooks_load(c, kind);
	op_object_unhush(before);
	if (r >= 0)
		return 0;
	turn_off(c, kind);
	if (!kind->optional || r == -ENOMEM)
		return r;
	op_log(c->log, OP_LOG_WARNING, "the kind %s is off (%s), ignoring",
	       op_kind_name(kind), strerror(-r));
	return 0;
}

int op_capture_load(struct op_capture *c)
{
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && !c->loaded && i < OP_KINDS; i++)
		if (c->config.kinds >> i & 1)
			r = op_capture_kinds_load(c, op_kinds()[i]);
	if (r < 0) {
		/* the next attempt, perhaps with other runtimes, starts from nothing */
		op_capture_kinds_close(c);
		op_walkers_close(c);
		return r;
	}
	c->loaded = true;
	return 0;
}

/* Attach the kinds that are on, on each CPU and at their tracepoints. */
static int bring(struct op_capture *c)
{
	int r;

	c->cpus.changed = true; /* so that every CPU gets the events of the kinds */
	if (!c->sampling)
		return 0;
	r = op_perf_update_cpus(c, NULL, 0);
	return r == 0 ? op_hooks_attach(c) : r;
}

/* Reload the entries of the kinds that are on, with the steps of all runtimes that are
 * wanted. */
static int reload(struct op_capture *c)
{
	uint32_t i;
	int r = 0;

	for (i = 0; r >= 0 && i < OP_KINDS; i++) {
		if (c->kinds.program[i][0] < 0)
			continue;
		turn_off(c, op_kinds()[i]);
		r = op_capture_kinds_load(c, op_kinds()[i]);
	}
	return r == 0 ? bring(c) : r;
}

int op_capture_need_runtimes(void *ctx, uint64_t runtimes)
{
	struct op_capture *c = ctx;
	uint64_t more = runtimes & ~c->settings.runtimes_on;
	void *before;
	int r;

	if (c->forked)
		return -OTELPROF_E_FORKED;
	if (!more)
		return 0;
	c->settings.runtimes_on |= more;
	before = op_object_hush();
	if (!c->loaded)
		r = op_capture_load(c);
	else
		r = c->form == OP_WALKER_WHOLE ? reload(c) : op_walkers_add(c, more);
	if (r < 0)
		c->settings.runtimes_on &= ~more;
	op_object_unhush(before);
	return r;
}

static int turn_on(struct op_capture *c, const struct op_kind *kind)
{
	int r = op_capture_kinds_load(c, kind);

	if (r == 0)
		r = bring(c);
	if (r < 0)
		turn_off(c, kind);
	return r;
}

int op_capture_set_kinds(struct op_capture *c, uint64_t kinds)
{
	uint32_t i;
	int error = 0;

	c->loaded = true; /* from now on kinds are loaded and closed one by one */
	kinds = op_kinds_with(kinds, c->config.flags);
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

int op_capture_program(const struct op_capture *c, enum op_event kind, uint32_t i)
{
	return c->sampling && !c->forked ? c->kinds.program[kind][i] : -1;
}

uint64_t op_capture_off_ns(const struct op_capture *c, enum op_event kind, uint32_t tid,
			   uint64_t started_ns, uint64_t now_ns)
{
	uint64_t since = OP_MAX(c->kinds.attached_ns[kind], started_ns);
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	int map = c->kinds.begun[kind][0];
	uint64_t thread[OFF_THREAD_WORDS] = { 0 };

	if (op_capture_program(c, kind, 0) < 0 || map < 0 ||
	    bpf_obj_get_info_by_fd(map, &info, &len) || info.value_size > sizeof(thread))
		return 0;
	if (bpf_map_lookup_elem(map, &tid, thread) == 0) {
		/* struct op_off_thread begins with left_ns */
		if (!thread[0])
			return 0;
		since = OP_MAX(since, thread[0]);
	}
	if (now_ns < since || now_ns - since < c->config.off_cpu_min_ns)
		return 0;
	return now_ns - since;
}

void op_capture_kinds_close(struct op_capture *c)
{
	uint32_t i;
	uint32_t k;

	for (k = 0; k < OP_KINDS; k++) {
		op_hooks_close(c, op_kinds()[k]);
		for (i = 0; i < OP_KIND_PROGRAMS_MAX; i++)
			op_closep(&c->kinds.program[k][i]);
	}
}

void op_capture_run_time(struct op_capture *c, uint64_t *ret_ns, uint64_t *ret_count)
{
	uint32_t i;
	uint32_t k;

	*ret_ns = c->kinds.gone_run_ns;
	*ret_count = c->kinds.gone_run_count;
	for (k = 0; k < OP_KINDS && !c->forked; k++)
		for (i = 0; i < OP_KIND_PROGRAMS_MAX; i++)
			add_run_time(c->kinds.program[k][i], ret_ns, ret_count);
}
