/* SPDX-License-Identifier: Apache-2.0 */
/* V8's objects where pointers are compressed, in and out of its sandbox. */
#include "runtime/node/code.h"
#include "runtime/node/functions.h"

#include <errno.h>

#include "test.h"

enum {
	BYTES = 0x8000,
	/* where things are, in the heap's 4 GiB */
	MAPS = 0x100,
	SHARED = 0x1000,
	SCOPE = 0x1100,
	SCRIPT = 0x1200,
	NAME = 0x1300,
	FILE_NAME = 0x1340,
	ENDS = 0x1400,
	WRAPPER = 0x1500,
	/* and in the trusted ones */
	CODE = 0x2000,
	DEOPT = 0x2100,
	TABLE = 0x2200,
	LITERALS = 0x2300,
	INLINING = 0x2400,
	BYTECODE = 0x2500,
	STREAM = 0x4000, /* instructions */
	STREAM_BYTES = 0x80,
	ARRAY_TYPE = 200,
	STRING_TYPE = 8,
	ID = 5,
};

static const uint64_t cage = UINT64_C(0x251300000000);
static const uint64_t trusted_cage = UINT64_C(0x327d00000000);
static const uint64_t code_range = UINT64_C(0x55b100000000);

struct fake {
	struct op_memory memory;
	uint8_t bytes[BYTES];
};

static int read_fake(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	const struct fake *f = (const struct fake *)(const void *)m;
	uint64_t base = addr & ~(uint64_t)UINT32_MAX;

	addr -= base;
	if ((base != cage && base != trusted_cage && base != code_range) || len > BYTES ||
	    addr > BYTES - len)
		return -EFAULT;
	memcpy(buf, f->bytes + addr, len);
	return 0;
}

static void put(struct fake *f, uint32_t at, uint32_t value)
{
	memcpy(f->bytes + at, &value, sizeof(value));
}

/* A map of @type, and its pointer in the object at @at. */
static void put_map(struct fake *f, uint32_t at, uint16_t type)
{
	uint32_t map = MAPS + type * 12U;

	memcpy(f->bytes + map + 8, &type, sizeof(type));
	put(f, at, map + 1);
}

static void put_text(struct fake *f, uint32_t at, const char *text)
{
	put_map(f, at, STRING_TYPE);
	put(f, at + 8, (uint32_t)strlen(text));
	memcpy(f->bytes + at + 12, text, strlen(text));
}

static void put_array(struct fake *f, uint32_t at, uint32_t len)
{
	put_map(f, at, ARRAY_TYPE);
	put(f, at + 4, len); /* no small integer */
}

static void make_function(struct fake *f, const struct op_node_layout *l)
{
	const uint16_t token = 13;

	*f = (struct fake){ .memory = { read_fake } };
	put_map(f, SHARED, (uint16_t)l->type.shared);
	put(f, SHARED + l->shared_name, SCOPE + 1);
	put(f, SHARED + l->shared_script, SCRIPT + 1);
	memcpy(f->bytes + SHARED + l->shared_token, &token, sizeof(token));
	put(f, SHARED + l->shared_id, ID);
	put_map(f, SCOPE, (uint16_t)l->type.scope);
	put(f, SCOPE + 16, 30 * 2); /* the first and the last position */
	put(f, SCOPE + 20, 60 * 2);
	put(f, SCOPE + 24, NAME + 1);
	put_text(f, NAME, "method");
	put_map(f, SCRIPT, (uint16_t)l->type.script);
	put(f, SCRIPT + 8, FILE_NAME + 1);
	put(f, SCRIPT + 28, ENDS + 1);
	put_text(f, FILE_NAME, "/known.js");
	put_array(f, ENDS, 3);
	put(f, ENDS + 8, 10 * 2);
	put(f, ENDS + 12, 50 * 2);
	put(f, ENDS + 16, 90 * 2);
}

static void make_code(struct fake *f, const struct op_node_layout *l)
{
	const uint64_t start = code_range + STREAM;
	const uint8_t table[] = { 8, 40 * 4 & 0x7f, 0 };

	put(f, STREAM - l->code_bytes, MAPS + 1);
	put(f, STREAM - l->code_bytes + 4, CODE + 1);
	put_map(f, CODE, (uint16_t)l->type.code);
	put(f, CODE + l->code_deopt, DEOPT + 1);
	put(f, CODE + op_node_code_positions(l), TABLE + 1);
	memcpy(f->bytes + CODE + l->code_start, &start, sizeof(start));
	put(f, CODE + l->code_size, STREAM_BYTES);
	put_array(f, DEOPT, 9);
	put(f, DEOPT + 8 + 4 * l->deopt_literals, LITERALS + 1);
	put(f, DEOPT + 8 + 4 * l->deopt_shared, WRAPPER + 1);
	put(f, DEOPT + 8 + 4 * l->deopt_inlining, INLINING + 1);
	put_array(f, LITERALS, 1);
	put(f, LITERALS + 8, (SHARED + 1) | 2); /* a weak reference */
	put_array(f, INLINING, 0);
	put_array(f, TABLE, sizeof(table));
	memcpy(f->bytes + TABLE + 8, table, sizeof(table));
	put_map(f, WRAPPER, ARRAY_TYPE + 1);
	put(f, WRAPPER + 4, SHARED + 1);
}

static void check_version(const char *version)
{
	static struct fake f;
	static const struct op_node_opcodes opcodes;
	struct op_node_layout l;
	struct op_node_heap heap = { .memory = &f.memory, .layout = &l };
	struct op_node_functions functions;
	const struct op_node_function *function;
	const struct op_node_script *script;
	const struct op_node_code *code;
	struct op_node_codes codes;
	uint32_t check;

	CHECK_INT(op_runtime_node_layout_of(version, "/embedder", NULL, NULL, &l), 1);
	CHECK(op_node_is_compressed(&l));
	make_function(&f, &l);
	make_code(&f, &l);
	op_runtime_node_functions_init(&functions, &heap);
	op_runtime_node_codes_init(&codes, &heap, &opcodes);
	/* before a frame has told where compressed pointers begin */
	CHECK(op_runtime_node_code(&codes, code_range + STREAM + 8, &code) < 0);
	heap.cage = cage;
	heap.trusted_cage = trusted_cage;
	CHECK_OK(op_runtime_node_function_check(&heap, cage + SHARED + 1, &check));
	CHECK_OK(op_runtime_node_function(&functions, cage + SHARED + 1, check,
					  &function));
	CHECK_STR(function->name, "method");
	CHECK_INT(function->start, 30 - 13);
	CHECK_OK(op_runtime_node_script(&functions.scripts, function->script, NULL,
					&script));
	CHECK_STR(script->name, "/known.js");
	CHECK_INT(op_runtime_node_place(script, function->start).line, 2);
	CHECK_OK(op_runtime_node_code(&codes, code_range + STREAM + 8, &code));
	CHECK_INT(code->owner.shared, cage + SHARED + 1);
	CHECK_INT(code->end - code->start, STREAM_BYTES);
	op_runtime_node_codes_clear(&codes);
	op_runtime_node_functions_deinit(&functions);
}

static void test_sandbox(void)
{
	check_version("15.6");
}

static void test_compressed(void)
{
	check_version("15.8");
}

/* Names that only a handle leads to are no names. */
static void test_a_handle(void)
{
	static struct fake f;
	struct op_node_layout l;
	struct op_node_heap heap = { .memory = &f.memory, .layout = &l, .cage = cage };
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };

	CHECK_INT(op_runtime_node_layout_of("15.6", "/embedder", NULL, NULL, &l), 1);
	make_function(&f, &l);
	put_map(&f, NAME, STRING_TYPE | 2);
	CHECK_INT(op_runtime_node_string(&heap, cage + NAME + 1, 64, &text), -EBADMSG);
}

/* A version of which nothing is published, and whose section says not all. */
static void test_incomplete(void)
{
	struct op_node_layout l;

	CHECK_INT(op_runtime_node_layout_of("14.6", "/embedder", NULL, NULL, &l),
		  -ENOTSUP);
	CHECK_INT(op_runtime_node_layout_of("99.1", "/embedder", NULL, NULL, &l),
		  -ENOTSUP);
}

TEST_MAIN({ "sandbox", test_sandbox }, { "compressed", test_compressed },
	  { "a_handle", test_a_handle }, { "incomplete", test_incomplete })
