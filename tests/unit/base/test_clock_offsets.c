/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/timens_offsets, as the kernel writes it: "%-10s %10lld %9ld". */
#include "base/io.h"
#include "test.h"

static void check(const char *text, int64_t monotonic_ns, int64_t boottime_ns)
{
	struct op_clock_offsets ahead = op_clock_parse_offsets(text);

	CHECK_INT(ahead.monotonic_ns, monotonic_ns);
	CHECK_INT(ahead.boottime_ns, boottime_ns);
}

static void test_none(void)
{
	check("monotonic           0         0\n"
	      "boottime            0         0\n",
	      0, 0);
	check("", 0, 0);
}

static void test_seconds(void)
{
	check("monotonic       86400         0\n"
	      "boottime       -86400         0\n",
	      INT64_C(86400000000000), INT64_C(-86400000000000));
}

static void test_below_a_second(void)
{
	check("monotonic           0         1\n"
	      "boottime            0         0\n",
	      1, 0);
	/* half a second behind */
	check("monotonic          -1 500000000\n"
	      "boottime            0         0\n",
	      -500000000, 0);
}

static void test_boottime_alone(void)
{
	check("monotonic           0         0\n"
	      "boottime            7 000000009\n",
	      0, INT64_C(7000000009));
}

static void test_garbage(void)
{
	check("monotonic", 0, 0);
	check("monotonic x 1\nboottime 1", 0, 0);
	check("monotonic 9223372036854775807 0\nboottime 1 0\n", 0, 1000000000);
	check("realtime 5 5\n", 0, 0);
}

TEST_MAIN({ "none", test_none }, { "seconds", test_seconds },
	  { "below_a_second", test_below_a_second },
	  { "boottime_alone", test_boottime_alone }, { "garbage", test_garbage })
