/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request under construction: finished resources, the open resource and profile, and
 * the dictionary. Lengths are known before they are written, so every byte is encoded
 * only once.
 */
#ifndef OP_PROFILE_OTLP_OTLP_REQUEST_H
#define OP_PROFILE_OTLP_OTLP_REQUEST_H

#include "profile/otlp/bytes.h"
#include "profile/otlp/encode.h"
#include "profile/otlp/kinds.h"
#include "profile/window_tables.h"
#include "profiles.pb.h"

/* Encodes the OTLP resource of a process: its attributes, and those that all resources
 * have. */
enum {
	/* limit of process.command_args; the rest is left out */
	OP_COMMAND_ARGS_MAX = 256,
	OP_RESOURCE_ATTRIBUTES_MAX = 128, /* further options->attributes are left out */
};

/* Append the Resource message of @r as field @field. Returns 0 or -ENOMEM. */
int op_otlp_resource(const struct op_window *w, const struct op_resource *r,
		     const struct op_otlp_options *options, uint32_t field,
		     struct op_bytes *b);

/*
 * The dictionary of one request: those entries of a window that the request refers to,
 * with new numbers, already encoded. An entry is added at its first reference, together
 * with all it refers to; op_dictionary_rollback() removes it again.
 */
enum {
	OP_DICTIONARY_TABLES =
		OP_TABLE_STACK + 1, /* the first tables of enum op_window_table */
	/* strings that are not in the window */
	OP_DICTIONARY_STRINGS_MAX = 64,
	/* and attributes: two of the profiles of a kind */
	OP_DICTIONARY_ATTRIBUTES_MAX = 2 * OP_EVENT_MAX,
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
	struct op_attribute attributes[OP_DICTIONARY_ATTRIBUTES_MAX];
	uint32_t attributes_len;
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
/* The same for @len numbers of @in. @ret has space for @len. */
int op_dictionary_refs(struct op_dictionary *d, enum op_window_table t,
		       const uint32_t *in, size_t len, int32_t *ret);
/* A string for op_dictionary_ref() that may be outside the window. Borrows @s. */
uint32_t op_dictionary_string(struct op_dictionary *d, const char *s);
/* The same for an attribute with a number. */
uint32_t op_dictionary_attribute(struct op_dictionary *d, const char *key, int64_t value);

void op_dictionary_mark(const struct op_dictionary *d, struct op_dictionary_mark *ret);
void op_dictionary_rollback(struct op_dictionary *d,
			    const struct op_dictionary_mark *mark);

/* The bytes of the encoded tables. */
size_t op_dictionary_bytes(const struct op_dictionary *d);
/* Append the tables to @b. Returns 0 or -ENOMEM. */
int op_dictionary_put(const struct op_dictionary *d, struct op_bytes *b);

enum {
	/* Pyroscope refuses profiles with more samples. */
	OP_OTLP_PROFILE_SAMPLES_MAX = 16000,
};

struct op_otlp_request {
	const struct op_window *w;
	const struct op_otlp_options *options;
	uint64_t start_ns; /* start of every profile */
	uint64_t end_ns;
	size_t max_bytes;

	struct op_dictionary dictionary;
	struct op_bytes body;	  /* finished ResourceProfiles */
	struct op_bytes scope;	  /* InstrumentationScope, the same in all resources */
	struct op_bytes resource; /* the open resource */
	struct op_bytes profiles; /* finished profiles of the open resource */
	struct op_bytes samples;  /* samples of the open profile */
	size_t resources;	  /* number of resources in body */
	size_t profile_samples;	  /* number of samples in samples */
	uint64_t taken;		  /* number of taken samples in the request */

	const struct op_otlp_kind *kind; /* kind of the open profile */
	uint32_t period_ns;		 /* its period; 0: that of the window */
	uint64_t kept[OP_EVENT_MAX];	 /* samples in the window, by kind */
	bool profile_open;
	int32_t profile_attributes[2];
	uint32_t profile_attributes_len;
	otlp_ValueType type;
	otlp_ValueType period_type;

	int32_t attributes[OP_SAMPLE_ATTRIBUTES_MAX];
	OP_VEC(int64_t) values;
	OP_VEC(uint64_t) times;
};

/* Borrows all arguments until deinit. Returns 0 or -ENOMEM; call deinit in both cases. */
int op_otlp_request_init(struct op_otlp_request *q, const struct op_window *w,
			 const struct op_otlp_options *options);
void op_otlp_request_deinit(struct op_otlp_request *q);

/* The following samples belong to @resource. Returns 0 or -ENOMEM. */
int op_otlp_request_resource(struct op_otlp_request *q, uint32_t resource);
/* The following samples belong to @kind, and have the period @period_ns if the kind has one
 * (0: that of the window). Returns 0 or -ENOMEM. */
int op_otlp_request_profile(struct op_otlp_request *q, const struct op_otlp_kind *kind,
			    uint32_t period_ns);
/* Add as many samples of identity @e, from *@at on, as fit; *@at is advanced past them.
 * Returns their number, -ENOMEM, or -ENOSPC if none fits: nothing has changed then. */
int64_t op_otlp_request_add(struct op_otlp_request *q, const struct op_identity *e,
			    uint32_t *at, uint64_t left);
bool op_otlp_request_empty(const struct op_otlp_request *q);
/* Take the request as bytes from malloc, and begin the next one for the same resource
 * and kind. Returns 0 or -ENOMEM. */
int op_otlp_request_finish(struct op_otlp_request *q, void **ret, size_t *ret_len,
			   uint64_t *ret_samples);

#endif
