/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, code objects and published layouts, built byte by byte; hostile ones too. */
#include <sys/types.h>

#include "runtime/python/code.h"
#include "runtime/python/layout.h"
#include "runtime/python/tasks.h"
#include "runtime/python/text.h"
#include "sample/kept/objects.h"

#include "fake_memory.h"
#include "test.h"

enum {
	TYPE = 0x5000,
	/* where things are put */
	CODE = BASE,
	NAME = BASE + 0x1000,
	FILE_NAME = BASE + 0x2000,
	TABLE = BASE + 0x3000,
};

/* A str: @kind bytes a character, @ascii or not (Include/cpython/unicodeobject.h). */
static void put_str(const struct op_python_layout *l, uint64_t addr, uint32_t kind,
		    bool ascii, const void *text, size_t chars)
{
	uint32_t state = kind << 2 | 1u << 5 | (ascii ? 1u << 6 : 0);

	put_u64(addr + 16, chars);
	put(addr + 32, &state, sizeof(state));
	put(addr + (ascii ? l->unicode_ascii : l->unicode_compact), text, chars * kind);
}

static void put_code(const struct op_python_layout *l, const char *name, const char *file,
		     uint32_t first_line)
{
	static const uint8_t table[] = { 0x80 | 13 << 3 | 7, 2 };
	static const uint32_t optimized = OP_PYTHON_OPTIMIZED;

	put_u64(CODE + 8, TYPE);
	put(CODE + l->code.flags, &optimized, sizeof(optimized));
	put(CODE + l->code.first_line, &first_line, sizeof(first_line));
	put_u64(CODE + l->code.file, FILE_NAME);
	put_u64(CODE + l->code.name, NAME);
	put_u64(CODE + (l->code.qualname ? l->code.qualname : l->code.name), NAME);
	put_u64(CODE + l->code.lines, TABLE);
	put_str(l, NAME, 1, true, name, strlen(name));
	put_u64(NAME + OP_PYTHON_NAME_HASH, op_hash_bytes(name, strlen(name), 0));
	put_str(l, FILE_NAME, 1, true, file, strlen(file));
	put_u64(TABLE + 16, sizeof(table));
	put(TABLE + 32, table, sizeof(table));
}

/* co_version, where there is one. */
static void put_number(const struct op_python_layout *l, uint32_t number)
{
	if (l->code.version)
		put(CODE + l->code.version, &number, sizeof(number));
}

static const struct op_python_layout *begin(uint16_t version)
{
	static struct op_python_layout layout;

	fake_begin();
	CHECK_OK(op_layouts_find_number(NULL, &op_runtime_python_layouts, version,
					&layout));
	return &layout;
}

static void check_str(const struct op_python_layout *l, const char *want)
{
	struct op_strbuf s = { 0 };

	CHECK_OK(op_runtime_python_str(&fake.memory, l, NAME, &s));
	CHECK_STR(s.data, want);
	op_strbuf_deinit(&s);
}

static void test_str_of_each_kind(void)
{
	static const uint16_t versions[] = { 0x0306, 0x030b, 0x030c, 0x030e };
	static const uint8_t latin[] = { 'n', 'a', 0xef, 'v', 'e' };
	static const uint16_t two[] = { 0x51fd, 'x', 0xd800 };
	static const uint32_t four[] = { 0x1f40d, 0x110000 };
	size_t i;

	for (i = 0; i < 4; i++) {
		const struct op_python_layout *l = begin(versions[i]);

		put_str(l, NAME, 1, true, "plain", 5);
		check_str(l, "plain");
		put_str(l, NAME, 1, false, latin, 5);
		check_str(l, "na\xc3\xafve");
		put_str(l, NAME, 2, false, two,
			3); /* a surrogate alone is no character */
		check_str(l, "\xe5\x87\xbdx\xef\xbf\xbd");
		put_str(l, NAME, 4, false, four, 2);
		check_str(l, "\xf0\x9f\x90\x8d\xef\xbf\xbd");
		put_str(l, NAME, 1, true, "", 0);
		check_str(l, "");
	}
}

static void test_not_a_str(void)
{
	const struct op_python_layout *l = begin(0x030b);
	struct op_strbuf s = { 0 };
	static char text[OP_PYTHON_TEXT_MAX + 10];

	CHECK_INT(op_runtime_python_str(&fake.memory, l, NAME, &s), -EBADMSG);
	put_str(l, NAME, 3, false, "", 0); /* no such kind */
	CHECK_INT(op_runtime_python_str(&fake.memory, l, NAME, &s), -EBADMSG);
	CHECK_INT(op_runtime_python_str(&fake.memory, l, 4096, &s), -EFAULT);
	put_str(l, NAME, 1, true, "x", 1);
	put_u64(NAME + 16, UINT64_C(1) << 40); /* longer than memory */
	CHECK_INT(op_runtime_python_str(&fake.memory, l, NAME, &s), -EBADMSG);
	op_strbuf_deinit(&s);
	memset(&s, 0, sizeof(s));
	memset(text, 'x', sizeof(text));
	put_str(l, NAME, 1, true, text, sizeof(text));
	CHECK_OK(op_runtime_python_str(&fake.memory, l, NAME, &s));
	CHECK_INT(strlen(s.data), OP_PYTHON_TEXT_MAX);
	op_strbuf_deinit(&s);
}

/* The identity of the code object that is there now. */
static uint32_t check_of(const struct op_python_layout *l)
{
	__u64 tail[OP_PYTHON_TAIL_WORDS];
	uint64_t length;
	uint64_t hash;

	memcpy(&hash, fake.bytes + (NAME + OP_PYTHON_NAME_HASH - BASE), sizeof(hash));
	memcpy(&length, fake.bytes + (FILE_NAME + OP_PYTHON_TEXT_LENGTH - BASE),
	       sizeof(length));
	memcpy(tail, fake.bytes + (op_python_tail(FILE_NAME, length) - BASE),
	       sizeof(tail));
	return op_runtime_python_layout_id(l, CODE, fake.bytes + (CODE - BASE),
					   l->code.bytes,
					   op_python_texts(hash, length, tail));
}

static const struct op_python_code *get(struct op_python_codes *codes, uint32_t check)
{
	const struct op_python_code *code = NULL;

	CHECK_OK(op_runtime_python_codes_get(codes, CODE, check, &code));
	return code;
}

static void test_codes_are_read_once(void)
{
	const struct op_python_layout *l = begin(0x030b);
	struct op_python_codes codes;
	uint32_t check;

	op_runtime_python_codes_init(&codes, &fake.memory, l, TYPE);
	put_code(l, "first", "a.py", 3);
	check = check_of(l);
	CHECK_STR(get(&codes, check)->text, "first");
	CHECK_STR(get(&codes, check)->text + get(&codes, check)->file, "a.py");
	CHECK_INT(get(&codes, check)->first_line, 3);
	CHECK_INT(get(&codes, check)->lines_len, 2);
	fake.reads = 0;
	codes.window++;
	CHECK_STR(get(&codes, check)->text, "first");
	CHECK_INT(fake.reads, 0);
	op_runtime_python_codes_deinit(&codes);
}

/* The next object at the address has another name, or another file's, and nothing else
 * that differs. */
static void check_next_object(uint16_t version)
{
	const struct op_python_layout *l = begin(version);
	const struct op_python_code *code;
	struct op_python_codes codes;
	uint32_t first;
	uint32_t second;

	op_runtime_python_codes_init(&codes, &fake.memory, l, TYPE);
	put_code(l, "first", "a.py", 3);
	put_number(l, 7);
	first = check_of(l);
	CHECK_STR(get(&codes, first)->text, "first");
	put_code(l, "other", "a.py", 3);
	put_number(l, 8);
	second = check_of(l);
	CHECK(first != second);
	CHECK_STR(get(&codes, second)->text, "other");
	CHECK_STR(get(&codes, first)->text, "first");
	put_code(l, "other", "made/b.py", 3);
	put_number(l, 9);
	first = check_of(l);
	CHECK(first != second);
	CHECK_STR(get(&codes, first)->text + get(&codes, first)->file, "made/b.py");
	put_code(l, "other", "made/c.py", 3);
	put_number(l, 10);
	CHECK(check_of(l) != first);
	put_number(l, 11);
	/* one that was never read has no name, and not that of what is there */
	CHECK_INT(op_runtime_python_codes_get(&codes, CODE, second + 1, &code), -ESTALE);
	CHECK_INT(codes.changed, 1);
	op_runtime_python_codes_deinit(&codes);
}

static void test_names_belong_to_objects(void)
{
	check_next_object(0x0306);
	check_next_object(0x030a);
	check_next_object(0x030b);
	check_next_object(0x030c);
	check_next_object(0x030e);
}

static void test_process_that_is_gone(void)
{
	const struct op_python_layout *l = begin(0x030b);
	const struct op_python_code *code;
	struct op_python_codes codes;
	uint32_t check;

	op_runtime_python_codes_init(&codes, &fake.memory, l, TYPE);
	put_code(l, "first", "a.py", 3);
	check = check_of(l);
	CHECK_STR(get(&codes, check)->text, "first");
	codes.window++;
	fake.gone = true;
	CHECK_STR(get(&codes, check)->text, "first");
	CHECK_INT(op_runtime_python_codes_get(&codes, CODE + 64, check, &code), -ESRCH);
	CHECK_INT(op_runtime_python_codes_get(&codes, CODE, check + 1, &code), -ESRCH);
	op_runtime_python_codes_deinit(&codes);
}

static void test_not_a_code_object(void)
{
	const struct op_python_layout *l = begin(0x030b);
	const struct op_python_code *code;
	struct op_python_codes codes;

	op_runtime_python_codes_init(&codes, &fake.memory, l, TYPE);
	put_code(l, "first", "a.py", 3);
	put_u64(CODE + 8, TYPE + 8);
	CHECK_INT(op_runtime_python_codes_get(&codes, CODE, check_of(l), &code),
		  -EBADMSG);
	op_runtime_python_codes_deinit(&codes);
}

/* The record that the kernel would make, by the steps that it is given; but of no more than
 * @most bytes of the line table. Returns its length. */
static size_t copy_object(const struct op_python_layout *l, uint32_t most, uint8_t *to)
{
	struct op_object_record record = { .frame = CODE, .check = check_of(l) };
	struct op_python p = { 0 };
	uint64_t start[OP_OBJECT_STEPS] = { 0 };
	size_t at = sizeof(record);
	size_t i;

	op_runtime_python_layout_step(l, &p);
	memcpy(to, &record, sizeof(record));
	for (i = 0; i < OP_OBJECT_STEPS && p.object[i].bytes; i++) {
		const struct op_object_step *s = &p.object[i];
		struct op_object_piece piece = { .at = CODE };
		uint32_t chars = 0;

		if (i)
			memcpy(&piece.at, to + start[s->piece] + s->at, 8);
		if (s->length_at)
			memcpy(&chars, fake.bytes + (piece.at + s->length_at - BASE), 4);
		if (s->width_at)
			chars *= fake.bytes[piece.at + s->width_at - BASE] >> 2 & 7;
		piece.bytes = s->bytes + OP_MIN(chars, (uint32_t)s->most);
		if (i == 3)
			piece.bytes = OP_MIN(piece.bytes, s->bytes + most);
		memcpy(to + at, &piece, sizeof(piece));
		start[i] = at += sizeof(piece);
		memcpy(to + at, fake.bytes + (piece.at - BASE), piece.bytes);
		at += OP_ALIGN_UP(piece.bytes, 8);
	}
	CHECK_INT(i, 4);
	return at;
}

static void check_copied(uint16_t version)
{
	const struct op_python_layout *l = begin(version);
	static uint8_t record[OP_OBJECT_BYTES];
	struct op_copied_object copied;
	struct op_python_codes codes;
	uint32_t check;

	op_runtime_python_codes_init(&codes, &fake.memory, l, TYPE);
	put_code(l, "young", "a.py", 3);
	check = check_of(l);
	CHECK_OK(op_copied_object_read(record, copy_object(l, 100, record), &copied));
	fake.gone = true;
	CHECK_OK(op_runtime_python_codes_add(&codes, CODE, check, &copied.memory));
	CHECK_STR(get(&codes, check)->text, "young");
	CHECK_STR(get(&codes, check)->text + get(&codes, check)->file, "a.py");
	CHECK_INT(get(&codes, check)->first_line, 3);
	CHECK_INT(get(&codes, check)->lines_len, 2);
	CHECK(get(&codes, check)->whole);
	op_runtime_python_codes_deinit(&codes);
}

static void test_copied_before_it_was_gone(void)
{
	check_copied(0x0306);
	check_copied(0x030b);
	check_copied(0x030e);
}

static void test_the_rest_of_a_cut_copy_is_read(void)
{
	const struct op_python_layout *l = begin(0x030b);
	static uint8_t record[OP_OBJECT_BYTES];
	struct op_copied_object copied;
	struct op_python_codes codes;
	uint32_t check;

	op_runtime_python_codes_init(&codes, &fake.memory, l, TYPE);
	put_code(l, "long", "a.py", 3);
	check = check_of(l);
	CHECK_OK(op_copied_object_read(record, copy_object(l, 1, record), &copied));
	CHECK_OK(op_runtime_python_codes_add(&codes, CODE, check, &copied.memory));
	CHECK_INT(get(&codes, check)->lines_len, 2);
	CHECK(get(&codes, check)->whole);
	op_runtime_python_codes_deinit(&codes);

	op_runtime_python_codes_init(&codes, &fake.memory, l, TYPE);
	CHECK_OK(op_runtime_python_codes_add(&codes, CODE, check, &copied.memory));
	fake.gone = true;
	CHECK_STR(get(&codes, check)->text, "long");
	CHECK(!get(&codes, check)->whole && !get(&codes, check)->has_lines);
	op_runtime_python_codes_deinit(&codes);
}

static void test_hostile_records(void)
{
	const struct op_python_layout *l = begin(0x030b);
	static uint8_t record[OP_OBJECT_BYTES];
	struct op_copied_object copied;
	uint8_t byte;
	size_t len;
	size_t i;

	put_code(l, "young", "a.py", 3);
	len = copy_object(l, 100, record);
	CHECK_OK(op_copied_object_read(record, len, &copied));
	CHECK_INT(op_memory_read(&copied.memory, CODE - 1, &byte, 1), -EFAULT);
	CHECK_INT(op_memory_read(&copied.memory, CODE + l->code.bytes, &byte, 1),
		  -EFAULT);
	CHECK_OK(op_memory_read(&copied.memory, CODE + l->code.bytes - 1, &byte, 1));
	for (i = 0; i < len; i++)
		(void)op_copied_object_read(record, i, &copied);
	CHECK_INT(op_copied_object_read(record, len - 1, &copied), -EBADMSG);
	memset(record + sizeof(struct op_object_record) + 8, 0xff, 4);
	CHECK_INT(op_copied_object_read(record, len, &copied), -EBADMSG);
}

static void test_published_layout(void)
{
	/* Groups of 3.13, with offsets that no row has: runtime_state, interpreter_state,
	 * thread_state, interpreter_frame, code_object, pyobject, type_object, tuple, list, dict,
	 * float, long, bytes_object, unicode_object */
	static const uint16_t groups[] = { 1,	2,   3,	  1,   2,   3,	 4,   5,  6,  7,
					   8,	9,   10,  11,  12,  13,	 300, 0,  8,  16,
					   64,	1,   2,	  3,   4,   88,	 16,  8,  48, 80,
					   72,	240, 144, 152, 160, 168, 76,  1,  1,  1,
					   232, 16,  8,	  416, 24,  88,	 168, 32, 24, 16,
					   40,	24,  16,  48,  32,  40,	 24,  16, 32, 16,
					   24,	40,  16,  32,  64,  32,	 16,  40 };
	uint64_t words[3 + OP_ARRAY_SIZE(groups)] = { UINT64_C(0x7970677562656478),
						      0x030d05f0 }; /* "xdebugpy" */
	struct op_python_layout before = *begin(0x030d);
	struct op_python_layout l = before;
	uint64_t bad[sizeof(words) / 8];
	struct op_python step = { 0 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(groups); i++)
		words[3 + i] = groups[i];
	CHECK_OK(op_runtime_python_layout_published(words, sizeof(words), 0x030d, &l));
	CHECK_INT(l.state_frame, 64);
	CHECK_INT(l.frame.previous, 16);
	CHECK_INT(l.frame.code, 8);
	CHECK_INT(l.frame.place, 48);
	CHECK_INT(l.frame.mark, 72);
	CHECK_INT(l.code.file, 144);
	CHECK_INT(l.code.qualname, 160);
	CHECK_INT(l.code.lines, 168);
	CHECK_INT(l.code.first_line, 76);
	CHECK_INT(l.code.units, 232);
	op_runtime_python_layout_step(&l, &step);
	CHECK_INT(step.read_from, 8);
	CHECK_INT(step.frame_code, 0);
	CHECK(step.read_bytes >= 65 && step.read_bytes <= OP_PYTHON_READ_MAX);

	/* free-threaded: PyObject is longer, and so is what is not published */
	l = before;
	memcpy(bad, words, sizeof(bad));
	bad[2] = 1;
	bad[3 + 41] = 32;
	bad[3 + 42] = 24;
	bad[3 + 61] += 16;
	CHECK_OK(op_runtime_python_layout_published(bad, sizeof(bad), 0x030d, &l));
	CHECK_INT(l.object_type, 24);
	CHECK_INT(l.code.flags, before.code.flags + 16);
	CHECK_INT(l.code.version, before.code.version + 16);

	l = before;
	CHECK_INT(
		op_runtime_python_layout_published(words, sizeof(words) - 8, 0x030d, &l),
		-EBADMSG);
	memcpy(bad, words, sizeof(bad));
	bad[2] = 1; /* free-threaded, but the objects are as short as others */
	CHECK_INT(op_runtime_python_layout_published(bad, sizeof(bad), 0x030d, &l),
		  -EBADMSG);
	bad[1] = 0x030e00f0; /* threads have copies of the bytecode */
	CHECK_INT(op_runtime_python_layout_published(bad, sizeof(bad), 0x030e, &l),
		  -ENOTSUP);
	memcpy(bad, words, sizeof(bad));
	bad[1] = 0x030e00f0;
	CHECK_INT(op_runtime_python_layout_published(bad, sizeof(bad), 0x030d, &l),
		  -EBADMSG);
	memcpy(bad, words, sizeof(bad));
	bad[28] = UINT64_C(1) << 40; /* the frame's size */
	CHECK_INT(op_runtime_python_layout_published(bad, sizeof(bad), 0x030d, &l),
		  -EBADMSG);
	CHECK(memcmp(&l, &before, sizeof(l)) == 0);
}

/* 3.15 has groups between those that are used, and longer ones: each word here is the number of
 * its group * 8 but where sense is asked for. */
static void test_published_layout_3_15(void)
{
	struct op_python_layout l = *begin(0x030f);
	uint64_t words[3 + 128] = { UINT64_C(0x7970677562656478), 0x030f02f0, 0 };
	/* runtime, interpreter, thread, err_stackitem, frame, code, object, type, heap_type,
	 * tuple, list, set, dict, float, long, bytes, unicode, gc, generator */
	static const struct {
		uint32_t words;
		uint64_t value[8];
	} groups[] = {
		{ 3, { 0 } },
		{ 16, { 0 } },
		{ 16, { 400, 0, 8, 16, 72, 80 } },
		{ 1, { 999 } },
		{ 8, { 88, 8, 0, 56, 80, 74, 64, 0 } },
		{ 11, { 216, 112, 120, 128, 136, 68, 52, 96 } },
		{ 2, { 16, 8 } },
		{ 6, { 0 } },
		{ 2, { 999, 999 } },
		{ 3, { 0 } },
		{ 3, { 0 } },
		{ 4, { 0 } },
		{ 3, { 0 } },
		{ 2, { 0 } },
		{ 3, { 0 } },
		{ 3, { 40, 16, 32 } },
		{ 5, { 64, 32, 16, 40, 56 } },
		{ 5, { 0 } },
		{ 4, { 160, 24, 80, 66 } },
	};
	struct op_python step = { 0 };
	size_t at = 3;
	size_t i, k;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); at += groups[i++].words)
		for (k = 0; k < groups[i].words && k < 8; k++)
			words[at + k] = groups[i].value[k];
	words[3 + 3 + 16 + 16 + 1 + 8 + 9] = 208; /* co_code_adaptive */
	CHECK_OK(op_runtime_python_layout_published(words, sizeof(words), 0x030f, &l));
	CHECK_INT(l.state_frame, 72);
	CHECK_INT(l.frame.previous, 8);
	CHECK_INT(l.frame.place, 56);
	CHECK_INT(l.frame.mark, 74);
	CHECK_INT(l.code.qualname, 128);
	CHECK_INT(l.code.units, 208);
	CHECK_INT(l.bytes_text, 32);
	CHECK_INT(l.unicode_compact, 56);
	CHECK_INT(l.pointer_mask, 3);
	op_runtime_python_layout_step(&l, &step);
	CHECK_INT(step.tasks.generator_frame, 80);
	CHECK_INT(step.tasks.generator_state, 66);
	CHECK_INT(step.tasks.frame_stack, 64);
	CHECK_INT(step.tasks.awaits, 2);
	CHECK_INT(step.tasks.awaited_below, 16);
	words[at - 4] = UINT64_C(1) << 32; /* the generator's size */
	l = *begin(0x030f);
	CHECK_OK(op_runtime_python_layout_published(words, sizeof(words), 0x030f, &l));
	CHECK_INT(l.frame.place, 56);
	CHECK_INT(l.generator_frame, 0);
}

/* What _asyncio of 3.14 publishes, and what must be refused. */
static void test_published_tasks(void)
{
	static const uint64_t words[] = { 168,	  136,	 96,  108, 109, 128, 152,
					  225864, 10880, 936, 864, 872, 880 };
	/* word, value */
	static const uint64_t wrong[][2] = {
		{ 0, 256 },  { 2, 8 },	  { 2, 97 },	  { 2, 161 },
		{ 2, 1000 }, { 3, 168 },  { 4, 1 << 20 }, { 5, UINT64_MAX },
		{ 9, 10 },   { 11, 930 }, { 11, 70000 },
	};
	struct op_python_tasks t = { 0 };
	struct op_python_tasks none = { 0 };
	uint64_t bad[sizeof(words) / 8];
	size_t i;

	CHECK_OK(op_runtime_python_tasks_published(words, sizeof(words), &t));
	CHECK_INT(t.task_awaiter, 96);
	CHECK_INT(t.task_is_task, 108);
	CHECK_INT(t.task_in_set, 109);
	CHECK_INT(t.task_coroutine, 128);
	CHECK_INT(t.state_task, 872);
	CHECK_INT(op_runtime_python_tasks_published(words, sizeof(words) - 8, &none),
		  -EBADMSG);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(bad, words, sizeof(bad));
		bad[wrong[i][0]] = wrong[i][1];
		CHECK_INT(op_runtime_python_tasks_published(bad, sizeof(bad), &none),
			  -EBADMSG);
	}
	CHECK_INT(none.state_task, 0);
}

TEST_MAIN({ "str_of_each_kind", test_str_of_each_kind }, { "not_a_str", test_not_a_str },
	  { "codes_are_read_once", test_codes_are_read_once },
	  { "names_belong_to_objects", test_names_belong_to_objects },
	  { "copied_before_it_was_gone", test_copied_before_it_was_gone },
	  { "the_rest_of_a_cut_copy_is_read", test_the_rest_of_a_cut_copy_is_read },
	  { "hostile_records", test_hostile_records },
	  { "process_that_is_gone", test_process_that_is_gone },
	  { "not_a_code_object", test_not_a_code_object },
	  { "published_layout", test_published_layout },
	  { "published_layout_3_15", test_published_layout_3_15 },
	  { "published_tasks", test_published_tasks })
