/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes room in the kernel's map of what is in use. The kernel lets fewer newcomers in where room
 * is scarce (op_heap_threshold()), so old samples would stay finer than new ones. Here all samples
 * of a process have an equal chance: one of weight W stays with the probability W / T and stands
 * for T then, where T is the largest threshold that is needed.
 */
#ifndef OP_PARTS_HEAP_THIN_H
#define OP_PARTS_HEAP_THIN_H

#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_thin_entry {
	uint64_t key; /* of the kernel's map */
	struct op_heap_live live;
};

/* The smallest power of two T such that at most @room of the @len entries are expected to stay;
 * 0: all of them may. @pid: of this process alone, or OP_HEAP_ALL. */
uint64_t op_thin_threshold(const struct op_thin_entry *entry, size_t len, uint32_t pid,
			   uint32_t room);
/* Thin the entries of @pid in the map @lives, as they are in @entry, with the numbers of
 * *@random. Entries that go get the pid of no process. */
void op_thin(int lives, struct op_thin_entry *entry, size_t len, uint32_t pid,
	     uint64_t threshold, uint64_t *random);

#endif
