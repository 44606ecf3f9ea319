/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test harness. A test is a function. A failed check ends the program with the place
 * and the values. TEST_MAIN() runs the tests in order, or one whose name is an argument.
 * Exit: 0 passed, 1 failed, 77 skipped (with the reason on stdout).
 */
#ifndef OP_TEST_H
#define OP_TEST_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
	const char *name;
	void (*fn)(void);
};

#define TEST_FAIL(...)                                                                   \
	do {                                                                             \
		(void)fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                    \
		(void)fprintf(stderr, __VA_ARGS__);                                      \
		(void)fprintf(stderr, "\n");                                             \
		exit(1);                                                                 \
	} while (0)

#define CHECK(cond)                                                                      \
	do {                                                                             \
		if (!(cond))                                                             \
			TEST_FAIL("check failed: %s", #cond);                            \
	} while (0)

#define CHECK_INT(a, b)                                                                  \
	do {                                                                             \
		long long _a = (long long)(a), _b = (long long)(b);                      \
		if (_a != _b)                                                            \
			TEST_FAIL("%s is %lld (0x%llx), not %lld (0x%llx)", #a, _a,      \
				  (unsigned long long)_a, _b, (unsigned long long)_b);   \
	} while (0)

#define CHECK_STR(a, b)                                                                  \
	do {                                                                             \
		const char *_a = (a), *_b = (b);                                         \
		if (!_a || !_b || strcmp(_a, _b) != 0)                                   \
			TEST_FAIL("%s is \"%s\", not \"%s\"", #a, _a ? _a : "(null)",    \
				  _b ? _b : "(null)");                                   \
	} while (0)

#define CHECK_OK(expr)                                                                   \
	do {                                                                             \
		int _r = (int)(expr);                                                    \
		if (_r < 0)                                                              \
			TEST_FAIL("%s failed: %d (%s)", #expr, _r, strerror(-_r));       \
	} while (0)

#define SKIP(...)                                                                        \
	do {                                                                             \
		(void)printf("SKIP: ");                                                  \
		(void)printf(__VA_ARGS__);                                               \
		(void)printf("\n");                                                      \
		exit(77);                                                                \
	} while (0)

/* Is "program/@name" one of the words in $OTELPROF_TEST_WITHOUT? See tests/system/valgrind. */
static inline int test_without(const char *program, const char *name)
{
	const char *words = getenv("OTELPROF_TEST_WITHOUT");
	const char *base = strrchr(program, '/');
	char word[256];
	char all[4096];

	(void)snprintf(word, sizeof(word), " %s/%s ", base ? base + 1 : program, name);
	(void)snprintf(all, sizeof(all), " %s ", words ? words : "");
	return strstr(all, word) != NULL;
}

static inline int test_run(const struct test *tests, size_t len, int argc, char **argv)
{
	size_t ran = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (argc > 1 && strcmp(argv[1], tests[i].name) != 0)
			continue;
		if (test_without(argv[0], tests[i].name)) {
			(void)printf("without %s\n", tests[i].name);
			continue;
		}
		(void)printf("%s\n", tests[i].name);
		(void)fflush(stdout);
		tests[i].fn();
		ran++;
	}
	if (!ran)
		TEST_FAIL("no test of that name");
	return 0;
}

#define TEST_MAIN(...)                                                                   \
	int main(int argc, char **argv)                                                  \
	{                                                                                \
		static const struct test tests[] = { __VA_ARGS__ };                      \
		return test_run(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);    \
	}

#endif
