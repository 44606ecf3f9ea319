/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All maps: who writes, who reads, how large. Sizes marked * are set before loading. */
#ifndef OP_MAPS_H
#define OP_MAPS_H

#include <bpf/bpf_helpers.h>

/* One slab of the arena. User space writes through mmap, programs read. */
struct op_slab_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OP_SLAB_BYTES);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
};

/* The arena: slab number -> slab. Slabs are made on demand. 8 bytes an entry. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, OP_SLABS_MAX);
	__type(key, __u32);
	__array(values, struct op_slab_map);
} op_slabs SEC(".maps");

/* Unwind rules, shared by all executables; only ever appended to. User space writes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, OP_RULES_MAX);
	__type(key, __u32);
	__type(value, struct op_rule);
} op_rules SEC(".maps");

/* Process -> its tables in the arena. User space writes. About 80 bytes an entry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192); /* * max_processes */
	__type(key, __u32);
	__type(value, struct op_process_key);
} op_processes SEC(".maps");

/* State of the walk on each CPU: 20 KiB a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct op_cpu);
} op_cpus SEC(".maps");

/* enum op_counter and the errors, a value per CPU. Programs write. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OP_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} op_counters SEC(".maps");

/* Records to user space. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20); /* * ring_bytes */
} op_ring SEC(".maps");

/* Two filters; op_filter_active says which is in force. User space writes the other. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct op_filter);
} op_filters SEC(".maps");

/* The program that walks the user stack; replaced when a runtime is added. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} op_walkers SEC(".maps");

static __always_inline struct op_cpu *op_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&op_cpus, &zero);
}

#endif
