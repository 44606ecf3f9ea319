/* SPDX-License-Identifier: Apache-2.0 */
/* Strings and functions of PHP, built byte by byte; hostile ones too. */
#include <sys/types.h>

#include "code/unwind/host/php_text.h"
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
	TYPE_STRING = 6,
};

static struct op_php_layout layout;

static void put_string(uint64_t addr, const char *text, size_t len)
{
	put_u32(addr + OP_PHP_STRING_TYPE, TYPE_STRING | 0x40); /* interned */
	put_u64(addr + OP_PHP_STRING_HASH, op_hash_bytes(text, len, 0));
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
	op_runtime_php_functions_init(functions, &fake.memory, &layout,
				      OP_PHP_FUNCTION_FOR_CALL);
	put_string(NAME, "work", 4);
	put_string(OP_CLASS_NAME, "Known\\Made", 10);
	put_string(FILE_NAME, "/srv/known.php", 14);
	put_u64(CLASS + OP_PHP_CLASS_NAME, OP_CLASS_NAME);
}

/* The identity of the function at @addr, as the step has it. */
static uint32_t check_of(uint64_t addr)
{
	const uint8_t *at = fake.bytes + (addr - BASE);
	const struct op_memory *memory = &fake.memory;
	uint64_t name;
	uint64_t scope;
	uint64_t file;
	uint64_t lines;
	uint64_t id;

	memcpy(&name, at + OP_PHP_FUNCTION_NAME, 8);
	memcpy(&scope, at + OP_PHP_FUNCTION_SCOPE, 8);
	id = op_object_id(op_object_id(addr, name), scope);
	id = op_object_id(id, op_php_text_read(memory, name));
	if (scope)
		id = op_object_id(id, op_php_text_read(memory, OP_CLASS_NAME));
	if (*at != OP_PHP_FUNCTION_INTERNAL) {
		memcpy(&file, at + layout.filename, 8);
		memcpy(&lines, at + layout.line_start, 8);
		id = op_object_id(op_object_id(id, file), lines);
		id = op_object_id(id, op_php_text_read(memory, file));
	}
	return (uint32_t)(id >> 32);
}

static int get_as(struct op_php_functions *functions, uint64_t addr, uint32_t check,
		  const struct op_php_function **ret)
{
	return op_runtime_php_functions_get(functions, addr, check, ret);
}

static const struct op_php_function *get(struct op_php_functions *functions,
					 uint64_t addr)
{
	const struct op_php_function *f = NULL;

	CHECK_OK(get_as(functions, addr, check_of(addr), &f));
	return f;
}

static void check_string(const char *want)
{
	struct op_strbuf s = { 0 };

	CHECK_OK(op_runtime_php_string(&fake.memory, NAME, &s));
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
	CHECK_OK(op_runtime_php_string(&fake.memory, NAME, &s));
	CHECK_INT(s.len, OP_PHP_TEXT_MAX);
	put_u64(NAME + OP_PHP_STRING_LENGTH, UINT64_C(1) << 40); /* longer than memory */
	CHECK_INT(op_runtime_php_string(&fake.memory, NAME, &s), -EBADMSG);
	put_u32(NAME + OP_PHP_STRING_TYPE, 7); /* an array */
	CHECK_INT(op_runtime_php_string(&fake.memory, NAME, &s), -EBADMSG);
	CHECK_INT(op_runtime_php_string(&fake.memory, 4096, &s), -EFAULT);
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
		f = get(&functions, FUNCTION);
		CHECK_STR(f->text, "work");
		CHECK_STR(f->text + f->file, "/srv/known.php");
		CHECK_INT(f->first_line, 40);
		put_u64(FUNCTION + OP_PHP_FUNCTION_SCOPE, CLASS);
		f = get(&functions, FUNCTION);
		CHECK_STR(f->text, "Known\\Made::work");
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
	f = get(&functions, last);
	CHECK_STR(f->text, "work");
	CHECK_STR(f->text + f->file, "");
	reads = fake.reads;
	CHECK_OK(get_as(&functions, last, f->check, &f));
	CHECK_INT(fake.reads, reads);
	put_u32(last + OP_PHP_FUNCTION_FLAGS, OP_PHP_FUNCTION_FOR_CALL);
	CHECK_STR(get(&functions, last)->text,
		  "work"); /* the same identity: it is kept */
	put_string(NAME, "qsort", 5);
	CHECK_STR(get(&functions, last)->text, "FFI::qsort");
	op_runtime_php_functions_deinit(&functions);
}

/* A name belongs to the function that had it, and not to what is at its address now. */
static void test_identity(void)
{
	struct op_php_functions functions;
	const struct op_php_function *f;
	uint32_t first;
	uint32_t second;

	begin(&functions, 0x0804);
	put_user(FUNCTION, OPS, 3, 40);
	first = check_of(FUNCTION);
	CHECK_STR(get(&functions, FUNCTION)->text, "work");
	put_string(NAME, "idle", 4); /* a request that is alike */
	second = check_of(FUNCTION);
	CHECK(second != first);
	CHECK_INT(get_as(&functions, FUNCTION, second ^ 1, &f), -ESTALE);
	CHECK_STR(get(&functions, FUNCTION)->text, "idle");
	CHECK_OK(get_as(&functions, FUNCTION, first, &f));
	CHECK_STR(f->text, "work");
	fake.gone = true;
	functions.window++;
	CHECK_OK(get_as(&functions, FUNCTION, second, &f));
	CHECK_STR(f->text, "idle");
	CHECK_INT(get_as(&functions, OTHER, second, &f), -ESRCH);
	op_runtime_php_functions_deinit(&functions);
}

/* The texts of names whose hash is not known: of two eval()s, only a line differs. */
static void test_texts(void)
{
	static const char one[] = "/srv/web/included/known.php(41) : eval()'d code";
	static const char two[] = "/srv/web/included/known.php(42) : eval()'d code";
	struct op_php_functions functions;
	uint32_t first;

	begin(&functions, 0x0804);
	put_string(FILE_NAME, one, sizeof(one) - 1);
	put_u64(FILE_NAME + OP_PHP_STRING_HASH, 0);
	first = op_php_text_read(&fake.memory, FILE_NAME);
	put(FILE_NAME + OP_PHP_STRING_TEXT, two, sizeof(two) - 1);
	CHECK(op_php_text_read(&fake.memory, FILE_NAME) != first);
	put(FILE_NAME + OP_PHP_STRING_TEXT, one, sizeof(one) - 1);
	CHECK_INT(op_php_text_read(&fake.memory, FILE_NAME), first);
	put_u64(FILE_NAME + OP_PHP_STRING_LENGTH, UINT64_MAX);
	CHECK(op_php_text_read(&fake.memory, FILE_NAME) != first);
	CHECK_INT(op_php_text_read(&fake.memory, 0), 0);
	CHECK_INT(op_php_text_read(&fake.memory, 1), 0);
	op_runtime_php_functions_deinit(&functions);
}

/* What the kernel copied names a function that is gone. */
static void test_copies(void)
{
	struct op_php_functions functions;
	const struct op_php_function *f;

	begin(&functions, 0x0804);
	put_user(FUNCTION, OPS, 3, 40);
	CHECK_OK(op_runtime_php_functions_add(&functions, FUNCTION, 7, &fake.memory));
	put_string(NAME, "idle", 4);
	CHECK_OK(op_runtime_php_functions_add(&functions, FUNCTION, 7, &fake.memory));
	put_u64(FUNCTION + layout.filename, 1); /* its file's name was not copied */
	CHECK_OK(op_runtime_php_functions_add(&functions, FUNCTION, 8, &fake.memory));
	fake.gone = true;
	CHECK_OK(get_as(&functions, FUNCTION, 7, &f));
	CHECK_STR(f->text, "work");
	CHECK_INT(functions.reads, 0);
	CHECK_OK(get_as(&functions, FUNCTION, 8, &f));
	CHECK_STR(f->text, "idle");
	CHECK_STR(f->text + f->file, "");
	CHECK_INT(op_runtime_php_functions_add(&functions, OTHER, 9, &fake.memory),
		  -ESRCH);
	op_runtime_php_functions_deinit(&functions);
}

static void check_bad(struct op_php_functions *functions)
{
	const struct op_php_function *f;

	CHECK_INT(get_as(functions, FUNCTION, check_of(FUNCTION), &f), -EBADMSG);
}

static void test_hostile(void)
{
	struct op_php_functions functions;
	const struct op_php_function *f;
	uint8_t type = 3;

	begin(&functions, 0x0804);
	put_user(FUNCTION, OPS, 3, 40);
	put(FUNCTION, &type, 1);
	check_bad(&functions);
	put_user(FUNCTION, OPS, 3, 40);
	put_u32(FUNCTION + layout.last, UINT32_MAX);
	check_bad(&functions);
	put_u32(FUNCTION + layout.last, 0);
	check_bad(&functions);
	put_user(FUNCTION, OPS, 3, 40);
	put_u64(FUNCTION + layout.filename, 1);
	f = get(&functions, FUNCTION);
	CHECK_STR(f->text + f->file, "");
	put_u32(NAME + OP_PHP_STRING_TYPE, 7); /* an array */
	functions.window++;
	put_u32(FUNCTION + layout.line_start, 50);
	check_bad(&functions);
	op_runtime_php_functions_deinit(&functions);
}

static void test_limit(void)
{
	struct op_php_functions functions;
	uint32_t i;

	begin(&functions, 0x0804);
	put_user(FUNCTION, OPS, 1, 1);
	for (i = 0; i < 3 * OP_PHP_FUNCTIONS_MAX; i++) {
		CHECK_OK(op_runtime_php_functions_add(&functions, FUNCTION, i,
						      &fake.memory));
		CHECK(functions.objects.all.len <= OP_PHP_FUNCTIONS_MAX);
	}
	op_runtime_php_functions_deinit(&functions);
}

TEST_MAIN({ "strings", test_strings },
	  { "functions_of_each_version", test_functions_of_each_version },
	  { "internal", test_internal }, { "identity", test_identity },
	  { "texts", test_texts }, { "copies", test_copies }, { "hostile", test_hostile },
	  { "limit", test_limit })
