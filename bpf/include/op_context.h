/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The context of a thread: the ids of a trace and of a span, and labels. It is in the
 * thread's own memory, in one of a few forms. User space finds out where, and the
 * entries of the kinds read it. See docs/trace-context.md.
 */
#ifndef OP_CONTEXT_H
#define OP_CONTEXT_H

enum {
	OP_CONTEXTS_MAX = 1024, /* processes */
	OP_TRACE_ID_BYTES = 16,
	OP_SPAN_ID_BYTES = 8,
	/* OP_CONTEXT_OTEL: of a record's attributes. OTEP 4947 demands 640 with its
	 * head. */
	OP_CONTEXT_HEAD_BYTES = 28,
	OP_CONTEXT_ATTRIBUTES_BYTES = 640 - OP_CONTEXT_HEAD_BYTES,
	/* Other forms: of a thread, and of each label. A longer value is cut, and a
	 * longer key left out. */
	OP_LABELS_MAX = 10,
	OP_LABEL_KEY_BYTES = 32,
	OP_LABEL_VALUE_BYTES = 80,
	OP_LABELS_BYTES = OP_LABELS_MAX * (8 + OP_LABEL_KEY_BYTES + OP_LABEL_VALUE_BYTES),
	/* sets of labels that are known to be announced in a window */
	OP_LABEL_SETS_MAX = 1024,
};

enum op_context_form {
	OP_CONTEXT_NONE = 0,
	OP_CONTEXT_OTEL = 1,   /* OTEP 4947: a pointer to a record */
	OP_CONTEXT_CUSTOM = 2, /* custom-labels v1: a pointer to a set of labels */
	OP_CONTEXT_GO = 3,     /* the labels of the goroutine that runs */
	OP_CONTEXT_FORMS,
};

/*
 * The place of the threads' context in a process: the thread-local variable that leads
 * to it. Its address is the thread pointer + offset, or with a module that module's
 * block of the thread + offset. The word at the thread pointer + dtv_at points to the
 * table of blocks (DTV), with dtv_step bytes a module.
 */
struct op_context_place {
	__u32 form;   /* enum op_context_form */
	__u32 number; /* number of this place, unique in the handle */
	__s64 offset;
	__u32 module; /* 0: static */
	__s16 dtv_at;
	__u16 dtv_step;
	/* OP_CONTEXT_GO: the variable is the goroutine g; bytes in g, m, g. */
	__u16 go_m;
	__u16 go_curg;
	__u16 go_labels;
	__u16 go_map;	  /* labels are a map (before Go 1.24) and not a list */
	__u8 go_register; /* aarch64: g is in x28 */
	__u8 reserved0[7];
};

/* Who woke a thread, or for OP_EVENT_WAKERS which thread it woke. Only with
 * op_settings.wakers. */
struct op_waker {
	__u32 pid;
	__u32 tid; /* 0: not known */
	char comm[16];
};

/* Behind the words of a sample with a context: op_record.context_bytes,
 * op_named.context_bytes. */
struct op_thread_context {
	__u8 trace_id[OP_TRACE_ID_BYTES]; /* zero: none */
	__u8 span_id[OP_SPAN_ID_BYTES];
	__u64 labels
		[2]; /* the hash of an OP_RECORD_LABELS announced before; zero: none */
	struct op_waker waker;
};

/* A string of the process, in Go's form. */
struct op_context_text {
	__u64 at;
	__u64 len;
};

/* OP_CONTEXT_CUSTOM, OP_CONTEXT_GO: one label of an OP_RECORD_LABELS. */
struct op_label {
	__u8 key_len;
	__u8 value_len;
	__u8 reserved0[6];
	char key[OP_LABEL_KEY_BYTES];
	char value[OP_LABEL_VALUE_BYTES];
};

_Static_assert(sizeof(struct op_context_place) == 40, "layout");
_Static_assert(sizeof(struct op_thread_context) == 64, "layout");
_Static_assert(sizeof(struct op_label) * OP_LABELS_MAX == OP_LABELS_BYTES, "layout");

#endif
