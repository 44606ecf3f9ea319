/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a frame's label as in Ruby's own backtraces since 3.4: with the method's class. */
#ifndef OP_RUNTIME_RUBY_LABEL_H
#define OP_RUNTIME_RUBY_LABEL_H

#include "runtime/ruby/object.h"

enum {
	OP_RUBY_PARENTS_MAX = 64, /* nested sequences */
};

/*
 * Append the label of the sequence with the body at @body. @owner: the class of its
 * method, or 0. Returns 0; -EBADMSG; an error of reading; -ENOMEM.
 */
int op_runtime_ruby_label(const struct op_ruby_objects *read, uint64_t body,
			  uint64_t owner, struct op_strbuf *to);
/* Append the prefix of a method's own name: "Class#", "Class.", or nothing. Returns as
 * above. */
int op_runtime_ruby_class(const struct op_ruby_objects *read, uint64_t owner,
			  struct op_strbuf *to);

#endif
