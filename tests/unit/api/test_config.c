/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Old programs with a new library and new programs with an old library: structs that are
 * shorter and longer than the library's.
 */
#include "api/settings/config.h"

#include <stdbool.h>

#include "test.h"

/* What a library of version 1 knows, and what versions 2 and 3 added. */
struct v1 {
	size_t size;
	uint32_t a;
	uint32_t b;
};

struct v2 {
	size_t size;
	uint32_t a;
	uint32_t b;
	uint64_t c;
};

static void test_an_old_program_gets_defaults_for_new_fields(void)
{
	struct v1 old = { .size = sizeof(old), .a = 1, .b = 2 };
	struct v2 ours;

	memset(&ours, 0xff, sizeof(ours));
	CHECK_INT(op_config_copy(&ours, sizeof(ours), &old, sizeof(struct v1), NULL, "x"),
		  0);
	CHECK_INT(ours.size, sizeof(ours));
	CHECK_INT(ours.a, 1);
	CHECK_INT(ours.b, 2);
	CHECK_INT(ours.c, 0);
}

static void test_a_new_program_may_leave_new_fields_unset(void)
{
	struct v2 newer = { .size = sizeof(newer), .a = 1, .b = 2 };
	struct v1 ours;

	CHECK_INT(
		op_config_copy(&ours, sizeof(ours), &newer, sizeof(struct v1), NULL, "x"),
		0);
	CHECK_INT(ours.size, sizeof(ours));
	CHECK_INT(ours.b, 2);
}

static void test_a_new_field_that_is_set_is_refused(void)
{
	struct v2 newer = { .size = sizeof(newer), .c = UINT64_C(1) << 63 };
	struct v1 ours = { .a = 7 };
	struct op_log log = { 0 };

	CHECK_INT(
		op_config_copy(&ours, sizeof(ours), &newer, sizeof(struct v1), &log, "x"),
		-E2BIG);
	CHECK_INT(ours.a, 7); /* untouched */
	CHECK(strstr(log.message, "does not know"));
}

static void test_wild_sizes_are_refused(void)
{
	struct v1 ours;
	size_t sizes[] = { 0, 1, sizeof(struct v1) - 1, 4097, SIZE_MAX };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct v1 wild = { .size = sizes[i] };

		CHECK_INT(op_config_copy(&ours, sizeof(ours), &wild, sizeof(wild), NULL,
					 "x"),
			  -EINVAL);
	}
}

static void test_given_structs_are_filled_as_far_as_they_reach(void)
{
	struct v2 ours = { .a = 1, .b = 2, .c = 3 };
	struct v1 old = { .size = sizeof(old) };
	struct {
		struct v2 v2;
		uint64_t d;
	} newer = { .v2.size = sizeof(newer), .d = 9 };

	CHECK_INT(op_config_give(&old, &ours, sizeof(ours), sizeof(struct v1)), 0);
	CHECK_INT(old.size, sizeof(old));
	CHECK_INT(old.b, 2);
	CHECK_INT(op_config_give(&newer, &ours, sizeof(ours), sizeof(struct v1)), 0);
	CHECK_INT(newer.v2.size, sizeof(newer));
	CHECK_INT(newer.v2.c, 3);
	CHECK_INT(newer.d, 0); /* a field this library lacks reads as zero */
	old.size = 4;
	CHECK_INT(op_config_give(&old, &ours, sizeof(ours), sizeof(struct v1)), -EINVAL);
	CHECK_INT(op_config_give(NULL, &ours, sizeof(ours), sizeof(struct v1)), -EINVAL);
}

static void test_defaults(void)
{
	struct otelprof_config c;

	CHECK_INT(op_config_init(NULL, NULL, &c), 0);
	CHECK_INT(c.sample_rate_hz, 20);
	CHECK_INT(c.off_cpu_samples, 2000);
	CHECK_INT(c.probe_samples, 1000);
	CHECK_INT(c.max_frames, 1024);
	CHECK_INT(c.poll_budget_ms, 20);
	CHECK_STR(c.procfs_root, "/proc");
	CHECK(!c.layouts_dir);
	CHECK_STR(c.sysfs_root, "/sys");
	op_config_deinit(&c);
}

/* A program of version 0.1: its struct ends before what came later. */
static void test_a_program_of_0_1(void)
{
	static const size_t end = offsetof(struct otelprof_config, environment);
	struct otelprof_config from;
	struct otelprof_config c;
	void *old = malloc(end); /* what is behind it is not ours */

	otelprof_config_init(&from, sizeof(from));
	from.size = end;
	from.sample_rate_hz = 99;
	CHECK(old);
	memcpy(old, &from, end);
	CHECK_INT(op_config_init(old, NULL, &c), 0);
	CHECK_INT(c.sample_rate_hz, 99);
	CHECK_INT(c.environment_len, 0);
	CHECK(!c.environment);
	op_config_deinit(&c);
	free(old);
}

static void test_a_limit_of_memory(void)
{
	struct otelprof_config from;
	struct otelprof_config c;

	otelprof_config_init(&from, sizeof(from));
	from.memory_limit_bytes = (16 << 20) - 1;
	CHECK_INT(op_config_init(&from, NULL, &c), -EINVAL);
	from.memory_limit_bytes = 16 << 20;
	CHECK_INT(op_config_init(&from, NULL, &c), 0);
	/* one file's names may not take all of it */
	CHECK_INT(c.symbol_budget_bytes, 8 << 20);
	op_config_deinit(&c);
	from.memory_limit_bytes = UINT64_MAX;
	CHECK_INT(op_config_init(&from, NULL, &c), 0);
	CHECK_INT(c.symbol_budget_bytes, 64 << 20);
	op_config_deinit(&c);
}

static void test_layouts_dir_is_copied(void)
{
	char dir[] = "/etc/otelprof";
	struct otelprof_config from;
	struct otelprof_config c;

	otelprof_config_init(&from, sizeof(from));
	from.layouts_dir = dir;
	CHECK_INT(op_config_init(&from, NULL, &c), 0);
	dir[0] = 'x';
	CHECK_STR(c.layouts_dir, "/etc/otelprof");
	op_config_deinit(&c);
}

static void test_environment_is_copied(void)
{
	char name[] = "APP_MODE";
	const char *const names[] = { name, "HOME" };
	struct otelprof_config from;
	struct otelprof_config c;

	otelprof_config_init(&from, sizeof(from));
	from.environment = names;
	from.environment_len = 2;
	CHECK_INT(op_config_init(&from, NULL, &c), 0);
	name[0] = 'x';
	CHECK_STR(c.environment[0], "APP_MODE");
	CHECK_STR(c.environment[1], "HOME");
	op_config_deinit(&c);
}

static const char *attribute_of(const struct otelprof_config *c, const char *key)
{
	const char *value = NULL;
	size_t i;

	for (i = 0; i < c->attributes_len; i++) {
		if (strcmp(c->attributes[i].key, key) != 0)
			continue;
		CHECK(!value); /* once */
		value = c->attributes[i].value;
	}
	return value;
}

static void test_host(void)
{
	struct otelprof_attribute mine = { "host.name", "mine" };
	struct otelprof_config from;
	struct otelprof_config c;

	otelprof_config_init(&from, sizeof(from));
	from.attributes = &mine;
	from.attributes_len = 1;
	CHECK_INT(op_config_init(&from, NULL, &c), 0);
	CHECK_INT(op_config_add_host(&c), 0);
	CHECK_STR(attribute_of(&c, "host.name"), "mine");
	CHECK_STR(attribute_of(&c, "os.type"), "linux");
	op_config_deinit(&c);
	from.attributes_len = 0;
	from.flags = OTELPROF_NO_HOST;
	CHECK_INT(op_config_init(&from, NULL, &c), 0);
	CHECK_INT(op_config_add_host(&c), 0);
	CHECK_INT(c.attributes_len, 0);
	op_config_deinit(&c);
}

static void test_strings_are_copied(void)
{
	char name[] = "billing";
	char key[] = "host.name";
	char value[] = "a";
	struct otelprof_attribute attribute = { key, value };
	struct otelprof_config from;
	struct otelprof_config c;

	otelprof_config_init(&from, sizeof(from));
	from.service_name = name;
	from.attributes = &attribute;
	from.attributes_len = 1;
	CHECK_INT(op_config_init(&from, NULL, &c), 0);
	name[0] = key[0] = value[0] = 'x';
	CHECK_STR(c.service_name, "billing");
	CHECK_STR(c.attributes[0].key, "host.name");
	CHECK_STR(c.attributes[0].value, "a");
	op_config_deinit(&c);
}

static void refuse(void (*change)(struct otelprof_config *), int error, const char *word)
{
	struct otelprof_config from;
	struct otelprof_config c;
	struct op_log log = { 0 };

	otelprof_config_init(&from, sizeof(from));
	change(&from);
	CHECK_INT(op_config_init(&from, &log, &c), error);
	if (!strstr(log.message, word))
		TEST_FAIL("\"%s\" does not name %s", log.message, word);
}

static void rate_too_high(struct otelprof_config *c)
{
	c->sample_rate_hz = 1001;
}

static void many_probe_samples(struct otelprof_config *c)
{
	c->probe_samples = 1000001;
}

static void many_off_cpu(struct otelprof_config *c)
{
	c->off_cpu_samples = 100001;
}

static void long_poll(struct otelprof_config *c)
{
	c->poll_budget_ms = 1001;
}

static void odd_ring(struct otelprof_config *c)
{
	c->ring_bytes = 65537;
}

static void unknown_flag(struct otelprof_config *c)
{
	c->flags = UINT64_C(1) << 60;
}

static void attributes_nowhere(struct otelprof_config *c)
{
	c->attributes_len = 1;
}

static void environment_nowhere(struct otelprof_config *c)
{
	c->environment_len = 1;
}

static void environment_with_a_value(struct otelprof_config *c)
{
	static const char *const names[] = { "A=b" };

	c->environment = names;
	c->environment_len = 1;
}

static void much_environment(struct otelprof_config *c)
{
	static const char *const names[OTELPROF_ENVIRONMENT_MAX + 1] = { "A" };

	c->environment = names;
	c->environment_len = OTELPROF_ENVIRONMENT_MAX + 1;
}

static void two_threads(struct otelprof_config *c)
{
	c->threads = 2;
}

static void unknown_runtime(struct otelprof_config *c)
{
	c->runtimes_off = UINT64_C(1) << 63;
}

static void unknown_kind(struct otelprof_config *c)
{
	c->kinds = UINT64_C(1) << 63;
}

static void many_frames(struct otelprof_config *c)
{
	c->max_frames = 1025;
}

static void test_values_out_of_range_are_named(void)
{
	refuse(rate_too_high, -EINVAL, "sample_rate_hz");
	refuse(many_off_cpu, -EINVAL, "off_cpu_samples");
	refuse(many_probe_samples, -EINVAL, "probe_samples");
	refuse(long_poll, -EINVAL, "poll_budget_ms is 1001 and must be 1 to 1000");
	refuse(odd_ring, -EINVAL, "ring_bytes");
	refuse(unknown_flag, -E2BIG, "flags");
	refuse(attributes_nowhere, -EINVAL, "attributes");
	refuse(many_frames, -EINVAL, "max_frames");
	refuse(two_threads, -EINVAL, "threads");
	refuse(environment_nowhere, -EINVAL, "environment");
	refuse(environment_with_a_value, -EINVAL, "'='");
	refuse(much_environment, -EINVAL, "environment_len is 33");
	refuse(unknown_runtime, -E2BIG, "runtimes_off");
	refuse(unknown_kind, -E2BIG, "kinds");
}

static void test_rules_are_checked(void)
{
	struct otelprof_rule rule = { .size = sizeof(rule) };
	struct otelprof_rule got;

	CHECK_INT(op_config_rules(NULL, 0, NULL, &got), 0);
	CHECK_INT(op_config_rule(&rule, "it", NULL, &got), 0);
	rule.kind = OTELPROF_MATCH_COMM;
	CHECK_INT(op_config_rule(&rule, "it", NULL, &got), -EINVAL);
	rule.text = "a-name-of-16-byt";
	CHECK_INT(op_config_rule(&rule, "it", NULL, &got), -EINVAL);
	rule.text = "a-name-of-15-by";
	CHECK_INT(op_config_rule(&rule, "it", NULL, &got), 0);
	rule.keep_one_in = 2;
	CHECK_INT(op_config_rule(&rule, "it", NULL, &got), 0);
	rule.action = OTELPROF_RULE_EXCLUDE;
	CHECK_INT(op_config_rule(&rule, "it", NULL, &got), -EINVAL);
	rule.action = OTELPROF_RULE_RATE;
	rule.sample_rate_hz = 5;
	CHECK_INT(op_config_rule(&rule, "it", NULL, &got), -EINVAL);
	rule.keep_one_in = 1;
	CHECK_INT(op_config_rule(&rule, "it", NULL, &got), 0);
	rule.kind = 99;
	CHECK_INT(op_config_rule(&rule, "it", NULL, &got), -E2BIG);
}

/* Rules of a program whose header has more fields than ours: they are as far apart as it says,
 * and what we do not know must be zero. */
static void test_rules_of_a_later_version(void)
{
	struct grown {
		struct otelprof_rule rule;
		uint64_t more;
	} rules[2];
	struct otelprof_rule got[2];

	memset(rules, 0, sizeof(rules));
	rules[0].rule.size = rules[1].rule.size = sizeof(rules[0]);
	rules[0].rule.kind = rules[1].rule.kind = OTELPROF_MATCH_PID;
	rules[0].rule.number = 11;
	rules[1].rule.number = 22;
	CHECK_INT(op_config_rules(&rules[0].rule, 2, NULL, got), 0);
	CHECK_INT(got[0].number, 11);
	CHECK_INT(got[1].number, 22);
	rules[1].more = 1;
	CHECK_INT(op_config_rules(&rules[0].rule, 2, NULL, got), -E2BIG);
	rules[1].more = 0;
	rules[1].rule.size--;
	CHECK_INT(op_config_rules(&rules[0].rule, 2, NULL, got), -EINVAL);
}

static void test_reserved_fields_must_be_zero(void)
{
	struct otelprof_config config;
	struct otelprof_config ours;

	otelprof_config_init(&config, sizeof(config));
	CHECK_OK(op_config_init(&config, NULL, &ours));
	op_config_deinit(&ours);
	config.reserved1 = 1;
	CHECK_INT(op_config_init(&config, NULL, &ours), -E2BIG);
	config.reserved1 = 0;
	config.reserved2 = 1;
	CHECK_INT(op_config_init(&config, NULL, &ours), -E2BIG);
}

TEST_MAIN({ "an_old_program_gets_defaults_for_new_fields",
	    test_an_old_program_gets_defaults_for_new_fields },
	  { "a_new_program_may_leave_new_fields_unset",
	    test_a_new_program_may_leave_new_fields_unset },
	  { "a_new_field_that_is_set_is_refused",
	    test_a_new_field_that_is_set_is_refused },
	  { "wild_sizes_are_refused", test_wild_sizes_are_refused },
	  { "given_structs_are_filled_as_far_as_they_reach",
	    test_given_structs_are_filled_as_far_as_they_reach },
	  { "defaults", test_defaults }, { "a_program_of_0_1", test_a_program_of_0_1 },
	  { "environment_is_copied", test_environment_is_copied },
	  { "limit", test_a_limit_of_memory },
	  { "layouts_dir_is_copied", test_layouts_dir_is_copied }, { "host", test_host },
	  { "strings_are_copied", test_strings_are_copied },
	  { "values_out_of_range_are_named", test_values_out_of_range_are_named },
	  { "rules_are_checked", test_rules_are_checked },
	  { "rules_of_a_later_version", test_rules_of_a_later_version },
	  { "reserved_fields_must_be_zero", test_reserved_fields_must_be_zero })
