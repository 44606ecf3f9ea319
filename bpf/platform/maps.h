/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All maps: who writes them, who reads them, how large they are. An entry count marked
 * with * is set before loading.
 */
#ifndef OP_MAPS_H
#define OP_MAPS_H

#include <bpf/bpf_helpers.h>

enum {
	OP_OBJECT_SETS_BITS = 13,
	OP_OBJECT_SETS = 1 << OP_OBJECT_SETS_BITS,
	/* The state of an object: its identity << 32, and these bits: */
	OP_OBJECT_KEY = 0xff,	  /* of the key */
	OP_OBJECT_OLD = 1 << 8,	  /* it has been the same for a while */
	OP_OBJECT_SHORT = 1 << 9, /* its memory will soon belong to another object */
	/* time when it was met, or when an old one was last read */
	OP_OBJECT_TIME_SHIFT = 10,
	OP_OBJECT_TIME_MASK = (1 << 22) - 1, /* in units of 2^20 ns */
	OP_OBJECT_OLD_AFTER = 1000,	     /* of such units */
};

/* One slab of the arena. User space writes it through mmap, programs read it. */
struct op_slab_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OP_SLAB_BYTES);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
};

/* The arena: slab number -> slab. User space adds slabs on demand. 8 bytes an entry. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, OP_SLABS_MAX);
	__type(key, __u32);
	__array(values, struct op_slab_map);
} op_slabs SEC(".maps");

/* Unwind rules, shared by all executables. User space only ever appends. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, OP_UNWIND_RULES_MAX);
	__type(key, __u32);
	__type(value, struct op_unwind_rule);
} op_rules SEC(".maps");

/*
 * pid -> the process's tables in the arena. User space writes. About 80 bytes an entry.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192); /* * max_processes */
	__type(key, __u32);
	__type(value, struct op_process_key);
} op_processes SEC(".maps");

/* Slots for walks on each CPU: 20 KiB a slot and CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* * kinds that are on */
	__type(key, __u32);
	__type(value, struct op_slot);
} op_slots SEC(".maps");

/* enum op_event -> the event's counters on each CPU. Programs write. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OP_EVENT_MAX); /* * kinds there are */
	__type(key, __u32);
	__type(value, struct op_counts);
} op_counters SEC(".maps");

/* One struct op_control. User space writes through mmap. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_control);
} op_controls SEC(".maps");

/* Records to user space. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* * ring_bytes */
} op_ring SEC(".maps");

/* pid -> how many stack copies the process may still have, on each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OP_COPIERS);
	__type(key, __u32);
	__type(value, struct op_copier);
} op_copiers SEC(".maps");

/* Rules, keyed by target. User space writes. */
struct op_rule_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* each is made with its size */
	__uint(key_size, sizeof(struct op_rule_key));
	__uint(value_size, sizeof(struct op_rule_decision));
};

/* The list of rules in force, at op_control.rules_active, and the one before. The first
 * is made for the first rule. About 100 bytes a rule. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct op_rule_map);
} op_targets SEC(".maps");

/* The position of each rate on each CPU. Programs write. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OP_RATES_MAX);
	__type(key, __u32);
	__type(value, struct op_thinning);
} op_thinnings SEC(".maps");

/* The clocks of each CPU. Programs write. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OP_CLOCKS);
	__type(key, __u32);
	__type(value, struct op_clock);
} op_clocks SEC(".maps");

/* Stack hash -> the window in which the stack was announced. Programs write. About 100
 * bytes an entry. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* * OP_ANNOUNCED_MAX if a kind that names stacks is on */
	__type(key, struct op_hash);
	__type(value, __u32);
} op_announced SEC(".maps");

/* pid -> when a table was last requested, CLOCK_MONOTONIC ns. Programs write. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} op_requests SEC(".maps");

/*
 * The objects that were sent, by a hash of process and frame: 32,768 of them in 512
 * KiB, in sets of four, the latest first. Programs write. CPUs may write at once, so
 * each word is valid by itself: a state belongs to the key with the same low byte.
 */
struct op_objects_met {
	__u64 key[4];
	__u64 state[4]; /* OP_OBJECT_* */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OP_OBJECT_SETS);
	__type(key, __u32);
	__type(value, struct op_objects_met);
} op_objects SEC(".maps");

/* Process -> the place of its threads' context. User space writes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OP_CONTEXTS_MAX);
	__type(key, __u32);
	__type(value, struct op_context_place);
} op_contexts SEC(".maps");

/* Labels -> the window they were announced in. Programs write. About 100 bytes an entry. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OP_LABEL_SETS_MAX);
	__type(key, struct op_hash);
	__type(value, __u32);
} op_label_sets SEC(".maps");

/*
 * The programs that walk the user stack. User space replaces them when a runtime is
 * added. In a kernel one such map holds programs of one type only, so there is a map
 * for each type of entry program. A walk begins at index 0. On kernels without
 * bpf_loop() each runtime has a program of its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, OP_RUNTIME_MAX);
	__type(key, __u32);
	__type(value, __u32);
} op_walkers SEC(".maps");

static __always_inline struct op_control *op_control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&op_controls, &zero);
}

#endif
