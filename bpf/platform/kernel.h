/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few of the kernel's types that the programs use. The loader relocates member
 * offsets (CO-RE), so only the names must match the kernel's.
 */
#ifndef OP_KERNEL_H
#define OP_KERNEL_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	PF_EXITING = 0x00000004,
	PF_KTHREAD = 0x00200000,
};

/* These have a flavour suffix, so that a program can ask whether the running kernel has
 * the helper (bpf_core_enum_value_exists()). */
enum bpf_func_id___probe {
	BPF_FUNC_get_current_task_btf___probe = 158, /* 5.11 */
	BPF_FUNC_task_pt_regs___probe = 175,	     /* 5.15 */
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
	unsigned int level;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct percpu_counter {
	__s64 count;
};

enum {
	MM_FILEPAGES = 0,
	MM_ANONPAGES = 1,
	MM_SHMEMPAGES = 3,
	NR_MM_COUNTERS = 4,
};

struct xol_area {
	unsigned long vaddr; /* to which functions with a uretprobe return */
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct uprobes_state uprobes_state;
	unsigned long exec_vm;
	unsigned long start_stack;
	unsigned long task_size;
	struct percpu_counter rss_stat[NR_MM_COUNTERS]; /* 6.2 */
};

typedef struct {
	__s64 counter;
} atomic_long_t;

struct mm_rss_stat {
	atomic_long_t count[NR_MM_COUNTERS];
};

struct mm_struct___old {
	struct mm_rss_stat rss_stat; /* before 6.2 */
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
};

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct thread_uw {
	unsigned long tp_value;
};

struct thread_struct {
	struct thread_uw uw;
};

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__s32 syscallno;
};
#endif

struct signal_struct {
	int group_exit_code;
	unsigned int flags;
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t uid;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct linux_binprm {
	const char *interp;
};

struct block_device {
	unsigned int bd_dev; /* 20 bits of minor number */
};

struct gendisk {
	int major;
	int first_minor;
};

struct bvec_iter {
	unsigned int bi_size; /* bytes */
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev; /* 5.12 */
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
};

struct bio___old {
	struct gendisk *bi_disk; /* before 5.12 */
	__u8 bi_partno;
};

struct request {
	struct bio *bio;
	unsigned int cmd_flags;
};

/* A call whose return address a uretprobe has replaced; the innermost is the first. */
struct return_instance {
	unsigned long stack; /* the sp at its entry */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long vaddr;	 /* the instruction that is probed */
	unsigned long xol_vaddr; /* its copy, while that runs */
};

struct task_struct {
	unsigned int flags;
	unsigned int in_execve : 1;
	int pid;
	int tgid;
	void *stack;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	__u64 start_time;
	unsigned int __state; /* 5.14 */
	unsigned int in_iowait : 1;
	unsigned int frozen : 1; /* by the freezer of cgroup v2; since 5.2 */
	int on_cpu;
	int exit_state;
	int exit_code;
	unsigned long nvcsw;
	unsigned long nivcsw;
	const struct cred *real_cred;
	struct css_set *cgroups;
	struct uprobe_task *utask;
	char comm[16];
	struct thread_struct thread;
};

struct task_struct___old {
	long state; /* before 5.14 */
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* The context of a raw tracepoint's program: the kernel's arguments. */
struct bpf_raw_tracepoint_args {
	__u64 args[3];
};

/* The output of bpf_perf_prog_read_value(), with a fixed layout. */
struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

/* The context of a perf_event program: a fixed layout of the kernel's user interface. */
struct bpf_perf_event_data {
#if defined(__TARGET_ARCH_x86)
	/* bpf_user_pt_regs_t of x86-64 */
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31];
	__u64 sp, pc, pstate;
#endif
	__u64 sample_period;
	__u64 addr;
};

#endif
