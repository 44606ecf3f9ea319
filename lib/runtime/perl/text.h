/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Perl's names from a process's memory: of globs, packages, and files. */
#ifndef OP_RUNTIME_PERL_TEXT_H
#define OP_RUNTIME_PERL_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "runtime/perl/layout.h"

#include "op_user_types.h"

#include "op_perl.h"

enum {
	/* bytes of a name or a package's name; longer ones are cut */
	OP_PERL_NAME_MAX = 512,
	OP_PERL_FILE_MAX = 4096, /* bytes of a file's name */
};

struct op_perl_objects {
	const struct op_memory *memory;
	const struct op_perl_layout *layout;
	bool globs; /* file names are in globs: Perl was built without threads */
};

/* Append the name at @addr, a HEK, as UTF-8. Returns 0, -EBADMSG if it is not one,
 * -ENOMEM, or an error of reading. */
int op_runtime_perl_hek(const struct op_perl_objects *objects, uint64_t addr,
			struct op_strbuf *to);
/* Append the name of the package at @addr, a HV, and "::". A freed package is __ANON__.
 * Returns the same. */
int op_runtime_perl_package(const struct op_perl_objects *objects, uint64_t addr,
			    struct op_strbuf *to);
/* Append the name of the glob at @addr with its package: "main::f". Returns the same. */
int op_runtime_perl_glob(const struct op_perl_objects *objects, uint64_t addr,
			 struct op_strbuf *to);
/* Append the name of the CV at @addr, which has its name itself: of a lexical sub without
 * its package. Returns the same. */
int op_runtime_perl_cv(const struct op_perl_objects *objects, uint64_t addr,
		       struct op_strbuf *to);
/* Is the sub at @addr, a glob or with @named a CV, the one with the identity @check?
 * Returns 0, -EBADMSG if it is not, or an error of reading. */
int op_runtime_perl_is(const struct op_perl_objects *objects, uint64_t addr, bool named,
		       uint32_t check);
/* Append the file name that a COP has at @addr. Returns the same. */
int op_runtime_perl_file(const struct op_perl_objects *objects, uint64_t addr,
			 struct op_strbuf *to);

/* Set the steps of @ret that copy what names a file, a glob or a CV. */
void op_runtime_perl_steps(const struct op_perl_layout *layout, struct op_perl *ret);

#endif
