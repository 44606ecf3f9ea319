/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, scripts and code of V8, built object by object; hostile ones too. */
#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/node/code.h"
#include "runtime/node/functions.h"
#include "runtime/node/image.h"

#include "op_node.h"

#include "node_fake.h"
#include "test.h"

static struct op_node_heap heap = { .memory = &fake.memory, .layout = &fake_layout };

static void check_place(const struct op_node_script *script, int32_t offset,
			uint32_t line, uint32_t column)
{
	struct op_node_place place = op_runtime_node_place(script, offset);

	CHECK_INT(place.line, line);
	CHECK_INT(place.column, column);
}

/* What the kernel says of the function at @addr. */
static uint32_t check_of(uint64_t addr)
{
	uint32_t id;
	uint64_t name;
	uint64_t script;
	uint32_t number;

	memcpy(&id, fake.bytes + addr - FAKE_BASE + fake_layout.shared_id, sizeof(id));
	memcpy(&name, fake.bytes + addr - FAKE_BASE + fake_layout.shared_name,
	       sizeof(name));
	memcpy(&script, fake.bytes + addr - FAKE_BASE + fake_layout.shared_script,
	       sizeof(script));
	memcpy(&number, fake.bytes + script - 1 - FAKE_BASE + OP_NODE_SCRIPT_ID + 4,
	       sizeof(number));
	return op_node_check(id, (uint32_t)name, (uint32_t)script, number);
}

static void a_function_has_its_name_file_and_lines(void)
{
	uint32_t check;
	uint32_t other;
	const struct op_node_function *f;
	const struct op_node_script *script;
	struct op_node_functions functions;

	fake_build();
	check = check_of(FAKE_OUTER);
	other = check + 1;
	op_runtime_node_functions_init(&functions, &heap);
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, check, &f), 0);
	CHECK_STR(f->name, "outer");
	CHECK_INT(f->start, 3);
	CHECK_INT(op_runtime_node_script(&functions.scripts, f->script, NULL, &script),
		  0);
	CHECK_STR(script->name, "/dir/file.js");
	check_place(script, 0, 1, 1);
	check_place(script, 2, 1, 3); /* the end of line is in its line */
	check_place(script, 3, 2, 1);
	check_place(script, 7, 2, 5);
	check_place(script, 8, 3, 1);
	check_place(script, -1, 0, 0);
	check_place(script, 1000, 0, 0);
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, other, &f),
		  -ESTALE);
	CHECK_INT(op_runtime_node_function(&functions, FAKE_SCRIPT + 1, 0, &f), -EBADMSG);
	CHECK_INT(op_runtime_node_function(&functions, FAKE_INNER + 1,
					   check_of(FAKE_INNER), &f),
		  0);
	CHECK_STR(f->name, "inner");
	CHECK_INT(functions.reads, 2);
	op_runtime_node_functions_deinit(&functions);
}

static void an_initializer_has_the_name_of_stack_traces(void)
{
	static const char *const names[] = { "outer",
					     "<instance_members_initializer>",
					     "<instance_members_initializer>",
					     "<static_initializer>",
					     "<static_initializer>",
					     "outer" };
	struct op_node_layout layout = fake_layout;
	struct op_node_heap own = { .memory = &fake.memory, .layout = &layout };
	const struct op_node_function *f;
	struct op_node_functions functions;
	uint32_t i;

	layout.initializer.members = 24;
	layout.initializer.static_members = 26;
	fake_build();
	for (i = 0; i < OP_ARRAY_SIZE(names); i++) {
		fake_u32(FAKE_OUTER + fake_layout.shared_id - 4, 0xabc0 << 8 | (23 + i));
		op_runtime_node_functions_init(&functions, &own);
		CHECK_OK(op_runtime_node_function(&functions, FAKE_OUTER + 1,
						  check_of(FAKE_OUTER), &f));
		CHECK_STR(f->name, names[i]);
		op_runtime_node_functions_deinit(&functions);
	}
}

static void another_function_in_its_place_is_seen(void)
{
	const struct op_node_function *f;
	struct op_node_functions functions;
	uint32_t check;
	uint32_t stranger;

	fake_build();
	check = check_of(FAKE_OUTER);
	op_runtime_node_functions_init(&functions, &heap);
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, check, &f), 0);
	/* it has the same id in its script */
	fake_u64(FAKE_OUTER + fake_layout.shared_name, fake_string(5, "stranger"));
	stranger = check_of(FAKE_OUTER);
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, check, &f), 0);
	CHECK_STR(f->name, "outer");
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, stranger, &f), 0);
	CHECK_STR(f->name, "stranger");
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, check, &f),
		  -ESTALE);
	/* the process is gone: what was known is used */
	fake.gone = true;
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, stranger, &f), 0);
	CHECK_STR(f->name, "stranger");
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, check, &f),
		  -ESRCH);
	op_runtime_node_functions_deinit(&functions);
}

/* After a collection all is where it was in another script: only the script's id differs. */
static void a_function_of_a_later_script_is_seen(void)
{
	const struct op_node_function *f;
	struct op_node_functions functions;
	uint32_t check;
	uint32_t later;

	fake_build();
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_ID, fake_small(5));
	check = check_of(FAKE_OUTER);
	op_runtime_node_functions_init(&functions, &heap);
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, check, &f), 0);
	CHECK_STR(f->name, "outer");
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_ID, fake_small(6));
	(void)fake_string(3, "later");
	later = check_of(FAKE_OUTER);
	CHECK(later != check);
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, later, &f), 0);
	CHECK_STR(f->name, "later");
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1, check, &f),
		  -ESTALE);
	op_runtime_node_functions_deinit(&functions);
}

/* Nor is a table of positions, which may be another's at the same address. */
static void positions_belong_to_one_function(void)
{
	const struct op_node_function *f;
	struct op_node_functions functions;
	struct op_node_position before, at;
	struct op_node_codes codes;

	fake_build();
	op_runtime_node_codes_init(&codes, &heap, &fake_opcodes);
	CHECK_OK(op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 3, 64,
						   &before));
	CHECK_OK(
		op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 3, 64, &at));
	CHECK_INT(at.offset, before.offset);
	codes.bytecodes.data[0].table_len = 0; /* as if it were that of another one */
	CHECK_OK(
		op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 3, 64, &at));
	CHECK(at.offset != before.offset);
	CHECK_OK(
		op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 4, 64, &at));
	CHECK_INT(at.offset, before.offset);
	op_runtime_node_codes_clear(&codes);

	op_runtime_node_functions_init(&functions, &heap);
	CHECK_OK(op_runtime_node_function(&functions, FAKE_OUTER + 1,
					  check_of(FAKE_OUTER), &f));
	printf("  outer: %d to %d\n", f->start, f->end);
	CHECK(f->end > f->start);
	CHECK(op_node_function_has(f, f->start) && op_node_function_has(f, f->end));
	CHECK(!op_node_function_has(f, f->start - 1) &&
	      !op_node_function_has(f, f->end + 1));
	op_runtime_node_functions_deinit(&functions);
}

/* Lines outlive the process, those of bytecodes for their own function alone. */
static void the_end_of_a_process_has_lines(void)
{
	struct op_node_maps maps = { 0 };
	struct op_node_heap ending = { &fake.memory, &fake_layout, 0, 0, &maps };
	const struct op_node_function *f;
	const struct op_node_script *script;
	const struct op_node_code *code;
	struct op_node_functions functions;
	struct op_node_codes codes;
	struct op_node_position at;
	uint32_t check;

	fake_build();
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_ID, fake_small(5));
	check = check_of(FAKE_OUTER);
	op_runtime_node_functions_init(&functions, &ending);
	op_runtime_node_codes_init(&codes, &ending, &fake_opcodes);
	CHECK_OK(op_runtime_node_function(&functions, FAKE_OUTER + 1, check, &f));
	CHECK_OK(
		op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 3, 63, &at));
	CHECK_OK(op_runtime_node_code(&codes, FAKE_BASELINE_START + 5, &code));
	CHECK_OK(op_runtime_node_code_position(&codes, code, 0, 3,
					       FAKE_BASELINE_START + 5, &at));
	op_runtime_node_codes_window(&codes);
	fake.gone = true;
	CHECK_OK(op_runtime_node_function(&functions, FAKE_OUTER + 1, check, &f));
	CHECK_OK(op_runtime_node_script(&functions.scripts, f->script, &f->script_id,
					&script));
	check_place(script, 3, 2, 1);
	CHECK_OK(
		op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 3, 64, &at));
	CHECK_INT(at.offset, 8);
	CHECK_INT(
		op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 4, 64, &at),
		-ESRCH);
	CHECK_OK(op_runtime_node_code(&codes, FAKE_BASELINE_START + 6, &code));
	CHECK_OK(op_runtime_node_code_position(&codes, code, 0, 3,
					       FAKE_BASELINE_START + 6, &at));
	CHECK_INT(at.offset, 8);
	op_runtime_node_codes_clear(&codes);
	op_runtime_node_functions_deinit(&functions);
}

/* What the kernel copied: memory as it was then, up to 512 bytes at a time. */
struct copy {
	struct op_memory memory;
	uint8_t bytes[FAKE_BYTES];
};

static int copy_read(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	const struct copy *copy = (const struct copy *)m;

	if (addr < FAKE_BASE || len > 512 || addr - FAKE_BASE > FAKE_BYTES - len)
		return -EFAULT;
	memcpy(buf, copy->bytes + (addr - FAKE_BASE), len);
	return 0;
}

static void check_interpreted(void *instance, uint32_t check, uint32_t line)
{
	uint64_t words[] = { FAKE_OUTER,
			     (uint64_t)OP_NODE_INTERPRETED << OP_NODE_KIND_SHIFT |
				     65ULL << OP_NODE_OFFSET_SHIFT | check,
			     FAKE_BYTECODE };
	struct op_runtime_frame frame = { 0 };

	CHECK_OK(op_runtime_node.describe(instance, words, 3, &frame));
	CHECK_INT(frame.len, 1);
	CHECK_STR(frame.function[0].name, "outer");
	CHECK_STR(frame.function[0].file, "/dir/file.js");
	CHECK_INT(frame.function[0].line, line);
}

/* The collector moved a script's text after the kernel had copied the first of it. Where it
 * was are zeros, without an end of a line. Its lines are found when it is read again. */
static void a_text_that_moved_has_its_lines(void)
{
	enum {
		OLD = FAKE_BASE + 0x6000,
		NEW = FAKE_BASE + 0x7000,
		CHARS = 1000
	};
	struct op_node_image image = { .layout = fake_layout };
	struct op_runtime_target target = { .memory = &fake.memory };
	static struct copy copy = { .memory.read = copy_read };
	char text[CHARS];
	struct op_node bpf;
	void *instance;
	uint32_t check;

	fake_build();
	memset(text, 'x', sizeof(text));
	text[2] = text[7] = '\n';
	(void)fake_object(OLD, FAKE_STRING_TYPE);
	fake_u32(OLD + 12, CHARS);
	fake_put(OLD + 16, text, CHARS);
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_SOURCE, OLD + 1);
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_ID, fake_small(5));
	memcpy(copy.bytes, fake.bytes, FAKE_BYTES);
	memmove(fake.bytes + (NEW - FAKE_BASE), fake.bytes + (OLD - FAKE_BASE),
		CHARS + 16);
	memset(fake.bytes + (OLD - FAKE_BASE), 0, CHARS + 16);
	check = check_of(FAKE_OUTER);

	CHECK_OK(op_runtime_node.attach(&image, &target, NULL, &bpf, &instance));
	CHECK_OK(op_runtime_node.keep_object(instance, FAKE_OUTER, check, &copy.memory));
	fake.gone = true;
	check_interpreted(instance, check, 0);
	fake.gone = false;
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_SOURCE, NEW + 1);
	check_interpreted(instance, check, 3);
	fake.gone = true;
	check_interpreted(instance, check, 3);
	op_runtime_node.detach(instance);
}

/* Its memory ends right behind the names of its ScopeInfo, and behind the name itself. */
static void an_object_at_the_end_of_memory_is_read(void)
{
	const uint64_t name = FAKE_BASE + FAKE_BYTES - 24;
	const uint64_t scope = name - 8 - 6 * 8;
	const struct op_node_function *f;
	struct op_node_functions functions;

	fake_build();
	(void)fake_object(scope, FAKE_SCOPE_TYPE);
	fake_u64(scope + 8 + 3 * 8, name + 1);
	(void)fake_object(name, FAKE_STRING_TYPE);
	fake_u32(name + 12, 4);
	fake_put(name + 16, "last", 4);
	fake_u64(FAKE_OUTER + fake_layout.shared_name, scope + 1);
	op_runtime_node_functions_init(&functions, &heap);
	CHECK_INT(op_runtime_node_function(&functions, FAKE_OUTER + 1,
					   check_of(FAKE_OUTER), &f),
		  0);
	CHECK_STR(f->name, "last");
	op_runtime_node_functions_deinit(&functions);
}

/* What is evaluated in the middle of a file has places of the file. */
static void a_script_begins_anywhere(void)
{
	const struct op_node_script *script;
	struct op_node_scripts scripts;

	fake_build();
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_LINE_OFFSET, fake_small(10));
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_COLUMN_OFFSET, fake_small(40));
	op_runtime_node_scripts_init(&scripts, &heap);
	CHECK_INT(op_runtime_node_script(&scripts, FAKE_SCRIPT + 1, NULL, &script), 0);
	check_place(script, 1, 11, 42);
	check_place(script, 3, 12, 1);
	/* new Function of V8 8 and older: one line is V8's own */
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_LINE_OFFSET, fake_small(-1));
	fake_u64(FAKE_SCRIPT + OP_NODE_SCRIPT_ID, fake_small(2));
	CHECK_INT(op_runtime_node_script(&scripts, FAKE_SCRIPT + 1, NULL, &script), 0);
	check_place(script, 1, 0, 0);
	check_place(script, 3, 1, 1);
	op_runtime_node_scripts_deinit(&scripts);
}

/* Script number @i, which has its own name, and @ends for where its lines end. */
static uint64_t another_script(uint32_t i, uint64_t ends)
{
	uint64_t addr = FAKE_BASE + 0x6000 + i * 0x100;
	uint64_t object = fake_object(addr, FAKE_SCRIPT_TYPE);

	fake_u64(addr + OP_NODE_SCRIPT_NAME, fake_string(20 + i, "/another.js"));
	fake_u64(addr + OP_NODE_SCRIPT_LINE_ENDS, ends);
	return object;
}

/* The memory of a script's lines is as large as its lines, which have one limit for all: those
 * of one more are unknown, until there is room. */
static void lines_have_a_limit(void)
{
	const int32_t most = OP_NODE_LINES_MAX / 4 * 3;
	const struct op_node_script *script;
	struct op_node_scripts scripts;
	uint64_t object[2];
	uint64_t ends;

	fake_build();
	fake.zeros = (size_t)most * 8;
	ends = fake_long(most);
	object[0] = another_script(0, ends);
	object[1] = another_script(1, ends);
	op_runtime_node_scripts_init(&scripts, &heap);
	CHECK_INT(op_runtime_node_script(&scripts, object[0], NULL, &script), 0);
	CHECK_INT(script->len, most);
	CHECK_INT(op_runtime_node_script(&scripts, object[1], NULL, &script), 0);
	CHECK_STR(script->name, "/another.js");
	CHECK_INT(script->len, 0);
	CHECK(!script->ends);
	CHECK_INT(op_runtime_node_place(script, 0).line, 0);
	CHECK_INT(scripts.lines, most);
	CHECK_INT(scripts.refused, 1);
	op_runtime_node_scripts_trim(&scripts);
	CHECK_INT(op_runtime_node_script(&scripts, object[1], NULL, &script), 0);
	CHECK_INT(script->len, most);
	/* another one in its place */
	fake_u64(object[1] - 1 + OP_NODE_SCRIPT_ID, fake_small(7));
	fake_u64(object[1] - 1 + OP_NODE_SCRIPT_NAME, fake_string(30, "/third.js"));
	fake_u64(FAKE_LONG + OP_NODE_LENGTH, fake_small(10));
	CHECK_INT(op_runtime_node_script(&scripts, object[1], NULL, &script), 0);
	CHECK_STR(script->name, "/third.js");
	CHECK_INT(scripts.lines, 10);
	op_runtime_node_scripts_deinit(&scripts);
}

/* The last ones cannot be read: no memory stays behind for the others. */
static void lines_that_cannot_be_read_take_no_memory(void)
{
	const struct op_node_script *script;
	struct op_node_scripts scripts;

	fake_build();
	fake.zeros = 1 << 20;
	op_runtime_node_scripts_init(&scripts, &heap);
	CHECK_INT(op_runtime_node_script(&scripts,
					 another_script(0, fake_long((1 << 17) + 1)),
					 NULL, &script),
		  0);
	CHECK_INT(script->len, 0);
	CHECK(!script->ends);
	CHECK_INT(scripts.refused, 0);
	op_runtime_node_scripts_deinit(&scripts);
}

static void strings_of_all_kinds_are_read(void)
{
	static const uint16_t wide[] = { 'x', 0xe9, 0xd83d, 0xde00, 0xdc00 };
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	uint64_t first;
	uint64_t cons;
	uint64_t thin;

	fake_build();
	first = fake_string(8, "one ");
	cons = fake_object(FAKE_STRINGS + 9 * 256, FAKE_CONS_TYPE);
	fake_u32(cons - 1 + 12, 9);
	fake_u64(cons - 1 + 16, first);
	fake_u64(cons - 1 + 24, fake_object(FAKE_STRINGS + 10 * 256, FAKE_WIDE_TYPE));
	fake_u32(FAKE_STRINGS + 10 * 256 + 12, 5);
	fake_put(FAKE_STRINGS + 10 * 256 + 16, wide, sizeof(wide));
	thin = fake_object(FAKE_STRINGS + 11 * 256, FAKE_THIN_TYPE);
	fake_u32(thin - 1 + 12, 4);
	fake_u64(thin - 1 + 16, first);
	CHECK_INT(op_runtime_node_string(&heap, cons, 100, &text), 0);
	CHECK_STR(text.data, "one x\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd");
	op_strbuf_reset(&text);
	CHECK_INT(op_runtime_node_string(&heap, thin, 100, &text), 0);
	CHECK_STR(text.data, "one ");
	CHECK_INT(op_runtime_node_string(&heap, FAKE_SCRIPT + 1, 100, &text), -EBADMSG);
	/* one that holds itself */
	fake_u64(cons - 1 + 16, cons);
	fake_u64(cons - 1 + 24, cons);
	(void)op_runtime_node_string(&heap, cons, 100, &text);
	CHECK(fake.reads < 10000);
}

static void bytecodes_have_places(void)
{
	struct op_node_codes codes;
	struct op_node_position at;

	fake_build();
	op_runtime_node_codes_init(&codes, &heap, &fake_opcodes);
	CHECK_INT(
		op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 0, 63, &at),
		0);
	CHECK_INT(at.offset, 4);
	CHECK_INT(
		op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 0, 64, &at),
		0);
	CHECK_INT(at.offset, 8);
	CHECK_INT(
		op_runtime_node_bytecode_position(&codes, FAKE_BYTECODE + 1, 0, 69, &at),
		-EBADMSG);
	CHECK_INT(op_runtime_node_bytecode_position(&codes, FAKE_SCRIPT + 1, 0, 63, &at),
		  -EBADMSG);
	op_runtime_node_codes_clear(&codes);
}

static void baseline_code_leads_to_bytecodes(void)
{
	const struct op_node_code *code;
	struct op_node_codes codes;
	struct op_node_position at;

	fake_build();
	op_runtime_node_codes_init(&codes, &heap, &fake_opcodes);
	CHECK_INT(op_runtime_node_code(&codes, FAKE_BASELINE_START + 4, &code), 0);
	CHECK_INT(code->start, FAKE_BASELINE_START);
	CHECK_INT(code->end, FAKE_BASELINE_START + FAKE_CODE_BYTES);
	CHECK_INT(code->bytecode, FAKE_BYTECODE + 1);
	CHECK_INT(op_runtime_node_code_position(&codes, code, 0, 0,
						FAKE_BASELINE_START + 5, &at),
		  0);
	CHECK_INT(at.offset, 4);
	CHECK_INT(op_runtime_node_code_position(&codes, code, 0, 0,
						FAKE_BASELINE_START + 6, &at),
		  0);
	CHECK_INT(at.offset, 8);
	CHECK_INT(op_runtime_node_code(&codes, FAKE_BASELINE_START + FAKE_CODE_BYTES,
				       &code),
		  -ENOENT);
	op_runtime_node_codes_clear(&codes);
}

static void optimized_code_has_its_inlined_calls(void)
{
	const struct op_node_code *code;
	struct op_node_codes codes;
	struct op_node_position at;

	fake_build();
	op_runtime_node_codes_init(&codes, &heap, &fake_opcodes);
	CHECK_INT(op_runtime_node_code(&codes, FAKE_OPTIMIZED_START + 20, &code), 0);
	CHECK_INT(code->owner.shared, FAKE_OUTER + 1);
	CHECK_INT(code->owner.check, check_of(FAKE_OUTER));
	CHECK_INT(code->inlined_len, 1);
	CHECK_INT(code->inlined[0].callee.shared, FAKE_INNER + 1);
	CHECK_INT(code->inlined[0].callee.check, check_of(FAKE_INNER));
	CHECK_INT(code->inlined[0].call.offset, 5);
	CHECK_INT(code->inlined[0].call.inlining, -1);
	CHECK_INT(op_runtime_node_code_position(&codes, code, 0, 0,
						FAKE_OPTIMIZED_START + 15, &at),
		  0);
	CHECK_INT(at.offset, 4);
	CHECK_INT(at.inlining, -1);
	CHECK_INT(op_runtime_node_code_position(&codes, code, 0, 0,
						FAKE_OPTIMIZED_START + 16, &at),
		  0);
	CHECK_INT(at.offset, 9);
	CHECK_INT(at.inlining, 0);
	/* other code in its place, of which all but its data is where this one was, is seen at
	 * once */
	fake_put(FAKE_STRANGER, fake.bytes + FAKE_DEOPT - FAKE_BASE,
		 8 * 8 + OP_NODE_ELEMENTS);
	fake_element(FAKE_STRANGER, fake_layout.deopt_shared, FAKE_INNER + 1);
	fake_u64(FAKE_OPTIMIZED + fake_layout.code_deopt, FAKE_STRANGER + 1);
	CHECK_INT(op_runtime_node_code(&codes, FAKE_OPTIMIZED_START + 20, &code), 0);
	CHECK_INT(code->owner.shared, FAKE_INNER + 1);
	fake_u64(FAKE_OPTIMIZED_START - fake_layout.code_bytes + 8, FAKE_BASELINE + 1);
	CHECK(op_runtime_node_code(&codes, FAKE_OPTIMIZED_START + 20, &code) != 0 ||
	      code->owner.shared != FAKE_OUTER + 1);
	op_runtime_node_codes_clear(&codes);
}

/* The collector may put another function where an inlined one was. */
static void an_inlined_call_is_of_the_function_that_was_read(void)
{
	const struct op_node_function *f;
	struct op_node_functions functions;
	const struct op_node_code *code;
	struct op_node_codes codes;
	struct op_node_owner callee;

	fake_build();
	op_runtime_node_codes_init(&codes, &heap, &fake_opcodes);
	op_runtime_node_functions_init(&functions, &heap);
	CHECK_OK(op_runtime_node_code(&codes, FAKE_OPTIMIZED_START + 20, &code));
	callee = code->inlined[0].callee;
	fake_u64(FAKE_INNER + fake_layout.shared_name, fake_string(5, "stranger"));
	CHECK_OK(op_runtime_node_function(&functions, FAKE_INNER + 1,
					  check_of(FAKE_INNER), &f));
	CHECK_STR(f->name, "stranger");
	CHECK_INT(op_runtime_node_function(&functions, callee.shared, callee.check, &f),
		  -ESTALE);
	op_runtime_node_functions_deinit(&functions);
	op_runtime_node_codes_clear(&codes);
}

/* Words that look like the head of code, everywhere: few are looked at. */
static void heads_are_few(void)
{
	const struct op_node_code *code;
	struct op_node_codes codes;
	uint64_t at;
	uint32_t i;

	fake_build();
	op_runtime_node_codes_init(&codes, &heap, &fake_opcodes);
	/* in the code itself, so many as no compiler makes */
	for (i = 16; i < FAKE_CODE_BYTES; i += 8)
		fake_u64(FAKE_OPTIMIZED_START + i, FAKE_OUTER + 1);
	CHECK_INT(op_runtime_node_code(&codes, FAKE_OPTIMIZED_START + FAKE_CODE_BYTES - 1,
				       &code),
		  0);
	CHECK_INT(code->start, FAKE_OPTIMIZED_START);
	CHECK_INT(codes.heads_lost, 0);
	for (at = FAKE_BASE + FAKE_BYTES / 2; at < FAKE_BASE + FAKE_BYTES; at += 8)
		fake_u64(at, FAKE_OUTER + 1);
	fake.reads = 0;
	CHECK_INT(op_runtime_node_code(&codes, FAKE_BASE + FAKE_BYTES - 1, &code),
		  -ENOENT);
	CHECK(fake.reads < 3 * OP_NODE_HEADS_MAX);
	CHECK_INT(codes.heads_lost, 1);
	op_runtime_node_codes_clear(&codes);
}

/* The bytes of tables have a limit for each kind of code. */
static void tables_have_a_limit(void)
{
	const uint32_t count = OP_NODE_CODES_BYTES / OP_NODE_BYTES_MAX + 2;
	const struct op_node_bytecode *b;
	const struct op_node_code *code;
	struct op_node_codes codes;
	struct op_node_position at;
	size_t bytes = 0;
	uint64_t table;
	uint32_t i;

	fake_build();
	fake.zeros = OP_NODE_BYTES_MAX;
	table = fake_long(OP_NODE_BYTES_MAX);
	op_runtime_node_codes_init(&codes, &heap, &fake_opcodes);
	for (i = 0; i < count; i++) {
		uint64_t object = FAKE_BASE + 0x7000 + i * 0x80;
		uint64_t start = FAKE_OPTIMIZED_START + 2 * (i + 1) * FAKE_CODE_BYTES;

		(void)fake_object(object, FAKE_BYTECODE_TYPE);
		fake_u64(object + OP_NODE_LENGTH, fake_small(6));
		fake_u64(object + fake_layout.array_positions, table);
		CHECK_INT(
			op_runtime_node_bytecode_position(&codes, object + 1, 0, 63, &at),
			0);
		fake_code(FAKE_BASE + 0x6000 + i * 0x80, start, FAKE_CODE_BYTES,
			  FAKE_DEOPT + 1, table);
		CHECK_INT(op_runtime_node_code(&codes, start, &code), 0);
		CHECK_INT(code->table_len, OP_NODE_BYTES_MAX);
	}
	op_vec_foreach(b, &codes.bytecodes)
		bytes += b->table_len;
	CHECK_INT(bytes, codes.bytecodes_bytes);
	CHECK(bytes && bytes <= OP_NODE_CODES_BYTES);
	bytes = 0;
	op_vec_foreach(code, &codes.all)
		bytes += code->table_len + code->inlined_len * sizeof(*code->inlined);
	CHECK_INT(bytes, codes.all_bytes);
	CHECK(bytes && bytes <= OP_NODE_CODES_BYTES);
	op_runtime_node_codes_clear(&codes);
	CHECK_INT(codes.bytecodes_bytes + codes.all_bytes, 0);
}

static void tables_are_decoded(void)
{
	static const struct op_node_table_form two = { -1, 2 };
	static const struct op_node_table_form three = { -1, 3 };
	static const struct op_node_table_form old = { 0, 0 };
	/* as Node.js 26 and 24 write the same: {-1: 13}, {0: 24}, {2: 37} */
	static const uint8_t v14[] = { 0x02, 0x38, 0x07, 0x2c, 0x0b, 0x34 };
	static const uint8_t v13[] = { 0x01, 0x38, 0x02, 0x2c, 0x04, 0x34 };
	/* as Deno 2.9 wrote, of machine code: {23: 2312}, {64: 2342}, {100: 2367} */
	static const uint8_t v15[] = { 0xc2, 0x01, 0xa4, 0x48, 0xca,
				       0x02, 0x78, 0xa2, 0x02, 0x64 };
	static const uint8_t cut[] = { 0x01, 0x38, 0x80 };
	static const struct op_node_table_form form = { -1, 0 };

	CHECK_INT(op_runtime_node_position_at(v14, sizeof(v14), two, 0).offset, 24);
	CHECK_INT(op_runtime_node_position_at(v14, sizeof(v14), two, 2).offset, 37);
	CHECK_INT(op_runtime_node_position_at(v15, sizeof(v15), three, 63).offset, 2312);
	CHECK_INT(op_runtime_node_position_at(v15, sizeof(v15), three, 64).offset, 2342);
	CHECK_INT(op_runtime_node_position_at(v15, sizeof(v15), three, 100).offset, 2367);
	CHECK_INT(op_runtime_node_position_at(v13, sizeof(v13), form, 0).offset, 24);
	CHECK_INT(op_runtime_node_position_at(v13, sizeof(v13), form, 2).offset, 37);
	CHECK_INT(op_runtime_node_position_at(v13, sizeof(v13), old, 0).offset, 13);
	CHECK_INT(op_runtime_node_position_at(cut, sizeof(cut), form, 9).offset, 13);
	CHECK_INT(op_runtime_node_position_at(cut, 0, form, 9).offset, -1);
	CHECK_INT(op_runtime_node_position(1).offset, -1);
}

TEST_MAIN({ "function", a_function_has_its_name_file_and_lines },
	  { "initializer", an_initializer_has_the_name_of_stack_traces },
	  { "begins_anywhere", a_script_begins_anywhere },
	  { "another_function", another_function_in_its_place_is_seen },
	  { "a_later_script", a_function_of_a_later_script_is_seen },
	  { "one_function", positions_belong_to_one_function },
	  { "the_end", the_end_of_a_process_has_lines },
	  { "moved", a_text_that_moved_has_its_lines },
	  { "end_of_memory", an_object_at_the_end_of_memory_is_read },
	  { "strings", strings_of_all_kinds_are_read },
	  { "bytecodes", bytecodes_have_places },
	  { "baseline", baseline_code_leads_to_bytecodes },
	  { "optimized", optimized_code_has_its_inlined_calls },
	  { "inlined", an_inlined_call_is_of_the_function_that_was_read },
	  { "lines_limit", lines_have_a_limit },
	  { "lines_unread", lines_that_cannot_be_read_take_no_memory },
	  { "heads", heads_are_few }, { "tables_limit", tables_have_a_limit },
	  { "tables", tables_are_decoded })
