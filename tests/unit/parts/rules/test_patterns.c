/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts of rules a path and an environment match. */
#include "parts/rules/patterns.h"

#include <stdio.h>
#include <string.h>

#include "otelprof/config.h"
#include "test.h"

static bool matches(const char *glob, const char *text)
{
	return op_glob_matches(glob, strlen(glob), text, strlen(text));
}

static void test_a_star_stands_for_any_bytes(void)
{
	CHECK(matches("/usr/bin/*", "/usr/bin/python3"));
	CHECK(matches("/usr/bin/*", "/usr/bin/"));
	CHECK(!matches("/usr/bin/*", "/usr/bin"));
	CHECK(!matches("/usr/bin/*", "/opt/usr/bin/x"));
	CHECK(matches("*/python3*", "/usr/bin/python3.11"));
	CHECK(matches("*/python3*", "/opt/a/b/python3"));
	CHECK(matches("/opt/*/bin/*d", "/opt/a/b/bin/sshd"));
	CHECK(!matches("/opt/*/bin/*d", "/opt/a/b/bin/ssh"));
	CHECK(matches("*", "/x"));
	CHECK(matches("**", ""));
	CHECK(!matches("*x", ""));
	CHECK(matches("*ab", "aab"));
	CHECK(matches("a*b*c", "a-b-b-c"));
	CHECK(!matches("a*b*c", "a-c-b"));
	CHECK(matches("", ""));
	CHECK(!matches("", "a"));
	/* nothing else is special */
	CHECK(!matches("/usr/bin/?", "/usr/bin/x"));
	CHECK(matches("/usr/[b]*", "/usr/[b]in"));
}

/* The most that a glob of so few bytes can ask for. */
static void test_a_long_path_takes_bounded_time(void)
{
	char path[4096];

	memset(path, 'a', sizeof(path));
	CHECK(!op_glob_matches("*a*a*a*a*a*a*b", 14, path, sizeof(path)));
}

struct found {
	size_t len;
	char text[8][64];
};

static void note(void *ctx, struct op_pattern *pattern)
{
	struct found *found = ctx;

	CHECK(found->len < 8);
	(void)snprintf(found->text[found->len++], 64, "%s", pattern->text);
}

static bool has(const struct found *found, const char *text)
{
	size_t i;

	for (i = 0; i < found->len; i++)
		if (strcmp(found->text[i], text) == 0)
			return true;
	return false;
}

static struct op_pattern *add(struct op_patterns *p, uint32_t kind, const char *text)
{
	struct op_pattern *pattern;

	CHECK_INT(op_patterns_add(p, kind, text, &pattern), 0);
	CHECK(op_patterns_find(p, kind, text, strlen(text)) == pattern);
	return pattern;
}

static struct found of_path(const struct op_patterns *p, const char *path)
{
	struct found found = { 0 };

	op_patterns_of_path(p, path, note, &found);
	return found;
}

static void test_a_path_finds_its_text_and_globs(void)
{
	struct op_patterns p;
	struct op_pattern *glob;
	struct found found;

	op_patterns_init(&p);
	(void)add(&p, OP_RULE_EXECUTABLE, "/usr/bin/python3");
	glob = add(&p, OP_RULE_EXECUTABLE, "/usr/*");
	(void)add(&p, OP_RULE_EXECUTABLE, "/opt/*");
	(void)add(&p, OP_RULE_ENVIRONMENT, "/usr/bin/python3");
	CHECK_INT(p.len[OP_RULE_EXECUTABLE], 3);
	found = of_path(&p, "/usr/bin/python3");
	CHECK_INT(found.len, 2);
	CHECK(has(&found, "/usr/bin/python3") && has(&found, "/usr/*"));
	/* a file of that very name is found once */
	CHECK_INT(of_path(&p, "/usr/*").len, 1);
	CHECK_INT(of_path(&p, "/usr").len, 0);
	op_patterns_remove(&p, glob);
	CHECK_INT(of_path(&p, "/usr/bin/python3").len, 1);
	CHECK_INT(of_path(&p, "/opt/x").len, 1);
	CHECK_INT(p.len[OP_RULE_EXECUTABLE], 2);
	op_patterns_deinit(&p);
}

static struct found of_environ(const struct op_patterns *p, const char *text, size_t len)
{
	struct found found = { 0 };

	op_patterns_of_environ(p, text, len, note, &found);
	return found;
}

static void test_an_environment_finds_names_and_values(void)
{
	static const char text[] = "A=1\0B=2=3\0EMPTY=\0=x\0none\0A\0LAST=1";
	struct op_patterns p;
	struct found found;

	op_patterns_init(&p);
	(void)add(&p, OP_RULE_ENVIRONMENT, "A");
	(void)add(&p, OP_RULE_ENVIRONMENT, "A=1");
	(void)add(&p, OP_RULE_ENVIRONMENT, "A=2");
	(void)add(&p, OP_RULE_ENVIRONMENT, "B=2=3");
	(void)add(&p, OP_RULE_ENVIRONMENT, "EMPTY=");
	(void)add(&p, OP_RULE_ENVIRONMENT, "none");
	(void)add(&p, OP_RULE_ENVIRONMENT, "LAST");
	found = of_environ(&p, text, sizeof(text) - 1); /* the last one has no NUL */
	CHECK_INT(found.len, 4);
	CHECK(has(&found, "A") && has(&found, "A=1") && has(&found, "B=2=3") &&
	      has(&found, "EMPTY="));
	found = of_environ(&p, text, sizeof(text));
	CHECK(has(&found, "LAST"));
	CHECK_INT(of_environ(&p, "", 0).len, 0);
	CHECK_INT(of_environ(&p, "\0\0\0", 3).len, 0);
	op_patterns_deinit(&p);
}

static void test_there_may_be_many(void)
{
	struct op_pattern *pattern = NULL;
	struct op_patterns p;
	char text[32];
	int i;

	op_patterns_init(&p);
	for (i = 0; i < OTELPROF_GLOBS_MAX; i++) {
		(void)snprintf(text, sizeof(text), "/%d*", i);
		CHECK_INT(op_patterns_add(&p, OP_RULE_EXECUTABLE, text, &pattern), 0);
	}
	for (i = 0; i < 10000; i++) {
		(void)snprintf(text, sizeof(text), "/%d", i);
		(void)add(&p, OP_RULE_EXECUTABLE, text);
	}
	CHECK_INT(of_path(&p, "/zz").len, 0);
	CHECK_INT(of_path(&p, "/7").len, 2);
	/* a * means nothing in a variable */
	CHECK_INT(op_patterns_add(&p, OP_RULE_ENVIRONMENT, "A=*", &pattern), 0);
	CHECK(!pattern->glob);
	op_patterns_remove(&p, op_patterns_find(&p, OP_RULE_EXECUTABLE, "/7*", 3));
	CHECK_INT(op_patterns_add(&p, OP_RULE_EXECUTABLE, "/x*", &pattern), 0);
	op_patterns_deinit(&p);
}

TEST_MAIN({ "a_star_stands_for_any_bytes", test_a_star_stands_for_any_bytes },
	  { "a_long_path_takes_bounded_time", test_a_long_path_takes_bounded_time },
	  { "a_path_finds_its_text_and_globs", test_a_path_finds_its_text_and_globs },
	  { "an_environment_finds_names_and_values",
	    test_an_environment_finds_names_and_values },
	  { "there_may_be_many", test_there_may_be_many })
