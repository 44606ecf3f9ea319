/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the doctor over directories made here in place of /proc. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <otelprof/otelprof.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "tools.h"

struct found {
	const char *feature; /* the row that is wanted */
	uint32_t state;
	char text[128];
	bool seen;
	bool knows_kernel; /* a row that needs bpf(2) was seen */
};

static void on_row(void *userdata, const struct otelprof_doctor_row *row)
{
	struct found *found = userdata;

	found->knows_kernel |= strcmp(row->feature, "ring buffer") == 0;
	if (strcmp(row->feature, found->feature) != 0)
		return;
	CHECK(!found->seen);
	found->seen = true;
	found->state = row->state;
	(void)snprintf(found->text, sizeof(found->text), "%s", row->found);
}

/* What the row of kernel names says of proc/kallsyms. */
static void check_names(uint32_t state, const char *text)
{
	struct otelprof_config config;
	struct found found = { .feature = "kernel names" };
	char root[128];

	(void)snprintf(root, sizeof(root), "%s/proc", tools_make_dir());
	otelprof_config_init(&config, sizeof(config));
	config.procfs_root = root;
	CHECK_OK(otelprof_doctor(&config, on_row, &found));
	CHECK(found.seen);
	CHECK_STR(found.text, text);
	CHECK_INT(found.state, state);
}

/* Linux 6.15 and later, and aarch64: functions from the first line on. */
static void test_functions_come_first(void)
{
	TOOLS_RUN("mkdir -p proc");
	tools_write("proc/kallsyms", "ffffffff81000000 T _stext\n"
				     "ffffffff81000040 t early_setup\n");
	check_names(OTELPROF_DOCTOR_OK, "readable");
}

/* x86-64 before 6.15: per-CPU symbols first, offsets from 0; some of them are not 0. */
static void test_per_cpu_symbols_come_first(void)
{
	TOOLS_RUN("mkdir -p proc && { for i in $(seq 0 2000); do "
		  "printf '0000000000000000 A percpu_%%04d\n' $i; done; "
		  "for i in $(seq 4096 6000); do printf '%%016x A percpu_%%04d\n' $i $i; "
		  "done; echo 'ffffffff81000000 T _stext'; } > proc/kallsyms");
	check_names(OTELPROF_DOCTOR_OK, "readable");
}

/* As kernel.kptr_restrict=2 shows it. */
static void test_hidden_addresses(void)
{
	TOOLS_RUN("mkdir -p proc && { for i in $(seq 0 2000); do "
		  "printf '0000000000000000 T function_%%04d\n' $i; done; } > "
		  "proc/kallsyms");
	check_names(OTELPROF_DOCTOR_LESS, "addresses are hidden");
}

static void test_no_kallsyms(void)
{
	TOOLS_RUN("mkdir -p proc && rm -f proc/kallsyms");
	check_names(OTELPROF_DOCTOR_LESS, "not readable");
	tools_write("proc/kallsyms", "");
	check_names(OTELPROF_DOCTOR_LESS, "not readable");
}

/* What the row of @feature says where @sys stands for /sys. */
static void check_probes(const char *feature, uint32_t state)
{
	struct otelprof_config config;
	struct found found = { .feature = feature };
	char root[128];

	(void)snprintf(root, sizeof(root), "%s/sys", tools_make_dir());
	otelprof_config_init(&config, sizeof(config));
	config.sysfs_root = root;
	CHECK(otelprof_doctor(&config, on_row, &found) >= 0);
	CHECK(found.seen);
	CHECK_INT(found.state, state);
}

/* A kernel with the one type of perf events and not the other, as one without kprobes. */
static void test_types_of_probes(void)
{
	TOOLS_RUN("mkdir -p sys/bus/event_source/devices/uprobe");
	tools_write("sys/bus/event_source/devices/uprobe/type", "8\n");
	check_probes("probes of programs and libraries", OTELPROF_DOCTOR_OK);
	check_probes("probes of kernel functions", OTELPROF_DOCTOR_LESS);
}

/* Where an iterator over the tasks is there for us, the doctor finds it. */
static void test_snapshots(void)
{
	struct found found = { .feature = "kind threads" };
	int fd = libbpf_find_vmlinux_btf_id("task", BPF_TRACE_ITER);

	if (fd < 0 || geteuid() != 0)
		SKIP("no rights or no BTF here");
	CHECK(otelprof_doctor(NULL, on_row, &found) >= 0);
	CHECK(found.seen);
	CHECK_STR(found.text, "one can be read");
	CHECK_INT(found.state, OTELPROF_DOCTOR_OK);
}

/* Let @number fail with EPERM in this process. */
static int refuse(unsigned int number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* In a child: what the doctor says of BPF, and why a start fails. */
static void check_refused(const char *word)
{
	struct found found = { .feature = "BPF" };
	struct otelprof_config config;
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof *p = NULL;
	int r;

	otelprof_config_init(&config, sizeof(config));
	CHECK_OK(otelprof_doctor(&config, on_row, &found));
	CHECK(found.seen);
	CHECK_INT(found.state, OTELPROF_DOCTOR_MISSING);
	CHECK(strstr(found.text, word));
	CHECK(!found.knows_kernel);
	r = otelprof_init(&config, &why, &p);
	CHECK_INT(r, -OTELPROF_E_CAPABILITY);
	CHECK(strstr(why.message, word));
	_exit(0);
}

static void check_child(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

static void test_a_refusal_is_named(void)
{
	pid_t child;

	if (geteuid())
		SKIP("not root");
	child = fork();
	if (child == 0) {
		CHECK_OK(refuse(SYS_bpf));
		check_refused("seccomp");
	}
	check_child(child);
	child = fork();
	if (child == 0) {
		if (unshare(CLONE_NEWUSER) < 0)
			_exit(0); /* this kernel allows none */
		check_refused("user namespace");
	}
	check_child(child);
}

TEST_MAIN({ "functions_come_first", test_functions_come_first },
	  { "per_cpu_symbols_come_first", test_per_cpu_symbols_come_first },
	  { "hidden_addresses", test_hidden_addresses },
	  { "no_kallsyms", test_no_kallsyms },
	  { "types_of_probes", test_types_of_probes }, { "snapshots", test_snapshots },
	  { "a_refusal_is_named", test_a_refusal_is_named })
