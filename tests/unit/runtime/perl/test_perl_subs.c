/* SPDX-License-Identifier: Apache-2.0 */
/* Globs, packages, names and files of Perl, built byte by byte; hostile ones too. */
#include "perl_fake.h"
#include "sample/kept/objects.h"
#include "test.h"

enum {
	/* where things are put */
	GLOB = BASE,
	OTHER = BASE + 0x200,
	PACKAGE = BASE + 0x400,
	FILE_GLOB = BASE + 0x800,
	CV = BASE + 0xa00,
	NAME = BASE + 0x1000,
	PACKAGE_NAME = BASE + 0x1200,
	FILE_NAME = BASE + 0x1400,
	TEXT = BASE + 0x3000,
	LONG = BASE + 0x4000,
};

static const char *const versions[] = { "5.28", "5.30", "5.32", "5.34",
					"5.36", "5.38", "5.40", "5.42" };

static void begin(struct op_perl_subs *subs, const char *version, bool globs)
{
	fake_version(version);
	op_runtime_perl_subs_init(subs, &fake.memory, &layout, globs);
	put_hek(NAME, "inner", 5, 0);
	put_hek(PACKAGE_NAME, "Foo::Bar", 8, 0);
	put_hek(FILE_NAME, "_</srv/app.pl", 13, 0);
	put_package(PACKAGE, PACKAGE_NAME, 0);
	put_glob(GLOB, NAME, PACKAGE);
	put_cv(CV, NAME, PACKAGE, OP_PERL_CV_NAMED);
	put_glob(FILE_GLOB, FILE_NAME, PACKAGE);
	put(TEXT, "/srv/lib.pm", 12);
}

static const struct op_perl_sub *get(struct op_perl_subs *subs, uint64_t name,
				     uint64_t kind, uint64_t file)
{
	const uint64_t words[OP_PERL_FRAME_WORDS] = { name, 7,
						      file | kind << OP_PERL_KIND_SHIFT };
	const struct op_perl_sub *sub = NULL;

	CHECK_OK(op_runtime_perl_subs_get(subs, words, &sub));
	return sub;
}

static int error_of(struct op_perl_subs *subs)
{
	const uint64_t words[OP_PERL_FRAME_WORDS] = { GLOB, 7, TEXT };
	const struct op_perl_sub *sub;

	return op_runtime_perl_subs_get(subs, words, &sub);
}

static void test_names_of_each_version(void)
{
	struct op_perl_subs subs;
	const struct op_perl_sub *sub;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(versions); i++) {
		begin(&subs, versions[i], false);
		sub = get(&subs, GLOB, OP_PERL_SUB, TEXT);
		CHECK_STR(sub->name, "Foo::Bar::inner");
		CHECK_STR(sub->file, "/srv/lib.pm");
		sub = get(&subs, CV, OP_PERL_SUB | OP_PERL_NAMED, TEXT);
		CHECK_STR(sub->name, "Foo::Bar::inner");
		put_cv(CV, NAME, PACKAGE, OP_PERL_CV_NAMED | OP_PERL_CV_LEXICAL);
		subs.window++;
		sub = get(&subs, CV, OP_PERL_SUB | OP_PERL_NAMED, TEXT);
		CHECK_STR(sub->name, "inner");
		op_runtime_perl_subs_deinit(&subs);
		/* a package of two names; and the file of a Perl without threads */
		begin(&subs, versions[i], true);
		put_package(PACKAGE, PACKAGE_NAME, -2);
		sub = get(&subs, GLOB, OP_PERL_SUB, FILE_GLOB);
		CHECK_STR(sub->name, "Foo::Bar::inner");
		CHECK_STR(sub->file, "/srv/app.pl");
		op_runtime_perl_subs_deinit(&subs);
	}
}

static void test_other_frames(void)
{
	struct op_perl_subs subs;

	begin(&subs, "5.36", false);
	CHECK_STR(get(&subs, 0, OP_PERL_EVAL, TEXT)->name, "(eval)");
	CHECK_STR(get(&subs, 0, OP_PERL_FILE, TEXT)->name, "(file)");
	CHECK_STR(get(&subs, 0, OP_PERL_MAIN, TEXT)->name, "(main)");
	CHECK_STR(get(&subs, 0, OP_PERL_FORMAT, TEXT)->name, "(format)");
	CHECK_STR(get(&subs, 0, OP_PERL_FORMAT, 0)->file, "");
	CHECK_STR(get(&subs, 0, OP_PERL_EVAL | OP_PERL_TEXT, 0)->file, "(eval)");
	/* memory that had a file's name */
	subs.window++;
	put(TEXT, "\x03 3iu\xe9U", 8);
	CHECK_STR(get(&subs, 0, OP_PERL_EVAL, TEXT)->file, "");
	op_runtime_perl_subs_deinit(&subs);
}

/* A glob that was imported has the name of the one that it was made of; a package may be gone. */
static void test_effective(void)
{
	struct op_perl_subs subs;

	begin(&subs, "5.36", false);
	put_hek(NAME + 0x80, "origin", 6, 0);
	put_glob(OTHER, NAME + 0x80, 0);
	put_u64(GLOB + GP_AT + 56, OTHER);
	CHECK_STR(get(&subs, GLOB, OP_PERL_SUB, TEXT)->name, "__ANON__::origin");
	op_runtime_perl_subs_deinit(&subs);
}

static void test_encodings(void)
{
	struct op_perl_subs subs;

	begin(&subs, "5.36", false);
	put_hek(NAME, "caf\xe9", 4, 0);
	CHECK_STR(get(&subs, GLOB, OP_PERL_SUB, TEXT)->name, "Foo::Bar::caf\xc3\xa9");
	subs.window++;
	put_hek(NAME, "caf\xc3\xa9", 5, 1);
	CHECK_STR(get(&subs, GLOB, OP_PERL_SUB, TEXT)->name, "Foo::Bar::caf\xc3\xa9");
	op_runtime_perl_subs_deinit(&subs);
}

/* What was read stays for a window, and after that as long as it cannot be read again. */
static void test_cache(void)
{
	struct op_perl_subs subs;

	begin(&subs, "5.36", false);
	(void)get(&subs, GLOB, OP_PERL_SUB, TEXT);
	put_hek(NAME, "outer", 5, 0);
	CHECK_STR(get(&subs, GLOB, OP_PERL_SUB, TEXT)->name, "Foo::Bar::inner");
	subs.window++;
	CHECK_STR(get(&subs, GLOB, OP_PERL_SUB, TEXT)->name, "Foo::Bar::outer");
	CHECK_INT(subs.reads, 2);
	subs.window++;
	fake.gone = true;
	CHECK_STR(get(&subs, GLOB, OP_PERL_SUB, TEXT)->name, "Foo::Bar::outer");
	op_runtime_perl_subs_deinit(&subs);
}

/* The name of a file goes out when it is met, and is gone when the file has run. */
static void test_kept_files(void)
{
	const uint32_t check = 76 | OP_PERL_OBJECT_FILE;
	const uint64_t words[OP_PERL_FRAME_WORDS] = {
		TEXT, (uint64_t)check << 32 | 5,
		TEXT | (uint64_t)OP_PERL_FILE << OP_PERL_KIND_SHIFT
	};
	const struct op_perl_sub *sub = NULL;
	struct op_perl_subs subs;

	begin(&subs, "5.36", false);
	CHECK_OK(op_runtime_perl_subs_keep(&subs, TEXT, check, &fake.memory));
	CHECK_OK(op_runtime_perl_subs_keep(&subs, TEXT, check, &fake.memory));
	put(TEXT, "other", 6);
	subs.window++;
	CHECK_OK(op_runtime_perl_subs_get(&subs, words, &sub));
	CHECK_STR(sub->name, "(file)");
	CHECK_STR(sub->file, "/srv/lib.pm");
	/* one that was not sent is read as it is */
	CHECK_STR(get(&subs, TEXT, OP_PERL_FILE, TEXT)->file, "other");
	op_runtime_perl_subs_deinit(&subs);
}

/* The address of piece number @i, whose steps are @step: as the kernel finds it. */
static uint64_t piece_at(const struct op_object_step *step, size_t i,
			 const uint8_t *record, const size_t *start)
{
	const struct op_object_step *s = &step[i];
	uint64_t at;
	uint16_t index;

	if (!(s->most & OP_OBJECT_ELEMENT)) {
		memcpy(&at, record + start[s->piece] + s->at, 8);
		return at;
	}
	memcpy(&at, record + start[s->piece] - sizeof(struct op_object_piece), 8);
	memcpy(&index, record + start[s->tag] + s->width_at, 2);
	return at + s->at + 8ULL * index;
}

/* The record that the kernel would make of the object at @addr. Returns its length. */
static size_t copy_object(const struct op_object_step *step, uint64_t addr, uint8_t *to)
{
	size_t at = sizeof(struct op_object_record);
	size_t start[OP_OBJECT_STEPS] = { 0 };
	uint32_t chars;
	size_t i;

	memset(to, 0, OP_OBJECT_BYTES);
	for (i = 0; i < OP_OBJECT_STEPS && step[i].bytes; i++) {
		struct op_object_piece piece = { .at = addr };

		chars = 0;
		if (i)
			piece.at = piece_at(step, i, to, start);
		CHECK(at <= OP_OBJECT_BYTES - OP_OBJECT_PIECE_MAX);
		if (step[i].length_at)
			(void)op_memory_read(&fake.memory, piece.at + step[i].length_at,
					     &chars, 4);
		piece.bytes = step[i].bytes +
			      OP_MIN(chars, (uint32_t)step[i].most & OP_OBJECT_MOST);
		start[i] = at + sizeof(piece);
		if (op_memory_read(&fake.memory, piece.at, to + start[i], piece.bytes))
			piece.bytes = 0;
		memcpy(to + at, &piece, sizeof(piece));
		at = start[i] + OP_ALIGN_UP((size_t)piece.bytes, 8);
	}
	return at;
}

static uint32_t word_at(uint64_t addr)
{
	uint32_t word = 0;

	CHECK_OK(op_memory_read(&fake.memory, addr, &word, sizeof(word)));
	return word;
}

/* The identity that the step finds of the sub with the name and the package of begin(). */
static uint32_t check_of(enum op_perl_named is)
{
	uint64_t name = (uint64_t)word_at(NAME + 4) << 32 | word_at(NAME);
	uint64_t package =
		(uint64_t)word_at(PACKAGE_NAME + 4) << 32 | word_at(PACKAGE_NAME);

	return op_perl_check(op_perl_name_id(name, PACKAGE, package), is);
}

static int get_checked(struct op_perl_subs *subs, uint64_t name, uint64_t kind,
		       uint32_t check, const struct op_perl_sub **ret)
{
	const uint64_t words[OP_PERL_FRAME_WORDS] = { name, (uint64_t)check << 32 | 7,
						      TEXT | kind << OP_PERL_KIND_SHIFT };

	return op_runtime_perl_subs_get(subs, words, ret);
}

/* A sub's name is read from the kernel's copy, also when all that named it is gone. @of: its
 * CV, its glob, or another one that is a copy of that glob. */
static void check_kept(const char *version, int32_t names, uint64_t of)
{
	static uint8_t record[OP_OBJECT_BYTES];
	bool named = of == CV;
	uint64_t addr = named ? CV : GLOB;
	uint64_t kind = OP_PERL_SUB | (named ? OP_PERL_NAMED : 0);
	struct op_copied_object copied;
	const struct op_perl_sub *sub = NULL;
	struct op_perl_subs subs;
	struct op_perl steps = { 0 };
	uint32_t check;
	size_t len;

	begin(&subs, version, false);
	op_runtime_perl_steps(&layout, &steps);
	put_package(PACKAGE, PACKAGE_NAME, names);
	if (of == OTHER) {
		put_glob(OTHER, NAME, PACKAGE);
		put_glob(GLOB, 8, 8);
	}
	put_u64(GLOB + GP_AT + 56, of == OTHER ? OTHER : 0);
	check = check_of(named ? OP_PERL_OBJECT_CV : OP_PERL_OBJECT_GLOB);
	len = copy_object(named		? steps.cv
			  : of == OTHER ? steps.effective
					: steps.glob,
			  addr, record);
	CHECK_OK(op_copied_object_read(record, len, &copied));
	fake.gone = true;
	CHECK(get_checked(&subs, addr, kind, check, &sub) < 0);
	CHECK_OK(op_runtime_perl_subs_keep(&subs, addr, check, &copied.memory));
	CHECK_OK(get_checked(&subs, addr, kind, check, &sub));
	CHECK_STR(sub->name, "Foo::Bar::inner");
	CHECK_STR(sub->file, "");
	/* a copy of a glob's alone gives no name to another glob there */
	CHECK(get_checked(&subs, addr, kind, check + 4, &sub) < 0);
	fake.gone = false;
	subs.window++;
	CHECK_OK(get_checked(&subs, addr, kind, check, &sub));
	CHECK_STR(sub->file, "/srv/lib.pm");
	/* and the file's name when it is freed */
	subs.window++;
	put(TEXT, "\x03", 1);
	CHECK_OK(get_checked(&subs, addr, kind, check, &sub));
	CHECK_STR(sub->file, "/srv/lib.pm");
	op_runtime_perl_subs_deinit(&subs);
}

static void test_kept_subs(void)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(versions); i++) {
		check_kept(versions[i], 0, GLOB);
		check_kept(versions[i], -2, GLOB);
		check_kept(versions[i], 0, OTHER);
		check_kept(versions[i], -2, OTHER);
		check_kept(versions[i], 0, CV);
		check_kept(versions[i], -2, CV);
	}
}

/* What was not copied is read, if it is still the same sub. */
static void test_identity(void)
{
	const struct op_perl_sub *sub = NULL;
	struct op_perl_subs subs;
	uint32_t glob;
	uint32_t cv;

	begin(&subs, "5.36", false);
	glob = check_of(OP_PERL_OBJECT_GLOB);
	cv = check_of(OP_PERL_OBJECT_CV);
	CHECK_OK(get_checked(&subs, GLOB, OP_PERL_SUB, glob, &sub));
	CHECK_STR(sub->name, "Foo::Bar::inner");
	CHECK_OK(get_checked(&subs, CV, OP_PERL_SUB | OP_PERL_NAMED, cv, &sub));
	CHECK_STR(sub->name, "Foo::Bar::inner");
	put_hek(NAME, "other", 6, 0);
	subs.window++;
	CHECK_OK(get_checked(&subs, GLOB, OP_PERL_SUB, glob, &sub));
	CHECK_STR(sub->name, "Foo::Bar::inner");
	CHECK_INT(get_checked(&subs, GLOB, OP_PERL_SUB, glob + 4, &sub), -EBADMSG);
	CHECK_INT(get_checked(&subs, CV, OP_PERL_SUB | OP_PERL_NAMED, cv + 4, &sub),
		  -EBADMSG);
	op_runtime_perl_subs_deinit(&subs);
}

static void test_hostile(void)
{
	struct op_perl_subs subs;
	const struct op_perl_sub *sub;
	char text[8];
	uint64_t i;

	memset(text, 'a', sizeof(text));
	begin(&subs, "5.36", false);
	put_sv(GLOB, T_HV, 0);
	CHECK_INT(error_of(&subs), -EBADMSG);
	put_glob(GLOB, NAME, GLOB);
	CHECK_INT(error_of(&subs), -EBADMSG); /* its package is none */
	put_glob(GLOB, 8, PACKAGE);
	CHECK_INT(error_of(&subs), -EFAULT);
	put_glob(GLOB, NAME, PACKAGE);
	put_u32(NAME + 4, 0x80000000U);
	CHECK_INT(error_of(&subs), -EBADMSG);
	put_hek(NAME, "a\0c", 3, 0);
	CHECK_INT(error_of(&subs), -EBADMSG);
	put_hek(NAME, "a", 1, 0);
	put(NAME + 9, "b", 1);
	CHECK_INT(error_of(&subs), -EBADMSG);
	/* long names are cut; a file's name without an end too */
	for (i = LONG; i < BASE + BYTES; i += sizeof(text))
		put(i, text, sizeof(text));
	put_hek(LONG, "", 0, 0);
	put_u32(LONG + 4, OP_PERL_NAME_MAX + 8);
	put(LONG + 8, text, 8);
	put(LONG + 8 + OP_PERL_NAME_MAX + 8, "\0", 2);
	put_glob(GLOB, LONG, PACKAGE);
	sub = get(&subs, GLOB, OP_PERL_SUB, LONG + 0x400);
	CHECK_INT(strlen(sub->name), OP_PERL_NAME_MAX + strlen("Foo::Bar::"));
	CHECK(strlen(sub->file) >= OP_PERL_FILE_MAX &&
	      strlen(sub->file) < OP_PERL_FILE_MAX + 256);
	op_runtime_perl_subs_deinit(&subs);
}

TEST_MAIN({ "names_of_each_version", test_names_of_each_version },
	  { "other_frames", test_other_frames }, { "effective", test_effective },
	  { "encodings", test_encodings }, { "cache", test_cache },
	  { "kept_files", test_kept_files }, { "kept_subs", test_kept_subs },
	  { "identity", test_identity }, { "hostile", test_hostile })
