/* SPDX-License-Identifier: Apache-2.0 */
/* Examines a file that may be Perl: its version, its layout and where its variables are. */
#ifndef OP_RUNTIME_PERL_IMAGE_H
#define OP_RUNTIME_PERL_IMAGE_H

#include <stdint.h>

#include "base/log.h"
#include "code/elf/file.h"
#include "code/elf/tls.h"
#include "runtime/perl/layout.h"
#include "runtime/runtime.h"

#include "op_user_types.h"

#include "op_perl.h"

/* Addresses are ELF addresses. */
struct op_perl_image {
	struct op_perl_layout layout;
	enum op_perl_where where;
	struct op_elf_tls tls; /* of PL_current_context: OP_PERL_TLS */
	uint64_t key;	       /* PL_thr_key; 0: built without threads */
	uint64_t interpreter;  /* PL_curinterp */
	/* with OP_PERL_GLOBALS the variables' addresses, otherwise offsets in struct
	 * interpreter */
	uint64_t op;
	uint64_t curcop;
	uint64_t stackinfo;
	uint64_t top_env;
};

/* Returns like probe() of struct op_runtime_ops, with the image in *@ret. */
int op_runtime_perl_image(struct op_elf *elf, const char *path,
			  const struct op_layouts *layouts, struct op_log *log,
			  struct op_perl_image *ret, struct op_runtime_loop *ret_loop);

#endif
