/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/heap/thin.h"

#include <bpf/bpf.h>
#include <stdbool.h>

#include "base/hash.h"

static bool is_of(const struct op_thin_entry *e, uint32_t pid)
{
	return e->live.pid != OP_HEAP_ALL && (pid == OP_HEAP_ALL || e->live.pid == pid);
}

static uint64_t weight_of(const struct op_thin_entry *e)
{
	return e->live.value & OP_HEAP_BYTES_MAX;
}

/* How many entries are expected to stay at @threshold. */
static double expected(const struct op_thin_entry *entry, size_t len, uint32_t pid,
		       uint64_t threshold)
{
	double n = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		double weight = (double)weight_of(&entry[i]);

		if (is_of(&entry[i], pid))
			n += weight < (double)threshold ? weight / (double)threshold : 1;
	}
	return n;
}

uint64_t op_thin_threshold(const struct op_thin_entry *entry, size_t len, uint32_t pid,
			   uint32_t room)
{
	uint64_t threshold = 1;

	if (expected(entry, len, pid, 0) <= room)
		return 0;
	while (threshold < OP_HEAP_BYTES_MAX &&
	       expected(entry, len, pid, threshold) > room)
		threshold *= 2;
	return threshold < OP_HEAP_BYTES_MAX ? threshold : OP_HEAP_BYTES_MAX;
}

static bool stays(uint64_t weight, uint64_t threshold, uint64_t *random)
{
	return (double)(op_random_next(random) >> 32) * 0x1p-32 * (double)threshold <
	       (double)weight;
}

void op_thin(int lives, struct op_thin_entry *entry, size_t len, uint32_t pid,
	     uint64_t threshold, uint64_t *random)
{
	size_t i;

	for (i = 0; i < len; i++) {
		struct op_thin_entry *e = &entry[i];
		uint64_t weight = weight_of(e);
		struct op_heap_live now;

		if (!is_of(e, pid) || weight >= threshold)
			continue;
		/* freed meanwhile, or allocated again */
		if (bpf_map_lookup_elem(lives, &e->key, &now) < 0 ||
		    now.time_ns != e->live.time_ns || now.tid != e->live.tid)
			continue;
		if (stays(weight, threshold, random)) {
			e->live.value = (e->live.value & ~OP_HEAP_BYTES_MAX) | threshold;
			(void)bpf_map_update_elem(lives, &e->key, &e->live, BPF_EXIST);
		} else {
			(void)bpf_map_delete_elem(lives, &e->key);
			e->live.pid = OP_HEAP_ALL;
		}
	}
}
