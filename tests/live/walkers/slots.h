/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of slots.bpf.c count on each CPU. */
#ifndef TEST_SLOTS_H
#define TEST_SLOTS_H

struct test_slots {
	__u64 taken;
	__u64 nested;	   /* of them, while the task had one already */
	__u64 beside;	   /* of them, while the CPU's other slot was in use */
	__u64 none;	   /* all were in use */
	__u64 overwritten; /* somebody else used ours */
	__u64 not_found;   /* the deepest slot of the task was not ours */
};

#endif
