/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations as text: the field that each key sets, the sentence of each refusal, and
 * the source that wins. The texts here fix the expected values. */
#include <otelprof/otelprof.h>

#include "api/settings/config.h"
#include "api/settings/keys.h"
#include "fail_alloc.h"
#include "test.h"
#include "tools.h"

static struct otelprof_settings *make(void)
{
	struct otelprof_settings *s = NULL;

	CHECK_OK(otelprof_settings_new(&s));
	CHECK(s);
	return s;
}

static void read_text(struct otelprof_settings *s, const char *text)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	int r = otelprof_settings_read(s, "a.conf", text, strlen(text), &why);

	if (r < 0)
		TEST_FAIL("%s: %d %s", text, r, why.message);
}

static struct otelprof_config config_of(const struct otelprof_settings *s)
{
	struct otelprof_config c;

	otelprof_config_init(&c, sizeof(c));
	CHECK_OK(otelprof_settings_get_config(s, &c));
	CHECK_INT(c.size, sizeof(c));
	return c;
}

static struct otelprof_otlp_config otlp_of(const struct otelprof_settings *s)
{
	struct otelprof_otlp_config c;

	otelprof_otlp_config_init(&c, sizeof(c));
	CHECK_OK(otelprof_settings_get_otlp(s, &c));
	CHECK_INT(c.size, sizeof(c));
	return c;
}

static void test_an_empty_text_is_the_default(void)
{
	struct otelprof_settings *s = make();
	struct otelprof_config zero = { .size = sizeof(zero) };
	struct otelprof_config c;
	size_t len = 9;

	read_text(s, "");
	read_text(s, "# sample_rate_hz = 7\n\n   \t\r\n  # more\n");
	c = config_of(s);
	CHECK(memcmp(&c, &zero, sizeof(c)) == 0);
	CHECK(!otelprof_settings_get_rules(s, &len) && !len);
	CHECK(!otelprof_settings_free(s));
	CHECK(!otelprof_settings_free(NULL));
}

static void test_each_kind_of_value(void)
{
	struct otelprof_settings *s = make();
	struct otelprof_config c;
	struct otelprof_otlp_config o;

	read_text(s, "sample_rate_hz = 49\n"
		     "  off_cpu_min_ns=18446744073709551615\r\n"
		     "ring_bytes = 131072\n"
		     "kinds = cpu, off_cpu,heap\n"
		     "runtimes_off = node, php\n"
		     "kernel_stacks = false\n"
		     "native_names = true\n"
		     "command_line = true\n"
		     "service_name =\n"
		     "procfs_root = /host/proc # 1\n"
		     "log_level = debug\n"
		     "attributes = a=1, b = x%2Cy\n"
		     "attributes = c=\n"
		     "environment = HOME, APP_MODE\n"
		     "endpoint = https://c:1\n"
		     "protocol = http/protobuf\n"
		     "compression = none\n"
		     "insecure = true\n"
		     "headers = authorization=Bearer%20k=1\n"
		     "timeout_ms = 5\n"
		     "queue_bytes = 70000");
	c = config_of(s);
	CHECK_INT(c.sample_rate_hz, 49);
	CHECK(c.off_cpu_min_ns == UINT64_MAX);
	CHECK_INT(c.ring_bytes, 131072);
	CHECK_INT(c.kinds,
		  OTELPROF_KIND_CPU | OTELPROF_KIND_OFF_CPU | OTELPROF_KIND_HEAP);
	CHECK_INT(c.runtimes_off, OTELPROF_RUNTIME_NODE | OTELPROF_RUNTIME_PHP);
	CHECK_INT(c.flags, OTELPROF_NO_KERNEL_STACKS | OTELPROF_COMMAND_LINE);
	CHECK_STR(c.service_name, "");
	/* a comment begins a line, so that a value may have a # */
	CHECK_STR(c.procfs_root, "/host/proc # 1");
	CHECK(!c.sysfs_root);
	CHECK_INT(c.log_level, OTELPROF_LOG_DEBUG);
	CHECK_INT(c.attributes_len, 3);
	CHECK_STR(c.attributes[0].key, "a");
	CHECK_STR(c.attributes[0].value, "1");
	CHECK_STR(c.attributes[1].key, "b");
	CHECK_STR(c.attributes[1].value, "x,y");
	CHECK_STR(c.attributes[2].value, "");
	CHECK_INT(c.environment_len, 2);
	CHECK_STR(c.environment[1], "APP_MODE");
	o = otlp_of(s);
	CHECK_STR(o.endpoint, "https://c:1");
	CHECK_INT(o.protocol, OTELPROF_PROTOCOL_HTTP);
	CHECK_INT(o.compression, OTELPROF_COMPRESSION_NONE);
	CHECK_INT(o.insecure, 1);
	CHECK_INT(o.headers_len, 1);
	CHECK_STR(o.headers[0].key, "authorization");
	CHECK_STR(o.headers[0].value, "Bearer k=1");
	CHECK_INT(o.timeout_ms, 5);
	CHECK_INT(o.queue_bytes, 70000);
	/* what the other word of a switch does */
	read_text(s, "kernel_stacks = true\nnative_names = false\n");
	CHECK_INT(config_of(s).flags, OTELPROF_NO_NATIVE_NAMES | OTELPROF_COMMAND_LINE);
	otelprof_settings_free(s);
}

static void test_units(void)
{
	struct otelprof_settings *s = make();

	read_text(s, "memory_limit_bytes = 1.5GiB\nmemory_budget_bytes = 2 MiB\n"
		     "symbol_budget = 3\noff_cpu_min = 7\ncpu_budget = 0.5\n"
		     "retry_for = 2\ntimeout_ms = 1.25s\n");
	CHECK(config_of(s).memory_limit_bytes == UINT64_C(3) << 29);
	CHECK_INT(config_of(s).memory_budget_bytes, 2 << 20);
	CHECK_INT(config_of(s).symbol_budget_bytes, 3 << 20);
	CHECK_INT(config_of(s).off_cpu_min_ns, 7000);
	CHECK_INT(config_of(s).cpu_budget_permille, 5);
	CHECK_INT(otlp_of(s).retry_elapsed_ms, 2000);
	CHECK_INT(otlp_of(s).timeout_ms, 1250);
	/* one of its own stands before that of an alias */
	read_text(s, "off_cpu_min = 7ns\nsymbol_budget = 1KiB\nmemory_limit = 0\n"
		     "cpu_budget_permille = 3%\n");
	CHECK_INT(config_of(s).off_cpu_min_ns, 7);
	CHECK_INT(config_of(s).symbol_budget_bytes, 1024);
	CHECK_INT(config_of(s).memory_limit_bytes, 0);
	CHECK_INT(config_of(s).cpu_budget_permille, 30);
	otelprof_settings_free(s);
}

static void test_other_names(void)
{
	struct otelprof_settings *s = make();

	read_text(s, "frequency = 7\nall_user = true\nno_native_names = true\n"
		     "attribute = a=1,%2C\nno_runtime = php\nheader = X-A=b,c\n");
	CHECK_INT(config_of(s).sample_rate_hz, 7);
	CHECK_INT(config_of(s).flags,
		  OTELPROF_NO_KERNEL_STACKS | OTELPROF_NO_NATIVE_NAMES);
	CHECK_STR(config_of(s).attributes[0].value, "1,%2C");
	CHECK_INT(config_of(s).runtimes_off, OTELPROF_RUNTIME_PHP);
	CHECK_STR(otlp_of(s).headers[0].key, "x-a");
	CHECK_STR(otlp_of(s).headers[0].value, "b,c");
	read_text(s, "all_user = false\n");
	CHECK_INT(config_of(s).flags, OTELPROF_NO_NATIVE_NAMES);
	otelprof_settings_free(s);
}

/* Calls in a row add to lists, as switches of a command line do. */
static void test_one_key_set_again(void)
{
	struct otelprof_settings *s = make();

	read_text(s, "environment = X\nkinds = heap\n");
	CHECK_OK(otelprof_settings_set(s, "environment", "A", NULL));
	CHECK_OK(otelprof_settings_set(s, "kinds", "cpu", NULL));
	CHECK_OK(otelprof_settings_set(s, "environment", "B", NULL));
	CHECK_OK(otelprof_settings_set(s, "kinds", "wall", NULL));
	CHECK_INT(config_of(s).environment_len, 2);
	CHECK_STR(config_of(s).environment[0], "A");
	CHECK_INT(config_of(s).kinds, OTELPROF_KIND_CPU | OTELPROF_KIND_WALL);
	CHECK_OK(otelprof_settings_set(s, "environment", "", NULL));
	CHECK_OK(otelprof_settings_set(s, "kinds", "", NULL));
	CHECK_INT(config_of(s).environment_len, 0);
	CHECK_INT(config_of(s).kinds, 0);
	otelprof_settings_free(s);
}

static void test_rules_and_probes(void)
{
	struct otelprof_settings *s = make();
	const struct otelprof_rule *rule;
	const char *const *probes;
	size_t len = 9;

	read_text(s, "rules = include pid:7\n"
		     "rules = rate 199 cgroup:/a b/c\n"
		     "rules = include 5 comm:web\n"
		     "rules = exclude uid:1000\n"
		     "rules = rate 5 exe:/opt/*/bin/a b\n"
		     "rules = exclude env:A=b c\n"
		     "rules = include 1/10 all\n"
		     "rules = include 7 1/2 tree:1\n"
		     "rules = exclude age:1500ms\n"
		     "probes = uprobe:/bin/a,b:main\n"
		     "probes = kprobe:do_exit\n");
	rule = otelprof_settings_get_rules(s, &len);
	CHECK_INT(len, 9);
	CHECK_INT(rule->size, sizeof(*rule));
	CHECK_INT(rule->kind, OTELPROF_MATCH_PID);
	CHECK_INT(rule->action, OTELPROF_RULE_INCLUDE);
	CHECK_INT(rule->number, 7);
	CHECK_INT(rule->sample_rate_hz, 0);
	rule++;
	CHECK_INT(rule->action, OTELPROF_RULE_RATE);
	CHECK_INT(rule->sample_rate_hz, 199);
	CHECK_STR(rule->text, "/a b/c");
	rule++;
	CHECK_INT(rule->sample_rate_hz, 5);
	CHECK_STR(rule->text, "web");
	rule++;
	CHECK_INT(rule->kind, OTELPROF_MATCH_UID);
	CHECK_INT(rule->action, OTELPROF_RULE_EXCLUDE);
	CHECK_INT(rule->number, 1000);
	rule++;
	CHECK_INT(rule->kind, OTELPROF_MATCH_EXECUTABLE);
	CHECK_STR(rule->text, "/opt/*/bin/a b");
	rule++;
	CHECK_INT(rule->kind, OTELPROF_MATCH_ENVIRONMENT);
	CHECK_STR(rule->text, "A=b c");
	rule++;
	CHECK_INT(rule->kind, OTELPROF_MATCH_ALL);
	CHECK_INT(rule->keep_one_in, 10);
	rule++;
	CHECK_INT(rule->kind, OTELPROF_MATCH_TREE);
	CHECK_INT(rule->sample_rate_hz, 7);
	CHECK_INT(rule->keep_one_in, 2);
	rule++;
	CHECK_INT(rule->kind, OTELPROF_MATCH_AGE);
	CHECK_INT(rule->number, 1500000000);
	probes = otelprof_settings_get_probes(s, &len);
	CHECK_INT(len, 2);
	CHECK_STR(probes[0], "uprobe:/bin/a,b:main");
	CHECK_INT(config_of(s).kinds, OTELPROF_KIND_CPU | OTELPROF_KIND_PROBES);
	read_text(s, "kinds = off_cpu\n");
	CHECK_INT(config_of(s).kinds, OTELPROF_KIND_OFF_CPU | OTELPROF_KIND_PROBES);
	read_text(s, "kinds = probes\n");
	CHECK_INT(config_of(s).kinds, OTELPROF_KIND_PROBES);
	otelprof_settings_free(s);
}

/* The whole sentence, so that each says where and what to do. */
static void test_mistakes_are_one_sentence(void)
{
	static const struct {
		const char *text;
		int error;
		const char *sentence;
	} cases[] = {
		{ "\n\nsample_rate = 7\n", -EINVAL,
		  "a.conf:3: there is no key \"sample_rate\"; perhaps it is "
		  "sample_rate_hz; otelprof_settings_new(3) lists them" },
		{ "frob = 7", -EINVAL,
		  "a.conf:1: there is no key \"frob\"; otelprof_settings_new(3) lists "
		  "them" },
		{ "= 7", -EINVAL,
		  "a.conf:1: there is no key \"\"; otelprof_settings_new(3) lists them" },
		{ "Authorization: Basic c2VjcmV0==\n", -EINVAL,
		  "a.conf:1: the text before \"=\" is not a key; a key has small letters, "
		  "digits and \"_\"" },
		{ "sample_rate_hz", -EINVAL,
		  "a.conf:1: the line is not a comment and has no \"=\"; write KEY = VALUE" },
		{ "sample_rate_hz = 1001", -EINVAL,
		  "a.conf:1: sample_rate_hz is \"1001\" and must be a number from 1 to "
		  "1000, in digits alone" },
		{ "sample_rate_hz = -1", -EINVAL,
		  "a.conf:1: sample_rate_hz is \"-1\" and must be a number from 1 to "
		  "1000, in digits alone" },
		{ "off_cpu_min_ns = 18446744073709551616", -EINVAL,
		  "a.conf:1: off_cpu_min_ns is \"18446744073709551616\" and must be a "
		  "number from 0 to 18446744073709551615, or with us, ms or s" },
		{ "ring_bytes = 65537", -EINVAL,
		  "a.conf:1: ring_bytes is \"65537\" and must be a power of two" },
		{ "command_line = yes", -EINVAL,
		  "a.conf:1: command_line is \"yes\" and must be true or false" },
		{ "runtimes_off = php, cobol", -EINVAL,
		  "a.conf:1: runtimes_off is \"cobol\" and must be one of: python, php, "
		  "hotspot, node, jitdump, ruby, dotnet, perl, beam, lua" },
		{ "protocol = http/json", -EINVAL,
		  "a.conf:1: protocol is \"http/json\" and must be one of: grpc, "
		  "http/protobuf" },
		{ "attributes = a", -EINVAL,
		  "a.conf:1: an entry has no \"=\"; write KEY=VALUE, with commas "
		  "between" },
		{ "headers = a=secret%2", -EINVAL,
		  "a.conf:1: the value of \"a\" has a % without two hex digits; write "
		  "%25 for a %" },
		{ "attributes = a=\xff", -EINVAL, "a.conf:1: an entry is not UTF-8" },
		{ "environment = A=b", -EINVAL,
		  "a.conf:1: environment is \"A=b\" and must be a name of at most 128 "
		  "bytes without '='" },
		{ "rules = include 0 pid:1", -EINVAL,
		  "a.conf:1: \"include 0 pid:1\" is not a rule; write include [HZ] "
		  "[1/N] TARGET, exclude TARGET or rate HZ TARGET, where TARGET is all, "
		  "pid:N, tree:N, uid:N, age:Ns or Nms, comm:NAME (at most 15 bytes), "
		  "cgroup:PATH, container:ID, pod:UID, exe:PATH or env:NAME[=VALUE], and "
		  "HZ is 1 to 1000" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct otelprof_error_info why = { .size = sizeof(why) };
		struct otelprof_settings *s = make();

		CHECK_INT(otelprof_settings_read(s, "a.conf", cases[i].text,
						 strlen(cases[i].text), &why),
			  cases[i].error);
		CHECK_INT(why.code, cases[i].error);
		CHECK_STR(why.message, cases[i].sentence);
		otelprof_settings_free(s);
	}
}

static void refuse(const char *text)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_settings *s = make();

	if (otelprof_settings_read(s, "x", text, strlen(text), &why) != -EINVAL)
		TEST_FAIL("\"%s\" was taken", text);
	CHECK(*why.message);
	otelprof_settings_free(s);
}

static void test_more_mistakes(void)
{
	static const char *const rules[] = {
		"rules = include",
		"rules = include ",
		"rules = include pid:",
		"rules = include pid:x",
		"rules = include pid:4294967296",
		"rules = include frob:1",
		"rules = include comm:sixteen-bytes-xx",
		"rules = include cgroup:",
		"rules = rate pid:1",
		"rules = rate 1001 pid:1",
		"rules = exclude 5 pid:1",
		"rules = exclude 1/5 pid:1",
		"rules = rate 1/5 pid:1",
		"rules = include 1/0 pid:1",
		"rules = include 1/5 5 pid:1",
		"rules = include 2/5 pid:1",
		"rules = include 5",
		"rules = include age:5",
		"rules = include age:s",
		"rules = include age:99999999999s",
		"rules = include all:1",
		"rules = frob pid:1",
		"kinds = cpu, wall_tick", /* which the library uses by itself */
		"attributes = =x",
		"sample_rate_hz =",
		"sample_rate_hz = 1 2",
		"threads = 2",
		"max_frames = 15",
		"max_frames = 64KiB",
		"max_frames = 64.5",
		"off_cpu_min_ns = 1MiB",
		"off_cpu_min_ns = .5s",
		"off_cpu_min_ns = 18446744073709551615s",
		"timeout_ms = 1.0000000001s",
		"memory_limit_bytes = 15MiB",
		"no_sample_rate_hz = 1",
		"no_idle_stacks = true",
		"log_level = loud",
	};
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		refuse(rules[i]);
}

static void test_bounds(void)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_settings *s = make();
	char *text = malloc((1 << 20) + 1);

	CHECK(text);
	memset(text, '#', (1 << 20) + 1);
	CHECK_INT(otelprof_settings_read(s, "big", text, (1 << 20) + 1, &why), -E2BIG);
	CHECK(strstr(why.message, "big"));
	CHECK_INT(otelprof_settings_read(s, "wide", text, 8193, &why), -E2BIG);
	CHECK(strstr(why.message, "wide:1: the line has more than 8192 bytes"));
	CHECK_OK(otelprof_settings_read(s, "wide", text, 8192, &why));
	CHECK_INT(otelprof_settings_read(s, "nul", "a\0b = 1", 7, &why), -EINVAL);
	CHECK(strstr(why.message, "NUL"));
	free(text);
	/* what is set has no place */
	CHECK_INT(otelprof_settings_set(s, "rules", "exclude x", &why), -EINVAL);
	CHECK(!strncmp(why.message, "\"exclude x\" is not a rule", 25));
	/* arguments */
	CHECK_INT(otelprof_settings_new(NULL), -EINVAL);
	CHECK_INT(otelprof_settings_read(NULL, "x", "", 0, NULL), -EINVAL);
	CHECK_INT(otelprof_settings_read(s, "x", NULL, 1, NULL), -EINVAL);
	CHECK_INT(otelprof_settings_set(s, NULL, "", NULL), -EINVAL);
	CHECK_INT(otelprof_settings_set(s, "frob", "", NULL), -EINVAL);
	CHECK_INT(otelprof_settings_get_config(s, NULL), -EINVAL);
	CHECK_INT(otelprof_settings_keys(NULL, NULL), -EINVAL);
	CHECK_INT(otelprof_settings_compare(s, NULL, NULL, NULL), -EINVAL);
	why.size = 8;
	CHECK_INT(otelprof_settings_set(s, "frob", "", &why), -EINVAL);
	otelprof_settings_free(s);
}

static void test_a_program_of_0_1(void)
{
	static const size_t end = offsetof(struct otelprof_config, environment);
	struct otelprof_settings *s = make();
	struct otelprof_config whole;
	void *old = malloc(end); /* what is behind it is not ours */

	CHECK(old);
	otelprof_config_init(&whole, sizeof(whole));
	whole.size = end;
	memcpy(old, &whole, end);
	read_text(s, "sample_rate_hz = 3\nenvironment = A\n");
	CHECK_OK(otelprof_settings_get_config(s, old));
	memcpy(&whole, old, end);
	CHECK_INT(whole.size, end);
	CHECK_INT(whole.sample_rate_hz, 3);
	free(old);
	otelprof_settings_free(s);
}

static void test_later_sources_win(void)
{
	struct otelprof_settings *s = make();

	tools_write("x.conf", "sample_rate_hz = 10\nattributes = a=1\nmax_frames = 64\n"
			      "attributes = b=2\n");
	CHECK_OK(otelprof_settings_read_file(s, tools_path("x.conf"), NULL));
	CHECK_INT(config_of(s).attributes_len, 2);
	CHECK_INT(setenv("OTELPROF_SAMPLE_RATE_HZ", "20", 1), 0);
	CHECK_INT(setenv("OTELPROF_MAX_FRAMES", "", 1), 0); /* counts as unset */
	CHECK_INT(setenv("OTEL_RESOURCE_ATTRIBUTES",
			 "service.name=me,k8s.node.name=n%2C1,telemetry.sdk=x", 1),
		  0);
	CHECK_OK(otelprof_settings_read_environment(s, NULL));
	CHECK_INT(config_of(s).sample_rate_hz, 20);
	CHECK_INT(config_of(s).max_frames, 64);
	/* those of a resource are added, but for what says who this program is */
	CHECK_INT(config_of(s).attributes_len, 3);
	CHECK_STR(config_of(s).attributes[2].key, "k8s.node.name");
	CHECK_STR(config_of(s).attributes[2].value, "n,1");
	CHECK(!config_of(s).service_name);
	CHECK_OK(otelprof_settings_set(s, "sample_rate_hz", "30", NULL));
	CHECK_OK(otelprof_settings_set(s, "attributes", "c=3", NULL));
	CHECK_INT(config_of(s).sample_rate_hz, 30);
	CHECK_INT(config_of(s).attributes_len, 1);
	CHECK_STR(config_of(s).attributes[0].key, "c");
	CHECK_INT(unsetenv("OTEL_RESOURCE_ATTRIBUTES"), 0);
	otelprof_settings_free(s);
}

/* Of one key: a file's value, then that of a resource, then the profiler's own variable. */
static void test_an_attribute_given_twice(void)
{
	struct otelprof_settings *s = make();

	CHECK_OK(otelprof_settings_set(s, "attributes", "a=1,b=1,a=0", NULL));
	CHECK_INT(config_of(s).attributes_len, 2);
	CHECK_STR(config_of(s).attributes[0].value, "0");
	CHECK_INT(setenv("OTEL_RESOURCE_ATTRIBUTES", "a=2,c=2", 1), 0);
	CHECK_OK(otelprof_settings_read_environment(s, NULL));
	CHECK_INT(config_of(s).attributes_len, 3);
	CHECK_STR(config_of(s).attributes[0].value, "2");
	CHECK_INT(setenv("OTELPROF_ATTRIBUTES", "a=3", 1), 0);
	CHECK_OK(otelprof_settings_read_environment(s, NULL));
	CHECK_INT(config_of(s).attributes_len, 2);
	CHECK_STR(config_of(s).attributes[0].value, "3");
	CHECK_STR(config_of(s).attributes[1].key, "c");
	CHECK_INT(unsetenv("OTELPROF_ATTRIBUTES"), 0);
	CHECK_INT(unsetenv("OTEL_RESOURCE_ATTRIBUTES"), 0);
	otelprof_settings_free(s);
}

/* Of another program's variable, which is malformed, nothing is taken; it is told and no error. */
static void test_a_malformed_resource_is_ignored(void)
{
	static const char *const bad[] = { "a=b,team=100%", "a=b,c", "a=b,=c",
					   "a=b,c%zz=d" };
	struct otelprof_settings *s = make();
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(bad); i++) {
		struct otelprof_error_info why = { .size = sizeof(why) };

		CHECK_INT(setenv("OTEL_RESOURCE_ATTRIBUTES", bad[i], 1), 0);
		CHECK_OK(otelprof_settings_read_environment(s, &why));
		CHECK_INT(why.code, 0);
		CHECK(strstr(why.message, "OTEL_RESOURCE_ATTRIBUTES"));
		CHECK_INT(config_of(s).attributes_len, 0);
	}
	/* keys are decoded, too */
	CHECK_INT(setenv("OTEL_RESOURCE_ATTRIBUTES", "a%3Db%2C=1%20%25", 1), 0);
	CHECK_OK(otelprof_settings_read_environment(s, NULL));
	CHECK_INT(config_of(s).attributes_len, 1);
	CHECK_STR(config_of(s).attributes[0].key, "a=b,");
	CHECK_STR(config_of(s).attributes[0].value, "1 %");
	CHECK_INT(unsetenv("OTEL_RESOURCE_ATTRIBUTES"), 0);
	otelprof_settings_free(s);
}

static void test_mistakes_of_the_environment(void)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_settings *s = make();

	CHECK_INT(setenv("OTELPROF_SAMPLE_RATE_HZ", "0", 1), 0);
	CHECK_INT(otelprof_settings_read_environment(s, &why), -EINVAL);
	CHECK_STR(why.message,
		  "OTELPROF_SAMPLE_RATE_HZ: sample_rate_hz is \"0\" and must be a number "
		  "from 1 to 1000, in digits alone");
	CHECK_INT(unsetenv("OTELPROF_SAMPLE_RATE_HZ"), 0);
	CHECK_INT(otelprof_settings_read_file(s, "/nonexistent/x", &why), -ENOENT);
	CHECK_STR(why.message,
		  "/nonexistent/x: it cannot be read: No such file or directory");
	otelprof_settings_free(s);
}

struct seen {
	size_t len;
	char keys[1024];
};

static void note(void *userdata, const struct otelprof_settings_key *key)
{
	struct seen *seen = userdata;

	CHECK_INT(key->size, sizeof(*key));
	CHECK(strncmp(key->variable, "OTELPROF_", 9) == 0);
	CHECK(*key->text && key->live <= 1);
	seen->len++;
	(void)snprintf(seen->keys + strlen(seen->keys),
		       sizeof(seen->keys) - strlen(seen->keys), "%s ", key->key);
}

static void test_compare_names_what_differs(void)
{
	static const char before[] =
		"sample_rate_hz = 1\nrules = include pid:1\nattributes = a=1\n"
		"kernel_stacks = false\nendpoint = http://a\nenvironment = A\n";
	struct otelprof_settings *a = make();
	struct otelprof_settings *b = make();
	struct seen seen = { 0 };

	read_text(a, before);
	read_text(b, before);
	CHECK_INT(otelprof_settings_compare(a, b, note, &seen), 0);
	read_text(b, "sample_rate_hz = 2\nrules = include pid:2\nattributes = a=2\n"
		     "kernel_stacks = true\nendpoint = http://b\nenvironment = B\n");
	CHECK_INT(otelprof_settings_compare(a, b, note, &seen), 6);
	CHECK_STR(seen.keys,
		  "sample_rate_hz rules kernel_stacks attributes environment endpoint ");
	CHECK_INT(otelprof_settings_compare(a, b, NULL, NULL), 6);
	otelprof_settings_free(a);
	otelprof_settings_free(b);
}

static void test_keys_are_listed(void)
{
	struct seen seen = { 0 };

	CHECK_OK(otelprof_settings_keys(note, &seen));
	CHECK_INT(seen.len, OP_KEYS);
}

static int read_all(struct otelprof_settings **ret)
{
	static const char text[] =
		"attributes = a=1, b=2\nenvironment = A\n"
		"rules = include comm:x\nprobes = kprobe:x\n"
		"kinds = cpu\nendpoint = http://a\nendpoint = http://b\n";
	int r = otelprof_settings_new(ret);

	if (r == 0)
		r = otelprof_settings_read_file(*ret, tools_path("x.conf"), NULL);
	if (r == 0)
		r = otelprof_settings_read(*ret, "x", text, sizeof(text) - 1, NULL);
	return r;
}

static void test_every_allocation_may_fail(void)
{
	long n = 0;
	int r;

	tools_write("x.conf", "attributes = x=1\n");
	do {
		struct otelprof_settings *s = NULL;

		failed = false;
		fail_after = n++;
		r = read_all(&s);
		fail_after = -1;
		CHECK_INT(r, failed ? -ENOMEM : 0);
		otelprof_settings_free(s);
	} while (failed);
	CHECK(n > 10);
}

TEST_MAIN({ "an_empty_text_is_the_default", test_an_empty_text_is_the_default },
	  { "each_kind_of_value", test_each_kind_of_value }, { "units", test_units },
	  { "other_names", test_other_names },
	  { "one_key_set_again", test_one_key_set_again },
	  { "rules_and_probes", test_rules_and_probes },
	  { "mistakes_are_one_sentence", test_mistakes_are_one_sentence },
	  { "more_mistakes", test_more_mistakes }, { "bounds", test_bounds },
	  { "a_program_of_0_1", test_a_program_of_0_1 },
	  { "later_sources_win", test_later_sources_win },
	  { "an_attribute_given_twice", test_an_attribute_given_twice },
	  { "mistakes_of_the_environment", test_mistakes_of_the_environment },
	  { "a_malformed_resource_is_ignored", test_a_malformed_resource_is_ignored },
	  { "compare_names_what_differs", test_compare_names_what_differs },
	  { "keys_are_listed", test_keys_are_listed },
	  { "every_allocation_may_fail", test_every_allocation_may_fail })
