/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds whose programs are attached to raw tracepoints. All programs of a kind are in
 * one object, because they share its maps. Some of these maps are ring buffers, through
 * which a program asks for an interrupt on its own CPU. Their records are empty, and
 * each poll discards them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"
#include "kernel/kinds/off.h"
#include "kernel/object.h"
#include "kernel/state.h"

#include "threads.object.h"

enum {
	PROGRAM_NAME_BYTES = 64,
	THREADS_A_PROCESS = 4, /* on average, for each of max_processes */
	/* A record in such a ring takes 16 bytes with its header. With two CPUs, the ring
	 * of one holds the records of two seconds. */
	KICK_BYTES_A_SAMPLE = 16,
	KICK_BYTES_MIN = 64 * 1024, /* enough for a burst */
	EMPTY_BATCH = 4096,	    /* more than any bucket of a map holds */
	ARGUMENTS_MAX = 3,	    /* that a hook's program may read */
};

static void sizes_of(const struct op_capture *c, struct op_kind_sizes *ret)
{
	uint64_t want = (uint64_t)c->config.off_cpu_samples * KICK_BYTES_A_SAMPLE;

	ret->threads = c->config.max_processes * THREADS_A_PROCESS;
	ret->kick_bytes = KICK_BYTES_MIN;
	while (ret->kick_bytes < want)
		ret->kick_bytes <<= 1;
}

static void name_of(const struct op_capture *c, const struct op_kind *kind, size_t i,
		    char name[static PROGRAM_NAME_BYTES])
{
	if (kind->hooks[i].program)
		(void)snprintf(name, PROGRAM_NAME_BYTES, "%s", kind->hooks[i].program);
	else
		(void)snprintf(name, PROGRAM_NAME_BYTES, "op_%s%s", op_kind_name(kind),
			       c->form == OP_WALKER_WHOLE ? "_whole" : "");
}

/* Is hook @i of @kind switched on with the kind? */
static bool is_wanted(const struct op_capture *c, const struct op_kind *kind, size_t i)
{
	return !kind->hooks[i].wakers || c->config.flags & OTELPROF_WAKERS;
}

/* Map the two position pages of ring @i of @object. */
static int map_kicks(struct op_capture *c, struct bpf_object *object, uint32_t i,
		     struct op_kick_ring *k)
{
	_cleanup_close_ int fd = -1;
	char name[PROGRAM_NAME_BYTES];
	void *map;

	(void)snprintf(name, sizeof(name), "op_kicks_%u", i);
	fd = op_object_map_fd(object, name);
	if (fd < 0)
		return fd;
	map = mmap(NULL, c->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	k->consumer = map;
	map = mmap(NULL, c->page_size, PROT_READ, MAP_SHARED, fd, (off_t)c->page_size);
	if (map == MAP_FAILED)
		return -errno;
	k->producer = map;
	return 0;
}

/* Keep descriptors of the programs of the loaded @object and of its map of what has
 * begun, and mappings of its rings. */
static int keep(struct op_capture *c, const struct op_kind *kind,
		struct bpf_object *object)
{
	char name[PROGRAM_NAME_BYTES];
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && kind->kicks && i < OP_KICK_RINGS; i++)
		r = map_kicks(c, object, i, &c->kinds.kicks[kind->event][i]);
	for (i = 0; r >= 0 && i < kind->hooks_len; i++) {
		if (!is_wanted(c, kind, i))
			continue;
		name_of(c, kind, i, name);
		r = c->kinds.program[kind->event][i] = op_object_program_fd(object, name);
	}
	for (i = 0; r >= 0 && i < OP_KIND_BEGUN_MAX && kind->begun[i]; i++)
		r = c->kinds.begun[kind->event][i] =
			op_object_map_fd(object, kind->begun[i]);
	return r < 0 ? r : 0;
}

int op_hooks_load(struct op_capture *c, const struct op_kind *kind)
{
	const struct op_object_source source = { op_kind_name(kind), kind->object };
	struct op_settings settings =
		op_capture_settings_of(c, kind->program_type, kind->holds);
	const struct op_walkers *walkers = NULL;
	char name[PROGRAM_NAME_BYTES];
	struct op_kind_sizes sizes;
	struct bpf_object *object;
	size_t i;
	int r = 0;

	settings.wakers |= kind->woken;
	op_types_need(c, UINT64_C(1) << kind->event);
	if (!kind->snapshot)
		r = op_walkers_need(c, kind, &walkers);
	if (r == 0)
		r = op_object_open(c, &source, &settings, walkers, &object);
	if (r < 0)
		return r;
	sizes_of(c, &sizes);
	r = kind->size ? kind->size(object, &sizes) : 0;
	for (i = 0; r == 0 && i < kind->hooks_len; i++) {
		if (!is_wanted(c, kind, i))
			continue;
		name_of(c, kind, i, name);
		r = op_object_want(object, name, kind->program_type);
	}
	if (r == 0)
		r = op_object_load(c, object);
	if (r == 0)
		r = keep(c, kind, object);
	op_object_close(object);
	return r;
}

/* Zero the per-CPU array @map of one element. */
static int zero(int map, const struct bpf_map_info *info)
{
	size_t cpus = (size_t)OP_MAX(libbpf_num_possible_cpus(), 1);
	_cleanup_free_ void *values = calloc(cpus, (info->value_size + 7) & ~7U);
	uint32_t key = 0;

	if (!values)
		return -ENOMEM;
	return bpf_map_update_elem(map, &key, values, BPF_ANY) ? -errno : 0;
}

/* Remove all elements of the hash @map, or zero that of a per-CPU array. Adds the number of
 * elements to *@ret_gone. */
static int empty(int map, uint64_t *ret_gone)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	_cleanup_free_ void *keys = NULL;
	_cleanup_free_ void *values = NULL;
	uint32_t n = EMPTY_BATCH;
	uint32_t at;
	int r;

	if (bpf_obj_get_info_by_fd(map, &info, &len))
		return -errno;
	if (info.type == BPF_MAP_TYPE_PERCPU_ARRAY)
		return zero(map, &info);
	keys = calloc(EMPTY_BATCH, info.key_size);
	values = calloc(EMPTY_BATCH, info.value_size);
	if (!keys || !values)
		return -ENOMEM;
	r = bpf_map_lookup_and_delete_batch(map, NULL, &at, keys, values, &n, NULL);
	while (r == 0) {
		*ret_gone += n;
		n = EMPTY_BATCH;
		r = bpf_map_lookup_and_delete_batch(map, &at, &at, keys, values, &n,
						    NULL);
	}
	if (errno != ENOENT)
		return -errno;
	*ret_gone += n; /* in the last batch, which is not full */
	return 0;
}

/* While no hook was attached, threads came and went and events ended unseen. Forget
 * what had begun before: an interval that reaches back to it would be false. */
static int forget_begun(struct op_capture *c, const struct op_kind *kind)
{
	uint64_t gone = 0;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < OP_KIND_BEGUN_MAX; i++)
		if (c->kinds.begun[kind->event][i] >= 0)
			r = empty(c->kinds.begun[kind->event][i], &gone);
	c->kinds.attached_ns[kind->event] = op_clock_monotonic_ns();
	return r < 0 ? op_fail(c->log, r, "the kind %s could not be restarted: %s",
			       op_kind_name(kind), strerror(-r))
		     : 0;
}

/* Run the iterator @program to its end. It writes nothing. */
static int iterate(int program)
{
	_cleanup_close_ int link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
	_cleanup_close_ int fd = link < 0 ? -1 : bpf_iter_create(link);
	ssize_t n = -1;
	char none;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, &none, sizeof(none));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	return n < 0 ? -errno : 0;
}

/* Load the iterator that notes threads in the map of @kind, at most half of it. The rest
 * belongs to threads that run. Returns a descriptor or -errno. */
static int load_begun(struct op_capture *c, const struct op_kind *kind)
{
	const struct op_object_source source = { "threads", &op_threads_object };
	struct op_settings settings = c->settings;
	struct op_kind_sizes sizes;
	struct bpf_object *object;
	struct bpf_map *map;
	int r;

	sizes_of(c, &sizes);
	settings.detail = kind->event;
	settings.event_budget = sizes.threads / 2;
	r = op_object_open(c, &source, &settings, NULL, &object);
	if (r < 0)
		return r;
	map = bpf_object__find_map_by_name(object, OP_KIND_OFF_BEGUN);
	r = bpf_map__reuse_fd(map, c->kinds.begun[kind->event][0]);
	if (r == 0)
		r = op_object_want(object, "op_threads_begun", BPF_PROG_TYPE_TRACING);
	if (r == 0)
		r = bpf_object__load(object);
	if (r == 0)
		r = op_object_program_fd(object, "op_threads_begun");
	op_object_close(object);
	return r;
}

/* Note the threads that are off the CPUs now, so that their waits count from here. Kernels
 * before 5.8 have no iterator: there the first wait of each thread is unseen. */
static void note_waiting(struct op_capture *c, const struct op_kind *kind)
{
	void *before = op_object_hush();
	_cleanup_close_ int program = load_begun(c, kind);
	int r = program < 0 ? program : iterate(program);

	op_object_unhush(before);
	if (r < 0)
		op_log(c->log, OP_LOG_DEBUG,
		       "the kind %s does not see waits that began before it: %s",
		       op_kind_name(kind), strerror(-r));
}

/* Run the first program of @kind on each CPU, for a kind that asks for this. Returns
 * whether it is attached. */
static bool run_first(struct op_capture *c, const struct op_kind *kind)
{
	uint64_t arguments[ARGUMENTS_MAX] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments,
		    .ctx_size_in = sizeof(arguments), .flags = BPF_F_TEST_RUN_ON_CPU);
	struct op_cpu_events *e;

	if (!kind->at_borders || c->forked || c->kinds.hook[kind->event][0] < 0)
		return false;
	op_vec_foreach(e, &c->cpus.list) {
		run.cpu = e->cpu;
		if (e->online) /* one that has just gone offline has nothing to tell */
			(void)bpf_prog_test_run_opts(c->kinds.program[kind->event][0],
						     &run);
	}
	return true;
}

bool op_hooks_end_window(struct op_capture *c)
{
	bool ran = false;
	uint32_t i;

	for (i = 0; i < OP_KINDS; i++)
		ran |= run_first(c, op_kinds()[i]);
	return ran;
}

/* Does another hook replace hook @i if this kernel does not attach it? */
static bool has_other(const struct op_kind *kind, size_t i)
{
	return i + 1 < kind->hooks_len && kind->hooks[i + 1].instead;
}

static bool is_attached(const struct op_capture *c, const struct op_kind *kind, size_t i)
{
	const int *hook = c->kinds.hook[kind->event];

	return hook[i] >= 0 || (kind->hooks[i].instead && hook[i - 1] >= 0) ||
	       (has_other(kind, i) && hook[i + 1] >= 0);
}

static int fail_to_attach(struct op_capture *c, const struct op_kind *kind, size_t i,
			  int error)
{
	char sentence[OP_KIND_SENTENCE_BYTES];

	op_kind_unattached(kind, i, error, sentence);
	return op_fail(c->log, error, "%s", sentence);
}

static bool has_hook(const struct op_capture *c, const struct op_kind *kind)
{
	size_t i;

	for (i = 0; i < kind->hooks_len; i++)
		if (c->kinds.hook[kind->event][i] >= 0)
			return true;
	return false;
}

static int attach(struct op_capture *c, const struct op_kind *kind)
{
	bool first = !has_hook(c, kind);
	size_t i;
	int r = first ? forget_begun(c, kind) : 0;

	if (r < 0)
		return r;
	for (i = 0; i < kind->hooks_len; i++) {
		int *hook = &c->kinds.hook[kind->event][i];

		if (is_attached(c, kind, i) || !kind->hooks[i].tracepoint ||
		    !is_wanted(c, kind, i))
			continue;
		*hook = op_fd_move_up(bpf_raw_tracepoint_open(
			kind->hooks[i].tracepoint, c->kinds.program[kind->event][i]));
		if (*hook < 0 && errno == EINVAL && has_other(kind, i))
			continue;
		if (*hook < 0)
			return fail_to_attach(c, kind, i, -errno);
	}
	if (first && op_kind_notes_threads(kind))
		note_waiting(c, kind);
	(void)run_first(c, kind);
	return 0;
}

int op_hooks_attach(struct op_capture *c)
{
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && i < OP_KINDS; i++)
		if (op_kinds()[i]->hooks && c->kinds.program[i][0] >= 0)
			r = attach(c, op_kinds()[i]);
	return r;
}

/* No end of these samples will be seen. They are lost, like runs that were skipped.
 * After a fork the map belongs to the parent. */
static void count_held(struct op_capture *c, const struct op_kind *kind)
{
	int map = c->kinds.begun[kind->event][0];
	uint64_t gone = 0;

	if (kind->holds && !c->forked && map >= 0 && empty(map, &gone) == 0)
		c->kinds.gone_missed[kind->event] += gone;
}

/* While no perf event is open, memory grows unseen: forget its last size. */
static void forget_seen(struct op_capture *c, const struct op_kind *kind)
{
	int map = c->kinds.begun[kind->event][0];
	uint64_t gone = 0;

	if (kind->perf_events && !c->forked && map >= 0)
		(void)empty(map, &gone);
}

/* The last program is detached first: that of bpf/event/off asks for the interrupts in
 * which the others run. */
void op_hooks_detach(struct op_capture *c, const struct op_kind *kind)
{
	bool attached = false;
	size_t i;

	(void)run_first(c, kind);
	for (i = kind->hooks_len; i > 0; i--) {
		attached |= c->kinds.hook[kind->event][i - 1] >= 0;
		op_closep(&c->kinds.hook[kind->event][i - 1]);
	}
	if (attached)
		count_held(c, kind);
	forget_seen(c, kind);
}

void op_hooks_poll(struct op_capture *c)
{
	uint32_t k;
	uint32_t i;

	for (k = 0; k < OP_KINDS; k++)
		for (i = 0; i < OP_KICK_RINGS && c->kinds.kicks[k][i].producer; i++)
			__atomic_store_n(c->kinds.kicks[k][i].consumer,
					 __atomic_load_n(c->kinds.kicks[k][i].producer,
							 __ATOMIC_ACQUIRE),
					 __ATOMIC_RELEASE);
}

void op_hooks_close(struct op_capture *c, const struct op_kind *kind)
{
	uint32_t i;

	op_hooks_detach(c, kind);
	for (i = 0; i < OP_KIND_BEGUN_MAX; i++)
		op_closep(&c->kinds.begun[kind->event][i]);
	for (i = 0; i < OP_KICK_RINGS; i++) {
		struct op_kick_ring *k = &c->kinds.kicks[kind->event][i];

		if (k->consumer)
			(void)munmap(k->consumer, c->page_size);
		if (k->producer)
			(void)munmap((void *)k->producer, c->page_size);
		*k = (struct op_kick_ring){ 0 };
	}
}
