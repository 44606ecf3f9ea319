/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of a place in compiled code, by the VM's tables. */
#include "runtime/hotspot/scopes.h"

#include "hotspot_fake.h"

#include "test.h"

static struct op_hotspot_scopes scopes;

static struct op_hotspot_layout begin(void)
{
	struct op_hotspot_layout l = { 0 };
	const char *missing;

	fake_make();
	CHECK_OK(op_runtime_hotspot_layout(&fake.memory, &fake.image, FAKE_SYMBOLS, &l,
					   &missing));
	return l;
}

static int look_as(const struct op_hotspot_layout *l, uint32_t at, bool called,
		   bool all_code)
{
	const struct op_hotspot_place place = {
		.nmethod = FAKE_NMETHOD, .id = FAKE_COMPILE_ID, .at = at, .called = called
	};

	return op_runtime_hotspot_scopes(&fake.memory, l, &place, all_code, &scopes);
}

static int look(const struct op_hotspot_layout *l, uint32_t at)
{
	return look_as(l, at, false, true);
}

static void check_one(int bci)
{
	CHECK_INT(scopes.len, 1);
	CHECK_INT(scopes.scope[0].method, FAKE_METHOD);
	CHECK_INT(scopes.scope[0].bci, bci);
}

static void check_two(void)
{
	CHECK_INT(scopes.len, 2);
	CHECK_INT(scopes.scope[0].bci, 4);
	CHECK_INT(scopes.scope[1].method, FAKE_METHOD);
	CHECK_INT(scopes.scope[1].bci, 7);
}

static void test_rows(void)
{
	struct op_hotspot_layout l = begin();

	CHECK_OK(look(&l, 0));
	check_one(3);
	CHECK(!scopes.approximate);
	CHECK_OK(look(&l, 0x20));
	check_two();
	CHECK_OK(look(&l, 0x3f));
	check_two();
	CHECK_OK(look(&l, 0x200)); /* behind all rows */
	check_one(-1);
}

/* Without rows for all code a call's end is sure, and no other place. */
static void test_calls(void)
{
	struct op_hotspot_layout l = begin();

	CHECK_OK(look_as(&l, 0x1f, true, false));
	check_one(3);
	CHECK(!scopes.approximate);
	CHECK_OK(look_as(&l, 0x1f, false, false));
	CHECK(scopes.approximate);
	CHECK_OK(look_as(&l, 0x2f, true, false)); /* of code that leaves no row */
	check_two();
	CHECK(scopes.approximate);
}

static void put_code(uint32_t at, const void *bytes, size_t len)
{
	fake_put(FAKE_NMETHOD + 224 + at, bytes, len);
}

/* Which row a place between two of them belongs to, as the branches tell. */
static void test_between(void)
{
	struct op_hotspot_layout l = begin();

	/* straight on to the next row: add [rax], al all the way */
	CHECK_OK(look_as(&l, 0x30, false, false));
	check_two();
	/* a branch on the way: what both rows share */
	put_code(0x34, "\x75\x04", 2); /* jne 0x3a */
	CHECK_OK(look_as(&l, 0x30, false, false));
	check_one(7);
	CHECK(scopes.approximate);
	CHECK_OK(look_as(&l, 0x36, false, false)); /* behind it */
	check_two();
	/* a loop without a row, which runs into the next one */
	put_code(0x34, "\x75\xfa", 2); /* jne 0x30 */
	CHECK_OK(look_as(&l, 0x32, false, false));
	check_two();
	/* the same, and then the code goes elsewhere */
	put_code(0x36, "\xeb\x70", 2); /* jmp */
	CHECK_OK(look_as(&l, 0x32, false, false));
	check_one(3);
	/* a loop that the row before is in, too */
	put_code(0x34, "\x75\xe0\0\0", 4); /* jne 0x16 */
	CHECK_OK(look_as(&l, 0x32, false, false));
	check_one(7);
	/* code that is not understood */
	put_code(0x36, "\x06", 1);
	CHECK_OK(look_as(&l, 0x32, false, false));
	check_one(7);
	/* before the first row, and behind a branch */
	put_code(0x10, "\x75\x04", 2);
	fake_row(1, 0x20, 7);
	CHECK_OK(look_as(&l, 0, false, false));
	check_one(7);
}

/* JDK 8 to 22 have all of it in the blob, 9 to 22 with a pointer. */
static void test_in_the_blob(void)
{
	struct op_hotspot_layout l = begin();
	static const uint8_t older[] = { 0xff, 0, 1, 4, 0, 1, 8, 4, 1, 5 };

	/* metadata, scopes, rows, dependencies */
	fake_put(FAKE_NMETHOD + 400, fake.bytes + (FAKE_MUTABLE + 16 - FAKE_BASE), 8);
	fake_put(FAKE_NMETHOD + 408, older, sizeof(older));
	fake_put(FAKE_NMETHOD + 424, fake.bytes + (FAKE_IMMUTABLE + 32 - FAKE_BASE), 64);
	fake_u32(FAKE_NMETHOD + 192, 400);
	fake_u32(FAKE_NMETHOD + 196, 424);
	fake_u32(FAKE_NMETHOD + 200, 408);
	fake_u32(FAKE_NMETHOD + 204, 424 + 64);
	fake_u32(FAKE_NMETHOD + 52, 224);
	l.version = 8;
	l.there[OP_HOTSPOT_NMETHOD_IMMUTABLE] = false;
	l.at[OP_HOTSPOT_NMETHOD_METADATA] = 192;
	l.at[OP_HOTSPOT_NMETHOD_DEPENDENCIES] = 204;
	fake_row(2, 0, 0);
	CHECK_OK(look(&l, 0x1f));
	check_one(3);
	fake_u32(FAKE_NMETHOD + 424 + 2 * 16 + 4, 7);
	CHECK_OK(look(&l, 0x20));
	check_two();
	l.there[OP_HOTSPOT_NMETHOD_SCOPES_POINTER] = true;
	l.at[OP_HOTSPOT_NMETHOD_SCOPES_POINTER] = 112;
	fake_u64(FAKE_NMETHOD + 112, FAKE_NMETHOD + 408);
	fake_u32(FAKE_NMETHOD + 200, 0);
	CHECK_OK(look(&l, 0x20));
	check_two();
}

static void test_reused(void)
{
	struct op_hotspot_layout l = begin();

	fake_u32(FAKE_NMETHOD + 212, FAKE_COMPILE_ID + 1);
	CHECK_INT(look(&l, 0), -ESTALE);
	fake_make();
	fake_u16(FAKE_NMETHOD + 52, 64); /* a stub's head */
	CHECK_INT(look(&l, 0), -ESTALE);
	fake_make();
	fake_u64(FAKE_NMETHOD + 80, 0);
	CHECK_INT(look(&l, 0), -ESTALE);
	fake.gone = true;
	CHECK_INT(look(&l, 0), -ESRCH);
}

/* A wrapper of a native method has no rows. */
static void test_no_rows(void)
{
	struct op_hotspot_layout l = begin();

	fake_u32(FAKE_NMETHOD + 196, 0);
	fake_u32(FAKE_NMETHOD + 200, 0);
	CHECK_OK(look(&l, 5));
	check_one(-1);
}

static void test_forged(void)
{
	struct op_hotspot_layout l = begin();

	fake_row(1, 0x20, 7);
	fake_put(FAKE_IMMUTABLE + 32 + 64 + 7, "\x08\x02\x06", 3); /* its own caller */
	CHECK_INT(look(&l, 0), -EBADMSG);
	fake_put(FAKE_IMMUTABLE + 32 + 64 + 7, "\x01\x04\x06", 3); /* no such Method */
	CHECK_INT(look(&l, 0), -EBADMSG);
	fake_put(FAKE_IMMUTABLE + 32 + 64 + 7, "\x01\x01\x06", 3); /* number 0 */
	CHECK_INT(look(&l, 0), -EBADMSG);
	fake_put(FAKE_IMMUTABLE + 32 + 64 + 7, "\x00\x02\x06",
		 3); /* a byte that is none */
	CHECK_INT(look(&l, 0), -EBADMSG);
	fake_row(1, 0x20, 70000); /* behind the scopes */
	CHECK_INT(look(&l, 0), -EBADMSG);
	fake_u32(FAKE_NMETHOD + 200, 0x7fffffff); /* more rows than may be */
	CHECK_OK(look(&l, 0));
	check_one(-1);
	fake_make();
	fake_u64(FAKE_NMETHOD + 96, UINT64_MAX - 8);
	CHECK_INT(look(&l, 0), -EFAULT);
}

static void test_flag(void)
{
	struct op_hotspot_layout l = begin();
	uint64_t at = 0;

	fake_u64(FAKE_FLAGS + 24, FAKE_FLAGS + 64);
	CHECK_OK(op_runtime_hotspot_flag(&fake.memory, &l, "DebugNonSafepoints", &at));
	CHECK_INT(at, FAKE_FLAGS + 64);
	CHECK_INT(op_runtime_hotspot_flag(&fake.memory, &l, "UseZGC", &at), -ENOENT);
	fake_u64(FAKE_STATICS + 40, UINT64_MAX); /* as many as there may be */
	CHECK(op_runtime_hotspot_flag(&fake.memory, &l, "UseZGC", &at) < 0);
}

/* Code that was freed: its head stands there until its memory is used again. */
static void test_freed(void)
{
	struct op_hotspot_layout l = begin();
	const uint8_t used = 1;
	const uint8_t unused = 0;

	fake_compiled();
	l.there[OP_HOTSPOT_BLOCK_USED] = true;
	l.at[OP_HOTSPOT_BLOCK_USED] = 4; /* of the 8 bytes before the blob */
	fake_put(FAKE_NMETHOD - 4, &used, 1);
	CHECK_OK(look(&l, 0x10));
	fake_put(FAKE_NMETHOD - 4, &unused, 1);
	CHECK_INT(look(&l, 0x10), -ESTALE);
	fake_put(FAKE_NMETHOD - 4, &used, 1);
	CHECK_OK(look(&l, 0x10));
	/* 25: what stood apart was freed first */
	fake_u64(FAKE_NMETHOD + 96, FAKE_NMETHOD + 480);
	CHECK_INT(look(&l, 0x10), -ESTALE);
}

TEST_MAIN({ "rows", test_rows }, { "calls", test_calls }, { "between", test_between },
	  { "in_the_blob", test_in_the_blob }, { "reused", test_reused },
	  { "no_rows", test_no_rows }, { "forged", test_forged }, { "flag", test_flag },
	  { "freed", test_freed })
