/* SPDX-License-Identifier: Apache-2.0 */
/* Globs, packages, names and files of Perl, built byte by byte; hostile ones too. */
#include "perl_fake.h"
#include "test.h"

enum {
	/* where things are put */
	GLOB = BASE,
	OTHER = BASE + 0x200,
	PACKAGE = BASE + 0x400,
	FILE_GLOB = BASE + 0x800,
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
	put_glob(FILE_GLOB, FILE_NAME, PACKAGE);
	put(TEXT, "/srv/lib.pm", 12);
}

static const struct op_perl_sub *get(struct op_perl_subs *subs, uint64_t name,
				     uint64_t kind, uint64_t file)
{
	const uint64_t words[OP_PERL_NAMED_WORDS] = { name, 7,
						      file | kind << OP_PERL_KIND_SHIFT,
						      kind & OP_PERL_NAMED ? PACKAGE
									   : 0 };
	const struct op_perl_sub *sub = NULL;

	CHECK_OK(op_runtime_perl_subs_get(subs, words, &sub));
	return sub;
}

static int error_of(struct op_perl_subs *subs)
{
	const uint64_t words[OP_PERL_NAMED_WORDS] = { GLOB, 7, TEXT, 0 };
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
		sub = get(&subs, NAME, OP_PERL_SUB | OP_PERL_NAMED, TEXT);
		CHECK_STR(sub->name, "Foo::Bar::inner");
		sub = get(&subs, NAME, OP_PERL_SUB | OP_PERL_NAMED | OP_PERL_LEXICAL,
			  TEXT);
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
	/* the glob of a thread that has ended */
	subs.window++;
	CHECK_STR(get(&subs, 8, OP_PERL_SUB, TEXT)->name, "Foo::Bar::outer");
	subs.window++;
	fake.gone = true;
	CHECK_STR(get(&subs, GLOB, OP_PERL_SUB, TEXT)->name, "Foo::Bar::outer");
	op_runtime_perl_subs_deinit(&subs);
}

/* The name of a file goes out when it is met, and is gone when the file has run. */
static void test_kept_files(void)
{
	const uint64_t words[OP_PERL_NAMED_WORDS] = {
		TEXT, UINT64_C(77) << 32 | 5,
		TEXT | (uint64_t)OP_PERL_FILE << OP_PERL_KIND_SHIFT
	};
	const struct op_perl_sub *sub = NULL;
	struct op_perl_subs subs;

	begin(&subs, "5.36", false);
	CHECK_OK(op_runtime_perl_subs_keep(&subs, TEXT, 77, &fake.memory));
	CHECK_OK(op_runtime_perl_subs_keep(&subs, TEXT, 77, &fake.memory));
	put(TEXT, "other", 6);
	subs.window++;
	CHECK_OK(op_runtime_perl_subs_get(&subs, words, &sub));
	CHECK_STR(sub->name, "(file)");
	CHECK_STR(sub->file, "/srv/lib.pm");
	/* one that was not sent is read as it is */
	CHECK_STR(get(&subs, TEXT, OP_PERL_FILE, TEXT)->file, "other");
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
	  { "kept_files", test_kept_files }, { "hostile", test_hostile })
