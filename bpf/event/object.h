/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects that name functions. A copy is sent when a walk first meets one, because the
 * body of a module or a generated function may be gone before user space reads it.
 * op_objects remembers the ones that were sent. A full set forgets the least recently
 * met one, which is sent again at its next walk.
 *
 * An object's memory may become another's, so a walk reads the bytes that differ
 * between the two. One read a frame is expensive, and functions of a program live as
 * long as it does. So an object that was the same for a second is read once a second,
 * and in one frame of sixteen. Short-lived objects, and memory that was another
 * object's before, are read in each frame. So are all objects of a process for a minute
 * after one of them became another: the next may be one that was the same for a second.
 *
 * A copy must not cost a sample. So a walk sends only a few, and none when little of
 * the ring is left, less than copies of stacks leave.
 */
#ifndef OP_OBJECT_H
#define OP_OBJECT_H

#include "bpf/event/count.h"
#include "bpf/event/slot.h"
#include "op_php.h"

enum {
	OP_OBJECTS_A_WALK = 32,
	OP_OBJECT_REUSE_TIME = 60000, /* a minute, in units of op_object_time() */
};

/* In place of a frame's word: the state is the time at which an object of the process
 * became another. */
#define OP_OBJECT_REUSE (~0ULL)

/* The address of the element for @step, or 0. */
static __always_inline __u64 op_object_element(const struct op_object_copy *o,
					       const struct op_object_step *step)
{
	__u32 of = o->start[step->piece & (OP_OBJECT_STEPS + 1)] -
		   sizeof(struct op_object_piece);
	__u32 index = o->start[step->tag & (OP_OBJECT_STEPS + 1)] + step->width_at;

	op_platform_bound(of);
	op_platform_bound(index);
	if (of > OP_OBJECT_BYTES - sizeof(__u64) ||
	    index > OP_OBJECT_BYTES - sizeof(__u16))
		return 0;
	return *(__u64 *)(o->pieces + of) + step->at +
	       (step->most & OP_OBJECT_PAIRS ? 16ULL : 8ULL) *
		       *(__u16 *)(o->pieces + index);
}

/* Copy piece number @i of slot @number's object. Returns 0 after the last. Global, so
 * that the verifier checks it once. */
__attribute__((noinline)) int op_object_piece(__u32 number, __u32 i);
__attribute__((noinline)) int op_object_piece(__u32 number, __u32 i)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_object_piece piece = { 0 };
	struct op_object_copy *o;
	struct op_object_step step;
	__u32 length = 0;
	__u8 width = 0;
	__u64 row;
	__u32 to;

	if (!slot || i >= OP_OBJECT_STEPS)
		return 0;
	o = &slot->object;
	row = op_arena_u64(&slot->unwind, op_state(&slot->unwind)->ref,
			   o->recipe + i * sizeof(step));
	__builtin_memcpy(&step, &row, sizeof(step));
	to = o->start[step.piece & (OP_OBJECT_STEPS + 1)] + step.at;
	op_platform_bound(to);
	if (!step.bytes || to > OP_OBJECT_BYTES - sizeof(piece.at))
		return 0;
	piece.at = i ? *(__u64 *)(o->pieces + to) - step.tag : o->addr;
	if (step.most & OP_OBJECT_ELEMENT)
		piece.at = op_object_element(o, &step);
	to = o->bytes;
	op_platform_bound(to);
	op_platform_bound(i);
	if (to > OP_OBJECT_BYTES - OP_OBJECT_PIECE_MAX || i >= OP_OBJECT_STEPS)
		return 0;
	o->start[i] = to + sizeof(piece);
	if (step.length_at && bpf_probe_read_user(&length, sizeof(length),
						  (void *)(piece.at + step.length_at)))
		length = 0;
	if (step.most & OP_OBJECT_SHORT_LENGTH)
		length &= 0xffff;
	if (step.most & OP_OBJECT_WORDS)
		length = length * 8 - step.bytes;
	if (step.width_at && !(step.most & OP_OBJECT_ELEMENT) &&
	    !bpf_probe_read_user(&width, sizeof(width),
				 (void *)(piece.at + step.width_at)))
		length *= width >> 2 & 7;
	if (length > (step.most & OP_OBJECT_MOST))
		length = step.most & OP_OBJECT_MOST;
	op_platform_bound(length);
	if (length > OP_OBJECT_CHARS_MAX)
		length = OP_OBJECT_CHARS_MAX;
	length += step.bytes;
	op_platform_bound(length);
	if (length > OP_OBJECT_CHARS_MAX + 255 ||
	    bpf_probe_read_user(o->pieces + to + sizeof(piece), length, (void *)piece.at))
		length = 0;
	piece.bytes = length;
	*(struct op_object_piece *)(o->pieces + to) = piece;
	o->bytes = to + sizeof(piece) + ((length + 7) & ~7u);
	return (int)(length || i);
}

/* A function of its own, which the verifier checks once: a function of PHP has three
 * texts. */
__attribute__((noinline)) int op_object_php_text(__u64 addr)
{
	__u64 word[OP_PHP_TEXT_WORDS] = { 0 };

	if (!addr || bpf_probe_read_user(word, 2 * sizeof(*word),
					 (void *)(addr + OP_PHP_STRING_HASH)))
		return 0;
	if (!word[0])
		(void)bpf_probe_read_user(word + 2, OP_PHP_TEXT_BYTES,
					  (void *)op_php_text_at(addr, word[1]));
	return (int)op_php_text_id(word);
}

static __always_inline __u32 op_object_age(const struct op_slot *slot, __u64 state)
{
	return (op_object_time(slot->record.time_ns) -
		(__u32)(state >> OP_OBJECT_TIME_SHIFT)) &
	       OP_OBJECT_TIME_MASK;
}

/* The set that contains the object of frame @word, if any. *@ret_key: its key. */
static __always_inline struct op_objects_met *op_object_set(const struct op_slot *slot,
							    __u64 word, __u64 *ret_key)
{
	__u64 key = op_object_key(word, slot->record.pid);
	__u32 i = (__u32)(key >> (64 - OP_OBJECT_SETS_BITS));

	*ret_key = key;
	return bpf_map_lookup_elem(&op_objects, &i);
}

/* The state of the object of @key, or 0. */
static __always_inline __u64 op_object_state(const struct op_objects_met *met, __u64 key)
{
	__u64 state = 0;
	__u32 i;

#pragma unroll
	for (i = 0; i < 4; i++)
		if (met->key[i] == key)
			state = met->state[i];
	return (state & OP_OBJECT_KEY) == (key & OP_OBJECT_KEY) ? state : 0;
}

/* Put the state of the object of @key where it stands, or in the first place. */
static __always_inline void op_object_note(struct op_counts *counts,
					   struct op_objects_met *met, __u64 key,
					   __u64 state)
{
	__u32 i;

	state |= key & OP_OBJECT_KEY;
#pragma unroll
	for (i = 0; i < 4; i++)
		if (met->key[i] == key) {
			met->state[i] = state;
			return;
		}
	if (met->key[3])
		op_count_in(counts, OP_COUNT_OBJECTS_FORGOTTEN);
#pragma unroll
	for (i = 3; i > 0; i--) {
		met->key[i] = met->key[i - 1];
		met->state[i] = met->state[i - 1];
	}
	met->key[0] = key;
	met->state[0] = state;
}

/* Did an object of slot @number's process become another in the last minute? */
__attribute__((noinline)) int op_object_is_reused(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_objects_met *met;
	__u64 state;
	__u64 key;

	if (!slot)
		return 0;
	met = op_object_set(slot, OP_OBJECT_REUSE, &key);
	if (!met)
		return 0;
	state = op_object_state(met, key);
	return state && op_object_age(slot, state) < OP_OBJECT_REUSE_TIME;
}

/* Do not look up the state of an object for @units of time. */
static __always_inline void op_object_is_known(struct op_slot *slot, __u64 key,
					       __u32 check, __u32 units)
{
	struct op_object_known *known = &slot->known[key >> (64 - OP_OBJECTS_KNOWN_BITS)];

	known->key = key;
	known->check = check;
	known->until = op_object_time(slot->record.time_ns) + units;
}

/* Is the object of slot @number's frame @word old, and was it read a short time ago? */
__attribute__((noinline)) int op_object_look(__u32 number, __u64 word)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_objects_met *met;
	__u64 stale;
	__u64 state;
	__u64 key;
	__u32 age;

	if (!slot)
		return 0;
	(void)op_object_entry(slot, word, &stale);
	if (!stale)
		return 0;
	met = op_object_set(slot, word, &key);
	if (!met)
		return 0;
	state = op_object_state(met, key);
	age = op_object_age(slot, state);
	if (!(state & OP_OBJECT_OLD) || age >= OP_OBJECT_OLD_AFTER ||
	    op_object_is_reused(number))
		return 0;
	op_object_is_known(slot, key, (__u32)(state >> 32), OP_OBJECT_OLD_AFTER - age);
	return 1;
}

/* Send the object of slot @number's frame @word. Returns whether the ring took it. */
__attribute__((noinline)) int op_object_send(__u32 number, __u32 recipe, __u64 word,
					     __u32 check);
__attribute__((noinline)) int op_object_send(__u32 number, __u32 recipe, __u64 word,
					     __u32 check)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_object_copy *o;
	__u32 bytes;
	__u32 i;

	if (!slot)
		return 0;
	o = &slot->object;
	if (slot->objects >= OP_OBJECTS_A_WALK || op_ring_has(7))
		return 0;
	slot->objects++;
	o->recipe = recipe;
	o->addr = word & OP_FRAME_ADDRESS_MASK;
	o->bytes = 0;
	if (!op_object_piece(number, 0))
		return 0;
	for (i = 1; i < OP_OBJECT_STEPS; i++)
		if (!op_object_piece(number, i))
			break;
	bytes = sizeof(o->record) + o->bytes;
	op_platform_bound(bytes);
	if (bytes > sizeof(o->record) + OP_OBJECT_BYTES)
		return 0;
	o->record.header.type = OP_RECORD_OBJECT;
	o->record.header.version = OP_RECORD_VERSION;
	o->record.header.bytes = bytes;
	o->record.time_ns = slot->record.time_ns;
	o->record.frame = word;
	o->record.pid = slot->record.pid;
	o->record.generation = slot->record.generation;
	o->record.check = check;
	o->record.reserved0 = 0;
	return !bpf_ringbuf_output(&op_ring, &o->record, bytes, BPF_RB_NO_WAKEUP);
}

enum op_object_answer {
	OP_OBJECT_IS_KNOWN,
	OP_OBJECT_IS_OLD, /* since now */
	OP_OBJECT_IS_NEW,
	OP_OBJECT_IS_ANOTHER, /* than the one that its memory was */
	OP_OBJECT_IS_LOST,
};

__attribute__((noinline)) int op_object_ask(__u32 number, __u64 word, __u32 check);
__attribute__((noinline)) int op_object_ask(__u32 number, __u64 word, __u32 check)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_objects_met *met;
	__u64 state;
	__u64 key;
	__u32 age;

	if (!slot)
		return OP_OBJECT_IS_KNOWN;
	met = op_object_set(slot, word, &key);
	if (!met)
		return OP_OBJECT_IS_KNOWN;
	state = op_object_state(met, key);
	age = op_object_age(slot, state);
	if (!state)
		return OP_OBJECT_IS_NEW;
	if ((__u32)(state >> 32) != check) {
		op_object_is_known(slot, key, check, 0);
		return OP_OBJECT_IS_ANOTHER;
	}
	if (state & OP_OBJECT_SHORT ||
	    (age >= OP_OBJECT_OLD_AFTER && op_object_is_reused(number)))
		age = 0;
	if (age < OP_OBJECT_OLD_AFTER) {
		op_object_is_known(slot, key & ~1ULL, check, OP_OBJECT_OLD_AFTER - age);
		return OP_OBJECT_IS_KNOWN;
	}
	op_object_is_known(slot, key, check, OP_OBJECT_OLD_AFTER);
	return OP_OBJECT_IS_OLD;
}

__attribute__((noinline)) int op_object_keep(__u32 number, __u64 word, __u32 check,
					     __u32 answer, __u32 is_short);
__attribute__((noinline)) int op_object_keep(__u32 number, __u64 word, __u32 check,
					     __u32 answer, __u32 is_short)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_objects_met *met;
	struct op_counts *counts;
	__u64 state = 0;
	__u64 key;

	if (!slot)
		return 0;
	met = op_object_set(slot, word, &key);
	if (!met)
		return 0;
	counts = op_counts_of(slot->record.event);
	if (answer == OP_OBJECT_IS_LOST) {
		op_count_in(counts, OP_COUNT_OBJECTS_LOST);
		return 0;
	}
	if (answer == OP_OBJECT_IS_OLD)
		state = OP_OBJECT_OLD;
	else if (answer == OP_OBJECT_IS_ANOTHER || is_short)
		/* such memory will belong to another object again */
		state = OP_OBJECT_SHORT;
	if (answer != OP_OBJECT_IS_OLD)
		op_count_in(counts, OP_COUNT_OBJECTS);
	op_object_note(counts, met, key,
		       (__u64)check << 32 | state |
			       (__u64)(op_object_time(slot->record.time_ns) &
				       OP_OBJECT_TIME_MASK)
				       << OP_OBJECT_TIME_SHIFT);
	return 0;
}

/* In parts, because BPF allows 512 bytes of stack for all nested calls, and programs
 * that walk by themselves use the most. */
__attribute__((noinline)) int op_object_met(__u32 number, __u32 recipe, __u64 word,
					    __u32 check, __u32 is_short)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_object_known *known;
	__u64 stale;
	int answer;

	if (!slot)
		return 0;
	known = op_object_entry(slot, word, &stale);
	if (!stale && known->check == check)
		return 0;
	answer = op_object_ask(number, word, check);
	if (answer == OP_OBJECT_IS_KNOWN)
		return 0;
	if (answer == OP_OBJECT_IS_ANOTHER)
		(void)op_object_keep(number, OP_OBJECT_REUSE, 0, OP_OBJECT_IS_OLD, 0);
	if (answer != OP_OBJECT_IS_OLD && !op_object_send(number, recipe, word, check))
		answer = OP_OBJECT_IS_LOST;
	return op_object_keep(number, word, check, (__u32)answer, is_short);
}

#endif
