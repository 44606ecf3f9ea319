/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of what frames of one process name: subs with their files.
 *
 * An entry is kept under the guard of the sub's code and the place of its file's name. Threads share
 * these, and a thread's own glob is gone with it. Other code may get the same addresses later, so
 * once a window an entry is read anew.
 */
#ifndef OP_RUNTIME_PERL_SUB_H
#define OP_RUNTIME_PERL_SUB_H

#include <stdint.h>

#include "runtime/objects.h"
#include "runtime/perl/text.h"

#include "op_user_types.h"

#include "op_perl.h"

enum {
	/* entries; beyond that all are dropped and read again */
	OP_PERL_SUBS_MAX = 16384,
	/* the same limit for the bytes of names */
	OP_PERL_SUBS_BYTES = 4 << 20,
};

struct op_perl_sub {
	uint64_t word[OP_PERL_NAMED_WORDS]; /* of its frames, without the line */
	uint32_t window;		    /* the window of the last read */
	bool copied;			    /* it is gone perhaps, and is not read anew */
	char *name;			    /* as caller() has it: "main::f" */
	char *file; /* "" if it has none; allocated together with name */
};

struct op_perl_subs {
	struct op_perl_objects read;
	struct op_objects objects;
	uint32_t window;
	uint64_t reads; /* subs read whole */
};

/* Borrows @memory and @layout. @globs: as in struct op_perl_objects. */
void op_runtime_perl_subs_init(struct op_perl_subs *subs, const struct op_memory *memory,
			       const struct op_perl_layout *layout, bool globs);
void op_runtime_perl_subs_deinit(struct op_perl_subs *subs);

/*
 * Get the sub of a frame by its words (op_perl.h), the fourth one 0 if it has none. *@ret is
 * borrowed until the next call. Returns 0; -EBADMSG if it is gone; an error of reading; -ENOMEM.
 */
int op_runtime_perl_subs_get(struct op_perl_subs *subs,
			     const uint64_t words[OP_PERL_NAMED_WORDS],
			     const struct op_perl_sub **ret);

/* Keep the name of a file that frames of its code have at @addr with @check, from @copy. Returns as
 * above. */
int op_runtime_perl_subs_keep(struct op_perl_subs *subs, uint64_t addr, uint32_t check,
			      const struct op_memory *copy);

#endif
