/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes entries at random from the kernel's map of allocations in use. The kernel
 * accepts fewer new entries as the map fills (op_heap_threshold()), so without this old
 * samples would be finer than new ones. Thinning gives all samples of a process the
 * same threshold T, the largest that is needed: a sample of weight W < T stays with
 * probability W / T, and then stands for T.
 */
#ifndef OP_PARTS_HEAP_THIN_H
#define OP_PARTS_HEAP_THIN_H

#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_thin_entry {
	uint64_t key; /* capacity of the kernel's map */
	struct op_heap_live live;
};

/* The smallest power of two T at which at most @room of the @len entries are expected
 * to stay. 0: all may stay. @pid: only entries of this process, or OP_HEAP_ALL. */
uint64_t op_thin_threshold(const struct op_thin_entry *entry, size_t len, uint32_t pid,
			   uint32_t room);
/* Thin the entries of @pid in the map @lives, as they are in @entry, with the numbers of
 * *@random. Entries that go get the pid of no process. */
void op_thin(int lives, struct op_thin_entry *entry, size_t len, uint32_t pid,
	     uint64_t threshold, uint64_t *random);

#endif
