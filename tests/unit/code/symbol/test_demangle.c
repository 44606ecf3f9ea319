/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names from the Itanium ABI's and the Rust mangling RFC's own examples, and names that are
 * built to hurt: run on a small stack and under an alarm.
 */
#include "code/symbol/demangle.h"

#include <pthread.h>
#include <unistd.h>

#include "test.h"

static void check(const char *mangled, const char *expect, enum op_mangling kind)
{
	enum op_mangling got = OP_MANGLING_NONE;
	char *text = op_demangle(mangled, &got);

	CHECK_STR(text, expect);
	CHECK_INT(got, kind);
	free(text);
}

static void test_readable_forms(void)
{
	check("_Z3foov", "foo()", OP_MANGLING_CXX);
	check("_ZN5space4funcIiEEvT_", "space::func<int>(int)", OP_MANGLING_CXX);
	/* Only the outermost return type is left out. */
	check("_Z4callIFviEEiT_PFcdE", "call<void (int)>(void (int), char (*)(double))",
	      OP_MANGLING_CXX);
	check("_ZN3fooEv.cold", "foo() [clone .cold]", OP_MANGLING_CXX);
}

static void test_plain_names(void)
{
	static const char *const names[] = { "",      "main", "_start",	     "_",
					     "_Z",    "_R",   "_ZN",	     "Z3foov",
					     "_Z3fo", "_R1",  "operator new" };
	enum op_mangling mangling;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(!op_demangle(names[i], &mangling));
}

static void test_rust_forms(void)
{
	check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
	      "core::fmt::Write::write_fmt", OP_MANGLING_RUST);
	check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.8765432101234567",
	      "core::fmt::Write::write_fmt", OP_MANGLING_RUST);
	check("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
	      "17h930b740aa94f1d3aE",
	      "<Test + 'static as foo::Bar<Test>>::bar", OP_MANGLING_RUST);
	/* RFC 2603, "Examples" */
	check("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar", OP_MANGLING_RUST);
	check("_RNvNtCs1234_7mycrate3foo3bar.llvm.123", "mycrate::foo::bar",
	      OP_MANGLING_RUST);
}

static void *hurt(void *data)
{
	enum op_mangling mangling;
	char *text = op_demangle(data, &mangling);

	/* Within the bounds or not at all. */
	CHECK(!text || strlen(text) <= 64 << 10);
	free(text);
	return NULL;
}

/* Two mebibytes of stack, as a host program may give its threads. */
static void try_name(const char *name)
{
	char *copy = strdup(name);
	pthread_attr_t attr;
	pthread_t thread;

	CHECK(copy);
	CHECK_INT(pthread_attr_init(&attr), 0);
	CHECK_INT(pthread_attr_setstacksize(&attr, 2 << 20), 0);
	CHECK_INT(pthread_create(&thread, &attr, hurt, copy), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	(void)pthread_attr_destroy(&attr);
	free(copy);
}

static void repeat(char *buf, size_t size, const char *head, const char *unit,
		   const char *tail)
{
	size_t at = (size_t)snprintf(buf, size, "%s", head);

	while (at + strlen(unit) + strlen(tail) + 1 < size)
		at += (size_t)snprintf(buf + at, size - at, "%s", unit);
	(void)snprintf(buf + at, size - at, "%s", tail);
}

static void test_deep_names(void)
{
	static char name[32 << 10];
	static const size_t sizes[] = { 300, 1000, 4000, 4096, 8192, 32 << 10 };
	size_t i;

	(void)alarm(30);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		repeat(name, sizes[i], "_Z1f", "P", "i");
		try_name(name);
		repeat(name, sizes[i], "_Z1f", "1aIXadL_Z1g", "");
		try_name(name);
		repeat(name, sizes[i], "_ZN", "1aI", "iE");
		try_name(name);
		repeat(name, sizes[i], "_RNvC1a", "INvC1a", "");
		try_name(name);
		repeat(name, sizes[i], "_RMC0", "R", "");
		try_name(name);
		repeat(name, sizes[i], "_RINvC1a1b", "T", "E");
		try_name(name);
		repeat(name, sizes[i], "_Z1fDpDv", "1_", "i");
		try_name(name);
	}
}

/* Each parameter is a pair of the one before it: the output doubles with every step. */
static void test_exponential_output(void)
{
	static char name[4096];
	size_t at;
	int i;

	(void)alarm(30);
	at = (size_t)snprintf(name, sizeof(name), "_Z1f1pIiiE");
	for (i = 0; i < 40; i++) {
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char number[8];

		/* S_ is p, S0_ is p<int, int>, S1_ the next, … in base 36. */
		if (i < 36)
			(void)snprintf(number, sizeof(number), "S%c_", digits[i]);
		else
			(void)snprintf(number, sizeof(number), "S%c%c_", digits[i / 36],
				       digits[i % 36]);
		at += (size_t)snprintf(name + at, sizeof(name) - at, "S_I%s%sE", number,
				       number);
	}
	try_name(name);

	/* The same with v0's back references: tuples of the tuple before, twice. */
	at = (size_t)snprintf(name, sizeof(name), "_RINvC1a1b");
	{
		size_t before = at - 2;

		at += (size_t)snprintf(name + at, sizeof(name) - at, "TllE");
		for (i = 0; i < 200 && at + 32 < sizeof(name); i++) {
			static const char base62[] =
				"0123456789abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
			size_t ref = before - 1;
			size_t this = at - 2;
			char number[8];

			if (ref < 62)
				(void)snprintf(number, sizeof(number), "B%c_",
					       base62[ref]);
			else
				(void)snprintf(number, sizeof(number), "B%c%c_",
					       base62[ref / 62], base62[ref % 62]);
			at += (size_t)snprintf(name + at, sizeof(name) - at, "T%s%sE",
					       number, number);
			before = this;
		}
	}
	(void)snprintf(name + at, sizeof(name) - at, "E");
	try_name(name);
}

/* A pack expansion of a type that doubles with every step. */
static void test_exponential_packs(void)
{
	static const char *const packs[] = { "Dp", "DpPK", "DpT_I", "DpOT_I" };
	static char name[1024];
	size_t i;

	(void)alarm(30);
	for (i = 0; i < sizeof(packs) / sizeof(packs[0]); i++) {
		bool more = packs[i][strlen(packs[i]) - 1] == 'I';
		size_t at = (size_t)snprintf(name, sizeof(name), "_Z1fIiEv1pIiiE%s",
					     packs[i]);
		int k;

		for (k = 0; k < 34; k++)
			at += (size_t)snprintf(name + at, sizeof(name) - at, "S0_I");
		at += (size_t)snprintf(name + at, sizeof(name) - at, "S1_");
		/* T_ is a substitution, too */
		for (k = more ? 1 : 0; k < 34; k++)
			at += (size_t)snprintf(name + at, sizeof(name) - at, "S%c_E",
					       "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[k]);
		(void)snprintf(name + at, sizeof(name) - at, "%s", more ? "EE" : "");
		try_name(name);
	}
}

/* References to an empty pack behind 900 other parameters give no output. */
static void test_empty_packs(void)
{
	static char name[8192];
	enum op_mangling mangling;
	size_t at;

	repeat(name, 920, "_Z1fI", "i", "JEEvPFv");
	for (at = strlen(name); at < 4000; at = strlen(name))
		(void)snprintf(name + at, sizeof(name) - at, "DpT899_");
	(void)snprintf(name + at, sizeof(name) - at, "E");
	CHECK(!op_demangle(name, &mangling));
	check("_Z1fIiJEEvPFvDpT0_E", "f<int>(void (*)())", OP_MANGLING_CXX);
}

/* Add @n times @unit in function types, as one may have no more than 1,024. Returns the number
 * of these types. */
static unsigned int add_lists(char *buf, size_t size, const char *unit, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		size_t at = strlen(buf);

		(void)snprintf(buf + at, size - at, "%s%s%s", i % 300 ? "" : "PFv", unit,
			       i % 300 == 299 || i + 1 == n ? "E" : "");
	}
	return (n + 299) / 300;
}

/* Each reference to a parameter may need a copy of each template, and counts twice if its
 * type is there twice. */
static void test_many_copies(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static char name[32 << 10];
	static const unsigned int sizes[] = { 100, 400, 789, 2500 };
	size_t i;

	(void)alarm(30);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned int templates = sizes[i];
		unsigned int references = templates * 5 / 3;
		unsigned int last;
		size_t at;

		(void)snprintf(name, sizeof(name), "_Z1fIiEv1aPFv");
		/* each type is a substitution, and S_ is the first */
		last = templates + 2 * references + 2;
		last += 2 * add_lists(name, sizeof(name), "S0_IE", templates);
		last += 2 * add_lists(name, sizeof(name), "RT_", references);
		at = strlen(name);
		(void)snprintf(name + at, sizeof(name) - at, "ES%c%c%c_",
			       digits[last / 36 / 36], digits[last / 36 % 36],
			       digits[last % 36]);
		try_name(name);
	}
}

/* As parsers and state machines have them: many types in one name. */
static void test_long_names(void)
{
	static char name[32 << 10];
	enum op_mangling mangling;
	size_t at = (size_t)snprintf(name, sizeof(name), "_ZN7MachineI4listIJ");
	char *text;
	int i;

	for (i = 0; i < 600; i++)
		at += (size_t)snprintf(name + at, sizeof(name) - at, "9State%04d", i);
	(void)snprintf(name + at, sizeof(name) - at, "EEE4stepEv");
	text = op_demangle(name, &mangling);
	CHECK(text && strstr(text, "State0599") && strstr(text, ">::step()"));
	CHECK_INT(mangling, OP_MANGLING_CXX);
	free(text);
	/* lists of lists: one list has no more than 1,000 names for libiberty */
	at = (size_t)snprintf(name, sizeof(name), "_ZN7MachineI4listIJ");
	for (i = 0; i < 2600; i++)
		at += (size_t)snprintf(name + at, sizeof(name) - at, "%s9State%04d%s",
				       i % 100 ? "" : "4partI", i,
				       i % 100 == 99 ? "E" : "");
	(void)snprintf(name + at, sizeof(name) - at, "EEE4stepEv");
	text = op_demangle(name, &mangling);
	CHECK(text && strstr(text, "State2599") && strstr(text, ">::step()"));
	free(text);
	/* crate hashes and identifiers may have what looks like punycode */
	at = (size_t)snprintf(name, sizeof(name), "_RINvCslNYArtu3iFV_5alloc1f");
	for (i = 0; i < 30; i++)
		at += (size_t)snprintf(name + at, sizeof(name) - at,
				       "NtCslNYArtu3iFV_5alloc10u8identify");
	(void)snprintf(name + at, sizeof(name) - at, "E");
	text = op_demangle(name, &mangling);
	CHECK(text && !strncmp(text, "alloc::f::<alloc::u8identify", 28));
	free(text);
	/* that name, and a real one: "gödel" */
	(void)snprintf(name + at, sizeof(name) - at, "NtCs1_1au8gdel_5qaE");
	CHECK(!op_demangle(name, &mangling));
}

TEST_MAIN({ "plain_names", test_plain_names }, { "long_names", test_long_names },
	  { "readable_forms", test_readable_forms }, { "rust_forms", test_rust_forms },
	  { "deep_names", test_deep_names },
	  { "exponential_packs", test_exponential_packs },
	  { "empty_packs", test_empty_packs }, { "many_copies", test_many_copies },
	  { "exponential_output", test_exponential_output })
