/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration of a profiler. Every struct begins with its own size. Zero in a member is
 * its default, in parentheses here. A program built with an old header runs with a new
 * library. One built with a new header runs with an old library if it sets no member that
 * the old library lacks (-E2BIG otherwise). Members called reservedN must be zero.
 */
#ifndef OTELPROF_CONFIG_H
#define OTELPROF_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include <otelprof/macros.h>

OTELPROF_BEGIN_DECLS

struct otelprof;

/* Values of otelprof_config.log_level, the numbers of syslog(3). */
#define OTELPROF_LOG_ERROR   3
#define OTELPROF_LOG_WARNING 4
#define OTELPROF_LOG_INFO    6
#define OTELPROF_LOG_DEBUG   7

/** Receives a log line without a newline. It runs in the thread that calls the library,
 * also in otelprof_free(), or in the library's thread with threads = 1. */
typedef void (*otelprof_log_fn)(void *userdata, int level, const char *message);

/* A resource attribute or a header, in UTF-8. This struct never grows. */
struct otelprof_attribute {
	const char *key;
	const char *value;
};

/* Bits of otelprof_config.flags. */
#define OTELPROF_NO_KERNEL_STACKS (UINT64_C(1) << 0) /* user frames only */
#define OTELPROF_NO_USER_STACKS	  (UINT64_C(1) << 1) /* kernel frames only */
#define OTELPROF_NO_NATIVE_NAMES  (UINT64_C(1) << 2) /* the back end names native code */
#define OTELPROF_IDLE		  (UINT64_C(1) << 3) /* keep samples of the idle task */
#define OTELPROF_COMMAND_LINE	  (UINT64_C(1) << 4) /* process.command_args: may be secret */
#define OTELPROF_NO_START_SCAN	  (UINT64_C(1) << 5) /* learn of processes by events only */
#define OTELPROF_NO_BPF_LOOP	  (UINT64_C(1) << 6) /* the programs of kernels before 5.17 */
#define OTELPROF_NO_HOST	  (UINT64_C(1) << 7) /* no host.* and os.type on resources */
#define OTELPROF_NO_TAIL_CALLS	  (UINT64_C(1) << 8) /* the programs of aarch64 before 6.0 */
#define OTELPROF_WAKERS		  (UINT64_C(1) << 9)  /* who woke a thread that waited */
#define OTELPROF_AWAIT_CHAINS	  (UINT64_C(1) << 10) /* add what awaits what runs */

/* Bits of otelprof_config.runtimes_off. */
#define OTELPROF_RUNTIME_PYTHON	 (UINT64_C(1) << 1)
#define OTELPROF_RUNTIME_PHP	 (UINT64_C(1) << 2)
#define OTELPROF_RUNTIME_HOTSPOT (UINT64_C(1) << 3)
#define OTELPROF_RUNTIME_NODE	 (UINT64_C(1) << 4)
#define OTELPROF_RUNTIME_JITDUMP (UINT64_C(1) << 5)
#define OTELPROF_RUNTIME_RUBY	 (UINT64_C(1) << 6)
#define OTELPROF_RUNTIME_DOTNET	 (UINT64_C(1) << 7)
#define OTELPROF_RUNTIME_PERL	 (UINT64_C(1) << 8)
#define OTELPROF_RUNTIME_BEAM	 (UINT64_C(1) << 9)
#define OTELPROF_RUNTIME_LUA	 (UINT64_C(1) << 10)

/* Bits of otelprof_config.kinds, see otelprof_set_kinds(3). */
#define OTELPROF_KIND_CPU	      (UINT64_C(1) << 0)
#define OTELPROF_KIND_PAGE_FAULTS     (UINT64_C(1) << 1)
#define OTELPROF_KIND_OFF_CPU	      (UINT64_C(1) << 2)
#define OTELPROF_KIND_LOCKS	      (UINT64_C(1) << 3)
#define OTELPROF_KIND_BLOCK_IO	      (UINT64_C(1) << 4)
#define OTELPROF_KIND_SIGNALS	      (UINT64_C(1) << 5)
#define OTELPROF_KIND_WALL	      (UINT64_C(1) << 6)
#define OTELPROF_KIND_THREADS	      (UINT64_C(1) << 8)
#define OTELPROF_KIND_PROBES	      (UINT64_C(1) << 9)
#define OTELPROF_KIND_HEAP	      (UINT64_C(1) << 10)
#define OTELPROF_KIND_GOROUTINES      (UINT64_C(1) << 12)
#define OTELPROF_KIND_KERNEL_LOCKS    (UINT64_C(1) << 13)
#define OTELPROF_KIND_WAKERS	      (UINT64_C(1) << 14)
#define OTELPROF_KIND_GOROUTINE_WAITS (UINT64_C(1) << 15)

struct otelprof_config {
	size_t size;
	uint64_t flags;	       /* OTELPROF_NO_KERNEL_STACKS and so on */
	uint64_t runtimes_off; /* OTELPROF_RUNTIME_*, which get native frames only */
	uint64_t memory_budget_bytes; /* kernel memory for tables, up to 1 GiB (64 MiB) */
	uint64_t symbol_budget_bytes; /* names kept in user memory (64 MiB) */
	uint32_t sample_rate_hz;      /* samples a second and CPU, 1 to 1000 (20) */
	uint32_t max_frames;	      /* frames of a user stack, 16 to 1024 (1024) */
	uint32_t max_processes;	      /* processes known at once (8192) */
	uint32_t ring_bytes; /* kernel to user buffer, a power of two (by CPU count) */
	/* 0: all work runs inside otelprof_poll(). 1: a thread of the library works, from
	 * otelprof_start() to otelprof_stop(), and otelprof_poll() only waits. */
	uint32_t threads;
	uint32_t log_level;  /* the highest OTELPROF_LOG_* that is logged (WARNING) */
	otelprof_log_fn log; /* gets log lines (silent) */
	void *log_userdata;
	const char *procfs_root; /* the host's proc ("/proc") */
	const char *sysfs_root;	 /* the host's sysfs ("/sys") */
	/* service.name of processes that set none. "": no name (the executable's name) */
	const char *service_name;
	const struct otelprof_attribute *attributes; /* on every resource */
	size_t attributes_len;
	/* Names of variables to export as process.environment_variable.NAME, which may be
	 * secret. Besides, it reads only OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and
	 * variables of rules. */
	const char *const *environment;
	size_t environment_len; /* at most OTELPROF_ENVIRONMENT_MAX */
	uint64_t kinds;		/* OTELPROF_KIND_* (OTELPROF_KIND_CPU) */
	/* a directory of NAME.layout files for versions of runtimes that the library lacks */
	const char *layouts_dir;
	uint64_t off_cpu_min_ns;  /* leave out shorter times off the CPUs (0) */
	uint32_t off_cpu_samples; /* samples of a kind a second, 1 to 100000 (2000) */
	uint32_t probe_samples;	  /* a second and CPU of a probe, 1 to 1000000 (1000) */
	/* CPU time of the profiler and its BPF programs, in thousandths of one core, 1 to
	 * 1000000. To stay within it, the library lowers the rate and delays unwind tables
	 * and names of files. 0: no budget. */
	uint32_t cpu_budget_permille;
	uint32_t reserved1;
	/* Memory of BPF maps and library together, at least 16 MiB. Near the limit the
	 * library drops names, then unwind tables, then processes, the least recently used
	 * first. 0: each part has only its own limit. */
	uint64_t memory_limit_bytes;
	uint32_t poll_budget_ms; /* about the longest work of one poll, 1 to 1000 (20) */
	uint32_t reserved2;
};

#define OTELPROF_ENVIRONMENT_MAX 32

/** Set size to @size, sizeof(struct otelprof_config) in the caller, and all else to 0,
 * its default. The _init() calls of other structs do the same. */
OTELPROF_API void otelprof_config_init(struct otelprof_config *config, size_t size);

/* Values of otelprof_rule.kind: what the rule matches. */
#define OTELPROF_MATCH_ALL  0 /* everything */
#define OTELPROF_MATCH_PID  1 /* number: one process */
#define OTELPROF_MATCH_TREE 2 /* number: a process and its descendants */
#define OTELPROF_MATCH_COMM 3 /* text: the thread's command name, whole, 15 bytes */
#define OTELPROF_MATCH_UID  4 /* number: real user id */
/* text: a control group's path, with or without cgroup v2's mount. It matches child
 * groups too (Linux 5.16), and a new group of this path. */
#define OTELPROF_MATCH_CGROUP	   5
#define OTELPROF_MATCH_AGE	   6 /* number: least age of the process in nanoseconds */
#define OTELPROF_MATCH_CONTAINER   7 /* text: 4 or more digits of its id, or a name */
#define OTELPROF_MATCH_POD	   8 /* text: the uid of a Kubernetes pod */
#define OTELPROF_MATCH_EXECUTABLE  9 /* text: a path from / or *, a * matches any text */
#define OTELPROF_MATCH_ENVIRONMENT 10 /* text: NAME=VALUE or NAME at exec */

/* Values of otelprof_rule.action. */
#define OTELPROF_RULE_INCLUDE 0
#define OTELPROF_RULE_EXCLUDE 1
#define OTELPROF_RULE_RATE    2 /* a rate only, for processes that other rules choose */

/** One rule of an ordered list. The last matching rule that includes or excludes decides
 * whether a process is sampled. The last matching rule with a rate decides how often. If
 * no rule includes, processes that no rule excludes are sampled. */
struct otelprof_rule {
	size_t size;		 /* the same in a whole array */
	uint32_t kind;		 /* OTELPROF_MATCH_PID and so on */
	uint32_t action;	 /* OTELPROF_RULE_* */
	uint64_t number;	 /* for some kinds */
	const char *text;	 /* for the others */
	uint64_t duration_ns;	 /* the rule ends after this time (never) */
	uint32_t sample_rate_hz; /* 1 to 1000, not with _EXCLUDE (the profiler's) */
	uint32_t keep_one_in;	 /* with _INCLUDE, N: one sample in N, at random (all) */
};

#define OTELPROF_RULES_MAX 65536
#define OTELPROF_RATES_MAX 15  /* different rates of rules at once */
#define OTELPROF_AGES_MAX  16  /* different ages of rules at once */
#define OTELPROF_GLOBS_MAX 256 /* different paths with a * of rules at once */

OTELPROF_API void otelprof_rule_init(struct otelprof_rule *rule, size_t size);

OTELPROF_END_DECLS
#endif
