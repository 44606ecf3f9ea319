/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of one request: those entries of a window that the request refers to,
 * with new numbers, already encoded. An entry is added at its first reference, together
 * with all it refers to; op_dictionary_rollback() removes it again.
 */
#ifndef OP_PROFILE_OTLP_DICTIONARY_H
#define OP_PROFILE_OTLP_DICTIONARY_H

#include "profile/otlp/bytes.h"
#include "profile/window_tables.h"

enum {
	OP_DICTIONARY_TABLES =
		OP_TABLE_STACK + 1, /* the first tables of enum op_window_table */
	/* strings that are not in the window */
	OP_DICTIONARY_STRINGS_MAX = 64,
	/* nanopb in Debian's build counts in 16 bits, and so do readers built with it. */
	OP_OTLP_LIST_MAX = 65535,
};

struct op_dictionary_table {
	/* number in this request of each entry of the window; 0: not in it */
	uint32_t *numbers;
	OP_VEC(uint32_t) list; /* entries of the window that are in this request */
	struct op_bytes bytes;
};

struct op_dictionary_mark {
	size_t list[OP_DICTIONARY_TABLES];
	size_t bytes[OP_DICTIONARY_TABLES];
};

struct op_dictionary {
	const struct op_window *w;
	struct op_dictionary_table table[OP_DICTIONARY_TABLES];
	const char *strings[OP_DICTIONARY_STRINGS_MAX];
	uint32_t strings_len;
	OP_VEC(int32_t) scratch;
};

/* Borrows @w until deinit. Returns 0 or -ENOMEM; call deinit in both cases. */
int op_dictionary_init(struct op_dictionary *d, const struct op_window *w);
void op_dictionary_deinit(struct op_dictionary *d);

/* Begin the next request, with only the zero entries. Returns 0 or -ENOMEM. */
int op_dictionary_begin(struct op_dictionary *d);

/* The number in this request of entry @entry of the window's table @t, which is added if
 * needed. Returns 0, -ENOMEM, or -ENOSPC if a list would exceed OP_OTLP_LIST_MAX. */
int op_dictionary_ref(struct op_dictionary *d, enum op_window_table t, uint32_t entry,
		      int32_t *ret);
/* The same for all @len numbers of @in; @ret has room for @len. */
int op_dictionary_refs(struct op_dictionary *d, enum op_window_table t,
		       const uint32_t *in, size_t len, int32_t *ret);
/* A string for op_dictionary_ref() that need not be in the window. Borrows @s. */
uint32_t op_dictionary_string(struct op_dictionary *d, const char *s);

void op_dictionary_mark(const struct op_dictionary *d, struct op_dictionary_mark *ret);
void op_dictionary_rollback(struct op_dictionary *d,
			    const struct op_dictionary_mark *mark);

/* The bytes of the encoded tables. */
size_t op_dictionary_bytes(const struct op_dictionary *d);
/* Append the tables to @b. Returns 0 or -ENOMEM. */
int op_dictionary_put(const struct op_dictionary *d, struct op_bytes *b);

#endif
