/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor reports what this machine and the rights of this process allow, one row for
 * each feature. Each row tries the feature itself if that leaves no trace, instead of
 * reading version numbers.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api/settings/config.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/rows/rows.h"
#include "kernel/kinds/kind.h"
#include "kernel/object.h"
#include "otelprof/stats.h"
#include "process/resource/membership.h"

enum {
	TEXT_BYTES = 256,
	KALLSYMS_LINE_BYTES = 1024,
	KALLSYMS_BYTES_MAX = 1 << 20, /* long enough to pass the per-CPU symbols */
	SYSCTL_BYTES_MAX = 4096,
	MOUNTS_BYTES_MAX = 1 << 20,
};

struct doctor {
	const struct otelprof_config *config;
	otelprof_doctor_fn fn;
	void *userdata;
	int missing;
	bool bpf; /* bpf(2) lets this process in */
};

/* Report one row. */
static void row(struct doctor *d, uint32_t state, const char *feature, const char *needs,
		const char *effect, const char *fmt, ...) _op_printf_(6, 7);

static void row(struct doctor *d, uint32_t state, const char *feature, const char *needs,
		const char *effect, const char *fmt, ...)
{
	char found[TEXT_BYTES];
	struct otelprof_doctor_row r = {
		.size = sizeof(r),
		.feature = feature,
		.needs = needs,
		.found = found,
		.effect = state == OTELPROF_DOCTOR_OK ? "" : effect,
		.state = state,
	};
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(found, sizeof(found), fmt, ap);
	va_end(ap);
	d->missing += state == OTELPROF_DOCTOR_MISSING;
	d->fn(d->userdata, &r);
}

static uint32_t or_missing(bool ok)
{
	return ok ? OTELPROF_DOCTOR_OK : OTELPROF_DOCTOR_MISSING;
}

static uint32_t or_less(bool ok)
{
	return ok ? OTELPROF_DOCTOR_OK : OTELPROF_DOCTOR_LESS;
}

static bool has_capability(int cap)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	return data[cap / 32].effective & (1u << (cap % 32));
}

/* Make a small map. Returns 0 or -errno. */
static int try_bpf(void)
{
	_cleanup_close_ int fd = bpf_map_create(
		BPF_MAP_TYPE_ARRAY, NULL, sizeof(uint32_t), sizeof(uint32_t), 1, NULL);

	return fd < 0 ? -errno : 0;
}

static void check_bpf(struct doctor *d, bool has_it)
{
	int r = has_it ? try_bpf() : 0;
	const char *refusal = r ? op_object_refusal() : NULL;

	d->bpf = has_it && !r;
	row(d, or_missing(d->bpf), "BPF",
	    "CAP_BPF (before Linux 5.8: CAP_SYS_ADMIN), and a kernel that lets bpf(2) in",
	    "nothing can be profiled", "%s",
	    !has_it   ? "it is missing"
	    : !r      ? "the capability is there"
	    : refusal ? refusal
		      : strerror(-r));
}

static void check_rights(struct doctor *d)
{
	bool admin = has_capability(CAP_SYS_ADMIN);
	bool perfmon = admin || has_capability(CAP_PERFMON);

	check_bpf(d, admin || has_capability(CAP_BPF));
	row(d, or_missing(perfmon), "tracing",
	    "CAP_PERFMON (before Linux 5.8: CAP_SYS_ADMIN)", "nothing can be profiled",
	    perfmon ? "the capability is there" : "it is missing");
}

static void check_btf(struct doctor *d)
{
	char path[TEXT_BYTES];
	bool ok;

	(void)snprintf(path, sizeof(path), "%s/kernel/btf/vmlinux",
		       d->config->sysfs_root);
	ok = access(path, R_OK) == 0;
	row(d, or_missing(ok), "kernel types (BTF)",
	    "CONFIG_DEBUG_INFO_BTF, and /sys mounted", "nothing can be profiled",
	    "%s: %s", path, ok ? "readable" : strerror(errno));
}

static void check_sampling(struct doctor *d)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
		.disabled = 1,
	};
	_cleanup_close_ int fd = -1;

	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	row(d, or_missing(fd >= 0), "CPU sampling",
	    "perf_event_open(2): CAP_PERFMON, or kernel.perf_event_paranoid below 1",
	    "nothing can be profiled", fd >= 0 ? "a clock event opens on CPU 0" : "%s",
	    strerror(errno));
}

static void check_programs(struct doctor *d)
{
	libbpf_print_fn_t before = libbpf_set_print(NULL);
	int program = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, NULL);
	int ring = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL);
	int loop = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL);
	int ancestor = libbpf_probe_bpf_helper(
		BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_get_current_ancestor_cgroup_id, NULL);

	(void)libbpf_set_print(before);
	row(d, or_missing(program == 1), "kernel programs",
	    "bpf(2) lets perf_event programs in (no lockdown=confidentiality)",
	    "nothing can be profiled", program == 1 ? "they load" : "they are refused");
	row(d, or_missing(ring == 1), "ring buffer", "Linux 5.8",
	    "nothing can be profiled",
	    ring == 1 ? "there" : "not there, or not permitted");
	row(d, or_less(loop == 1), "one-program walker", "bpf_loop(): Linux 5.17",
	    "stacks are walked by chained programs, which load slower",
	    loop == 1 ? "there" : "not there");
	row(d, or_less(ancestor == 1), "filter by cgroup with its children",
	    "bpf_get_current_ancestor_cgroup_id() for tracing: Linux 5.16",
	    "a cgroup filter matches only that cgroup, not those below it",
	    ancestor == 1 ? "there" : "not there");
}

/* A BPF program that does nothing. */
static const struct bpf_insn NOTHING[] = {
	{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
	{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
};

/* Load an iterator over the tasks and open it. Returns 0 or -errno. */
static int try_iterator(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_ITER);
	int type = libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER);
	_cleanup_close_ int program = -1;
	_cleanup_close_ int link = -1;
	_cleanup_close_ int fd = -1;

	if (type < 0)
		return type;
	opts.attach_btf_id = (uint32_t)type;
	program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "op_probe", "GPL", NOTHING,
				OP_ARRAY_SIZE(NOTHING), &opts);
	if (program >= 0)
		link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
	if (link >= 0)
		fd = bpf_iter_create(link);
	return fd < 0 ? -errno : 0;
}

/* The first tracepoint of @kind at which no program can be attached, or NULL. */
static const char *refused_at(const struct op_kind *kind)
{
	_cleanup_close_ int program =
		bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "op_probe", "GPL", NOTHING,
			      OP_ARRAY_SIZE(NOTHING), NULL);
	size_t i;

	for (i = 0; i < kind->hooks_len; i++) {
		const char *tracepoint = kind->hooks[i].tracepoint;
		_cleanup_close_ int hook = -1;

		if (program >= 0)
			hook = bpf_raw_tracepoint_open(tracepoint, program);
		if (hook < 0)
			return tracepoint;
	}
	return NULL;
}

static void check_tracepoints(struct doctor *d, const struct op_kind *kind,
			      const char *feature, const char *lost)
{
	char needs[TEXT_BYTES] = "tracepoints";
	const char *refused = refused_at(kind);
	const struct op_kind_hook *hook = kind->hooks;

	for (; hook < kind->hooks + kind->hooks_len; hook++) {
		if (hook->needs)
			(void)strlcpy(needs, hook->needs, sizeof(needs));
		if (hook->needs || hook->instead)
			continue;
		(void)strlcat(needs, hook == kind->hooks ? " " : ", ", sizeof(needs));
		(void)strlcat(needs, hook->tracepoint, sizeof(needs));
	}
	row(d, or_less(!refused), feature, needs, lost,
	    refused ? "none attaches to %s" : "programs attach", refused);
}

/* The kinds whose hooks a kernel may lack. */
static void check_kinds(struct doctor *d)
{
	libbpf_print_fn_t before = libbpf_set_print(NULL);
	int r = try_iterator();
	const struct op_word *word;

	(void)libbpf_set_print(before);
	for (word = op_word_kinds; word->name; word++) {
		const struct op_kind *kind =
			op_kind_of((uint32_t)__builtin_ctzll(word->value));
		char feature[TEXT_BYTES];
		char lost[TEXT_BYTES];

		(void)snprintf(feature, sizeof(feature), "kind %s", word->name);
		(void)snprintf(lost, sizeof(lost), "it cannot be turned on: %s",
			       word->tells);
		if (kind->snapshot)
			row(d, or_less(r == 0), feature,
			    "BPF iterators over the tasks: Linux 5.8", lost,
			    r == 0 ? "one can be read" : "%s", strerror(-r));
		else if (kind->hooks)
			check_tracepoints(d, kind, feature, lost);
	}
}

/* Probes at tracepoints need no row, because they need only BPF. */
static void check_probes(struct doctor *d)
{
	static const struct {
		const char *device;
		const char *feature;
		const char *needs;
		const char *lost;
	} types[] = {
		{ "uprobe", "probes of programs and libraries",
		  "perf events of type uprobe (CONFIG_UPROBE_EVENTS), and /sys mounted",
		  "probes of the types uprobe, uretprobe and usdt, and the kind heap, are "
		  "refused" },
		{ "kprobe", "probes of kernel functions",
		  "perf events of type kprobe (CONFIG_KPROBE_EVENTS), and /sys mounted",
		  "probes of the types kprobe and kretprobe are refused" },
	};
	char path[TEXT_BYTES];
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(types); i++) {
		bool ok;

		(void)snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/type",
			       d->config->sysfs_root, types[i].device);
		ok = access(path, R_OK) == 0;
		row(d, or_less(ok), types[i].feature, types[i].needs, types[i].lost,
		    ok ? "there" : "no %s", path);
	}
}

/*
 * Does the kallsyms file at @path show the address of any function? On x86-64 kernels
 * before 6.15 thousands of lines of per-CPU symbols come first, whose addresses are
 * offsets from 0 even if nothing is hidden. Returns 1 or 0, or a negative errno if
 * nothing can be read.
 */
static int shows_addresses(const char *path)
{
	_cleanup_close_ int fd = op_open(path, O_RDONLY);
	_cleanup_fclose_ FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[KALLSYMS_LINE_BYTES];
	size_t seen = 0;

	if (!f)
		return fd < 0 ? fd : -errno;
	(void)OP_TAKE_FD(fd);
	while (seen < KALLSYMS_BYTES_MAX && fgets(line, sizeof(line), f)) {
		size_t digits = strspn(line, "0123456789abcdef");

		seen += strlen(line);
		if (line[digits] == ' ' && (line[digits + 1] | 0x20) == 't' &&
		    strspn(line, "0") < digits)
			return 1;
	}
	return seen ? 0 : -ENODATA;
}

static void check_kernel_names(struct doctor *d)
{
	char path[TEXT_BYTES];
	int shown;

	(void)snprintf(path, sizeof(path), "%s/kallsyms", d->config->procfs_root);
	shown = shows_addresses(path);
	row(d, or_less(shown > 0), "kernel names",
	    "/proc/kallsyms with addresses: CAP_SYSLOG and kernel.kptr_restrict below 2",
	    "kernel frames have no names", "%s",
	    shown < 0	? "not readable"
	    : shown > 0 ? "readable"
			: "addresses are hidden");
}

static void check_other_processes(struct doctor *d)
{
	char path[TEXT_BYTES];
	char byte;
	struct iovec local = { .iov_base = &byte, .iov_len = 1 };
	struct iovec remote = { .iov_base = NULL, .iov_len = 1 };
	_cleanup_closedir_ DIR *dir = NULL;
	bool may_open =
		has_capability(CAP_SYS_ADMIN) || has_capability(CAP_CHECKPOINT_RESTORE);
	bool may_read;
	char runtimes[OP_WORD_LIST_BYTES];
	int list;
	int memory;

	(void)snprintf(path, sizeof(path), "%s/1/map_files", d->config->procfs_root);
	dir = opendir(path);
	list = dir ? 0 : errno;
	row(d, or_less(dir && may_open), "files of other processes",
	    "CAP_SYS_PTRACE, and CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN",
	    "executables are opened by path: programs whose file was deleted have no stacks",
	    !dir       ? "%s: %s"
	    : may_open ? "%s can be opened"
		       : "%s can be listed, not opened",
	    path, strerror(list));
	/* Address 0 is never mapped: EFAULT means that reading is permitted. */
	memory = process_vm_readv(1, &local, 1, &remote, 1, 0) < 0 ? errno : 0;
	if (memory == EFAULT)
		memory = 0;
	/* A security module may protect process 1 alone. */
	may_read = has_capability(CAP_SYS_PTRACE);
	row(d, or_less(!memory || may_read), "memory of other processes",
	    "CAP_SYS_PTRACE", "samples of others' processes have no stacks and no names",
	    !memory    ? "readable"
	    : may_read ? "process 1 is protected (%s), which is normal in some containers"
		       : "%s",
	    strerror(memory));
	op_word_list(op_word_runtimes, runtimes);
	row(d, or_less(!memory || may_read), "language runtimes",
	    "reading the memory of their processes", "these have only native frames",
	    "%s", runtimes);
}

static void check_cgroups(struct doctor *d)
{
	_cleanup_free_ char *text = NULL;
	char path[TEXT_BYTES];
	bool ok;

	(void)snprintf(path, sizeof(path), "%s/self/mountinfo", d->config->procfs_root);
	ok = op_read_file(path, MOUNTS_BYTES_MAX, &text) >= 0 &&
	     strstr(text, " - cgroup2 ");
	row(d, or_less(ok), "filter by cgroup", "cgroup v2 mounted",
	    "rules by cgroup, container and pod match nothing",
	    ok ? "mounted" : "not mounted");
}

static void check_pid_namespace(struct doctor *d)
{
	const char *root = d->config->procfs_root;
	bool first = op_in_first_pid_namespace(root, "self");
	uint64_t theirs = op_namespace_inode(root, "1", "pid");
	bool same = !theirs || theirs == op_namespace_inode(root, "self", "pid");

	row(d, or_less(first), "all processes of the host",
	    "the host's PID namespace (hostPID in Kubernetes)",
	    "only processes of this PID namespace and below are profiled",
	    first  ? "the first namespace"
	    : same ? "another namespace"
		   : "another namespace than that of %s",
	    root);
}

static void check_bpf_statistics(struct doctor *d)
{
	_cleanup_free_ char *text = NULL;
	char path[TEXT_BYTES];
	bool on;

	(void)snprintf(path, sizeof(path), "%s/sys/kernel/bpf_stats_enabled",
		       d->config->procfs_root);
	on = op_read_file(path, SYSCTL_BYTES_MAX, &text) > 0 && text[0] == '1';
	row(d, or_less(on), "cost of the sampler", "kernel.bpf_stats_enabled=1",
	    "the statistics do not include the sampler's run time",
	    on ? "counted" : "not counted");
}

int otelprof_doctor(const struct otelprof_config *config, otelprof_doctor_fn fn,
		    void *userdata)
{
	struct otelprof_config whole;
	struct doctor d = { .config = &whole, .fn = fn, .userdata = userdata };
	int r;

	if (!fn)
		return -EINVAL;
	r = op_config_init(config, NULL, &whole);
	if (r < 0)
		return r;
	check_rights(&d);
	check_btf(&d);
	check_sampling(&d);
	if (d.bpf) {
		check_programs(&d);
		check_kinds(&d);
	}
	check_probes(&d);
	check_kernel_names(&d);
	check_other_processes(&d);
	check_cgroups(&d);
	check_pid_namespace(&d);
	check_bpf_statistics(&d);
	op_config_deinit(&whole);
	return d.missing;
}
