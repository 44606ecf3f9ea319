/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoders, on functions assembled for the test: the source is beside the bytes, which
 * GNU as made of it (objdump -d).
 */
#include "code/decode/decode.h"
#include "code/decode/loads.h"

#include "base/macros.h"

#include "test.h"

enum {
	CODE_AT = 0x10000,
	SLOT_AT = 0x20000,
	RUNTIME_AT = 0x30000,
};

/* Memory with one word: the slot of the global offset table, which holds RUNTIME_AT. */
static int read_slot(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	uint64_t word = RUNTIME_AT;

	if (addr != SLOT_AT || len != sizeof(word))
		return -EFAULT;
	memcpy(buf, &word, sizeof(word));
	return 0;
}

static const struct op_memory memory = { read_slot };

typedef int (*decode_fn)(const struct op_decode_input *in, struct op_decode_value *ret);

static int decode(decode_fn fn, enum op_decode_want want, const uint8_t *code, size_t len,
		  struct op_decode_value *ret)
{
	struct op_decode_input in = { code, len, CODE_AT, &memory, want };

	return fn(&in, ret);
}

static void check(decode_fn fn, enum op_decode_want want, const uint8_t *code, size_t len,
		  enum op_decode_kind kind, uint64_t at)
{
	struct op_decode_value v;

	CHECK_OK(decode(fn, want, code, len, &v));
	CHECK_INT(v.kind, kind);
	CHECK_INT(v.at, at);
}

#define CHECK_X86(want, code, kind, at)                                                  \
	check(op_decode_x86_64, want, code, sizeof(code), kind, at)
#define CHECK_ARM(want, code, kind, at)                                                  \
	check(op_decode_aarch64, want, code, sizeof(code), kind, at)

static void test_x86_argument_through_got(void)
{
	static const uint8_t code[] = {
		0x48, 0x8b, 0x05, 0xf9, 0xff, 0x00, 0x00,    /* mov 0xfff9(%rip),%rax */
		0x48, 0x83, 0xb8, 0x48, 0x02, 0,    0,	  0, /* cmpq $0,0x248(%rax) */
		0x74, 0x0c,				     /* je */
		0x48, 0x8d, 0xb8, 0x50, 0x02, 0,    0,	     /* lea 0x250(%rax),%rdi */
		0xe9, 0x00, 0x10, 0,	0,		     /* jmp: a tail call */
	};

	CHECK_X86(OP_DECODE_CALL, code, OP_DECODE_CONST, RUNTIME_AT + 0x250);
}

static void test_x86_argument_from_memory(void)
{
	static const uint8_t code[] = {
		0xf3, 0x0f, 0x1e, 0xfa,	      /* endbr64 */
		0x8b, 0x3d, 0x06, 0x01, 0, 0, /* mov 0x106(%rip),%edi */
		0xff, 0x25, 0,	  0,	0, 0, /* jmp *0(%rip) */
	};

	CHECK_X86(OP_DECODE_CALL, code, OP_DECODE_MEMORY, CODE_AT + 10 + 0x106);
}

static void test_x86_other_side_of_a_branch(void)
{
	static const uint8_t code[] = {
		0x85, 0xf6,		      /* test %esi,%esi */
		0x75, 0x03,		      /* jne 1f */
		0x31, 0xc0,		      /* xor %eax,%eax */
		0xc3,			      /* ret */
		0x53,			      /* 1: push %rbx */
		0xbb, 0x78, 0x56, 0x34, 0x12, /* mov $0x12345678,%ebx */
		0x48, 0x89, 0xdf,	      /* mov %rbx,%rdi */
		0xe8, 0,    0,	  0,	0,    /* call */
	};

	CHECK_X86(OP_DECODE_CALL, code, OP_DECODE_CONST, 0x12345678);
}

static void test_x86_thread_pointer(void)
{
	static const uint8_t code[] = {
		/* musl's pthread_getspecific */
		0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, /* mov %fs:0,%rax */
		0x48, 0x8b, 0x80, 0x80, 0,    0, 0,	  /* mov 0x80(%rax),%rax */
		0x89, 0xff,				  /* mov %edi,%edi */
		0x48, 0x8b, 0x04, 0xf8,			  /* mov (%rax,%rdi,8),%rax */
		0xc3,
	};
	static const uint8_t tls[] = {
		0x64, 0x48, 0x8b, 0x04, 0x25,
		0xe8, 0xff, 0xff, 0xff, /* mov %fs:-24,%rax */
		0xc3,
	};
	struct op_decode_value v;

	CHECK_X86(OP_DECODE_RETURN, code, OP_DECODE_TP_INDEXED, 0x80);
	CHECK_OK(decode(op_decode_x86_64, OP_DECODE_RETURN, code, sizeof(code), &v));
	CHECK_INT(v.scale, 8);
	CHECK_X86(OP_DECODE_RETURN, tls, OP_DECODE_TP_MEMORY, -24);
}

static void test_x86_not_understood(void)
{
	static const uint8_t endless[] = { 0xeb, 0xfe }; /* jmp to itself */
	static const uint8_t vector[] = { 0xc5, 0xf8, 0x77, 0xc3 };
	static const uint8_t cut[] = { 0x48, 0x8b };
	struct op_decode_value v;

	CHECK_INT(decode(op_decode_x86_64, OP_DECODE_CALL, endless, 2, &v), -ENOTSUP);
	CHECK_INT(decode(op_decode_x86_64, OP_DECODE_CALL, vector, 4, &v), -ENOTSUP);
	CHECK_INT(decode(op_decode_x86_64, OP_DECODE_CALL, cut, 2, &v), -ENOTSUP);
}

#define A64(word)                                                                        \
	(uint8_t)(word), (uint8_t)((word) >> 8), (uint8_t)((word) >> 16),                \
		(uint8_t)((word##u) >> 24)

static void test_aarch64_argument_through_got(void)
{
	static const uint8_t code[] = {
		A64(0x90000080), /* adrp x0, 0x20000 */
		A64(0xf9400000), /* ldr x0, [x0] */
		A64(0xf9412401), /* ldr x1, [x0, #584] */
		A64(0xb4000061), /* cbz x1, … */
		A64(0x91094000), /* add x0, x0, #0x250 */
		A64(0x14000400), /* b: a tail call */
	};

	CHECK_ARM(OP_DECODE_CALL, code, OP_DECODE_CONST, RUNTIME_AT + 0x250);
}

static void test_aarch64_argument_from_memory(void)
{
	static const uint8_t code[] = {
		A64(0xd503245f), /* bti c */
		A64(0x90000081), /* adrp x1, 0x20000 */
		A64(0xb9401420), /* ldr w0, [x1, #20] */
		A64(0x94000400), /* bl */
	};

	CHECK_ARM(OP_DECODE_CALL, code, OP_DECODE_MEMORY, SLOT_AT + 20);
}

static void test_aarch64_thread_pointer(void)
{
	static const uint8_t code[] = {
		A64(0xd53bd041), /* mrs x1, tpidr_el0 */
		A64(0xf85a8021), /* ldur x1, [x1, #-88] */
		A64(0xf8605820), /* ldr x0, [x1, w0, uxtw #3] */
		A64(0xd65f03c0), /* ret */
	};

	CHECK_ARM(OP_DECODE_RETURN, code, OP_DECODE_TP_INDEXED, -88);
}

static void check_loads(const struct op_decode_loads *l, const uint64_t *want, size_t len)
{
	size_t i;

	CHECK_INT(l->len, len);
	for (i = 0; i < len; i++)
		CHECK_INT(l->at[i], want[i]);
}

static void test_loads_x86_64(void)
{
	static const uint8_t code[] = {
		0x48, 0x8b, 0x0d, 0x00, 0x01, 0x00, 0x00, /* 8 bytes, to rcx */
		0x4c, 0x8b, 0x05, 0xf9, 0x00, 0x00, 0x00, /* to r8, the same */
		0x8b, 0x05, 0xf0, 0xff, 0xff, 0xff,	  /* 4 bytes, below */
		0x48, 0x8d, 0x0d, 0x00, 0x02, 0x00, 0x00, /* the address alone */
		0x48, 0x89, 0x0d, 0x00, 0x03, 0x00, 0x00, /* a store */
		0x48, 0x8b, 0x4c, 0x24, 0x48,		  /* of the stack */
		0x8b, 0x1d, 0x00, 0x04, 0x00, 0x00,	  /* 4 bytes behind a 0x48 */
		0x48, 0x8b, 0x05, 0x00, 0x00, 0x00,	  /* cut off */
	};
	static const uint64_t wide[] = { 0x1107, 0x142d };
	static const uint64_t narrow[] = { 0x1107, 0x1004, 0x142d };
	struct op_decode_loads l = { 0 };

	op_decode_loads_x86_64(code, sizeof(code), 0x1000, 8, &l);
	check_loads(&l, wide, 2);
	l.len = 0;
	op_decode_loads_x86_64(code, sizeof(code), 0x1000, 4, &l);
	check_loads(&l, narrow, 3);
	l.len = 0;
	op_decode_loads_x86_64(code, 0, 0x1000, 8, &l);
	CHECK(!l.len && !l.full);
}

static void test_loads_aarch64(void)
{
	static const uint32_t code[] = {
		0x9000001b, 0xf9400b60,		    /* adrp x27, pc; ldr x0, [x27, 16] */
		0xb0000001, 0x91002021, 0xc8dffc22, /* adrp x1, +1; add x1, 8; ldar x2 */
		0xf0ffffe3, 0xb9400463,		    /* adrp x3, -1; ldr w3, [x3, 4] */
		0xf9400460, /* ldr x0, [x3, 8]: x3 is no address */
		0x90000004, 0x91400484, 0x88dffc85, /* add x4, x4, 1 << 12; ldar w5 */
		0xd0000006, 0xaa0003e6, 0xf94000c6, /* x6 is another one */
		0x90000007,			    /* cut off */
	};
	static const uint64_t wide[] = { 0x401010, 0x402008 };
	static const uint64_t narrow[] = { 0x400004, 0x402000 };
	struct op_decode_loads l = { 0 };

	op_decode_loads_aarch64((const uint8_t *)code, sizeof(code), 0x401000, 8, &l);
	check_loads(&l, wide, 2);
	l.len = 0;
	op_decode_loads_aarch64((const uint8_t *)code, sizeof(code) - 1, 0x401000, 4, &l);
	check_loads(&l, narrow, 2);
}

TEST_MAIN({ "x86_argument_through_got", test_x86_argument_through_got },
	  { "x86_argument_from_memory", test_x86_argument_from_memory },
	  { "x86_other_side_of_a_branch", test_x86_other_side_of_a_branch },
	  { "x86_thread_pointer", test_x86_thread_pointer },
	  { "x86_not_understood", test_x86_not_understood },
	  { "aarch64_argument_through_got", test_aarch64_argument_through_got },
	  { "aarch64_argument_from_memory", test_aarch64_argument_from_memory },
	  { "aarch64_thread_pointer", test_aarch64_thread_pointer },
	  { "loads_x86_64", test_loads_x86_64 }, { "loads_aarch64", test_loads_aarch64 })
