/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Settings of user space for the kernel programs, and the programs' counters. */
#ifndef OP_CONTROL_H
#define OP_CONTROL_H

#include "op_heap.h"
#include "op_records.h"

enum {
	OP_CPUS_MAX = 4096,
};

/* ---- counters: one struct op_counts for each CPU and kind of event ---- */
enum op_counter {
	OP_COUNT_TAKEN = 0,
	OP_COUNT_IDLE,	    /* filtered: the idle task */
	OP_COUNT_FILTERED,  /* filtered: by rule */
	OP_COUNT_RING_FULL, /* dropped */
	OP_COUNT_NESTED,    /* dropped: all of the CPU's slots were in use */
	OP_COUNT_OUTPUT,    /* records put in the ring */
	OP_COUNT_COMPLETE,
	OP_COUNT_TRUNCATED,
	OP_COUNT_BROKEN,
	OP_COUNT_UNKNOWN,   /* records with registers and stack */
	OP_COUNT_ANNOUNCED, /* stacks put in the ring */
	OP_COUNT_REQUESTED, /* requests put in the ring */
	OP_COUNT_NO_TABLE,  /* samples whose stack ends in code whose table is not made */
	OP_COUNT_NO_MEMORY, /* dropped: a map of the kind was full */
	OP_COUNT_SPENT_NS,  /* from the entry to the end of a sample */
	/* Not a sum: the threshold T of a kind that samples by duration (off/off.h). */
	OP_COUNT_THRESHOLD_NS,
	/* OP_EVENT_HEAP: allocations that are not tracked as in use */
	OP_COUNT_UNTRACKED,
	/* of OP_COUNT_FILTERED: ticks that a lower rate leaves out */
	OP_COUNT_THINNED,
	OP_COUNT_CONTEXTS,	    /* samples with a context */
	OP_COUNT_CONTEXT_UNREAD,    /* the memory of a context could not be read */
	OP_COUNT_CONTEXT_CUT,	    /* labels that are too many or too long */
	OP_COUNT_OBJECTS,	    /* objects that name functions, put in the ring */
	OP_COUNT_OBJECTS_LOST,	    /* no space in the ring: they are tried again */
	OP_COUNT_OBJECTS_FORGOTTEN, /* replaced by others: they are sent again */
	OP_COUNT_ERRORS = 32,	    /* the first error; its number is OP_ERROR_FIRST */
	OP_COUNTERS = 160,
};

struct op_counts {
	__u64 value[OP_COUNTERS];
};

enum {
	/* different rates at a time. Number 0 is the rate where no rule sets another. */
	OP_RATES_MAX = 16,
	OP_AGES_MAX = 16, /* different ages of rules at a time */
	OP_INTERPRETERS_MAX = 16,
};

/* The first bytes of the base name of an interpreter's file: `bytes` under `mask`. */
struct op_interpreter {
	__u64 bytes;
	__u64 mask; /* 0: none */
};

/* A list of rules, without its table. */
struct op_rule_use {
	__u32 kinds;	     /* a bit for each enum op_rule_kind among them */
	__u32 cgroup_depths; /* a bit for each depth of their cgroups */
	__u32 include;	     /* one includes: a process that none includes is left out */
	__u32 random;	     /* one of them keeps one in several samples */
	__u64 trees; /* a bit pid % 64 for each process whose tree a rule matches */
	__u64 age_ns[OP_AGES_MAX]; /* different ages of rules, and 0 */
};

/* Values that user space sets while the programs run, and values that they set for user
 * space. Each member is one aligned word. */
struct op_control {
	/* The index, in op_targets and below, of the list of rules in force. It changes
	 * when a whole list replaces another. */
	__u32 rules_active;
	__u32 window;	 /* grows; stacks announced in an earlier window are forgotten */
	__u32 pid_level; /* depth of the profiler's PID namespace; 0: not known yet */
	__u32 rules_changed; /* grows with each change of a rule */
	/* What each tick reads is in as few cache lines as possible. */
	__u64 clock_ns; /* from one sample of a clock to the next, on average */
	__u64 tick_ns;	/* from one tick of the clocks to the next */
	__u64 contexts; /* 1: a process may have a context of its threads */
	/* For each rate of each list: the period of its samples in ns, << 32, and its
	 * share of the clock's ticks, in units of 2^-32, 0: all. */
	__u64 rate[2 * OP_RATES_MAX];
	struct op_rule_use used[2];
	struct op_interpreter interpreter[OP_INTERPRETERS_MAX];
};

/* In op_settings.runtimes_on: steps follow what awaits what runs (runtime/await). */
#define OP_STEPS_AWAIT (1ULL << 63)

/* Settings that are fixed before the programs are loaded: constants for the verifier. */
struct op_settings {
	/* bit 1 << enum op_runtime: the walker contains its step. And OP_STEPS_AWAIT. */
	__u64 runtimes_on;
	/* user space is woken when this much of the ring is waiting */
	__u64 wakeup_bytes;
	__u64 hash_seed;
	__u32 max_frames;
	/*
	 * The slots of programs of this type. `slots` is how many of their walks may be
	 * active at once on one CPU, 1 to OP_SLOTS_MAX. `slot_first` is the number of
	 * the first slot. `slot_alone` is set for programs that never interrupt each
	 * other.
	 */
	__u32 slots;
	__u32 slot_first;
	__u32 slot_alone;
	__u32 detail; /* op_record.detail of this entry's samples */
	/* inode of the profiler's PID namespace; 0: the initial one */
	__u32 pid_namespace;
	__u8 kernel_stacks;
	__u8 user_stacks;
	__u8 keep_idle;
	/*
	 * The kernel has bpf_get_current_ancestor_cgroup_id() for tracing programs
	 * (5.16). Without it a cgroup rule matches the cgroup itself, but not its
	 * descendants.
	 */
	__u8 cgroup_ancestors;
	__u8 holds;   /* samples wait in op_held until their event ends */
	__u8 wakers;  /* the thread that woke, or was woken, is noted and sent */
	__u8 objects; /* objects that name functions are copied when they are first met */
	__u8 reserved0[5];
	/* samples per second and CPU, of kinds that sample by duration (off/off.h) */
	__u32 event_budget;
	__u64 min_ns; /* shorter intervals are filtered out */
	/* of the kind heap's probe; or the first one, of a probe with a value */
	struct op_argument argument[OP_ARGUMENTS_MAX];
};

/* The position of a CPU in the pieces of one rate (rules/thin.h), in units of 2^-32 of a
 * piece. */
struct op_thinning {
	__u32 at;
	__u32 point; /* the tick that contains it is taken */
	__u32 owed;  /* two points were in one tick: the next tick is taken, too */
	__u32 begun; /* the first position and point are drawn */
};

/* The clocks of a CPU: each kind that ticks has a perf event of its own. */
enum op_clock_number {
	OP_CLOCK_CPU = 0,
	OP_CLOCK_WALL,
	OP_CLOCKS,
};

/* The next sample of a clock (event/clock.h). */
struct op_clock {
	__u64 now_ns;	/* the clock's own time */
	__u64 point_ns; /* the first tick from this time on is taken */
	__u64 end_ns;	/* of the interval that contains the point */
	__u64 last_ns;	/* CLOCK_MONOTONIC at the last tick, taken or not */
	__u64 tick_ns;	/* op_control.tick_ns at the last tick, or its old value */
};

enum {
	/* a walk of a task, and walks that may interrupt it and each other */
	OP_SLOTS_MAX = 4,
};

/* ---- copies of stacks ---- */
enum {
	OP_COPIERS = 64, /* entries; a process uses entry pid % OP_COPIERS */
	OP_COPIES_MAX = 64,
	OP_COPY_UNITS = 32, /* the cost of a copy; one that is likely to help costs one */
};

/*
 * The budget of stack copies of a process on one CPU. A copy that does not help is made
 * again at the next sample. So each process may have a few at once, and then ten per
 * second.
 */
struct op_copier {
	__u64 time_ns; /* when the last copy was added to the budget */
	__u32 pid;
	__u32 left;	  /* units */
	__u32 generation; /* of the process at its last copy */
	__u32 reserved;
};

/* ---- rules ---- */

/* The kinds of targets by which rules are found. */
enum op_rule_kind {
	OP_RULE_PID = 0,
	OP_RULE_CGROUP,
	OP_RULE_COMM,
	OP_RULE_UID,
	OP_TARGET_ALL,	/* the word is 0 */
	OP_TARGET_TREE, /* the pid of the process or of an ancestor */
	OP_TARGET_AGE,	/* one of op_rule_use.age_ns */
	/* Processes for which user space found a rule: their pids. */
	OP_RULE_EXECUTABLE, /* removed at exec */
	/* kept at exec, until user space has examined the process again */
	OP_RULE_ENVIRONMENT,
	OP_RULE_KINDS,
};

enum {
	OP_RULE_KINDS_OF_PROGRAMS = 1 << OP_RULE_EXECUTABLE | 1 << OP_RULE_ENVIRONMENT,
};

struct op_rule_key {
	__u64 word[2]; /* the number and 0, or the command name */
	__u32 kind;    /* enum op_rule_kind */
	__u32 reserved0;
};

/* The verdict of a rule on a sample. */
enum op_verdict {
	OP_VERDICT_NONE = 0, /* the rule does not match */
	OP_VERDICT_KEEP,
	OP_VERDICT_DROP,
};

enum {
	OP_RULE_SHIFT = 8,
	OP_RULE_MASK = 0xff,
	OP_CGROUP_DEPTHS = 16, /* cgroups of rules are less deep than this */
};

/*
 * The decision of the rules with one key. The first two have a rule's rank <<
 * OP_RULE_SHIFT, and an enum op_verdict or the number of a rate. The largest of several
 * values belongs to the last rule.
 */
struct op_rule_decision {
	__u64 verdict;
	__u64 rate;
	__u64 keep_one_in; /* of a verdict to keep: keep one in so many; 0, 1: all */
};

_Static_assert(sizeof(struct op_rule_key) == 24, "layout");
_Static_assert(sizeof(struct op_rule_decision) == 24, "layout");

#endif
