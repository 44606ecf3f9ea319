/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications of probes: what each says, and what says nothing. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "parts/probes/spec.h"
#include "test.h"

static void check(const char *text, enum op_probe_type type, bool is_return,
		  const char *file, const char *provider, const char *symbol,
		  uint64_t offset)
{
	static struct op_probe_spec spec;

	CHECK_OK(op_probe_spec_parse(text, &spec));
	CHECK_INT(spec.type, type);
	CHECK_INT(spec.is_return, is_return);
	CHECK_INT(!spec.file, !file);
	CHECK_INT(!spec.provider, !provider);
	if (file)
		CHECK_STR(spec.file, file);
	if (provider)
		CHECK_STR(spec.provider, provider);
	CHECK_STR(spec.symbol, symbol);
	CHECK_INT(spec.offset, offset);
}

static void test_each_type(void)
{
	check("kprobe:do_sys_openat2", OP_PROBE_KERNEL, false, NULL, NULL,
	      "do_sys_openat2", 0);
	check("kretprobe:vfs_read", OP_PROBE_KERNEL, true, NULL, NULL, "vfs_read", 0);
	check("uprobe:/usr/bin/a:main", OP_PROBE_USER, false, "/usr/bin/a", NULL, "main",
	      0);
	check("uretprobe:/usr/bin/a:main", OP_PROBE_USER, true, "/usr/bin/a", NULL,
	      "main", 0);
	check("usdt:/lib/libc.so.6:libc:setjmp", OP_PROBE_STATIC, false, "/lib/libc.so.6",
	      "libc", "setjmp", 0);
	check("tracepoint:sched:sched_switch", OP_PROBE_TRACEPOINT, false, NULL, NULL,
	      "sched_switch", 0);
	check("tracepoint:sched_switch", OP_PROBE_TRACEPOINT, false, NULL, NULL,
	      "sched_switch", 0);
	check("UPROBE:/a:f", OP_PROBE_USER, false, "/a", NULL, "f", 0);
}

static void test_offsets(void)
{
	check("uprobe:/a:main+16", OP_PROBE_USER, false, "/a", NULL, "main", 16);
	check("kprobe:f+0x10", OP_PROBE_KERNEL, false, NULL, NULL, "f", 16);
	/* a name of a static probe has none */
	check("usdt:/a:p:x+1", OP_PROBE_STATIC, false, "/a", "p", "x+1", 0);
	/* names of C++ have colons of their own */
	check("uprobe:/a:std::swap", OP_PROBE_USER, false, "/a", NULL, "std::swap", 0);
}

static void check_value(const char *text, uint32_t index, uint8_t bytes, bool is_signed,
			const char *type, const char *unit)
{
	static struct op_probe_spec spec;

	CHECK_OK(op_probe_spec_parse(text, &spec));
	CHECK(spec.value.wanted);
	CHECK_INT(spec.value.index, index);
	CHECK_INT(spec.value.bytes, bytes);
	CHECK_INT(spec.value.is_signed, is_signed);
	CHECK_STR(spec.type_name, type);
	CHECK_STR(spec.unit, unit);
}

static void test_values(void)
{
	static struct op_probe_spec spec;
	char digits[320];

	check_value("uprobe:/a:malloc:arg0:bytes", 0, 8, false, "malloc_arg0", "bytes");
	check_value("uprobe:/a:f:arg2.s32", 2, 4, true, "f_arg2", "1");
	check_value("uretprobe:/a:f:retval.u8:By", 0, 1, false, "f_retval", "By");
	check_value("uretprobe:/a:f:latency", 0, 8, false, "f_latency", "nanoseconds");
	check_value("uprobe:/a:f:latency", 0, 8, false, "f_latency", "nanoseconds");
	check("uprobe:/a:f:latency", OP_PROBE_USER, true, "/a", NULL, "f", 0);
	CHECK_INT(op_probe_spec_parse("uprobe:/a:f+1:latency", &spec), -EINVAL);
	CHECK_INT(op_probe_spec_parse("kretprobe:f:latency", &spec), -EINVAL);
	check_value("usdt:/a:p:hit:arg11", 11, 8, false, "hit_arg11", "1");
	check_value("tracepoint:sched:sched_switch:arg1", 1, 8, false,
		    "sched_switch_arg1", "1");
	check_value("kprobe:vfs_read:arg2", 2, 8, false, "vfs_read_arg2", "1");
	check_value("uprobe:/a:std::f:arg0", 0, 8, false, "std__f_arg0", "1");
	check("uprobe:/a:std::arg", OP_PROBE_USER, false, "/a", NULL, "std::arg", 0);
	/* these are no arguments: with any number of digits, or more than 32 bits */
	memset(digits, '0', sizeof(digits));
	memcpy(digits, "uprobe:/a:f:arg", 15);
	memcpy(digits + sizeof(digits) - 2, "1", 2);
	CHECK_OK(op_probe_spec_parse(digits, &spec));
	CHECK(!spec.value.wanted);
	CHECK_OK(op_probe_spec_parse("uprobe:/a:f:arg4294967296", &spec));
	CHECK(!spec.value.wanted);
	/* neither of a return, nor a result of a call */
	check("uretprobe:/a:f:arg0", OP_PROBE_USER, true, "/a", NULL, "f:arg0", 0);
	CHECK_INT(op_probe_spec_parse("uprobe:/a:f+4:arg0", &spec), -EINVAL);
	CHECK_INT(op_probe_spec_parse("uprobe:/a:f:arg0:b c", &spec), -EINVAL);
}

static void check_text(const char *text, uint32_t index, const char *name)
{
	static struct op_probe_spec spec;

	CHECK_OK(op_probe_spec_parse(text, &spec));
	CHECK(spec.value.wanted && spec.value.is_text);
	CHECK_INT(spec.value.index, index);
	CHECK_INT(spec.value.bytes, 8);
	CHECK_STR(spec.type_name, name);
}

static void test_texts(void)
{
	static struct op_probe_spec spec;

	check_text("uprobe:/a:query:arg1.str", 1, "query_arg1");
	check_text("uretprobe:/a:name:retval.str", 0, "name_retval");
	check_text("usdt:/a:postgresql:query__start:arg0.str", 0, "query__start_arg0");
	check_value("uprobe:/a:f:arg1", 1, 8, false, "f_arg1", "1");
	CHECK_OK(op_probe_spec_parse("uprobe:/a:f:arg1", &spec));
	CHECK(!spec.value.is_text);
	/* a string has no unit, and memory of the kernel is not read */
	CHECK_INT(op_probe_spec_parse("uprobe:/a:f:arg0.str:By", &spec), -EINVAL);
	CHECK_INT(op_probe_spec_parse("kprobe:f:arg0.str", &spec), -EINVAL);
	CHECK_INT(op_probe_spec_parse("tracepoint:sched_switch:arg0.str", &spec),
		  -EINVAL);
	/* part of a symbol's name */
	check("uprobe:/a:std::arg0.string", OP_PROBE_USER, false, "/a", NULL,
	      "std::arg0.string", 0);
}

static void check_event(const char *text, uint32_t type, uint64_t config, uint64_t period,
			uint32_t hz, uint32_t most, const char *name)
{
	static struct op_probe_spec spec;

	CHECK_OK(op_probe_spec_parse(text, &spec));
	CHECK_INT(spec.type, OP_PROBE_EVENT);
	CHECK_INT(spec.event.type, type);
	CHECK_INT(spec.event.config, config);
	CHECK_INT(spec.event.period, period);
	CHECK_INT(spec.event.hz, hz);
	CHECK_INT(spec.event.most, most);
	CHECK_STR(spec.type_name, name);
}

static void test_events(void)
{
	/* numbers of the kernel's interface: enum perf_type_id and perf_hw_id */
	check_event("perf:cycles", 0, 0, 0, 99, 0, "cycles");
	check_event("perf:cache-misses@1000", 0, 3, 1000, 0, 0, "cache_misses");
	check_event("perf:branch-misses@49Hz", 0, 5, 0, 49, 0, "branch_misses");
	check_event("perf:context-switches", 1, 3, 1, 0, 0, "context_switches");
	/* each one runs the program, which keeps so many */
	check_event("perf:context-switches@49hz", 1, 3, 1, 0, 49, "context_switches");
	check_event("perf:task-clock", 1, 1, 10101010, 0, 0, "task_clock");
	check_event("perf:LLC-load-misses", 3, 0x10002, 0, 99, 0, "LLC_load_misses");
	check_event("perf:r01c2@5", 4, 0x1c2, 5, 0, 0, "r01c2");
}

static void test_what_says_nothing(void)
{
	static const char *const texts[] = {
		"",
		":",
		"uprobe",
		"uprobe:",
		"uprobe:/a",
		"uprobe:/a:",
		"uprobe:a:f",
		"uprobe::f",
		"uprobe:/a:+1",
		"uprobe:/a:f+",
		"uprobe:/a:f+x",
		"uprobe:/a:f+-1",
		"uprobe:/a:f+99999999999999999999",
		"usdt:/a:p",
		"usdt:/a::n",
		"usdt:/a:p:",
		"tracepoint:",
		"tracepoint:sched:",
		"kprobe:",
		"xprobe:f",
	};
	static struct op_probe_spec spec;
	char longest[OP_PROBE_TEXT_BYTES + 1];
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(texts); i++) {
		printf("  \"%s\"\n", texts[i]);
		CHECK_INT(op_probe_spec_parse(texts[i], &spec), -EINVAL);
	}
	memset(longest, 'f', sizeof(longest));
	memcpy(longest, "kprobe:", 7);
	longest[OP_PROBE_TEXT_BYTES] = '\0';
	CHECK_INT(op_probe_spec_parse(longest, &spec), -EINVAL);
	longest[OP_PROBE_TEXT_BYTES - 1] = '\0';
	CHECK_OK(op_probe_spec_parse(longest, &spec));
}

TEST_MAIN({ "values", test_values }, { "texts", test_texts }, { "events", test_events },
	  { "types", test_each_type }, { "offsets", test_offsets },
	  { "nothing", test_what_says_nothing })
