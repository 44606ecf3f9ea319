/* SPDX-License-Identifier: Apache-2.0 */
/* Where the caller's frame is at each instruction of stubs: code that GNU as made. */
#include "runtime/hotspot/machine/machine.h"

#include <string.h>

#include "base/macros.h"
#include "test.h"

enum {
	BASE = 0x1000, /* of the code in rules */
	FRAMES_MAX = 64,
};

static struct op_hotspot_rule found[FRAMES_MAX];

static struct op_hotspot_stack_rules rules_of(const void *code, size_t len)
{
	struct op_hotspot_stack_rules rules = { .rule = found, .max = FRAMES_MAX };

	CHECK_INT(op_runtime_hotspot_stack(&op_hotspot_x86_64, code, len, BASE, &rules),
		  0);
	CHECK_INT(rules.lost, 0);
	return rules;
}

/* The rule at @at: its kind, the words above sp or fp, and where fp is. */
static void check_at(const struct op_hotspot_stack_rules *rules, uint32_t at,
		     uint32_t frame, uint32_t words, uint32_t where)
{
	uint32_t i = rules->count;

	while (i && rules->rule[i - 1].at > BASE + at)
		i--;
	CHECK(i);
	CHECK_INT(rules->rule[i - 1].frame, frame);
	if (frame == OP_HOTSPOT_NO_RULE)
		return;
	CHECK_INT(rules->rule[i - 1].words, words);
	CHECK_INT(rules->rule[i - 1].where, where);
}

static void test_pushes(void)
{
	static const uint8_t code[] = {
		0x53,			   /* 0: push rbx */
		0x48, 0x83, 0xec, 0x10,	   /* 1: sub rsp, 16 */
		0x55,			   /* 5: push rbp */
		0xbd, 1,    0,	  0,	0, /* 6: mov ebp, 1 */
		0x5d,			   /* 11: pop rbp */
		0x48, 0x83, 0xc4, 0x10,	   /* 12: add rsp, 16 */
		0x5b,			   /* 16: pop rbx */
		0xc3,			   /* 17: ret */
	};
	struct op_hotspot_stack_rules rules = rules_of(code, sizeof(code));

	check_at(&rules, 0, OP_HOTSPOT_FROM_SP, 1, OP_HOTSPOT_FP_SAME);
	check_at(&rules, 1, OP_HOTSPOT_FROM_SP, 2, OP_HOTSPOT_FP_SAME);
	check_at(&rules, 5, OP_HOTSPOT_FROM_SP, 4, OP_HOTSPOT_FP_SAME);
	check_at(&rules, 6, OP_HOTSPOT_FROM_SP, 5, OP_HOTSPOT_FP_SAME);
	check_at(&rules, 11, OP_HOTSPOT_FROM_SP, 5, 5); /* it is saved, and changed */
	check_at(&rules, 12, OP_HOTSPOT_FROM_SP, 4, OP_HOTSPOT_FP_SAME);
	check_at(&rules, 16, OP_HOTSPOT_FROM_SP, 2, OP_HOTSPOT_FP_SAME);
	check_at(&rules, 17, OP_HOTSPOT_FROM_SP, 1, OP_HOTSPOT_FP_SAME);
	check_at(&rules, 18, OP_HOTSPOT_NO_RULE, 0, 0);
}

/* rsp is aligned by masks: fp tells, and then the slot that keeps it. */
static void test_aligned(void)
{
	static const uint8_t code[] = {
		0x55,			      /* 0: push rbp */
		0x48, 0x8b, 0xec,	      /* 1: mov rbp, rsp */
		0x51,			      /* 4: push rcx */
		0x48, 0x8b, 0xc4,	      /* 5: mov rax, rsp */
		0x48, 0x83, 0xec, 0x40,	      /* 8: sub rsp, 64 */
		0x48, 0x83, 0xe4, 0xe0,	      /* 12: and rsp, -32 */
		0x48, 0x89, 0x44, 0x24, 0x38, /* 16: mov [rsp + 56], rax */
		0x48, 0x31, 0xed,	      /* 21: xor rbp, rbp */
		0x48, 0x8b, 0x64, 0x24, 0x38, /* 24: mov rsp, [rsp + 56] */
		0x59,			      /* 29: pop rcx */
		0x5d,			      /* 30: pop rbp */
		0xc3,			      /* 31: ret */
	};
	struct op_hotspot_stack_rules rules = rules_of(code, sizeof(code));

	check_at(&rules, 4, OP_HOTSPOT_FROM_SP, 2, 2);
	check_at(&rules, 12, OP_HOTSPOT_FROM_SP, 11, 2);
	check_at(&rules, 16, OP_HOTSPOT_FROM_FP, 2, 2);
	check_at(&rules, 24, OP_HOTSPOT_FROM_SLOT + 7, 3, 2);
	check_at(&rules, 29, OP_HOTSPOT_FROM_SP, 3, 2);
	check_at(&rules, 31, OP_HOTSPOT_FROM_SP, 1, OP_HOTSPOT_FP_SAME);
}

/* What two ways say differently is not known; a loop that pushes is such. */
static void test_loop(void)
{
	static const uint8_t code[] = {
		0x55,				    /* 0: push rbp */
		0x48, 0x8b, 0xec,		    /* 1: mov rbp, rsp */
		0x50,				    /* 4: push rax */
		0xff, 0xc9,			    /* 5: dec ecx */
		0x75, 0xfb,			    /* 7: jnz 4 */
		0xc9,				    /* 9: leave */
		0xc3,				    /* 10: ret */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x50, /* 16: push rax */
		0xff, 0xc9,			    /* 17: dec ecx */
		0x75, 0xfb,			    /* 19: jnz 16 */
		0xc3,				    /* 21: ret */
	};
	struct op_hotspot_stack_rules rules = rules_of(code, sizeof(code));

	check_at(&rules, 4, OP_HOTSPOT_FROM_FP, 2, 2);
	check_at(&rules, 9, OP_HOTSPOT_FROM_FP, 2, 2);
	check_at(&rules, 10, OP_HOTSPOT_FROM_SP, 1, OP_HOTSPOT_FP_SAME);
	check_at(&rules, 11, OP_HOTSPOT_NO_RULE, 0, 0);
	check_at(&rules, 16, OP_HOTSPOT_NO_RULE, 0, 0);
}

/* Constants between routines eat no instruction, whatever they look like. */
static void test_data(void)
{
	static const uint8_t routine[] = {
		0x55, 0x48, 0x8b, 0xec, 0x53, 0x5b, 0xc9, 0xc3
	};
	uint8_t code[64 + sizeof(routine)];
	uint32_t byte;

	for (byte = 0; byte < 256; byte++) {
		struct op_hotspot_stack_rules rules;

		memset(code, 0x90, sizeof(code));
		memcpy(code, routine, sizeof(routine));
		memset(code + 32, (int)byte, 32);
		memcpy(code + 64, routine, sizeof(routine));
		rules = rules_of(code, sizeof(code));
		check_at(&rules, 5, OP_HOTSPOT_FROM_SP, 3, 2);
		check_at(&rules, 64, OP_HOTSPOT_FROM_SP, 1, OP_HOTSPOT_FP_SAME);
		check_at(&rules, 69, OP_HOTSPOT_FROM_SP, 3, 2);
		check_at(&rules, 71, OP_HOTSPOT_FROM_SP, 1, OP_HOTSPOT_FP_SAME);
	}
}

/* A routine may jump into one that was found before, but only with the same stack. */
static void test_shared(void)
{
	static const uint8_t code[] = {
		0x55,					  /* 0: push rbp */
		0x48, 0x8b, 0xec,			  /* 1: mov rbp, rsp */
		0xc9,					  /* 4: leave */
		0xc3,					  /* 5: ret */
		0x90, 0x90, 0x50,			  /* 8: push rax */
		0xeb, 0xf9,				  /* 9: jmp 4 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xee, /* 16: jmp 0 */
	};
	struct op_hotspot_stack_rules rules = rules_of(code, sizeof(code));

	check_at(&rules, 4, OP_HOTSPOT_FROM_SP, 2, 2);
	check_at(&rules, 8, OP_HOTSPOT_NO_RULE, 0, 0);
	check_at(&rules, 16, OP_HOTSPOT_FROM_SP, 1, OP_HOTSPOT_FP_SAME);
}

static void test_full(void)
{
	static const uint8_t code[] = { 0x50, 0x51, 0x52, 0x5a, 0x59, 0x58, 0xc3 };
	struct op_hotspot_stack_rules rules = { .rule = found, .max = 2 };

	CHECK_INT(op_runtime_hotspot_stack(&op_hotspot_x86_64, code, sizeof(code), BASE,
					   &rules),
		  0);
	CHECK_INT(rules.count, 2);
	CHECK(rules.lost);
	CHECK_INT(op_runtime_hotspot_stack(&op_hotspot_x86_64, code, 0, BASE, &rules), 0);
}

TEST_MAIN({ "pushes", test_pushes }, { "aligned", test_aligned }, { "loop", test_loop },
	  { "data", test_data }, { "shared", test_shared }, { "full", test_full })
