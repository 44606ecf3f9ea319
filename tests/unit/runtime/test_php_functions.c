/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and functions of PHP, built byte by byte; hostile ones too. */
#include <sys/types.h>

#include "runtime/php/function.h"
#include "runtime/php/text.h"

#include "op_user_types.h"

#include "op_php.h"

#include "fake_memory.h"
#include "test.h"

enum {
	/* where things are put */
	FUNCTION = BASE,
	OTHER = BASE + 0x400,
	CLASS = BASE + 0x800,
	NAME = BASE + 0x1000,
	OP_CLASS_NAME = BASE + 0x2800,
	FILE_NAME = BASE + 0x4000,
	OPS = BASE + 0x6000,
	OTHER_OPS = BASE + 0x7000,
	TYPE_STRING = 6,
};

static struct op_php_layout layout;

static void put_string(uint64_t addr, const char *text, size_t len)
{
	put_u32(addr + OP_PHP_STRING_TYPE, TYPE_STRING | 0x40); /* interned */
	put_u64(addr + OP_PHP_STRING_LENGTH, len);
	put(addr + OP_PHP_STRING_TEXT, text, len);
}

/* A function whose @count instructions at @ops stand in lines @line, @line + 1, ... */
static void put_user(uint64_t addr, uint64_t ops, uint32_t count, uint32_t line)
{
	uint8_t type = OP_PHP_FUNCTION_USER;
	uint32_t i;

	put(addr, &type, 1);
	put_u64(addr + OP_PHP_FUNCTION_NAME, NAME);
	put_u64(addr + OP_PHP_FUNCTION_SCOPE, 0);
	put_u64(addr + layout.opcodes, ops);
	put_u32(addr + layout.last, count);
	put_u64(addr + layout.filename, FILE_NAME);
	put_u32(addr + layout.line_start, line);
	for (i = 0; i < count; i++)
		put_u32(ops + i * OP_PHP_OP_BYTES + OP_PHP_OP_LINE, line + i);
}

static void begin(struct op_php_functions *functions, uint16_t version)
{
	fake_begin();
	CHECK_OK(op_layouts_find_number(NULL, &op_runtime_php_layouts, version, &layout));
	CHECK(layout.function_bytes <= OP_PHP_FUNCTION_BYTES_MAX);
	op_runtime_php_functions_init(functions, &fake.memory, &layout);
	put_string(NAME, "work", 4);
	put_string(OP_CLASS_NAME, "Known\\Made", 10);
	put_string(FILE_NAME, "/srv/known.php", 14);
	put_u64(CLASS + OP_PHP_CLASS_NAME, OP_CLASS_NAME);
}

static const struct op_php_function *get(struct op_php_functions *functions,
					 uint64_t addr, uint64_t opline)
{
	const struct op_php_function *f = NULL;

	CHECK_OK(op_runtime_php_functions_get(functions, addr, 0, opline, &f));
	return f;
}

static void check_string(const char *want)
{
	struct op_strbuf s = { 0 };

	CHECK_OK(op_runtime_php_string(&fake.memory, NAME, -1, &s));
	CHECK_STR(s.data, want);
	op_strbuf_deinit(&s);
}

static void test_strings(void)
{
	static char text[OP_PHP_TEXT_MAX + 10];
	struct op_php_functions functions;
	struct op_strbuf s = { 0 };

	begin(&functions, 0x0804);
	check_string("work");
	put_string(NAME, "class@anonymous\0/srv/a.php:3$0", 30);
	check_string("class@anonymous");
	memset(text, 'x', sizeof(text));
	put_string(NAME, text, sizeof(text));
	CHECK_OK(op_runtime_php_string(&fake.memory, NAME, -1, &s));
	CHECK_INT(s.len, OP_PHP_TEXT_MAX);
	put_u64(NAME + OP_PHP_STRING_LENGTH, UINT64_C(1) << 40); /* longer than memory */
	CHECK_INT(op_runtime_php_string(&fake.memory, NAME, -1, &s), -EBADMSG);
	put_u32(NAME + OP_PHP_STRING_TYPE, 7); /* an array */
	CHECK_INT(op_runtime_php_string(&fake.memory, NAME, -1, &s), -EBADMSG);
	CHECK_INT(op_runtime_php_string(&fake.memory, 4096, -1, &s), -EFAULT);
	op_strbuf_deinit(&s);
}

static void test_functions_of_each_version(void)
{
	static const uint16_t versions[] = { 0x0703, 0x0704, 0x0800, 0x0801,
					     0x0802, 0x0803, 0x0804, 0x0805 };
	struct op_php_functions functions;
	const struct op_php_function *f;
	size_t i;

	for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		begin(&functions, versions[i]);
		put_user(FUNCTION, OPS, 3, 40);
		f = get(&functions, FUNCTION, OPS + OP_PHP_OP_BYTES);
		CHECK_STR(f->name, "work");
		CHECK_STR(f->file, "/srv/known.php");
		CHECK_INT(f->first_line, 40);
		CHECK_INT(op_runtime_php_line(f, OPS + OP_PHP_OP_BYTES), 41);
		CHECK_INT(op_runtime_php_line(f, OPS + 3 * OP_PHP_OP_BYTES), 0);
		CHECK_INT(op_runtime_php_line(f, OPS - 1), 0);
		put_u64(FUNCTION + OP_PHP_FUNCTION_SCOPE, CLASS);
		functions.window++;
		f = get(&functions, FUNCTION, OPS);
		CHECK_STR(f->name, "Known\\Made::work");
		CHECK_INT(functions.changed, 1);
		op_runtime_php_functions_deinit(&functions);
	}
	CHECK_INT(op_layouts_find_number(NULL, &op_runtime_php_layouts, 0x0702, &layout),
		  -ENOENT);
	CHECK_INT(op_layouts_find_number(NULL, &op_runtime_php_layouts, 0x0900, &layout),
		  -ENOENT);
}

static void test_internal(void)
{
	static const uint8_t type = OP_PHP_FUNCTION_INTERNAL;
	/* at the end of memory: it is shorter than the others */
	const uint64_t last = BASE + BYTES - OP_PHP_FUNCTION_COMMON;
	struct op_php_functions functions;
	const struct op_php_function *f;
	int reads;

	begin(&functions, 0x0802);
	put(last, &type, 1);
	put_u64(last + OP_PHP_FUNCTION_NAME, NAME);
	f = get(&functions, last, 0);
	CHECK_STR(f->name, "work");
	CHECK_STR(f->file, "");
	CHECK_INT(op_runtime_php_line(f, 0), 0);
	reads = fake.reads;
	(void)get(&functions, last, 0);
	CHECK_INT(fake.reads, reads);
	op_runtime_php_functions_deinit(&functions);
}

static void test_what_is_read_again(void)
{
	struct op_php_functions functions;
	const struct op_php_function *f;
	int reads;

	begin(&functions, 0x0804);
	put_user(FUNCTION, OPS, 3, 40);
	(void)get(&functions, FUNCTION, OPS);
	reads = fake.reads;
	(void)get(&functions, FUNCTION, OPS + 2 * OP_PHP_OP_BYTES);
	CHECK_INT(fake.reads, reads); /* one of its own instructions */
	f = get(&functions, FUNCTION, OTHER_OPS);
	CHECK_STR(f->name, "work"); /* another's, left there: still the same */
	CHECK_INT(fake.reads, reads + 1);
	functions.window++;
	(void)get(&functions, FUNCTION, OPS);
	CHECK_INT(fake.reads, reads + 2);
	CHECK_INT(functions.reads, 1);

	/* the memory is another closure's now */
	put_string(OP_CLASS_NAME, "other", 5);
	put_user(FUNCTION, OTHER_OPS, 2, 70);
	put_u64(FUNCTION + OP_PHP_FUNCTION_NAME, OP_CLASS_NAME);
	f = get(&functions, FUNCTION, OTHER_OPS);
	CHECK_STR(f->name, "other");
	CHECK_INT(op_runtime_php_line(f, OTHER_OPS), 70);
	op_runtime_php_functions_deinit(&functions);
}

static void test_gone(void)
{
	struct op_php_functions functions;
	const struct op_php_function *f;

	begin(&functions, 0x0804);
	put_user(FUNCTION, OPS, 3, 40);
	put_user(OTHER, OTHER_OPS, 3, 50);
	(void)get(&functions, FUNCTION, OPS);
	fake.gone = true;
	functions.window++;
	f = get(&functions, FUNCTION, OPS + OP_PHP_OP_BYTES);
	CHECK_INT(op_runtime_php_line(f, OPS + OP_PHP_OP_BYTES), 41);
	/* a copy of it that was never read */
	f = get(&functions, OTHER, OPS);
	CHECK_STR(f->name, "work");
	CHECK_INT(op_runtime_php_functions_get(&functions, OTHER, 0, OTHER_OPS, &f),
		  -ESRCH);
	CHECK_INT(op_runtime_php_functions_get(&functions, OTHER, 0, 0, &f), -ESRCH);
	op_runtime_php_functions_deinit(&functions);
}

/* A frame of a closure, a file or an eval() tells where the names are. */
static void test_names(void)
{
	const struct op_php_names closure = { .name = NAME,
					      .scope = CLASS,
					      .file = FILE_NAME,
					      .file_guard = op_php_string_guard(0, 14),
					      .first_line = 9 };
	struct op_php_names other = closure;
	struct op_php_functions functions;
	const struct op_php_function *f;
	int reads;

	begin(&functions, 0x0804);
	CHECK_OK(op_runtime_php_functions_by_names(&functions, &closure, &f));
	CHECK_STR(f->name, "Known\\Made::work");
	CHECK_STR(f->file, "/srv/known.php");
	CHECK_INT(f->first_line, 9);
	reads = fake.reads;
	CHECK_OK(op_runtime_php_functions_by_names(&functions, &closure, &f));
	CHECK_INT(fake.reads, reads);

	/* another string is there now: what was read stays, nothing new is taken from it */
	put_string(FILE_NAME, "/srv/no.php", 11);
	functions.window++;
	CHECK_OK(op_runtime_php_functions_by_names(&functions, &closure, &f));
	CHECK_STR(f->file, "/srv/known.php");
	other.first_line = 10;
	CHECK_OK(op_runtime_php_functions_by_names(&functions, &other, &f));
	CHECK_STR(f->name, "Known\\Made::work");
	CHECK_STR(f->file, "");

	fake.gone = true;
	functions.window++;
	CHECK_OK(op_runtime_php_functions_by_names(&functions, &closure, &f));
	CHECK_STR(f->file, "/srv/known.php");
	other.first_line = 11;
	CHECK_INT(op_runtime_php_functions_by_names(&functions, &other, &f), -ESRCH);
	other = (struct op_php_names){ .is_eval = 1 };
	CHECK_OK(op_runtime_php_functions_by_names(&functions, &other, &f));
	CHECK_STR(f->name, "");
	CHECK_INT(f->type, OP_PHP_FUNCTION_EVAL);
	op_runtime_php_functions_deinit(&functions);
}

static void test_hostile(void)
{
	struct op_php_functions functions;
	const struct op_php_function *f;
	uint8_t type = 3;

	begin(&functions, 0x0804);
	put_user(FUNCTION, OPS, 3, 40);
	put(FUNCTION, &type, 1);
	CHECK_INT(op_runtime_php_functions_get(&functions, FUNCTION, 0, OPS, &f),
		  -EBADMSG);
	put_user(FUNCTION, OPS, 3, 40);
	put_u32(FUNCTION + layout.last, UINT32_MAX);
	CHECK_INT(op_runtime_php_functions_get(&functions, FUNCTION, 0, OPS, &f),
		  -EBADMSG);
	put_u32(FUNCTION + layout.last, 0);
	CHECK_INT(op_runtime_php_functions_get(&functions, FUNCTION, 0, OPS, &f),
		  -EBADMSG);
	put_u32(FUNCTION + layout.last, OP_PHP_LINES_MAX + 1); /* a name, no lines */
	f = get(&functions, FUNCTION, OPS);
	CHECK(!f->lines);
	CHECK_INT(op_runtime_php_line(f, OPS), 0);
	functions.window++;
	put_u32(FUNCTION + layout.last, 30000); /* that are not there */
	f = get(&functions, FUNCTION, OPS);
	CHECK(!f->lines);
	functions.window++;
	put_user(FUNCTION, OPS, 3, 40);
	put_u64(FUNCTION + layout.filename, 1);
	f = get(&functions, FUNCTION, OPS);
	CHECK_STR(f->file, "");
	functions.window++;
	put_u64(FUNCTION + OP_PHP_FUNCTION_SCOPE, 1);
	CHECK_INT(op_runtime_php_functions_get(&functions, FUNCTION, 0, OPS, &f),
		  -EFAULT);
	op_runtime_php_functions_deinit(&functions);
}

static void test_limit(void)
{
	struct op_php_functions functions;
	uint64_t i;

	begin(&functions, 0x0804);
	memset(fake.bytes, 0, 0x1000);
	for (i = 0; i < 64; i++)
		put_user(OPS + 0x2000 + i * 0x100, OPS, 1, 1);
	for (i = 0; i < 3 * (uint64_t)OP_PHP_FUNCTIONS_MAX; i++) {
		/* a different address each time, the same bytes */
		const struct op_php_function *f;

		(void)op_runtime_php_functions_get(&functions, OPS + 0x2000 + i % 0x4000,
						   0, OPS, &f);
		CHECK(functions.objects.all.len <= OP_PHP_FUNCTIONS_MAX);
	}
	op_runtime_php_functions_deinit(&functions);
}

TEST_MAIN({ "strings", test_strings },
	  { "functions_of_each_version", test_functions_of_each_version },
	  { "internal", test_internal },
	  { "what_is_read_again", test_what_is_read_again }, { "gone", test_gone },
	  { "names", test_names }, { "hostile", test_hostile }, { "limit", test_limit })
