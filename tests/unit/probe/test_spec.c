/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications of probes: what each says, and what says nothing. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "probe/spec.h"
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

TEST_MAIN({ "types", test_each_type }, { "offsets", test_offsets },
	  { "nothing", test_what_says_nothing })
