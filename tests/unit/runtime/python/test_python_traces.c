/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of compiled traces, told from its code; and where such code is mapped. */
#include "runtime/python/traces.h"

#include "fake_memory.h"
#include "test.h"

/* push %r15, %r14, %r13, %r12, %rbx; mov to %r12, %r13, %r14; call +10; the pops; ret */
static const uint8_t entry[OP_PYTHON_ENTRY_BYTES] = {
	0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54, 0x53, 0x49, 0x89,
	0xfc, 0x49, 0x89, 0xf5, 0x49, 0x89, 0xd6, 0xe8, 0x0a, 0,    0,
	0,    0x5b, 0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, 0xc3,
};

static void test_entry(void)
{
	struct op_python p = { 0 };

	CHECK_INT(op_runtime_python_entry(entry, &p), 1);
	CHECK_INT(p.entry_return, 23);
	CHECK_INT(p.entry_saved, 5);
	CHECK_INT(p.entry_bytes, 33);
	CHECK_INT(memcmp(&p.entry_code, entry + 23, 8), 0);
}

/* Each of these bytes decides. */
static void test_not_an_entry(void)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} changes[] = {
		{ 0, 0x55 },  /* pushes the frame pointer */
		{ 8, 0x90 },  /* four registers, then no call */
		{ 18, 0xe9 }, /* a jump */
		{ 19, 0x0b }, /* a call of something else */
		{ 23, 0x5d }, /* pops another register */
		{ 24, 0x40 }, { 31, 0x5e }, { 32, 0xc2 },
	};
	struct op_python p = { 0 };
	uint8_t code[OP_PYTHON_ENTRY_BYTES];
	size_t i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		memcpy(code, entry, sizeof(code));
		code[changes[i].at] = changes[i].byte;
		CHECK_INT(op_runtime_python_entry(code, &p), 0);
		CHECK_INT(p.entry_code, 0);
	}
	memset(code, 0x53, sizeof(code));
	CHECK_INT(op_runtime_python_entry(code, &p), 0);
	memset(code, 0, sizeof(code));
	CHECK_INT(op_runtime_python_entry(code, &p), 0);
}

static const struct op_runtime_mapping mappings[] = {
	{ BASE, BASE + 0x1000, "" },
	{ BASE + 0x3000, BASE + 0x4000, "" },
	{ BASE + 0x5000, BASE + 0x6000, "" }, /* somebody else's */
	{ BASE + 0x8000, BASE + 0xa000, "" },
	{ BASE + 0xb000, BASE + 0xc000, "/memfd:libffi (deleted)" },
};

static int mapping(const struct op_runtime_target *target, size_t i,
		   struct op_runtime_mapping *ret)
{
	if (i >= sizeof(mappings) / sizeof(mappings[0]))
		return -ENOENT;
	*ret = mappings[i];
	return 0;
}

static void test_ranges(void)
{
	struct op_runtime_target target = { .memory = &fake.memory,
					    .code_mapping = mapping };
	struct op_runtime_code code = { 0 };
	struct op_python p = { 0 };
	bool whole = false;

	fake_begin();
	CHECK_INT(op_runtime_python_traces(&target, &p, &code, &whole), 0);
	CHECK_INT(code.len, 0);
	put(BASE, entry, sizeof(entry));
	put(BASE + 0x3000, entry, sizeof(entry));
	put(BASE + 0x9000, entry, sizeof(entry)); /* behind memory of another kind */
	put(BASE + 0xb000, entry, sizeof(entry));
	CHECK_INT(op_runtime_python_traces(&target, &p, &code, &whole), 1);
	CHECK_INT(p.entry_return, 23);
	CHECK_INT(code.len, 2);
	CHECK_INT(code.range[0].start, BASE);
	CHECK_INT(code.range[0].end, BASE + 0x4000);
	CHECK_INT(code.range[1].start, BASE + 0x8000);
	CHECK_INT(code.range[1].end, BASE + 0xa000);
	CHECK(whole);
	code.len = 0;
	CHECK_INT(op_runtime_python_traces(&target, &p, &code, &whole), 0);
	CHECK_INT(code.len, 2);
}

enum {
	READS_MAX = 2048, /* of an update */
};

/* More mappings without traces than any process has, 32 pages each. */
static int foreign(const struct op_runtime_target *target, size_t i,
		   struct op_runtime_mapping *ret)
{
	if (i >= OP_MAPPINGS_MAX)
		return -ENOENT;
	*ret = (struct op_runtime_mapping){ .start = 0x100000 + i * 0x40000,
					    .end = 0x120000 + i * 0x40000,
					    .path = "" };
	return 0;
}

/* Others' code does not make an update long; the traces in front of it are found. */
static int traces_then_foreign(const struct op_runtime_target *target, size_t i,
			       struct op_runtime_mapping *ret)
{
	return i < 2 ? mapping(target, i, ret) : foreign(target, i - 2, ret);
}

static void test_much_code(void)
{
	struct op_runtime_target target = { .memory = &fake.memory,
					    .code_mapping = traces_then_foreign };
	struct op_runtime_code code = { 0 };
	struct op_python p = { 0 };
	bool whole = true;

	fake_begin();
	put(BASE, entry, sizeof(entry));
	put(BASE + 0x3000, entry, sizeof(entry));
	CHECK_INT(op_runtime_python_traces(&target, &p, &code, &whole), 1);
	CHECK(fake.reads <= READS_MAX);
	CHECK(!whole);
	CHECK_INT(code.len, 1);
	CHECK_INT(code.range[0].end, BASE + 0x4000);
}

TEST_MAIN({ "entry", test_entry }, { "not_an_entry", test_not_an_entry },
	  { "ranges", test_ranges }, { "much_code", test_much_code })
