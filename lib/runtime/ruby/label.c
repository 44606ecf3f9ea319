/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/ruby/label.h"

#include <errno.h>
#include <stdbool.h>

#include "op_user_types.h"

#include "op_ruby.h"

enum {
	TYPE_MASK = 0x1f,
	TYPE_CLASS = 2,
	TYPE_MODULE = 3,
	IS_SINGLETON = 1 << 13, /* RUBY_FL_SINGLETON, since 3.4 */
	IS_PERMANENT = 1,	/* rb_classext_t.permanent_classpath */
	LABEL = OP_RUBY_BODY_LOCATION + 16,
};

static bool is_class(uint64_t flags)
{
	return (flags & TYPE_MASK) == TYPE_CLASS || (flags & TYPE_MASK) == TYPE_MODULE;
}

static int read_word(const struct op_ruby_objects *read, uint64_t addr, uint64_t *ret)
{
	return op_memory_read(read->memory, addr, ret, sizeof(*ret));
}

int op_runtime_ruby_class(const struct op_ruby_objects *read, uint64_t owner,
			  struct op_strbuf *to)
{
	const struct op_ruby_layout *l = read->layout;
	const char *mark = "#";
	uint8_t permanent = 0;
	uint64_t path = 0;
	uint64_t flags = 0;
	int r;

	if (!owner)
		return 0;
	r = read_word(read, owner, &flags);
	if (r == 0 && (flags & TYPE_MASK) == TYPE_CLASS && (flags & IS_SINGLETON)) {
		mark = ".";
		r = read_word(read, owner + l->class_attached, &owner);
		if (r == 0 && (!owner || owner % 8))
			return 0;
		if (r == 0)
			r = read_word(read, owner, &flags);
	}
	if (r < 0 || !is_class(flags))
		return r;
	r = op_memory_read(read->memory, owner + l->class_permanent, &permanent, 1);
	if (r == 0)
		r = read_word(read, owner + l->class_path, &path);
	if (r < 0 || !path || !(permanent & IS_PERMANENT))
		return r;
	r = op_runtime_ruby_string(read, path, to);
	if (r == 0)
		op_strbuf_puts(to, mark);
	return r;
}

/* The body of the sequence to which @body's word at @at leads. *@ret is 0 if there is
 * none. */
static int other_body(const struct op_ruby_objects *read, uint64_t body, uint32_t at,
		      uint64_t *ret)
{
	uint64_t iseq = 0;
	int r = read_word(read, body + at, &iseq);

	*ret = 0;
	return r < 0 || !iseq ? r : read_word(read, iseq + OP_RUBY_ISEQ_BODY, ret);
}

/* Go from a block to the sequence that contains it, through *@ret_levels blocks. */
static int leave_blocks(const struct op_ruby_objects *read, uint64_t *body,
			uint32_t *ret_levels)
{
	uint64_t local;
	uint32_t i;
	int r = other_body(read, *body, read->layout->parent + 8, &local);

	*ret_levels = 0;
	for (i = 0; r == 0 && local && *body != local; i++) {
		uint32_t type = 0;
		uint64_t parent;

		if (i == OP_RUBY_PARENTS_MAX)
			return -EBADMSG;
		r = op_memory_read(read->memory, *body, &type, sizeof(type));
		*ret_levels += type == OP_RUBY_ISEQ_BLOCK;
		if (r == 0)
			r = other_body(read, *body, read->layout->parent, &parent);
		if (r == 0 && !parent)
			return -EBADMSG;
		if (r == 0)
			*body = parent;
	}
	return r;
}

int op_runtime_ruby_label(const struct op_ruby_objects *read, uint64_t body,
			  uint64_t owner, struct op_strbuf *to)
{
	uint32_t levels;
	uint32_t type;
	uint64_t label;
	uint32_t i;
	int r = 0;

	for (i = 0; r == 0 && i < OP_RUBY_PARENTS_MAX; i++) {
		r = op_memory_read(read->memory, body, &type, sizeof(type));
		if (r < 0)
			break;
		if (type == OP_RUBY_ISEQ_RESCUE || type == OP_RUBY_ISEQ_ENSURE ||
		    type == OP_RUBY_ISEQ_EVAL) {
			r = other_body(read, body, read->layout->parent, &body);
			continue;
		}
		if (type != OP_RUBY_ISEQ_BLOCK && type != OP_RUBY_ISEQ_PLAIN) {
			if (type == OP_RUBY_ISEQ_METHOD)
				r = op_runtime_ruby_class(read, owner, to);
			if (r == 0)
				r = read_word(read, body + LABEL, &label);
			return r < 0 ? r : op_runtime_ruby_string(read, label, to);
		}
		r = leave_blocks(read, &body, &levels);
		if (levels <= 1)
			op_strbuf_puts(to, "block in ");
		else
			op_strbuf_printf(to, "block (%u levels) in ", levels);
	}
	return r < 0 ? r : -EBADMSG;
}
