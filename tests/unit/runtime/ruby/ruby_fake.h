/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of Ruby, put byte by byte into the memory of a process. */
#ifndef TEST_RUBY_FAKE_H
#define TEST_RUBY_FAKE_H

#include "runtime/ruby/function.h"
#include "runtime/ruby/lines.h"

#include "op_user_types.h"

#include "op_ruby.h"

#include "fake_memory.h"

enum {
	T_CLASS = 2,
	T_STRING = 5,
	T_ARRAY = 7,
	IN_HEAP = 1 << 13,  /* of a String */
	INTERNED = 1 << 29, /* the same */
	EMBEDDED = 1 << 13, /* of an Array */
	TEXT = 0x200,	    /* from a String in the heap to its text */
};

static struct op_ruby_layout layout;

static inline void fake_version(const char *version)
{
	fake_begin();
	CHECK_OK(op_layouts_find(NULL, &op_runtime_ruby_layouts, version, &layout));
}

/* A String that names code. Short ones are in the object. */
static inline void put_string(uint64_t addr, const char *text, size_t len)
{
	uint64_t flags = T_STRING | INTERNED;

	put_u64(addr + 16, len);
	if (len > 16) {
		flags |= IN_HEAP;
		put_u64(addr + 24, addr + TEXT);
		put(addr + TEXT, text, len);
	} else {
		if (layout.string_embedded == 16)
			flags |= len << 14;
		put(addr + layout.string_embedded, text, len);
	}
	put_u64(addr, flags);
}

/* A sequence of @count instructions whose body is at @addr, from @line on. */
static inline void put_body(uint64_t addr, uint64_t code, uint32_t count, uint64_t label,
			    uint64_t path, uint32_t line)
{
	put_u32(addr + OP_RUBY_BODY_TYPE, OP_RUBY_ISEQ_METHOD);
	put_u32(addr + OP_RUBY_BODY_SIZE, count);
	put_u64(addr + OP_RUBY_BODY_CODE, code);
	put_u64(addr + OP_RUBY_BODY_LOCATION, path);
	put_u64(addr + OP_RUBY_BODY_LOCATION + 8, label);
	put_u64(addr + OP_RUBY_BODY_LOCATION + 16, label);
	put_u64(addr + OP_RUBY_BODY_LOCATION + 24,
		layout.line_shift ? (uint64_t)line << 1 | 1 : line);
}

/* The words of the body's frame at instruction @next, and of a method's. */
static inline void frame_of(uint64_t body, uint32_t next, uint64_t ret[2])
{
	const uint8_t *at = fake.bytes + (body - BASE);
	uint64_t head;
	uint64_t location[4];

	memcpy(&head, at, sizeof(head));
	memcpy(location, at + OP_RUBY_BODY_LOCATION, sizeof(location));
	ret[0] = body;
	ret[1] = next |
		 (uint64_t)op_ruby_body_guard(head, location[0], location[2], location[3])
			 << 32;
}

static inline void method_of(uint64_t method, uint64_t ret[2])
{
	uint64_t words[3];

	memcpy(words, fake.bytes + (method - BASE) + OP_RUBY_METHOD_DEF, sizeof(words));
	ret[0] = method;
	ret[1] = OP_RUBY_IN_C | (uint64_t)op_ruby_guard(words[0], words[1], words[2], 0)
					<< 32;
}

#endif
