/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The context of the current thread (op_context.h), read at the entry of a sample. All
 * of it is the process's memory. An address that leads nowhere, an invalid record, and
 * lengths beyond the limits cost a counter and never the sample.
 *
 * Ids are sent with the sample. Labels are sent once a window, like stacks of named
 * kinds, and the sample names them by their hash.
 */
#ifndef OP_CONTEXT_CONTEXT_H
#define OP_CONTEXT_CONTEXT_H

#include "bpf/event/count.h"
#include "bpf/event/named.h"
#include "bpf/event/slot.h"

enum {
	/* buckets of a map of labels, 8 labels each; before Go 1.24 */
	OP_GO_BUCKETS_MAX = 4,
	OP_GO_BUCKET_LABELS = 8,
};

/* OTEP 4947: the head of a record. It is 2-byte aligned. */
struct op_otel_head {
	__u8 trace_id[OP_TRACE_ID_BYTES];
	__u8 span_id[OP_SPAN_ID_BYTES];
	__u8 valid;
	__u8 flags;
	__u16 attributes_bytes;
} __attribute__((packed));

_Static_assert(sizeof(struct op_otel_head) == OP_CONTEXT_HEAD_BYTES, "layout");

static __always_inline bool op_process_context_read(void *to, __u32 len, __u64 from)
{
	return !bpf_probe_read_user(to, len, (const void *)from);
}

/* The address of the thread-local variable at @place. */
static __always_inline bool op_context_variable(const struct op_context_place *place,
						__u64 thread_pointer, __u64 *ret)
{
	__u64 block = thread_pointer;

	if (!thread_pointer)
		return false;
	if (place->module &&
	    (!op_process_context_read(&block, 8, thread_pointer + (__s64)place->dtv_at) ||
	     !op_process_context_read(&block, 8,
				      block + (__u64)place->module * place->dtv_step)))
		return false;
	*ret = block + (__u64)place->offset;
	return block && block != ~0ULL; /* the thread has not used the module yet */
}

/* ---- labels ---- */

static __always_inline void op_labels_hash(struct op_slot *slot)
{
	struct op_hash h = { { op_settings.hash_seed, ~op_settings.hash_seed } };
	__u32 words = (slot->labels.bytes + 7) / 8;
	__u32 i;

	op_hash_add(&h, (__u64)slot->labels.pid << 32 | slot->labels.place);
	op_hash_add(&h, (__u64)slot->labels.form << 32 | slot->labels.bytes);
	for (i = 0; i < OP_LABELS_BYTES / 8 && i < words; i++)
		op_hash_add(&h, slot->labels_word[i]);
	op_hash_end(&h);
	slot->labels.hash = h;
}

/* Send the slot's labels, unless that was done in this window. Returns whether they are
 * sent. */
static __always_inline bool op_labels_announce(struct op_slot *slot)
{
	struct op_control *control = op_control();
	__u32 window = control ? control->window : 0;
	struct op_labels_record *l = &slot->labels;
	__u32 *known = bpf_map_lookup_elem(&op_label_sets, &l->hash);
	__u32 len = sizeof(*l) + l->bytes;

	if (known && *known == window)
		return true;
	op_platform_bound(len);
	if (len > sizeof(*l) + OP_LABELS_BYTES)
		return false;
	l->header.type = OP_RECORD_LABELS;
	l->header.version = OP_RECORD_VERSION;
	l->header.bytes = len;
	if (bpf_ringbuf_output(&op_ring, l, len, op_ring_wakeup()))
		return false;
	(void)bpf_map_update_elem(&op_label_sets, &l->hash, &window, BPF_ANY);
	return true;
}

/* Let slot @number's sample name the @bytes of labels in the slot. Global, so that the
 * verifier checks it once. */
__attribute__((noinline)) int op_labels_name(__u32 number, __u32 bytes);
__attribute__((noinline)) int op_labels_name(__u32 number, __u32 bytes)
{
	struct op_slot *slot = op_slot_at(number);
	const struct op_context_place *place;

	if (!slot)
		return 0;
	place = bpf_map_lookup_elem(&op_contexts, &slot->record.pid);
	if (!place)
		return 0;
	slot->labels.pid = slot->record.pid;
	slot->labels.place = place->number;
	slot->labels.form = place->form;
	slot->labels.bytes = bytes;
	op_labels_hash(slot);
	if (!op_labels_announce(slot))
		return 0;
	slot->context.labels[0] = slot->labels.hash.word[0];
	slot->context.labels[1] = slot->labels.hash.word[1];
	slot->context_bytes = sizeof(slot->context);
	return 0;
}

/*
 * Append the label of slot @number's label_key and label_value to the @n that the slot
 * has. Returns their new number. A key that is too long is left out, because a cut key
 * would be another one.
 */
__attribute__((noinline)) int op_label_add(__u32 number, __u32 n);
__attribute__((noinline)) int op_label_add(__u32 number, __u32 n)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_counts *counts;
	struct op_label *label;
	__u64 key_len;
	__u64 value_len;
	__u32 i;

	if (!slot)
		return 0;
	key_len = slot->label_key.len;
	value_len = slot->label_value.len;
	counts = op_counts_of(slot->record.event);
	if (n >= OP_LABELS_MAX || key_len > OP_LABEL_KEY_BYTES ||
	    value_len > OP_LABEL_VALUE_BYTES)
		op_count_in(counts, OP_COUNT_CONTEXT_CUT);
	if (value_len > OP_LABEL_VALUE_BYTES)
		value_len = OP_LABEL_VALUE_BYTES;
	op_platform_bound(n);
	op_platform_bound(key_len);
	op_platform_bound(value_len);
	if (n >= OP_LABELS_MAX || !key_len || key_len > OP_LABEL_KEY_BYTES ||
	    value_len > OP_LABEL_VALUE_BYTES)
		return (int)n;
	for (i = 0; i < sizeof(*label) / 8; i++)
		slot->labels_word[n * (sizeof(*label) / 8) + i] = 0;
	label = (struct op_label *)slot->labels_word + n;
	label->key_len = (__u8)key_len;
	label->value_len = (__u8)value_len;
	if (!op_process_context_read(label->key, (__u32)key_len, slot->label_key.at) ||
	    !op_process_context_read(label->value, (__u32)value_len,
				     slot->label_value.at)) {
		op_count_in(counts, OP_COUNT_CONTEXT_UNREAD);
		return (int)n;
	}
	return (int)n + 1;
}

/* ---- OTEP 4947 ---- */

static __always_inline bool op_context_otel(struct op_slot *slot,
					    struct op_counts *counts, __u64 record)
{
	struct op_otel_head head;
	__u32 bytes;

	if (!op_process_context_read(&head, sizeof(head), record))
		return false;
	if (head.valid != 1)
		return true;
	__builtin_memcpy(slot->context.trace_id, head.trace_id,
			 sizeof(head.trace_id) + sizeof(head.span_id));
	slot->context_bytes = sizeof(slot->context);
	bytes = head.attributes_bytes;
	if (bytes > OP_CONTEXT_ATTRIBUTES_BYTES) {
		op_count_in(counts, OP_COUNT_CONTEXT_CUT);
		bytes = OP_CONTEXT_ATTRIBUTES_BYTES;
	}
	op_platform_bound(bytes);
	if (!bytes || bytes > OP_CONTEXT_ATTRIBUTES_BYTES)
		return true;
	slot->labels_word[bytes / 8] = 0; /* it may be read in part only */
	if (!op_process_context_read(slot->labels_word, bytes, record + sizeof(head)))
		return false;
	(void)op_labels_name(slot->number, bytes);
	return true;
}

/* ---- custom-labels v1 ---- */

struct op_custom_set {
	__u64 storage; /* of struct op_custom_label */
	__u64 count;
};

struct op_custom_label {
	struct { /* the length comes first */
		__u64 len;
		__u64 at;
	} key, value;
};

static __always_inline bool op_context_custom(struct op_slot *slot, __u64 at)
{
	struct op_custom_set set;
	struct op_custom_label label;
	__u32 n = 0;
	__u32 i;

	if (!op_process_context_read(&set, sizeof(set), at))
		return false;
	for (i = 0; i < 2 * OP_LABELS_MAX && i < set.count; i++) {
		if (!op_process_context_read(&label, sizeof(label),
					     set.storage + i * sizeof(label)))
			return false;
		if (!label.key.at)
			continue;
		slot->label_key.at = label.key.at;
		slot->label_key.len = label.key.len;
		slot->label_value.at = label.value.at;
		slot->label_value.len = label.value.len;
		n = (__u32)op_label_add(slot->number, n);
	}
	if (n)
		(void)op_labels_name(slot->number, n * sizeof(struct op_label));
	return true;
}

/* ---- the labels of goroutines ---- */

/* From Go 1.24 on: a slice of keys and values, sorted by key. */
static __always_inline bool op_context_go_list(struct op_slot *slot, __u64 at, __u32 *ret)
{
	struct op_context_text list;
	__u32 n = 0;
	__u32 i;

	if (!op_process_context_read(&list, sizeof(list), at))
		return false;
	for (i = 0; i <= OP_LABELS_MAX && i < list.len; i++) {
		/* key and value */
		if (!op_process_context_read(&slot->label_key, 2 * sizeof(list),
					     list.at + i * 2 * sizeof(list)))
			return false;
		n = (__u32)op_label_add(slot->number, n);
	}
	*ret = n;
	return true;
}

/* Before: a map. Only its first buckets are read, without labels that overflow one. */
struct op_go_map {
	__u64 count;
	__u8 flags;
	__u8 bucket_bits;
	__u8 rest[6];
	__u64 buckets;
};

static __always_inline bool op_context_go_map(struct op_slot *slot, __u64 at, __u32 *ret)
{
	struct op_go_map map;
	__u32 n = 0;
	__u32 i;

	/* the labels are a pointer to the map */
	if (!op_process_context_read(&at, sizeof(at), at) ||
	    !op_process_context_read(&map, sizeof(map), at))
		return false;
	for (i = 0; i < OP_GO_BUCKETS_MAX * OP_GO_BUCKET_LABELS; i++) {
		__u32 bucket = i / OP_GO_BUCKET_LABELS;
		__u32 cell = i % OP_GO_BUCKET_LABELS;
		/* a byte of each key's hash, keys, values, the next bucket */
		__u64 from = map.buckets + bucket * (8 + 8 * 32 + 8);
		__u8 hash;

		if (n >= map.count || bucket >> (map.bucket_bits & 31))
			break;
		if (!op_process_context_read(&hash, 1, from + cell))
			return false;
		if (hash < 5) /* minTopHash: empty, or moved */
			continue;
		if (!op_process_context_read(&slot->label_key, 16,
					     from + 8 + cell * 16) ||
		    !op_process_context_read(&slot->label_value, 16,
					     from + 8 + 128 + cell * 16))
			return false;
		n = (__u32)op_label_add(slot->number, n);
	}
	*ret = n;
	return true;
}

static __always_inline bool op_context_go(struct op_slot *slot,
					  const struct op_context_place *place, __u64 g)
{
	__u64 labels = 0;
	__u64 at = 0;
	__u32 n = 0;

	if (!op_process_context_read(&at, sizeof(at), g + place->go_m) ||
	    !op_process_context_read(&at, sizeof(at), at + place->go_curg))
		return false;
	if (!at)
		return true; /* work of the scheduler itself */
	if (!op_process_context_read(&labels, sizeof(labels), at + place->go_labels))
		return false;
	if (!labels)
		return true;
	if (!(place->go_map ? op_context_go_map(slot, labels, &n)
			    : op_context_go_list(slot, labels, &n)))
		return false;
	if (n)
		(void)op_labels_name(slot->number, n * sizeof(struct op_label));
	return true;
}

/* ---- any ---- */

/* Read the context of slot @number's thread into the slot. Global, so that the verifier
 * checks it once. */
__attribute__((noinline)) int op_context_take(__u32 number);
__attribute__((noinline)) int op_context_take(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	const struct op_context_place *place;
	struct op_counts *counts;
	__u64 variable = 0;
	__u64 at = 0;
	bool read;

	if (!slot)
		return 0;
	place = bpf_map_lookup_elem(&op_contexts, &slot->record.pid);
	if (!place)
		return 0;
	counts = op_counts_of(slot->record.event);
	__builtin_memset(&slot->context, 0, sizeof(slot->context));
	if (place->form == OP_CONTEXT_GO && place->go_register)
		at = slot->registers.reg[28];
	else if (!op_context_variable(place, slot->registers.thread_pointer, &variable))
		return 0; /* the thread has none yet */
	else if (!op_process_context_read(&at, sizeof(at), variable))
		goto unread;
	if (!at)
		return 0;
	switch (place->form) {
	case OP_CONTEXT_OTEL:
		read = op_context_otel(slot, counts, at);
		break;
	case OP_CONTEXT_CUSTOM:
		read = op_context_custom(slot, at);
		break;
	case OP_CONTEXT_GO:
		read = op_context_go(slot, place, at);
		break;
	default:
		read = true;
	}
	if (slot->context_bytes)
		op_count_in(counts, OP_COUNT_CONTEXTS);
	if (read)
		return 0;
unread:
	op_count_in(counts, OP_COUNT_CONTEXT_UNREAD);
	return 0;
}

/* The same if the process has one. Otherwise it costs one look-up in a map, or nothing
 * while no process has one. */
static __always_inline void op_event_context(struct op_slot *slot)
{
	struct op_control *control = op_control();

	if (!control || !*(volatile __u64 *)&control->contexts)
		return;
	if (slot->registers.sp && bpf_map_lookup_elem(&op_contexts, &slot->record.pid))
		(void)op_context_take(slot->number);
}

#endif
