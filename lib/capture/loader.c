/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, configuring and loading the kernel programs; counters. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "capture/state.h"
#include "capture/types.h"
#include "cpu.skel.h"
#include "otelprof/error.h"

enum {
	VERIFIER_LOG_BYTES = 256 * 1024,
	VERIFIER_LOG_SHOWN = 2000,   /* of its end: the reason stands last */
	RING_BYTES_MIN = 512 * 1024, /* forty first samples, with their stacks */
	RING_BYTES_A_CPU = 64 * 1024,
	RING_BYTES_A_HZ = 512, /* a second of records, at a middling depth */
};

/* libbpf writes to stderr unless told otherwise, and only process-wide: hush it while we
 * call it, and put the host's own choice back. */
static libbpf_print_fn_t hush(void)
{
	return libbpf_set_print(NULL);
}

static void unhush(libbpf_print_fn_t before)
{
	(void)libbpf_set_print(before);
}

/* The inode of our PID namespace, or 0 for the first one (include/linux/proc_ns.h). */
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

static uint32_t ring_bytes(const struct op_capture *c)
{
	uint32_t want = c->config.ring_bytes;
	uint32_t bytes = RING_BYTES_MIN;

	if (want)
		return want; /* checked: a power of two */
	want = OP_MAX((uint32_t)RING_BYTES_A_CPU,
		      c->config.sample_rate_hz * RING_BYTES_A_HZ);
	want *= (uint32_t)libbpf_num_possible_cpus();
	while (bytes < want && bytes < (1u << 30))
		bytes <<= 1;
	return bytes;
}

static bool helper_exists(enum bpf_func_id id)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, id, NULL) == 1;
}

static void set_rodata(struct op_capture *c, struct op_cpu_bpf *skel)
{
	uint64_t flags = c->config.flags;

	skel->rodata->op_max_frames = c->config.max_frames;
	skel->rodata->op_kernel_stacks = !(flags & OTELPROF_NO_KERNEL_STACKS);
	skel->rodata->op_user_stacks = !(flags & OTELPROF_NO_USER_STACKS);
	skel->rodata->op_keep_idle = !!(flags & OTELPROF_IDLE);
	skel->rodata->op_pid_namespace = pid_namespace(c->config.procfs_root);
	skel->rodata->op_wakeup_bytes = ring_bytes(c) / 4;
	skel->rodata->op_cgroup_ancestors = c->cgroup_ancestors;
	skel->rodata->op_runtimes_on = c->runtimes;
}

static int load_failed(struct op_capture *c, const char *program, const char *verifier,
		       int error)
{
	size_t len = verifier ? strlen(verifier) : 0;
	int r;

	if (error == -EPERM)
		return op_fail(c->log, -OTELPROF_E_CAPABILITY,
			       "loading the kernel programs is not permitted: "
			       "CAP_BPF and CAP_PERFMON (or root) are needed");
	if (error == -ENOMEM)
		return op_fail(c->log, error,
			       "there is not enough memory for the kernel's maps; "
			       "on kernels before 5.11 raise RLIMIT_MEMLOCK");
	if (!len)
		return op_fail(c->log, error, "loading the kernel programs failed: %s",
			       strerror(-error));
	r = op_fail(
		c->log, -OTELPROF_E_VERIFIER,
		"this kernel's verifier refused the program %s: %s; please report it with "
		"the kernel's version",
		program, strerror(-error));
	op_fail_detail(c->log,
		       verifier +
			       (len > VERIFIER_LOG_SHOWN ? len - VERIFIER_LOG_SHOWN : 0));
	return r;
}

/* Loading parses the kernel's types, several MB that are free again and would stay with
 * this process for good. */
static void give_back_memory(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

/* Load @skel's programs that are marked for it, with a log for the one that fails. */
static int load(struct op_capture *c, struct op_cpu_bpf *skel)
{
	struct bpf_program *program;
	_cleanup_free_ char *log = calloc(1, VERIFIER_LOG_BYTES);
	const char *failed = "?";
	int r;

	if (!log)
		return -ENOMEM;
	bpf_object__for_each_program(program,
				     skel->obj) if (bpf_program__autoload(program))(void)
		bpf_program__set_log_buf(program, log, VERIFIER_LOG_BYTES);
	r = op_cpu_bpf__load(skel);
	if (r == 0)
		return 0;
	bpf_object__for_each_program(program,
				     skel->obj) if (bpf_program__autoload(program) &&
						    bpf_program__fd(program) < 0)
	{
		failed = bpf_program__name(program);
		break;
	}
	return load_failed(c, failed, log, r);
}

/* Put @skel's walker where the entry program jumps to. */
static int install_walker(struct op_capture *c, struct op_cpu_bpf *skel)
{
	struct bpf_program *walker =
		c->bpf_loop ? skel->progs.op_walk : skel->progs.op_walk_tail;
	uint32_t zero = 0;
	int fd = bpf_program__fd(walker);

	return bpf_map_update_elem(bpf_map__fd(c->skel->maps.op_walkers), &zero, &fd,
				   BPF_ANY);
}

/* Open the programs, to be relocated by the small copy of the kernel's types if it is there. */
static struct op_cpu_bpf *open_programs(struct op_capture *c)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	char path[64];

	if (c->types_fd >= 0) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", c->types_fd);
		if (access(path, R_OK) == 0)
			opts.btf_custom_path = path;
	}
	return op_cpu_bpf__open_opts(&opts);
}

/* Without the copy libbpf reads all the kernel's types itself. */
static void copy_types(struct op_capture *c, const char *types_path)
{
	struct op_cpu_bpf *skel = op_cpu_bpf__open();

	if (!skel)
		return;
	c->types_fd = op_types_file(types_path, bpf_object__btf(skel->obj));
	if (c->types_fd < 0)
		op_log(c->log, OP_LOG_DEBUG, "%s cannot be copied (%s), ignoring",
		       types_path, strerror(-c->types_fd));
	op_cpu_bpf__destroy(skel);
}

static int open_and_load(struct op_capture *c)
{
	struct op_cpu_bpf *skel = open_programs(c);
	int r;

	if (!skel)
		return op_fail(c->log, -errno,
			       "the kernel programs could not be opened: %s",
			       strerror(errno));
	c->skel = skel;
	set_rodata(c, skel);
	(void)bpf_program__set_autoload(skel->progs.op_walk, c->bpf_loop);
	(void)bpf_program__set_autoload(skel->progs.op_walk_tail, !c->bpf_loop);
	(void)bpf_map__set_max_entries(skel->maps.op_processes, c->config.max_processes);
	(void)bpf_map__set_max_entries(skel->maps.op_ring, ring_bytes(c));
	r = load(c, skel);
	if (r < 0)
		return r;
	return install_walker(c, skel);
}

int op_loader_open(struct op_capture *c)
{
	libbpf_print_fn_t before;
	char path[256];
	void *rules;
	int r;

	(void)snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux", c->config.sysfs_root);
	if (access(path, R_OK) < 0)
		return op_fail(
			c->log, -OTELPROF_E_NO_BTF,
			"the kernel's type information %s is not readable (%s); a kernel "
			"with CONFIG_DEBUG_INFO_BTF is needed, and /sys mounted",
			path, strerror(errno));
	before = hush();
	c->bpf_loop =
		!(c->config.flags & OTELPROF_NO_BPF_LOOP) && helper_exists(BPF_FUNC_loop);
	c->cgroup_ancestors = helper_exists(BPF_FUNC_get_current_ancestor_cgroup_id);
	copy_types(c, path);
	r = open_and_load(c);
	give_back_memory();
	unhush(before);
	if (r < 0)
		return r;
	rules = mmap(NULL, OP_RULES_MAX * sizeof(struct op_rule), PROT_READ | PROT_WRITE,
		     MAP_SHARED, bpf_map__fd(c->skel->maps.op_rules), 0);
	if (rules == MAP_FAILED)
		return op_fail(c->log, -errno,
			       "the map of unwind rules cannot be mapped: %s",
			       strerror(errno));
	c->rules = rules;
	return 0;
}

void op_loader_attach(struct op_capture *c)
{
	libbpf_print_fn_t before = hush();

	c->exec_link = bpf_program__attach(c->skel->progs.op_exec);
	unhush(before);
	if (!c->exec_link)
		op_log(c->log, OP_LOG_DEBUG,
		       "sched_process_exec cannot be followed (%s): samples just after an exec "
		       "may lack user frames; ignoring",
		       strerror(errno));
}

void op_loader_close(struct op_capture *c)
{
	if (c->exec_link)
		(void)bpf_link__destroy(c->exec_link);
	c->exec_link = NULL;

	op_slabs_close(c);
	if (c->rules)
		(void)munmap(c->rules, OP_RULES_MAX * sizeof(struct op_rule));
	c->rules = NULL;
	op_closep(&c->types_fd);
	op_cpu_bpf__destroy(c->skel);
	c->skel = NULL;
}

struct op_rule *op_capture_rules(struct op_capture *c)
{
	return c->rules;
}

int op_capture_publish(void *ctx, uint32_t pid, struct op_process_key key)
{
	struct op_capture *c = ctx;

	if (c->forked)
		return -OTELPROF_E_FORKED;
	return bpf_map_update_elem(bpf_map__fd(c->skel->maps.op_processes), &pid, &key,
				   BPF_ANY);
}

int op_capture_unpublish(void *ctx, uint32_t pid)
{
	struct op_capture *c = ctx;

	if (c->forked)
		return -OTELPROF_E_FORKED;
	return bpf_map_delete_elem(bpf_map__fd(c->skel->maps.op_processes), &pid);
}

/* Load a walker with all runtimes needed so far, over the maps that are there. */
static int load_walker(struct op_capture *c, struct op_cpu_bpf *skel)
{
	struct bpf_map *map;
	int r;

	set_rodata(c, skel);
	(void)bpf_program__set_autoload(skel->progs.op_sample, false);
	(void)bpf_program__set_autoload(skel->progs.op_exec, false);
	(void)bpf_program__set_autoload(skel->progs.op_walk, c->bpf_loop);
	(void)bpf_program__set_autoload(skel->progs.op_walk_tail, !c->bpf_loop);
	bpf_object__for_each_map(map, skel->obj)
	{
		struct bpf_map *ours;

		if (bpf_map__is_internal(map))
			continue;
		ours = bpf_object__find_map_by_name(c->skel->obj, bpf_map__name(map));
		r = ours ? bpf_map__reuse_fd(map, bpf_map__fd(ours)) : -ENOENT;
		if (r < 0)
			return r;
	}
	r = load(c, skel);
	return r < 0 ? r : install_walker(c, skel);
}

int op_capture_need_runtime(void *ctx, enum op_runtime runtime)
{
	struct op_capture *c = ctx;
	struct op_cpu_bpf *skel;
	libbpf_print_fn_t before;
	int r = -ENOMEM;

	if (c->forked)
		return -OTELPROF_E_FORKED;
	if (c->runtimes & (UINT64_C(1) << runtime))
		return 0;
	c->runtimes |= UINT64_C(1) << runtime;
	before = hush();
	skel = open_programs(c);
	if (skel)
		r = load_walker(c, skel);
	if (r < 0)
		c->runtimes &= ~(UINT64_C(1) << runtime);
	op_cpu_bpf__destroy(skel); /* what it loaded is held by the map of walkers */
	give_back_memory();
	unhush(before);
	return r;
}

int op_capture_counters(struct op_capture *c, uint64_t *ret)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *values = NULL;
	uint32_t i;

	memset(ret, 0, OP_COUNTERS * sizeof(*ret));
	if (c->forked)
		return -OTELPROF_E_FORKED;
	if (cpus <= 0)
		return -EIO;
	values = calloc((size_t)cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (i = 0; i < OP_COUNTERS; i++) {
		int r = bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.op_counters), &i,
					    values);
		int cpu;

		if (r < 0)
			return r;
		for (cpu = 0; cpu < cpus; cpu++)
			ret[i] += values[cpu];
	}
	return 0;
}

void op_capture_run_time(struct op_capture *c, uint64_t *ret_ns, uint64_t *ret_count)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	*ret_ns = *ret_count = 0;
	if (c->forked || bpf_obj_get_info_by_fd(bpf_program__fd(c->skel->progs.op_sample),
						&info, &len))
		return;
	*ret_ns = info.run_time_ns;
	*ret_count = info.run_cnt;
}
