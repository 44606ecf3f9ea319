/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the subs of one process's frames, with their files.
 *
 * The key of an entry is all that its frames have except the line. A name that the kernel
 * copied is the entry of a frame without a file. Another file's name may get the same
 * address later, so an entry is read again once a window.
 */
#ifndef OP_RUNTIME_PERL_SUB_H
#define OP_RUNTIME_PERL_SUB_H

#include <stdint.h>

#include "runtime/objects.h"
#include "runtime/perl/text.h"

#include "op_user_types.h"

#include "op_perl.h"

enum {
	/* entries; past that all are dropped and read again */
	OP_PERL_SUBS_MAX = 16384,
	/* bytes of names; likewise */
	OP_PERL_SUBS_BYTES = 4 << 20,
};

struct op_perl_sub {
	uint64_t word[OP_PERL_FRAME_WORDS]; /* of its frames, without the line */
	uint32_t window;		    /* the window of the last read */
	/* its memory may be freed: it is not read again */
	bool copied;
	char *name; /* as in caller(): "main::f" */
	char *file; /* "" if it has none; allocated together with name */
};

struct op_perl_subs {
	struct op_perl_objects read;
	bool copy; /* it reads what the kernel copied */
	struct op_objects objects;
	uint32_t window;
	uint64_t reads; /* subs read whole */
};

/* Borrows @memory and @layout. @globs: as in struct op_perl_objects. */
void op_runtime_perl_subs_init(struct op_perl_subs *subs, const struct op_memory *memory,
			       const struct op_perl_layout *layout, bool globs);
void op_runtime_perl_subs_deinit(struct op_perl_subs *subs);

/*
 * Get the sub of a frame by its words (op_perl.h). *@ret is borrowed until the next call.
 * Returns 0, -EBADMSG if it was freed, -ENOMEM, or an error of reading.
 */
int op_runtime_perl_subs_get(struct op_perl_subs *subs,
			     const uint64_t words[OP_PERL_FRAME_WORDS],
			     const struct op_perl_sub **ret);

/* Keep from @copy the name of a sub or a file, for frames whose words have its address
 * @addr and its identity @check. Returns 0 or an error like op_runtime_perl_subs_get(). */
int op_runtime_perl_subs_keep(struct op_perl_subs *subs, uint64_t addr, uint32_t check,
			      const struct op_memory *copy);

#endif
