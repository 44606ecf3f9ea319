/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths and jumps of instructions, and the branches between two of them. */
#include "runtime/hotspot/machine/machine.h"

#include "test.h"

struct sample {
	uint32_t len;
	uint8_t bytes[15];
};

static void test_lengths(void)
{
	static const struct sample samples[] = {
		{ 1, { 0x90 } },			    /* nop */
		{ 2, { 0x66, 0x90 } },			    /* xchg ax, ax */
		{ 3, { 0x48, 0x8b, 0xe5 } },		    /* mov rsp, rbp */
		{ 4, { 0x48, 0x83, 0xec, 0x20 } },	    /* sub rsp, 32 */
		{ 7, { 0x48, 0x81, 0xec, 0x80, 0, 0, 0 } }, /* sub rsp, 128 */
		{ 5, { 0x48, 0x89, 0x6c, 0x24, 0x10 } },    /* mov [rsp + 16], rbp */
		{ 7, { 0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff } },
		{ 8, { 0x0f, 0x1f, 0x84, 0, 0x44, 1, 0, 0 } },	/* nop [rax + rax + n] */
		{ 10, { 0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8 } }, /* mov r10, n */
		{ 5, { 0xb8, 1, 2, 3, 4 } },			/* mov eax, n */
		{ 4, { 0x66, 0xb8, 1, 2 } },			/* mov ax, n */
		{ 8, { 0x41, 0x81, 0x7f, 0x20, 1, 0, 0, 0 } },	/* cmp [r15 + 32], 1 */
		{ 7, { 0x48, 0x8b, 0x05, 1, 2, 3, 4 } },	/* mov rax, [rip + n] */
		{ 8, { 0x48, 0x8b, 0x04, 0x25, 1, 2, 3, 4 } },	/* mov rax, [n] */
		{ 3, { 0xf6, 0xc3, 1 } },			/* test bl, 1 */
		{ 2, { 0xf6, 0xd3 } },				/* not bl */
		{ 6, { 0xf7, 0xc3, 1, 0, 0, 0 } },		/* test ebx, 1 */
		{ 3, { 0xc5, 0xf8, 0x77 } },			/* vzeroupper */
		{ 4, { 0xc5, 0xfa, 0x6f, 0x07 } },		/* vmovdqu xmm0, [rdi] */
		{ 6, { 0xc4, 0xe3, 0x79, 0x61, 0x06, 0x18 } },	/* vpcmpestri */
		{ 5, { 0xc4, 0xe2, 0x79, 0x58, 0xc0 } },	/* vpbroadcastd */
		{ 6, { 0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07 } },	/* vmovups zmm0, [rdi] */
		{ 6, { 0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8 } },	/* palignr */
		{ 5, { 0xf0, 0x0f, 0xb1, 0x4d, 0 } },		/* lock cmpxchg */
		{ 9, { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 } },
		{ 4, { 0xc8, 1, 0, 0 } }, /* enter */
	};
	size_t i;

	for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct op_hotspot_instruction in;

		CHECK(op_runtime_hotspot_instruction(samples[i].bytes,
						     sizeof(samples[i].bytes), &in));
		CHECK_INT(in.bytes, samples[i].len);
		CHECK(!in.jump && !in.leaves);
		/* one byte is missing */
		CHECK(!op_runtime_hotspot_instruction(samples[i].bytes,
						      samples[i].len - 1, &in));
	}
}

static struct op_hotspot_instruction decode(const char *bytes, size_t len)
{
	struct op_hotspot_instruction in;

	CHECK(op_runtime_hotspot_instruction((const uint8_t *)bytes, len, &in));
	CHECK_INT(in.bytes, len);
	return in;
}

static void test_jumps(void)
{
	struct op_hotspot_instruction in = decode("\x75\xfe", 2);

	CHECK(in.jump && in.conditional && !in.leaves);
	CHECK_INT(in.to, 0);
	in = decode("\x0f\x8c\x10\0\0\0", 6);
	CHECK(in.jump && in.conditional);
	CHECK_INT(in.to, 22);
	in = decode("\xe9\xf0\xff\xff\xff", 5);
	CHECK(in.jump && !in.conditional && in.leaves);
	CHECK_INT(in.to, -11);
	in = decode("\xeb\x02", 2);
	CHECK(in.jump && in.leaves);
	CHECK(decode("\xc3", 1).leaves);
	CHECK(decode("\xff\xe0", 2).leaves);	  /* jmp rax */
	CHECK(!decode("\xff\xd0", 2).leaves);	  /* call rax */
	CHECK(!decode("\xe8\0\0\0\0", 5).leaves); /* call */
	CHECK(decode("\x0f\x0b", 2).leaves);	  /* ud2 */
}

static void test_no_instruction(void)
{
	struct op_hotspot_instruction in;
	static const uint8_t many[15] = { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
					  0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66 };

	CHECK(!op_runtime_hotspot_instruction((const uint8_t *)"\x06", 1, &in));
	CHECK(!op_runtime_hotspot_instruction(many, 0, &in));
	CHECK(!op_runtime_hotspot_instruction(many, sizeof(many), &in));
}

static void test_flow(void)
{
	/* inc eax; cmp eax, 9; jl 0; test [r10], eax */
	static const uint8_t loop[] = { 0xff, 0xc0, 0x83, 0xf8, 0x09,
					0x7c, 0xf9, 0x41, 0x85, 0x02 };
	struct op_hotspot_flow flow;

	CHECK(op_runtime_hotspot_flow(&op_hotspot_x86_64, loop, sizeof(loop), &flow));
	CHECK(flow.branches && flow.loops && !flow.leaves);
	CHECK_INT(flow.loop, 0);
	CHECK(op_runtime_hotspot_flow(&op_hotspot_x86_64, loop + 2, sizeof(loop) - 2,
				      &flow));
	CHECK_INT(flow.loop, -2);
	CHECK(op_runtime_hotspot_flow(&op_hotspot_x86_64, loop, 5, &flow));
	CHECK(!flow.branches && !flow.loops && !flow.leaves);
	CHECK(!op_runtime_hotspot_flow(&op_hotspot_x86_64, loop, 6, &flow));
}

TEST_MAIN({ "lengths", test_lengths }, { "jumps", test_jumps },
	  { "no_instruction", test_no_instruction }, { "flow", test_flow })
