/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that are fixed before the programs are loaded: their constants, and the
 * sizes of maps. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "kernel/state.h"
#include "otelprof/config.h"

enum {
	/* enough for 64 samples with copies of their stacks, and others */
	RING_BYTES_MIN = 1024 * 1024,
	RING_BYTES_A_CPU = 64 * 1024,
	RING_BYTES_A_HZ = 512, /* one second of records with stacks of medium depth */
};

uint32_t op_capture_ring_bytes(const struct op_capture *c)
{
	uint32_t want = c->config.ring_bytes;
	uint32_t bytes = RING_BYTES_MIN;

	if (want)
		return want; /* the API has checked that it is a power of two */
	want = OP_MAX((uint32_t)RING_BYTES_A_CPU,
		      c->config.sample_rate_hz * RING_BYTES_A_HZ);
	want *= (uint32_t)libbpf_num_possible_cpus();
	while (bytes < want && bytes < (1u << 30))
		bytes <<= 1;
	return bytes;
}

/* The inode of our PID namespace, or 0 for the initial one, whose number is fixed
 * (include/linux/proc_ns.h). */
static uint32_t pid_namespace(const char *procfs_root)
{
	static const uint32_t first = 0xEFFFFFFC;
	char path[256];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/self/ns/pid", procfs_root);
	if (stat(path, &st) < 0)
		return 0;
	return (uint32_t)st.st_ino == first ? 0 : (uint32_t)st.st_ino;
}

/* Not all possible CPUs: virtual machines often allow many more than they have. */
static uint32_t cpus_online(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (uint32_t)n : (uint32_t)libbpf_num_possible_cpus();
}

void op_capture_settings(struct op_capture *c)
{
	uint64_t flags = c->config.flags;
	struct op_settings *s = &c->settings;

	s->max_frames = c->config.max_frames;
	s->kernel_stacks = !(flags & OTELPROF_NO_KERNEL_STACKS);
	s->user_stacks = !(flags & OTELPROF_NO_USER_STACKS);
	s->keep_idle = !!(flags & OTELPROF_IDLE);
	s->wakers = !!(flags & OTELPROF_WAKERS);
	s->pid_namespace = pid_namespace(c->config.procfs_root);
	s->wakeup_bytes = op_capture_ring_bytes(c) / 4;
	s->cgroup_ancestors = libbpf_probe_bpf_helper(
				      BPF_PROG_TYPE_PERF_EVENT,
				      BPF_FUNC_get_current_ancestor_cgroup_id, NULL) == 1;
	s->min_ns = c->config.off_cpu_min_ns;
	s->event_budget = OP_MAX(c->config.off_cpu_samples / cpus_online(), 1U);
	arc4random_buf(&s->hash_seed, sizeof(s->hash_seed));
}

/* Programs of perf events do not interrupt each other: they have one slot, the first. The
 * slots of the other program types come after it. */
uint32_t op_capture_slots(void)
{
	uint32_t others = 0;
	uint32_t i;

	for (i = 0; i < OP_KINDS; i++)
		if (op_kinds()[i]->program_type != BPF_PROG_TYPE_PERF_EVENT)
			others = OP_MAX(others, op_kinds()[i]->slots);
	return 1 + others;
}

uint64_t op_capture_steps(const struct op_capture *c, uint64_t runtimes)
{
	/* with it the whole program would exceed the verifier's limit */
	if (c->form == OP_WALKER_WHOLE)
		runtimes &= ~(UINT64_C(1) << OP_RUNTIME_DOTNET);
	return runtimes |
	       (c->config.flags & OTELPROF_AWAIT_CHAINS ? OP_STEPS_AWAIT : UINT64_C(0));
}

struct op_settings op_capture_settings_of(const struct op_capture *c,
					  uint32_t program_type, bool holds)
{
	struct op_settings s = c->settings;

	s.runtimes_on = op_capture_steps(c, s.runtimes_on);
	s.holds = holds;
	s.objects = c->form != OP_WALKER_WHOLE;
	s.slot_alone = program_type == BPF_PROG_TYPE_PERF_EVENT;
	s.slot_first = s.slot_alone ? 0 : 1;
	s.slots = s.slot_alone ? 1 : OP_MAX(op_capture_slots(), 2U) - 1;
	return s;
}
