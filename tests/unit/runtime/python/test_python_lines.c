/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables against the decoders of the interpreters themselves (tests/live/languages/python/lines.py). */
#include "runtime/python/lines.h"

#include <unistd.h>

#include "pythons.h"

#include "test.h"

enum {
	LINE_MAX_BYTES = 1 << 20,
	FILES = 12, /* of the standard library */
	UNIT = 2,
};

struct answers {
	enum op_python_lines kind;
	uint64_t codes;
	uint64_t asked;
};

static uint8_t nibble(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* "code FIRST HEX": returns the table's length. */
static size_t read_table(const char *line, uint8_t *table, uint32_t *first)
{
	const char *hex;
	size_t len = 0;

	CHECK_INT(sscanf(line, "code %u", first), 1);
	hex = strrchr(line, ' ') + 1;
	if (*hex == '-')
		return 0;
	for (; hex[0] && hex[1] && hex[0] != '\n'; hex += 2)
		table[len++] = (uint8_t)(nibble(hex[0]) << 4 | nibble(hex[1]));
	return len;
}

static void check_code(FILE *f, char *line, struct answers *a)
{
	static uint8_t table[LINE_MAX_BYTES];
	uint32_t first = 0;
	size_t len = read_table(line, table, &first);

	a->codes++;
	while (fgets(line, LINE_MAX_BYTES, f) && strcmp(line, "end\n") != 0) {
		uint32_t start, end, at, want;

		CHECK_INT(sscanf(line, "%u %u %u", &start, &end, &want), 3);
		for (at = start; at < end; at += UNIT, a->asked++) {
			uint32_t got =
				op_runtime_python_line(a->kind, table, len, first, at);

			if (got != want)
				TEST_FAIL("code at line %u, byte %u: line %u, not %u",
					  first, at, got, want);
		}
	}
	CHECK_INT(op_runtime_python_line(a->kind, table, len, first, -1), first);
}

static enum op_python_lines kind_of(const char *python)
{
	char command[700];
	int minor = 0;
	FILE *f;

	(void)snprintf(command, sizeof(command),
		       "%s -c 'import sys; print(sys.version_info[1])'", python);
	f = popen(command, "r");
	CHECK(f && fscanf(f, "%d", &minor) == 1);
	(void)pclose(f);
	return minor < 10    ? OP_PYTHON_LNOTAB
	       : minor == 10 ? OP_PYTHON_LINETABLE
			     : OP_PYTHON_LOCATIONS;
}

static void check_python(const char *python)
{
	static char line[LINE_MAX_BYTES];
	struct answers a = { .kind = kind_of(python) };
	char command[1200];
	bool done = false;
	FILE *f;

	(void)snprintf(command, sizeof(command), "%s '%s' %d", python, LINES_PY, FILES);
	f = popen(command, "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		done = strncmp(line, "done", 4) == 0;
		if (!done)
			check_code(f, line, &a);
	}
	CHECK(done);
	CHECK(a.codes > 100 && a.asked > 10000);
	(void)pclose(f);
	(void)printf("  %s: %" PRIu64 " code objects, %" PRIu64 " places\n", python,
		     a.codes, a.asked);
}

static void test_as_python_does(void)
{
	pythons_check(check_python);
}

static void test_tables_that_end_early(void)
{
	/* a long entry of 3.11 (kind 14) whose numbers are cut off */
	static const uint8_t cut[] = { 0x80 | 14 << 3 | 7, 0x7f, 0x7f };
	/* three entries on lines 11, 10 and none, each of two code units; after their
	 * numbers: nothing */
	static const uint8_t entries[] = { 0x80 | 13 << 3 | 1, 2, 0x80 | 13 << 3 | 1, 3,
					   0x80 | 15 << 3 | 1 };

	CHECK_INT(op_runtime_python_line(OP_PYTHON_LOCATIONS, cut, sizeof(cut), 10, 0),
		  0);
	CHECK_INT(op_runtime_python_line(OP_PYTHON_LOCATIONS, entries, 5, 10, 0), 11);
	CHECK_INT(op_runtime_python_line(OP_PYTHON_LOCATIONS, entries, 5, 10, 2), 11);
	CHECK_INT(op_runtime_python_line(OP_PYTHON_LOCATIONS, entries, 5, 10, 4), 10);
	CHECK_INT(op_runtime_python_line(OP_PYTHON_LOCATIONS, entries, 5, 10, 8), 0);
	CHECK_INT(op_runtime_python_line(OP_PYTHON_LOCATIONS, entries, 5, 10, 12), 0);
	CHECK_INT(op_runtime_python_line(OP_PYTHON_LNOTAB, NULL, 0, 10, 100), 10);
	CHECK_INT(op_runtime_python_line(OP_PYTHON_LINETABLE, NULL, 0, 10, 100), 0);
}

static void test_instructions_without_a_line(void)
{
	static const uint8_t below[] = { 0x80 | 13 << 3, 21 }; /* 10 lines back from 5 */

	CHECK_INT(op_runtime_python_line(OP_PYTHON_LOCATIONS, below, 2, 5, 0), 0);
}

TEST_MAIN({ "as_python_does", test_as_python_does },
	  { "tables_that_end_early", test_tables_that_end_early },
	  { "instructions_without_a_line", test_instructions_without_a_line })
