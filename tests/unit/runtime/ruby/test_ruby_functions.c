/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, sequences with their lines, and methods of Ruby, built byte by byte; hostile ones too. */
#include "ruby_fake.h"
#include "test.h"

enum {
	/* where things are put */
	BODY = BASE,
	LABEL = BASE + 0x400,
	PATH = BASE + 0x1000,
	REAL_PATH = BASE + 0x1800,
	ARRAY = BASE + 0x2000,
	CODE = BASE + 0x3000,
	ENTRIES = BASE + 0x4000,
	INDEX = BASE + 0x9000,
	METHOD = BASE + 0xb000,
	DEF = BASE + 0xb100,
	SYMBOLS = BASE + 0xb200,
	IDS = BASE + 0xb300,
	UNIT = BASE + 0xb400,
	NAME = BASE + 0xe000,
	CLASS = BASE + 0x2400,
	SINGLETON = BASE + 0x2600,
	ISEQS = BASE + 0x2800,
	BODIES = BASE + 0xc000,
};

static const char *const versions[] = { "2.7", "3.0", "3.1", "3.2", "3.3" };

static void begin(struct op_ruby_functions *functions, const char *version)
{
	fake_version(version);
	op_runtime_ruby_functions_init(functions, &fake.memory, &layout, SYMBOLS);
	put_string(LABEL, "block in work", 13);
	put_string(PATH, "/srv/app/models/known.rb", 24);
	put_body(BODY, CODE, 3, LABEL, PATH, 40);
	put_u64(BODY + layout.insns, ENTRIES);
	put_u64(BODY + layout.insns + 8, INDEX);
	put_u32(BODY + layout.insns + 16, 2);
	put_u32(ENTRIES, 41);
	put_u32(ENTRIES + layout.insn_bytes, 43);
	put_u32(INDEX, 0);
	put_u32(INDEX + 4, 2);
}

static const struct op_ruby_function *get(struct op_ruby_functions *functions,
					  const uint64_t words[3])
{
	const struct op_ruby_function *f = NULL;

	CHECK_OK(op_runtime_ruby_functions_get(functions, words, &f));
	return f;
}

static void test_sequences_of_each_version(void)
{
	struct op_ruby_functions functions;
	const struct op_ruby_function *f;
	uint64_t words[3] = { 0 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(versions); i++) {
		begin(&functions, versions[i]);
		frame_of(BODY, 3, words);
		f = get(&functions, words);
		CHECK_STR(f->name, "block in work");
		CHECK_STR(f->file, "/srv/app/models/known.rb");
		CHECK_INT(f->first_line, 40);
		CHECK_INT(op_runtime_ruby_line(f, words), 43);
		frame_of(BODY, 2, words);
		CHECK_INT(op_runtime_ruby_line(f, words), 41);
		frame_of(BODY, 0, words);
		CHECK_INT(op_runtime_ruby_line(f, words), 41);
		frame_of(BODY, OP_RUBY_NO_PLACE, words);
		CHECK_INT(op_runtime_ruby_line(f, words), 0);
		op_runtime_ruby_functions_deinit(&functions);
	}
	CHECK_INT(op_layouts_find(NULL, &op_runtime_ruby_layouts, "1.9", &layout),
		  -ENOENT);
}

/* [path, real path], in the object and elsewhere; a path of eval() without one. */
static void test_paths(void)
{
	struct op_ruby_functions functions;
	uint64_t words[3] = { 0 };

	begin(&functions, "3.3");
	put_string(REAL_PATH, "/real.rb", 8);
	put_u64(ARRAY, T_ARRAY | EMBEDDED | 2 << 15);
	put_u64(ARRAY + 16, PATH);
	put_u64(ARRAY + 24, REAL_PATH);
	put_body(BODY, CODE, 3, LABEL, ARRAY, 40);
	frame_of(BODY, 1, words);
	CHECK_STR(get(&functions, words)->file, "/srv/app/models/known.rb");
	put_u64(ARRAY, T_ARRAY);
	put_u64(ARRAY + 16, 2);
	put_u64(ARRAY + 32, ARRAY + 64);
	put_u64(ARRAY + 64, REAL_PATH);
	functions.window++;
	CHECK_STR(get(&functions, words)->file, "/real.rb");
	put_u64(ARRAY + 16, 0);
	functions.window++;
	CHECK_STR(get(&functions, words)->file, "");
	op_runtime_ruby_functions_deinit(&functions);
}

/* Ruby's index of the instructions that begin an entry, made as its sources describe it. */
static void put_index(const bool *begins, uint32_t count)
{
	uint64_t first[6] = { 0 };
	uint32_t sum = 0;
	uint32_t i;

	for (i = 0; i < 54; i++) {
		sum += i < count && begins[i];
		first[i / 9] |= (uint64_t)sum << i % 9 * 7;
	}
	put(INDEX, first, sizeof(first));
	for (i = 54; i < count; i += 512) {
		uint64_t at = INDEX + 48 + (uint64_t)(i - 54) / 512 * 80;
		uint64_t sums = 0;
		uint32_t in_block = 0;
		uint32_t word;

		put_u32(at, sum);
		for (word = 0; word < 8; word++) {
			uint64_t bits = 0;
			uint32_t bit;

			if (word)
				sums |= (uint64_t)in_block << (word - 1) * 9;
			for (bit = 0; bit < 64; bit++)
				if (i + word * 64 + bit < count &&
				    begins[i + word * 64 + bit]) {
					bits |= UINT64_C(1) << bit;
					in_block++;
				}
			put_u64(at + 16 + word * 8, bits);
		}
		put_u64(at + 8, sums);
		sum += in_block;
	}
}

static void test_lines(void)
{
	static const uint32_t counts[] = { 2, 9, 53, 54, 55, 118, 566, 567, 1078, 2000 };
	static bool begins[2048];
	static uint32_t lines[2048];
	struct op_ruby_insns insns = { .entries = ENTRIES,
				       .index = INDEX,
				       .entry_bytes = 8 };
	uint32_t seed = 1;
	size_t c;
	uint32_t i;

	fake_begin();
	for (c = 0; c < 10 * OP_ARRAY_SIZE(counts); c++) {
		uint32_t count = counts[c % OP_ARRAY_SIZE(counts)];
		uint32_t entry = 0;

		insns.len = 0;
		for (i = 0; i < count; i++) {
			seed = seed * 1103515245 + 12345;
			begins[i] = i == 0 || seed >> 29 == 0;
			if (begins[i])
				put_u32(ENTRIES + insns.len++ * 8, 7 * i + 1);
		}
		put_index(begins, count);
		CHECK_OK(op_runtime_ruby_lines(&fake.memory, &insns, count, lines));
		for (i = 0; i < count; i++) {
			entry = begins[i] ? i : entry;
			CHECK_INT(lines[i], 7 * entry + 1);
		}
	}
}

/* A method in C, by its symbol: an operator's number is its own, others have a scope below. */
static void test_methods(void)
{
	static const uint64_t ids[] = { 43, (700 << 4) | 2 };
	struct op_ruby_functions functions;
	const struct op_ruby_function *f;
	uint64_t words[3] = { 0 };
	size_t i;

	for (i = 0; i < 2 * OP_ARRAY_SIZE(versions); i++) {
		uint64_t id = ids[i & 1];
		uint64_t number = i & 1 ? id >> 4 : id;

		begin(&functions, versions[i / 2]);
		put_string(NAME, i & 1 ? "each" : "+", i & 1 ? 4 : 1);
		put_u64(METHOD + OP_RUBY_METHOD_DEF, DEF);
		put_u64(METHOD + OP_RUBY_METHOD_DEF + 8, id);
		put_u64(DEF + OP_RUBY_DEF_ORIGINAL_ID, id);
		put_u64(SYMBOLS + OP_RUBY_SYMBOLS_IDS, IDS);
		put_u64(IDS, T_ARRAY | EMBEDDED | 2 << 15);
		put_u64(IDS + 16 + number / 512 * 8, UNIT);
		put_u64(UNIT, T_ARRAY);
		put_u64(UNIT + 16, 1024);
		put_u64(UNIT + 32, UNIT + 64);
		put_u64(UNIT + 64 + number % 512 * 16, NAME);
		method_of(METHOD, words);
		f = get(&functions, words);
		CHECK_STR(f->name, i & 1 ? "each" : "+");
		CHECK_STR(f->file, "");
		CHECK_INT(op_runtime_ruby_line(f, words), 0);
		put_u64(UNIT + 64 + number % 512 * 16, 4); /* nil */
		functions.window++;
		CHECK_STR(get(&functions, words)->name, i & 1 ? "each" : "+");
		op_runtime_ruby_functions_deinit(&functions);
	}
}

/* What is at the address now is another's; what was read of the frame's own stays. */
static void test_guard(void)
{
	struct op_ruby_functions functions;
	const struct op_ruby_function *f;
	uint64_t first[3] = { 0 };
	uint64_t second[3] = { 0 };
	int reads;

	begin(&functions, "3.1");
	frame_of(BODY, 1, first);
	(void)get(&functions, first);
	reads = fake.reads;
	(void)get(&functions, first);
	CHECK_INT(fake.reads, reads);
	put_string(LABEL + 0x60, "other", 5);
	put_body(BODY, CODE, 3, LABEL + 0x60, PATH, 40);
	frame_of(BODY, 1, second);
	CHECK(first[1] != second[1]);
	CHECK_STR(get(&functions, second)->name, "other");
	functions.window++;
	CHECK_STR(get(&functions, first)->name, "block in work");
	put_body(BODY, CODE, 4, LABEL, PATH, 41);
	frame_of(BODY, 1, first);
	put_body(BODY, CODE, 4, LABEL, PATH, 42);
	CHECK_INT(op_runtime_ruby_functions_get(&functions, first, &f), -EBADMSG);
	/* the same code made again with another label, at the same addresses */
	put_string(LABEL + 0x60, "third", 5);
	put_body(BODY, CODE, 3, LABEL + 0x60, PATH, 40);
	functions.window++;
	CHECK_STR(get(&functions, second)->name, "third");
	fake.gone = true;
	functions.window++;
	CHECK_STR(get(&functions, second)->name, "third");
	CHECK_INT(op_runtime_ruby_functions_get(&functions, first, &f), -ESRCH);
	op_runtime_ruby_functions_deinit(&functions);
}

/* The code of an eval() goes when it has run: the same code is made again elsewhere, and may be gone
 * before it is read. */
static void test_dropped(void)
{
	const uint64_t again = BODY + 0x200;
	struct op_ruby_functions functions;
	const struct op_ruby_function *f;
	uint64_t words[3] = { 0 };

	begin(&functions, "3.1");
	put_u32(BODY, OP_RUBY_ISEQ_EVAL);
	frame_of(BODY, 2, words);
	(void)get(&functions, words);
	put_body(again, CODE, 3, LABEL, PATH, 40);
	put_u32(again, OP_RUBY_ISEQ_EVAL);
	frame_of(again, 2, words);
	memset(fake.bytes + (again - BASE), 0xee, 0x100);
	f = get(&functions, words);
	CHECK_STR(f->name, "block in work");
	CHECK_INT(op_runtime_ruby_line(f, words), 41);
	functions.window++;
	CHECK_STR(get(&functions, words)->name, "block in work");
	/* other code of an eval(); a method */
	put_body(again, CODE, 4, LABEL, PATH, 40);
	put_u32(again, OP_RUBY_ISEQ_EVAL);
	frame_of(again, 2, words);
	memset(fake.bytes + (again - BASE), 0xee, 0x100);
	CHECK_INT(op_runtime_ruby_functions_get(&functions, words, &f), -EBADMSG);
	put_u32(BODY, OP_RUBY_ISEQ_METHOD);
	frame_of(BODY, 2, words);
	(void)get(&functions, words);
	put_body(again, CODE, 3, LABEL, PATH, 40);
	frame_of(again, 2, words);
	memset(fake.bytes + (again - BASE), 0xee, 0x100);
	CHECK_INT(op_runtime_ruby_functions_get(&functions, words, &f), -EBADMSG);
	op_runtime_ruby_functions_deinit(&functions);
}

/* Where the copies of a body, and of its label and path, begin and end. */
struct copied {
	struct op_memory memory;
	struct op_object_step step[OP_OBJECT_STEPS];
	uint64_t at[OP_OBJECT_STEPS];
	uint64_t end[OP_OBJECT_STEPS];
};

static uint64_t word_at(uint64_t addr)
{
	uint64_t word = 0;

	(void)op_memory_read(&fake.memory, addr, &word, sizeof(word));
	return word;
}

static int read_copied(const struct op_memory *memory, uint64_t addr, void *buf,
		       size_t len)
{
	const struct copied *copied = (const struct copied *)memory;
	size_t i;

	for (i = 0; i < OP_OBJECT_STEPS; i++)
		if (addr >= copied->at[i] && addr + len <= copied->end[i])
			return op_memory_read(&fake.memory, addr, buf, len);
	return -EFAULT;
}

/* What the kernel does with the steps, up to the copy itself. */
static void copy_body(struct copied *copied)
{
	size_t i;

	*copied = (struct copied){ .memory.read = read_copied };
	op_runtime_ruby_function_object(&layout, copied->step);
	for (i = 0; i < OP_OBJECT_STEPS && copied->step[i].bytes; i++) {
		const struct op_object_step *step = &copied->step[i];
		uint64_t len = step->bytes;

		copied->at[i] = i ? word_at(copied->at[step->piece] + step->at) : BODY;
		if (step->length_at)
			len += OP_MIN(word_at(copied->at[i] + step->length_at),
				      (uint64_t)step->most);
		copied->end[i] = copied->at[i] + len;
	}
}

/* The kernel's copy is of the moment at which the code ran. Its Strings may be others' when its
 * lines are read. */
static void test_copied(void)
{
	struct op_ruby_functions functions;
	const struct op_ruby_function *f;
	uint64_t words[3] = { 0 };
	struct copied copied;
	size_t i;

	for (i = 0; i < 4 * OP_ARRAY_SIZE(versions); i++) {
		begin(&functions, versions[i / 4]);
		if (i & 1) {
			put_string(LABEL, "work", 4);
			put_string(PATH, "known.rb", 8);
		}
		if (i & 2) {
			put_u64(ARRAY, T_ARRAY | EMBEDDED | 2 << 15);
			put_u64(ARRAY + 16, PATH);
			put_body(BODY, CODE, 3, LABEL, ARRAY, 40);
		}
		frame_of(BODY, 2, words);
		copy_body(&copied);
		CHECK_OK(op_runtime_ruby_functions_add(
			&functions, BODY, (uint32_t)(words[1] >> 32), &copied.memory));
		put_string(LABEL, "other", 5);
		put_string(PATH, "def other", 9);
		f = get(&functions, words);
		CHECK_STR(f->name, i & 1 ? "work" : "block in work");
		CHECK_STR(f->file, i & 1 ? "known.rb" : "/srv/app/models/known.rb");
		CHECK_INT(op_runtime_ruby_line(f, words), 41);
		op_runtime_ruby_functions_deinit(&functions);
	}
}

/* Text that is too long for the copy is read from the process. A String that was not interned
 * does not name code: it has taken the place of one that did. */
static void test_not_copied(void)
{
	struct op_ruby_functions functions;
	const struct op_ruby_function *f;
	uint64_t words[3] = { 0 };
	struct copied copied;
	char text[200];
	uint32_t guard;

	begin(&functions, "3.1");
	memset(text, 'x', sizeof(text));
	put_string(PATH, text, sizeof(text));
	frame_of(BODY, 2, words);
	guard = (uint32_t)(words[1] >> 32);
	copy_body(&copied);
	CHECK_INT(op_runtime_ruby_functions_add(&functions, BODY, guard, &copied.memory),
		  -EFAULT);
	CHECK_INT(strlen(get(&functions, words)->file), sizeof(text));
	functions.window++;
	put_u64(PATH, T_STRING | IN_HEAP);
	CHECK_STR(get(&functions, words)->file, "");
	CHECK_INT(op_runtime_ruby_functions_add(&functions, BODY, guard, &copied.memory),
		  -EBADMSG);
	op_runtime_ruby_functions_deinit(&functions);
	begin(&functions, "3.1");
	frame_of(BODY, 2, words);
	copy_body(&copied);
	CHECK_INT(op_runtime_ruby_functions_add(&functions, BODY, guard ^ 2,
						&copied.memory),
		  -EBADMSG); /* another object's copy */
	put_u64(LABEL, T_STRING | 4 << 14);
	CHECK_INT(op_runtime_ruby_functions_get(&functions, words, &f), -EBADMSG);
	op_runtime_ruby_functions_deinit(&functions);
}

/* The code's lines are 40 to 45, and words of a free list stand where they were. */
static void test_lines_of_freed_code(void)
{
	static const uint32_t others[] = { 39, 0x7f50, 0x40432a70 };
	struct op_ruby_functions functions;
	const struct op_ruby_function *f;
	uint64_t words[3] = { 0 };
	struct copied copied;
	uint32_t guard;
	size_t at;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(versions) * OP_ARRAY_SIZE(others); i++) {
		begin(&functions, versions[i % OP_ARRAY_SIZE(versions)]);
		at = BODY + OP_RUBY_BODY_LOCATION + (layout.line_shift ? 36 : 32);
		put_u32(at, 41); /* of a rescue: behind its first line */
		put_u32(at + 8, 45);
		put_u32(ENTRIES, 40);
		put_u32(ENTRIES + layout.insn_bytes, 60); /* <<TEXT */
		frame_of(BODY, 2, words);
		guard = (uint32_t)(words[1] >> 32);
		CHECK_INT(op_runtime_ruby_line(get(&functions, words), words), 40);
		functions.window++;
		put_u32(ENTRIES + layout.insn_bytes, others[i / OP_ARRAY_SIZE(versions)]);
		copy_body(&copied);
		CHECK_OK(op_runtime_ruby_functions_add(&functions, BODY, guard,
						       &copied.memory));
		f = get(&functions, words);
		CHECK_STR(f->name, "block in work");
		CHECK(!f->lines);
		op_runtime_ruby_functions_deinit(&functions);
		op_runtime_ruby_functions_init(&functions, &fake.memory, &layout,
					       SYMBOLS);
		CHECK_INT(op_runtime_ruby_functions_get(&functions, words, &f), -EBADMSG);
		op_runtime_ruby_functions_deinit(&functions);
	}
}

static void check_string(const char *version, const char *text, size_t len,
			 const char *want)
{
	struct op_ruby_functions functions;
	struct op_strbuf s = { 0 };

	begin(&functions, version);
	put_string(LABEL, text, len);
	CHECK_OK(op_runtime_ruby_string(&functions.read, LABEL, &s));
	CHECK_STR(s.data ? s.data : "", want);
	op_strbuf_deinit(&s);
	op_runtime_ruby_functions_deinit(&functions);
}

static void test_strings(void)
{
	struct op_ruby_functions functions;
	struct op_strbuf s = { 0 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(versions); i++) {
		check_string(versions[i], "", 0, "");
		check_string(versions[i], "work", 4, "work");
		check_string(versions[i], "a\0b", 3, "a");
		check_string(versions[i], "block (2 levels) in work", 24,
			     "block (2 levels) in work");
	}
	begin(&functions, "3.3");
	put_u64(LABEL, T_STRING | INTERNED | IN_HEAP);
	put_u64(LABEL + 16, UINT64_MAX);
	CHECK_INT(op_runtime_ruby_string(&functions.read, LABEL, &s), -EBADMSG);
	put_u64(LABEL + 16, UINT64_C(1) << 40); /* its beginning is all that is taken */
	put_u64(LABEL + 24, CODE);
	memset(fake.bytes + (CODE - BASE), 'x', 0x2000);
	CHECK_OK(op_runtime_ruby_string(&functions.read, LABEL, &s));
	CHECK_INT(s.len, OP_RUBY_TEXT_MAX);
	CHECK_INT(op_runtime_ruby_string(&functions.read, LABEL + 1, &s), -EBADMSG);
	CHECK_INT(op_runtime_ruby_string(&functions.read, 0, &s), -EBADMSG);
	CHECK_INT(op_runtime_ruby_string(&functions.read, 4096, &s), -EFAULT);
	put_u64(LABEL, T_ARRAY);
	CHECK_INT(op_runtime_ruby_string(&functions.read, LABEL, &s), -EBADMSG);
	op_strbuf_deinit(&s);
	op_runtime_ruby_functions_deinit(&functions);
}

/* Sequence number @i of a few: its body's address. */
static uint64_t put_sequence(uint32_t i, uint32_t type, uint32_t parent, uint32_t local)
{
	uint64_t body = BODIES + (uint64_t)i * 0x200;

	put_u64(ISEQS + i * 0x40 + OP_RUBY_ISEQ_BODY, body);
	put_body(body, CODE + i, 3, LABEL, PATH, 40);
	put_u32(body, type);
	put_u64(body + layout.parent, parent ? ISEQS + parent * 0x40 : 0);
	put_u64(body + layout.parent + 8, ISEQS + local * 0x40);
	return body;
}

static void check_label(struct op_ruby_functions *functions, uint64_t body,
			uint64_t owner, const char *want)
{
	uint64_t words[3] = { 0 };
	uint64_t method[2];

	put_u64(METHOD + OP_RUBY_METHOD_DEF, DEF);
	put_u64(METHOD + OP_RUBY_METHOD_DEF + 16, owner);
	method_of(METHOD, method);
	frame_of(body, 1, words);
	if (owner)
		words[2] = METHOD | method[1] >> 48 << OP_RUBY_GUARD_SHIFT;
	functions->window++;
	CHECK_STR(get(functions, words)->name, want);
}

/* Since 3.4 labels have the class that the method belongs to, if it has a name. */
static void test_labels(void)
{
	struct op_ruby_functions functions;
	const struct op_ruby_function *f;
	uint64_t words[3] = { 0 };
	uint64_t work;

	begin(&functions, "3.4");
	put_string(LABEL, "work", 4);
	put_string(NAME, "Known::Made", 11);
	put_u64(CLASS, T_CLASS);
	put_u64(CLASS + layout.class_path, NAME);
	fake.bytes[CLASS + layout.class_permanent - BASE] = 1;
	put_u64(SINGLETON, T_CLASS | 1 << 13);
	put_u64(SINGLETON + layout.class_attached, CLASS);
	work = put_sequence(1, OP_RUBY_ISEQ_METHOD, 0, 1);
	check_label(&functions, work, CLASS, "Known::Made#work");
	check_label(&functions, work, SINGLETON, "Known::Made.work");
	check_label(&functions, work, 0, "work");
	check_label(&functions, put_sequence(2, OP_RUBY_ISEQ_BLOCK, 1, 1), CLASS,
		    "block in Known::Made#work");
	check_label(&functions, put_sequence(3, OP_RUBY_ISEQ_BLOCK, 2, 1), CLASS,
		    "block (2 levels) in Known::Made#work");
	check_label(&functions, put_sequence(4, OP_RUBY_ISEQ_RESCUE, 3, 1), CLASS,
		    "block (2 levels) in Known::Made#work");
	check_label(&functions, put_sequence(5, 7, 0, 5), CLASS, "work"); /* MAIN */
	/* the singleton class of an object; a class without a name for good */
	put_u64(SINGLETON + layout.class_attached, PATH);
	check_label(&functions, work, SINGLETON, "work");
	fake.bytes[CLASS + layout.class_permanent - BASE] = 0;
	check_label(&functions, work, CLASS, "work");
	/* sequences that stand in each other */
	put_sequence(6, OP_RUBY_ISEQ_BLOCK, 7, 1);
	frame_of(put_sequence(7, OP_RUBY_ISEQ_BLOCK, 6, 1), 1, words);
	CHECK_INT(op_runtime_ruby_functions_get(&functions, words, &f), -EBADMSG);
	frame_of(put_sequence(8, OP_RUBY_ISEQ_RESCUE, 8, 1), 1, words);
	CHECK_INT(op_runtime_ruby_functions_get(&functions, words, &f), -EBADMSG);
	/* the method's entry is another's by now */
	frame_of(work, 1, words);
	words[2] = METHOD | UINT64_C(0xdead) << OP_RUBY_GUARD_SHIFT;
	CHECK_INT(op_runtime_ruby_functions_get(&functions, words, &f), -EBADMSG);
	op_runtime_ruby_functions_deinit(&functions);
}

static void test_hostile(void)
{
	struct op_ruby_functions functions;
	const struct op_ruby_function *f;
	uint64_t words[3] = { 0 };

	begin(&functions, "3.1");
	put_body(BODY, CODE, UINT32_MAX, LABEL, PATH, 40);
	frame_of(BODY, 1, words);
	CHECK_INT(op_runtime_ruby_functions_get(&functions, words, &f), -EBADMSG);
	put_body(BODY, CODE, OP_RUBY_LINES_MAX + 1, LABEL, PATH, 40);
	frame_of(BODY, 1, words);
	CHECK(!get(&functions, words)->lines); /* a name, no lines */
	functions.window++;
	put_body(BODY, CODE, 3, LABEL, PATH, 40);
	frame_of(BODY, 1, words);
	put_u32(BODY + layout.insns + 16, 4); /* more entries than instructions */
	CHECK(!get(&functions, words)->lines);
	functions.window++;
	put_u32(BODY + layout.insns + 16, 2);
	put_u64(BODY + layout.insns, 1); /* entries that are not there */
	CHECK(!get(&functions, words)->lines);
	functions.window++;
	put_u64(BODY + layout.insns, ENTRIES);
	put_u32(ENTRIES, UINT32_MAX);
	CHECK_INT(op_runtime_ruby_line(get(&functions, words), words), 0);
	op_runtime_ruby_functions_deinit(&functions);
}

static void test_limit(void)
{
	struct op_ruby_functions functions;
	uint64_t i;

	begin(&functions, "3.3");
	for (i = 0; i < 3 * (uint64_t)OP_RUBY_FUNCTIONS_MAX; i++) {
		/* another guard each time: another path */
		uint64_t words[3] = { 0 };

		put_body(BODY, CODE, 3, LABEL, PATH, (uint32_t)i);
		frame_of(BODY, 1, words);
		(void)get(&functions, words);
		CHECK(functions.objects.all.len <= OP_RUBY_FUNCTIONS_MAX);
	}
	op_runtime_ruby_functions_deinit(&functions);
}

TEST_MAIN({ "sequences_of_each_version", test_sequences_of_each_version },
	  { "paths", test_paths }, { "lines", test_lines }, { "methods", test_methods },
	  { "guard", test_guard }, { "dropped", test_dropped }, { "copied", test_copied },
	  { "not_copied", test_not_copied },
	  { "lines_of_freed_code", test_lines_of_freed_code },
	  { "strings", test_strings }, { "labels", test_labels },
	  { "hostile", test_hostile }, { "limit", test_limit })
