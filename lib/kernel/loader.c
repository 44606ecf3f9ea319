/* SPDX-License-Identifier: Apache-2.0 */
/* Which features this kernel has, the maps that all programs share, and the counters. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "kernel/object.h"
#include "kernel/state.h"
#include "otelprof/error.h"

enum {
	/* stacks of a window; the least recently used go first, and are announced again */
	ANNOUNCED_MAX = 16384,
	ANNOUNCED_FEW = 1024, /* for kinds that are turned on later */
};

/* The kinds whose entries announce stacks (bpf/event/named.h). */
static const uint64_t NAMED_KINDS = UINT64_C(1) << OP_EVENT_PAGE_FAULTS |
				    UINT64_C(1) << OP_EVENT_BLOCK_IO |
				    UINT64_C(1) << OP_EVENT_WAKERS;

static bool helper_exists(enum bpf_func_id id)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, id, NULL) == 1;
}

/* May a program both call a subprogram and tail-call another? (aarch64: since 6.0) */
static bool mixed_calls(void)
{
	_cleanup_close_ int map =
		bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "op_probe", 4, 4, 1, NULL);
	const struct bpf_insn insns[] = {
		/* the subprogram at 6; r2 = the map, r3 = 0; a tail call; r0 = 0; exit */
		{ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0 },
		{ BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 7 },
		{ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_6, 0, 0 },
		{ BPF_LD | BPF_DW | BPF_IMM, BPF_REG_2, BPF_PSEUDO_MAP_FD, 0, map },
		{ 0, 0, 0, 0, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_tail_call },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	_cleanup_close_ int fd = -1;

	if (map < 0)
		return true; /* loading the programs will report what is wrong */
	fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "op_probe", "GPL", insns,
			   OP_ARRAY_SIZE(insns), NULL);
	return fd >= 0;
}

static enum op_walker_form find_form(const struct op_capture *c)
{
	if (c->config.walker)
		return (enum op_walker_form)c->config.walker;
	if (c->config.flags & OTELPROF_NO_TAIL_CALLS)
		return OP_WALKER_WHOLE;
	if (!(c->config.flags & OTELPROF_NO_BPF_LOOP) && helper_exists(BPF_FUNC_loop))
		return OP_WALKER_LOOP;
	return mixed_calls() ? OP_WALKER_EACH : OP_WALKER_WHOLE;
}

static int set_max(struct bpf_object *object, enum op_map map, uint32_t max)
{
	struct bpf_map *m = bpf_object__find_map_by_name(object, op_map_names[map]);

	return m ? bpf_map__set_max_entries(m, max) : -ENOENT;
}

/* Load the base, which makes the maps. */
static int load_base(struct op_capture *c)
{
	struct bpf_object *object;
	int i;
	int r = op_object_open(c, &op_base_source, &c->settings, NULL, &object);

	if (r < 0)
		return r;
	r = op_object_want(object, "op_exec", BPF_PROG_TYPE_RAW_TRACEPOINT);
	if (r == 0)
		r = op_object_want(object, "op_fork", BPF_PROG_TYPE_RAW_TRACEPOINT);
	if (r == 0)
		r = set_max(object, OP_MAP_PROCESSES, c->config.max_processes);
	if (r == 0)
		r = set_max(object, OP_MAP_RING, op_capture_ring_bytes(c));
	if (r == 0)
		r = set_max(object, OP_MAP_SLOTS, op_capture_slots());
	if (r == 0)
		r = set_max(object, OP_MAP_COUNTERS, OP_KINDS);
	if (r == 0)
		r = set_max(object, OP_MAP_ANNOUNCED,
			    c->config.kinds & NAMED_KINDS ? ANNOUNCED_MAX
							  : ANNOUNCED_FEW);
	if (r == 0)
		r = op_object_load(c, object);
	for (i = 0; r >= 0 && i < OP_MAPS; i++)
		r = c->map[i] = op_object_map_fd(object, op_map_names[i]);
	if (r >= 0)
		r = c->exec.program = op_object_program_fd(object, "op_exec");
	if (r >= 0)
		r = c->fork.program = op_object_program_fd(object, "op_fork");
	op_object_close(object);
	return r < 0 ? r : 0;
}

static int map_memory(struct op_capture *c, enum op_map map, size_t len, int protection,
		      void **ret)
{
	void *memory = mmap(NULL, len, protection, MAP_SHARED, c->map[map], 0);

	if (memory == MAP_FAILED)
		return op_fail(c->log, -errno, "the map %s cannot be mapped: %s",
			       op_map_names[map], strerror(errno));
	*ret = memory;
	return 0;
}

static int open_all(struct op_capture *c)
{
	void *memory = NULL;
	int r;

	c->form = find_form(c);
	op_capture_settings(c);
	op_types_need(c, c->config.kinds);
	r = load_base(c);
	if (r < 0)
		return r;
	r = map_memory(c, OP_MAP_RULES,
		       OP_UNWIND_RULES_MAX * sizeof(struct op_unwind_rule),
		       PROT_READ | PROT_WRITE, &memory);
	if (r < 0)
		return r;
	c->rules = memory;
	r = map_memory(c, OP_MAP_CONTROLS, c->page_size, PROT_READ | PROT_WRITE, &memory);
	if (r < 0)
		return r;
	c->control = memory;
	return 0;
}

int op_loader_open(struct op_capture *c)
{
	char path[OP_TYPES_PATH_BYTES];
	void *before;
	int r;

	op_types_path(c, path);
	if (access(path, R_OK) < 0)
		return op_fail(
			c->log, -OTELPROF_E_NO_BTF,
			"the kernel's type information %s is not readable (%s); a kernel "
			"with CONFIG_DEBUG_INFO_BTF is needed, and /sys mounted",
			path, strerror(errno));
	before = op_object_hush();
	r = open_all(c);
	op_object_unhush(before);
	return r;
}

static void attach_fork(struct op_capture *c)
{
	/* Without op_exec, a child would keep its parent's tables when it executes a
	 * program. */
	if (c->exec.fd < 0)
		return;
	c->fork.fd = bpf_raw_tracepoint_open("sched_process_fork", c->fork.program);
	if (c->fork.fd < 0)
		op_log(c->log, OP_LOG_DEBUG,
		       "sched_process_fork cannot be followed (%s): samples just after a fork "
		       "come with a copy of their stack",
		       strerror(-c->fork.fd));
}

void op_loader_attach(struct op_capture *c)
{
	c->exec.fd = bpf_raw_tracepoint_open("sched_process_exec", c->exec.program);
	if (c->exec.fd < 0)
		op_log(c->log, OP_LOG_DEBUG,
		       "sched_process_exec cannot be followed (%s): samples just after an exec "
		       "may lack user frames",
		       strerror(-c->exec.fd));
	attach_fork(c);
}

void op_loader_close(struct op_capture *c)
{
	int i;

	op_closep(&c->fork.fd);
	op_closep(&c->fork.program);
	op_closep(&c->exec.fd);
	op_closep(&c->exec.program);
	op_capture_kinds_close(c);
	op_walkers_close(c);
	op_slabs_close(c);
	if (c->rules)
		(void)munmap(c->rules,
			     OP_UNWIND_RULES_MAX * sizeof(struct op_unwind_rule));
	c->rules = NULL;
	if (c->control)
		(void)munmap(c->control, c->page_size);
	c->control = NULL;
	for (i = 0; i < OP_MAPS; i++)
		op_closep(&c->map[i]);
	op_closep(&c->types_fd);
}

void op_capture_name_interpreter(struct op_capture *c, uint32_t number, const char *name)
{
	size_t bytes = OP_MIN(strlen(name), sizeof(uint64_t));

	if (number >= OP_INTERPRETERS_MAX)
		return;
	memcpy(&c->control->interpreter[number].bytes, name, bytes);
	memset(&c->control->interpreter[number].mask, 0xff, bytes);
}

struct op_unwind_rule *op_capture_unwind_rules(struct op_capture *c)
{
	return c->rules;
}

int op_capture_publish(void *ctx, uint32_t pid, struct op_process_key key)
{
	struct op_capture *c = ctx;

	if (c->forked)
		return -OTELPROF_E_FORKED;
	return bpf_map_update_elem(c->map[OP_MAP_PROCESSES], &pid, &key, BPF_ANY);
}

int op_capture_unpublish(void *ctx, uint32_t pid)
{
	struct op_capture *c = ctx;

	if (c->forked)
		return -OTELPROF_E_FORKED;
	return bpf_map_delete_elem(c->map[OP_MAP_PROCESSES], &pid);
}

int op_capture_publish_context(void *ctx, uint32_t pid,
			       const struct op_context_place *place)
{
	struct op_capture *c = ctx;

	if (c->forked)
		return -OTELPROF_E_FORKED;
	if (!place)
		return bpf_map_delete_elem(c->map[OP_MAP_CONTEXTS], &pid);
	__atomic_store_n(&c->control->contexts, 1, __ATOMIC_RELEASE);
	return bpf_map_update_elem(c->map[OP_MAP_CONTEXTS], &pid, place, BPF_ANY);
}

/* Sums of the counters. The largest value of the threshold, which is not a sum. */
static void add_counts(const struct op_counts *counts, uint64_t *sums)
{
	uint64_t threshold =
		OP_MAX(sums[OP_COUNT_THRESHOLD_NS], counts->value[OP_COUNT_THRESHOLD_NS]);
	int i;

	for (i = 0; i < OP_COUNTERS; i++)
		sums[i] += counts->value[i];
	sums[OP_COUNT_THRESHOLD_NS] = threshold;
}

/* Add the counters of @kind. @counts has space for @cpus. */
static int add_kind(struct op_capture *c, uint32_t kind, struct op_counts *counts,
		    int cpus, uint64_t *sums)
{
	int r = bpf_map_lookup_elem(c->map[OP_MAP_COUNTERS], &kind, counts);
	uint64_t missed;
	int cpu;

	if (r < 0)
		return r;
	for (cpu = 0; cpu < cpus; cpu++)
		add_counts(&counts[cpu], sums);
	missed = op_capture_kind_missed(c, kind);
	sums[OP_COUNT_TAKEN] += missed;
	sums[OP_COUNT_NESTED] += missed;
	return 0;
}

int op_capture_counters(struct op_capture *c, uint64_t *ret,
			uint64_t ret_lost[OP_EVENT_MAX])
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct op_counts *counts = NULL;
	uint64_t lost = 0, before;
	uint32_t kind;
	int r = 0;

	memset(ret, 0, OP_COUNTERS * sizeof(*ret));
	if (c->forked)
		return -OTELPROF_E_FORKED;
	if (cpus <= 0)
		return -EIO;
	counts = calloc((size_t)cpus, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (kind = 0; kind < OP_KINDS && r == 0; kind++) {
		r = add_kind(c, kind, counts, cpus, ret);
		before = lost;
		lost = ret[OP_COUNT_RING_FULL] + ret[OP_COUNT_NESTED] +
		       ret[OP_COUNT_NO_MEMORY];
		if (ret_lost)
			ret_lost[kind] = lost - before;
	}
	return r;
}
