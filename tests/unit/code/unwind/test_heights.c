/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules read from x86-64 code against those of its frame information, which the assembler
 * makes of what is written here; and of a C library, which the compiler made.
 */
#include "base/vec.h"
#include "code/elf/file.h"
#include "code/unwind/heights/heights.h"
#include "code/unwind/heights/instruction.h"
#include "code/unwind/heights/record.h"

#include "test.h"
#include "unwind_table.h"

#ifdef __x86_64__
#define FUNCTION(name) ".p2align 4; " name ": .cfi_startproc\n"
#define END	       ".cfi_endproc\n"
/* What only a reader of code has to know nothing of: the slot of an aligned stack. */
#define CFA_AT_RSP_64  ".cfi_escape 0x0f, 6, 0x77, 0xc0, 0, 0x06, 0x23, 16\n"
#define CFA_AT_RSP_120 ".cfi_escape 0x0f, 6, 0x77, 0xf8, 0, 0x06, 0x23, 48\n"

__asm__(".text; .p2align 4; .globl heights_begin; heights_begin:\n" FUNCTION(
	"leaf") "mov %rdi, %rax; 1: dec %eax; jnz 1b; ret\n" END
		/* two ways out, the second behind the first return */
		FUNCTION("pushes") "push %rbx; .cfi_adjust_cfa_offset 8\n"
				   "push %rbp; .cfi_adjust_cfa_offset 8; .cfi_offset %rbp, -24\n"
				   "sub $72, %rsp; .cfi_adjust_cfa_offset 72\n"
				   "mov %rdi, %rbp; test %eax, %eax; je 1f\n"
				   ".cfi_remember_state\n"
				   "add $72, %rsp; .cfi_adjust_cfa_offset -72\n"
				   "pop %rbp; .cfi_adjust_cfa_offset -8; .cfi_restore %rbp\n"
				   "pop %rbx; .cfi_adjust_cfa_offset -8; ret\n"
				   ".cfi_restore_state; 1: movaps %xmm0, 16(%rsp)\n"
				   "vpaddd 32(%rsp), %ymm1, %ymm2; lea 64(%rsp), %rsp\n"
				   ".cfi_adjust_cfa_offset -64; sub $-8, %rsp\n"
				   ".cfi_adjust_cfa_offset -8; pop %rbp\n"
				   ".cfi_adjust_cfa_offset -8; .cfi_restore %rbp; pop %rbx\n"
				   ".cfi_adjust_cfa_offset -8; ret\n" END
					   /* a body that only a jump back leads to */
					   FUNCTION("loop") "push %r12; .cfi_adjust_cfa_offset 8; jmp 2f; .p2align 4\n"
							    "1: call leaf; dec %r12d\n"
							    "2: test %r12d, %r12d; jnz 1b\n"
							    "pop %r12; .cfi_adjust_cfa_offset -8; jmp leaf\n" END
								    /* sp moves in ways that are not followed, over a frame pointer */
								    FUNCTION("frame") "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16\n"
										      "mov %rsp, %rbp; .cfi_def_cfa_register %rbp\n"
										      "and $-64, %rsp; sub %rax, %rsp; call leaf; push %rax\n"
										      "leave; .cfi_def_cfa %rsp, 8; .cfi_restore %rbp; ret\n" END
											      /* an aligned stack without one: where sp was stands in a slot */
											      FUNCTION("slot") "push %rbx; .cfi_adjust_cfa_offset 8; mov %rsp, %r10\n"
													       "sub $200, %rsp; .cfi_adjust_cfa_offset 200\n"
													       ".globl heights_unknown; heights_unknown: and $-64, %rsp\n"
													       "mov %r10, 64(%rsp)\n" CFA_AT_RSP_64
													       "call leaf; mov %eax, (%rsp); mov 64(%rsp), %rsp\n"
													       ".cfi_def_cfa %rsp, 16; pop %rbx; .cfi_adjust_cfa_offset -8\n"
													       "ret\n" END
														       /* the same by fp, which is data in between */
														       FUNCTION("kept") "sub $40, %rsp; .cfi_adjust_cfa_offset 40\n"
																	"mov %rbp, 8(%rsp); .cfi_offset %rbp, -40; mov %rsp, %rbp\n"
																	"sub $100, %rsp; .cfi_adjust_cfa_offset 100\n"
																	"and $-4096, %rsp; .cfi_def_cfa %rbp, 48\n"
																	"mov %rbp, 120(%rsp); mov %rdi, %rbp\n" CFA_AT_RSP_120
																	"lea 8(%rbp), %rbp; mov 120(%rsp), %rbp\n"
																	".cfi_def_cfa %rbp, 48; mov %rbp, %rsp; .cfi_def_cfa %rsp, 48\n"
																	"mov 8(%rsp), %rbp; .cfi_restore %rbp\n"
																	"add $40, %rsp; .cfi_adjust_cfa_offset -40; ret\n" END
																		/* what a table leads to, and what is reached by no jump at all */
																		FUNCTION("parts") "sub $24, %rsp; .cfi_adjust_cfa_offset 24; jmp *%rax\n"
																				  "mov $1, %eax; jmp 1f; mov $2, %eax\n"
																				  "1: add $24, %rsp; .cfi_adjust_cfa_offset -24; ret\n" END
																					  /* fp is saved by a store, and is data then */
																					  FUNCTION("stores") "sub $40, %rsp; .cfi_adjust_cfa_offset 40\n"
																							     "mov %rbp, 16(%rsp); .cfi_offset %rbp, -32\n"
																							     "lea 8(%rsp), %rbp; add $64, %rbp; mov %rbp, %rdi; call leaf\n"
																							     "mov 16(%rsp), %rbp; .cfi_restore %rbp\n"
																							     "add $40, %rsp; .cfi_adjust_cfa_offset -40; ret\n" END
																								     /* a call that does not return, and behind it a function */
																								     FUNCTION(
																									     "aborts") "push %rax; .cfi_adjust_cfa_offset 8; call *%rbx\n" END
																									     FUNCTION(
																										     "after") "push %r13; .cfi_adjust_cfa_offset 8; pop %r13\n"
																											      ".cfi_adjust_cfa_offset -8; ret\n" END
																											      ".globl heights_end; heights_end: nop\n"
																											      /* more is popped than was pushed */
																											      ".globl heights_wrong; heights_wrong: push %rax; pop %rcx; pop %rdx; ret\n"
																											      ".globl heights_wrong_end; heights_wrong_end: nop\n");

/* A stack of its own: what is made for it, what calls its first function, and what that one
 * returns to. Then the same without a halt, and one that control falls into. */
__asm__(".p2align 4; .globl heights_context; heights_context:\n"
	"lea 1f(%rip), %rcx; mov %rcx, 8(%rdi); lea heights_over(%rip), %rcx\n"
	"mov %rcx, (%rdi); lea heights_back(%rip), %rcx; lea heights_into(%rip), %rcx; ret\n"
	"1: push %rbp; jmp *%rbx\n"
	".globl heights_over; heights_over: xor %edi, %edi; call heights_context; hlt\n"
	"2: push %rbp; jmp *%rbx\n"
	".globl heights_back; heights_back: xor %edi, %edi; call heights_context; ret\n"
	"push %rbp; call *%rbx\n"
	".globl heights_into; heights_into: xor %edi, %edi; call heights_context; hlt\n"
	".globl heights_context_end; heights_context_end: nop\n");

extern const uint8_t heights_context[];
extern const uint8_t heights_over[];
extern const uint8_t heights_back[];
extern const uint8_t heights_into[];
extern const uint8_t heights_context_end[];

extern const uint8_t heights_begin[];
extern const uint8_t heights_end[];
extern const uint8_t heights_unknown[];
extern const uint8_t heights_wrong[];
extern const uint8_t heights_wrong_end[];
extern const uint8_t __ehdr_start[];

__asm__(".text; .p2align 4; .globl heights_libc; heights_libc:\n"
	/* does not return; what is behind it has its address taken */
	"push %rbx; sub $32, %rsp; call leaf; nop\n"
	"heights_thread: push %rbp; push %rbx; mov %rsi, %rbx\n"
	".globl heights_thread_call; heights_thread_call: call *(%rbx); hlt\n"
	".globl heights_spawn; heights_spawn:\n"
	"push %rbx; lea heights_thread(%rip), %rdi; call *%rax; pop %rbx; ret; nop\n"
	".globl heights_restorer; heights_restorer: mov $15, %rax; syscall\n"
	".globl heights_libc_end; heights_libc_end: nop\n");

extern const uint8_t heights_libc[];
extern const uint8_t heights_thread_call[];
extern const uint8_t heights_spawn[];
extern const uint8_t heights_restorer[];
extern const uint8_t heights_libc_end[];

/* Data before a function that is made: its last bytes and the function's first look like one call. */
__asm__(".text; .p2align 4; .globl heights_data; heights_data: call 1f; ret\n"
	".byte 0, 0, 2, 0, 0, 0, 0, 0, 0\n"
	"1: jmp 2f; .byte 0, 0xe8, 0x40, 0xf9, 0xff, 0xff\n"
	".globl heights_behind_data; heights_behind_data: 2: push %rbp; mov %rsp, %rbp\n"
	"nop; leave; ret\n"
	".globl heights_data_end; heights_data_end: nop\n");

extern const uint8_t heights_data[];
extern const uint8_t heights_behind_data[];
extern const uint8_t heights_data_end[];

static const struct op_unwind_rule NONE = { .cfa = OP_CFA_INVALID };

struct rows {
	OP_VEC(size_t) off;
	OP_VEC(struct op_unwind_rule) rule;
};

static int on_rule(void *data, size_t off, struct op_unwind_rule rule)
{
	struct rows *rows = data;

	CHECK_OK(op_vec_reserve(&rows->off, 1));
	CHECK_OK(op_vec_reserve(&rows->rule, 1));
	rows->off.data[rows->off.len++] = off;
	rows->rule.data[rows->rule.len++] = rule;
	return 0;
}

static void *slabs[OP_SLABS_MAX];
static struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	*ret = slabs[index] = calloc(1, OP_SLAB_BYTES);
	return *ret ? 0 : -ENOMEM;
}

static const struct op_arena_ops ops = { .add_slab = make_slab };

struct file {
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	struct op_elf *elf;
	struct op_unwind_table *table;
};

static struct file open_file(const char *path)
{
	struct file f = { 0 };

	CHECK_OK(op_arena_new(&ops, NULL, UINT64_C(1) << 28, &f.arena));
	CHECK_OK(op_unwind_rules_new(memory, OP_UNWIND_RULES_MAX, &f.rules));
	CHECK_OK(op_elf_open_path(path, &f.elf));
	CHECK_OK(make_unwind_table(f.elf, NULL, f.arena, f.rules, NULL, &f.table));
	return f;
}

static void close_file(struct file *f)
{
	size_t i;

	op_unwind_table_free(f->table, f->arena, f->rules, 0);
	op_elf_free(f->elf);
	op_unwind_rules_free(f->rules);
	op_arena_free(f->arena);
	for (i = 0; i < OP_SLABS_MAX; i++) {
		free(slabs[i]);
		slabs[i] = NULL;
	}
}

static struct op_unwind_rule by_frame_information(const struct file *f, uint64_t at)
{
	struct op_unwind_rule rule = NONE;

	(void)find_unwind_rule(f->table, f->arena, memory, at, &rule);
	return rule;
}

static struct op_unwind_rule by_code(const struct rows *rows, size_t off)
{
	size_t i = rows->off.len;

	while (i && rows->off.data[i - 1] > off)
		i--;
	return i ? rows->rule.data[i - 1] : NONE;
}

static int read_bytes(void *data, size_t off, void *buf, size_t len)
{
	memcpy(buf, (const uint8_t *)data + off, len);
	return 0;
}

static void read_as(bool made, const uint8_t *code, size_t len, uint64_t addr,
		    struct rows *ret)
{
	const struct op_heights_code from = { .read = read_bytes,
					      .data = (void *)(uintptr_t)code,
					      .len = len,
					      .addr = addr,
					      .made = made };
	struct op_heights *h = NULL;

	CHECK_OK(op_heights_new(&from, NONE, &h));
	CHECK_OK(op_heights_on(h, NULL, on_rule, ret));
	op_heights_free(h);
}

static void read_code(const uint8_t *code, size_t len, uint64_t addr, struct rows *ret)
{
	read_as(false, code, len, addr, ret);
}

static void test_written(void)
{
	size_t len = (size_t)(heights_end - heights_begin);
	struct file f = open_file("/proc/self/exe");
	struct rows rows = { 0 };
	struct op_insn insn;
	bool dead = false;
	size_t at;

	read_code(heights_begin, len, (uintptr_t)heights_begin, &rows);
	for (at = 0; at < len; at += insn.len) {
		struct op_unwind_rule code = by_code(&rows, at);
		struct op_unwind_rule want = by_frame_information(
			&f, (uint64_t)(heights_begin - __ehdr_start) + at);

		CHECK(op_insn_read(heights_begin + at, len - at, &insn));
		if (insn.kind == OP_INSN_PAD && dead)
			continue; /* between functions */
		dead = insn.kind == OP_INSN_RETURN || insn.kind == OP_INSN_JUMP ||
		       insn.kind == OP_INSN_CALL_FAR;
		if (heights_begin + at == heights_unknown + 4) {
			CHECK_INT(code.cfa, OP_CFA_REG); /* sp is in r10 alone */
			CHECK_INT(code.cfa_off, 16 << 8 | 10);
			continue;
		}
		CHECK_INT(code.save & OP_SAVE_CHECK, OP_SAVE_CHECK);
		CHECK_INT(code.cfa, want.cfa);
		CHECK_INT(code.cfa_off, want.cfa_off);
		CHECK_INT(code.save & OP_SAVE_MASK, want.save);
		CHECK_INT(code.save_off, want.save_off);
	}
	op_vec_clear(&rows.off);
	op_vec_clear(&rows.rule);
	close_file(&f);
}

static void test_not_understood(void)
{
	struct rows rows = { 0 };
	size_t i;

	read_code(heights_wrong, (size_t)(heights_wrong_end - heights_wrong),
		  (uintptr_t)heights_wrong, &rows);
	for (i = 0; i < rows.off.len; i++)
		CHECK_INT(rows.rule.data[i].cfa, OP_CFA_INVALID);
	op_vec_clear(&rows.off);
	op_vec_clear(&rows.rule);
}

static void test_data_before_a_function(void)
{
	struct rows rows = { 0 };
	size_t function = (size_t)(heights_behind_data - heights_data);

	read_as(true, heights_data, (size_t)(heights_data_end - heights_data),
		(uintptr_t)heights_data, &rows);
	CHECK_INT(by_code(&rows, function).cfa_off, 8);
	CHECK_INT(by_code(&rows, function + 1).cfa_off, 16);
	CHECK_INT(by_code(&rows, function + 4).save & OP_SAVE_MASK, OP_SAVE_FP);
	op_vec_clear(&rows.off);
	op_vec_clear(&rows.rule);
}

static void test_stack_of_its_own(void)
{
	struct rows rows = { 0 };
	size_t over = (size_t)(heights_over - heights_context);

	read_code(heights_context, (size_t)(heights_context_end - heights_context),
		  (uintptr_t)heights_context, &rows);
	/* looked up a byte early */
	CHECK_INT(by_code(&rows, over - 1).cfa, OP_CFA_STOP);
	CHECK_INT(by_code(&rows, over + 6).cfa, OP_CFA_STOP);
	CHECK_INT(by_code(&rows, over - 2).cfa, OP_CFA_SP);
	CHECK_INT(by_code(&rows, over + 8).cfa, OP_CFA_SP);
	CHECK(by_code(&rows, (size_t)(heights_back - heights_context)).cfa !=
	      OP_CFA_STOP);
	CHECK(by_code(&rows, (size_t)(heights_into - heights_context)).cfa !=
	      OP_CFA_STOP);
	op_vec_clear(&rows.off);
	op_vec_clear(&rows.rule);
}

static void test_libc(void)
{
	struct rows rows = { 0 };
	size_t restorer = (size_t)(heights_restorer - heights_libc);
	size_t call = (size_t)(heights_thread_call - heights_libc);

	read_code(heights_libc, (size_t)(heights_libc_end - heights_libc),
		  (uintptr_t)heights_libc, &rows);
	CHECK_INT(by_code(&rows, call).cfa, OP_CFA_SP);
	CHECK_INT(by_code(&rows, call).cfa_off, 24);
	CHECK_INT(by_code(&rows, (size_t)(heights_spawn - heights_libc)).cfa_off, 8);
	/* looked up a byte early */
	CHECK_INT(by_code(&rows, restorer - 1).cfa, OP_CFA_SIGNAL);
	CHECK_INT(by_code(&rows, restorer + 7).cfa, OP_CFA_SIGNAL);
	CHECK_INT(by_code(&rows, restorer - 2).cfa, OP_CFA_SP);
	op_vec_clear(&rows.off);
	op_vec_clear(&rows.rule);
}

/* What code in no file says of frame records; each has the instruction that is asked for at 20. */
static void test_records(void)
{
	static const struct {
		const char *code;
		bool kept;
	} cases[] = {
		/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; nops; leave; ret */
		{ "\x55\x48\x89\xe5\x48\x83\xec\x10\x89\xc0\x89\xc0\x89\xc0\x89\xc0"
		  "\x89\xc0\x89\xc0\x89\xc0\x89\xc0\xc9\xc3",
		  true },
		/* the same, which has returned before; then sub $8,%rsp */
		{ "\x55\x48\x89\xe5\xc9\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc"
		  "\x48\x83\xec\x08\x89\xc0\x48\x83\xc4\x08\xc3",
		  false },
		/* push %rbp, which is data then */
		{ "\x55\x48\x83\xec\x10\x31\xed\x89\xc0\x89\xc0\x89\xc0\x89\xc0\x89"
		  "\xc0\x89\xc0\x89\xc0\x89\xc0\x90\x48\x83\xc4\x10\x5d\xc3",
		  false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(op_heights_keep_record((const uint8_t *)cases[i].code,
						 strlen(cases[i].code), 0x1000, 20),
			  cases[i].kept);
}

/* Where code sets sp to another place of the stack and leaves, no unwind data holds: OCaml 4.13's raise
 * and caml_raise_exn, longjmp(3), and ends of functions that only look like that. */
static void test_switches(void)
{
	static const struct {
		const char *code;
		size_t len;
		uint64_t at; /* a bit for each offset at which it has switched */
	} cases[] = {
		/* mov %rsi,8(%rax); mov 16(%r14),%rsp; pop 16(%r14); pop %r11; jmp *%r11 */
		{ "\x48\x89\x70\x08\x49\x8b\x66\x10\x41\x8f\x46\x10\x41\x5b\x41\xff\xe3\x90",
		  18, 1 << 8 | 1 << 12 | 1 << 14 },
		/* mov 16(%r14),%rsp; pop 16(%r14); mov 8(%r14),%r15; ret */
		{ "\x49\x8b\x66\x10\x41\x8f\x46\x10\x4d\x8b\x7e\x08\xc3\x90", 14,
		  1 << 4 | 1 << 8 | 1 << 12 },
		/* mov %r8,%rsp; mov %r9,%rbp; jmp *%rdx */
		{ "\x4c\x89\xc4\x4c\x89\xcd\xff\xe2", 8, 1 << 3 | 1 << 6 },
		/* mov %rbp,%rsp; pop %rbp; ret */
		{ "\x48\x89\xec\x5d\xc3", 5, 0 },
		/* lea -8(%r10),%rsp; ret; mov 64(%rsp),%rsp; ret */
		{ "\x49\x8d\x62\xf8\xc3\x48\x8b\x64\x24\x40\xc3", 11, 0 },
		/* mov %rbx,%rsp; call *%rax; ret */
		{ "\x48\x89\xdc\xff\xd0\xc3", 6, 0 },
	};
	size_t i;
	size_t at;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (at = 0; at < cases[i].len; at++) {
			bool may = cases[i].at >> at & 1;
			bool is = op_heights_switch((const uint8_t *)cases[i].code,
						    cases[i].len, at);

			/* no instruction is at the other offsets */
			if (may || !cases[i].at)
				CHECK_INT(is, may);
		}
	CHECK(!op_heights_switch((const uint8_t *)cases[0].code, cases[0].len, 0));
	CHECK(!op_heights_switch((const uint8_t *)cases[0].code, cases[0].len, 4));
	CHECK(!op_heights_switch((const uint8_t *)cases[0].code, 14, 14));
}

static struct op_unwind_rule rule_of(const char *code, size_t len, size_t at)
{
	struct rows rows = { 0 };
	struct op_unwind_rule rule;

	read_code((const uint8_t *)code, len, 0x1000, &rows);
	rule = by_code(&rows, at);
	op_vec_clear(&rows.off);
	op_vec_clear(&rows.rule);
	return rule;
}

#define RULE_OF(code, at) rule_of(code, sizeof(code) - 1, at)

static void test_odd_frames(void)
{
	/* call 16; 5: pause; lfence; jmp 5; 16: mov %r11,(%rsp); ret */
	static const char retpoline[] = "\xe8\x0b\0\0\0\xf3\x90\x0f\xae\xe8\xeb\xf9"
					"\xcc\xcc\xcc\xcc\x4c\x89\x1c\x24\xc3";
	/* xor %ebp,%ebp; mov %rsp,%rdi; and $-16,%rsp; call; hlt */
	static const char start[] =
		"\x31\xed\x48\x89\xe7\x48\x83\xe4\xf0\xe8\0\0\0\0\xf4";
	/* the same, and it returns */
	static const char back[] = "\x31\xed\x89\xc0\xc3";
	/* lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10;
	 * sub $40,%rsp; nop; mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp; ret */
	static const char realigned[] =
		"\x4c\x8d\x54\x24\x08\x48\x83\xe4\xe0\x41\xff\x72\xf8\x55\x48\x89\xe5"
		"\x41\x52\x48\x83\xec\x28\x90\x4c\x8b\x55\xf8\xc9\x49\x8d\x62\xf8\xc3";
	/* sub $96,%rsp; mov %rsp,%rbx; sub $28800,%rsp; and $-4096,%rsp; vmovups %ymm3,64(%rsi);
	 * vfmadd231pd %ymm3,%ymm3,%ymm3; movups %xmm3,(%rsi); pshufb %xmm3,%xmm3;
	 * prefetcht2 32(%r8); mov %rbx,16(%rdi); cmp %rdi,%rbx; nop; mov %rbx,%rsp; add $96,%rsp;
	 * ret */
	static const char vectors[] =
		"\x48\x83\xec\x60\x48\x89\xe3\x48\x81\xec\x80\x70\0\0\x48\x81\xe4\0\xf0\xff\xff"
		"\xc5\xfc\x11\x5e\x40\xc4\xe2\xe5\xb8\xdb\x0f\x11\x1e\x66\x0f\x38\0\xdb"
		"\x41\x0f\x18\x58\x20\x48\x89\x5f\x10\x48\x39\xfb\x90\x48\x89\xdc\x48\x83\xc4\x60\xc3";
	/* the same with vmovmskps %xmm0,%ebx */
	static const char masks[] =
		"\x48\x83\xec\x60\x48\x89\xe3\x48\x81\xec\x80\x70\0\0\x48\x81\xe4\0\xf0\xff\xff"
		"\xc5\xf8\x50\xd8\x90\x48\x89\xdc\x48\x83\xc4\x60\xc3";

	CHECK_INT(RULE_OF(vectors, 51).cfa, OP_CFA_REG);
	CHECK_INT(RULE_OF(vectors, 51).cfa_off, 0x68 << 8 | 3);
	CHECK_INT(RULE_OF(masks, 25).cfa, OP_CFA_INVALID);
	CHECK_INT(RULE_OF(retpoline, 16).cfa_off, 16);
	CHECK_INT(RULE_OF(retpoline, 20).cfa_off, 16);
	CHECK_INT(RULE_OF(start, 9).cfa, OP_CFA_STOP);
	CHECK(RULE_OF(back, 2).cfa != OP_CFA_STOP);
	CHECK_INT(RULE_OF(realigned, 23).cfa, OP_CFA_DEREF_FP);
	CHECK_INT(RULE_OF(realigned, 23).cfa_off, 0xfff8);
	CHECK_INT(RULE_OF(realigned, 23).save, OP_SAVE_CHECK | OP_SAVE_FP_AT_FP);
	CHECK_INT(RULE_OF(realigned, 33).cfa_off, 8);
}

/* Code of several windows: a function in the last one. */
static void test_windows(void)
{
	enum {
		BYTES = 3 * OP_HEIGHTS_WINDOW_BYTES,
		AT = BYTES - 4096
	};
	/* ret; push %rbx; sub $32,%rsp; nop; add $32,%rsp; pop %rbx; ret */
	static const char function[] =
		"\xc3\x53\x48\x83\xec\x20\x90\x48\x83\xc4\x20\x5b\xc3";
	char *code = malloc(BYTES);

	CHECK(code);
	memset(code, 0x90, BYTES);
	memcpy(code + AT - 1, function, sizeof(function) - 1);
	CHECK_INT(rule_of(code, BYTES, AT).cfa_off, 8);
	CHECK_INT(rule_of(code, BYTES, AT + 5).cfa_off, 48);
	free(code);
}

/* Functions of jumps to the next instruction, pushes, and a return that does not fit: each may be read
 * six times. Behind them is one that does. */
enum {
	WRONG_PARTS = 3000, /* of a function */
	WRONG_INSNS = 10,   /* of a part */
	WRONG_FUNCTIONS = 24,
};

static char *make_wrong(size_t *ret_len)
{
	static const char part[] = "\xeb\0\x50\x50\x50\x50\x50\x50\x50\x50\x50";
	/* push %rbx; sub $32,%rsp; nop; add $32,%rsp; pop %rbx; ret */
	static const char good[] = "\x53\x48\x83\xec\x20\x90\x48\x83\xc4\x20\x5b\xc3";
	size_t bytes = WRONG_PARTS * (sizeof(part) - 1) + 1;
	char *code = malloc(bytes * WRONG_FUNCTIONS + sizeof(good));
	char *at = code;
	size_t i;

	CHECK(code);
	for (i = 0; i < (size_t)WRONG_PARTS * WRONG_FUNCTIONS; i++) {
		at = mempcpy(at, part, sizeof(part) - 1);
		if (i % WRONG_PARTS == WRONG_PARTS - 1)
			*at++ = '\xc3';
	}
	at = mempcpy(at, good, sizeof(good) - 1);
	*ret_len = (size_t)(at - code);
	return code;
}

/* However often a function is read, its instructions are decoded once; and a call without time
 * reads a part of a function. */
static void test_decoded_once(void)
{
	enum {
		FUNCTION = WRONG_PARTS * WRONG_INSNS + 1,
		INSNS = FUNCTION * WRONG_FUNCTIONS + 6,
		PIECE = FUNCTION * 2 / 3,
		WINDOWS = 4, /* the first instruction of each may be decoded again */
	};
	struct op_allowance over = { .end_ns = 1 };
	struct op_heights_code from = { .read = read_bytes, .addr = 0x1000 };
	struct op_heights *h = NULL;
	struct rows rows = { 0 };
	uint64_t decoded = 0;
	unsigned int calls = 0;

	from.data = make_wrong(&from.len);
	CHECK_OK(op_heights_new(&from, NONE, &h));
	for (; op_heights_on(h, &over, on_rule, &rows) == -EINPROGRESS; calls++) {
		CHECK(op_heights_decoded(h) - decoded <= PIECE);
		decoded = op_heights_decoded(h);
	}
	CHECK(calls > 2 * 5 + WRONG_FUNCTIONS); /* at least two of them all six times */
	CHECK(decoded >= INSNS && decoded <= INSNS + WINDOWS);
	CHECK_INT(by_code(&rows, from.len - 7).cfa_off, 48);
	op_heights_free(h);
	op_vec_clear(&rows.off);
	op_vec_clear(&rows.rule);
	free(from.data);
}

/* Much to read again leaves no code unread. */
static void test_read_whole(void)
{
	size_t len;
	char *code = make_wrong(&len);

	CHECK_INT(rule_of(code, len, len - 20).cfa, OP_CFA_INVALID);
	CHECK_INT(rule_of(code, len, len - 7).cfa_off, 48);
	free(code);
}

static const char LIBC[] = "/lib/x86_64-linux-gnu/libc.so.6";

/*
 * Of all instructions of the C library. Parts of functions that stand apart (.cold) are
 * taken for functions here, which code without frame information does not have: such are
 * hand-written.
 */
static void test_system(void)
{
	const struct op_elf_section *text;
	struct rows rows = { 0 };
	struct op_insn insn;
	size_t different = 0;
	size_t known = 0;
	size_t all = 0;
	size_t row = 0;
	struct file f;
	uint8_t *code;
	size_t at;

	if (access(LIBC, R_OK) < 0)
		return;
	f = open_file(LIBC);
	text = op_elf_section(f.elf, ".text");
	CHECK(text);
	code = malloc(text->size);
	CHECK(code);
	CHECK_OK(op_elf_read_vaddr(f.elf, text->addr, code, text->size));
	read_code(code, text->size, text->addr, &rows);
	for (at = 0; at < text->size; at += insn.len) {
		struct op_unwind_rule want = by_frame_information(&f, text->addr + at);

		while (row + 1 < rows.off.len && rows.off.data[row + 1] <= at)
			row++;
		CHECK(op_insn_read(code + at, text->size - at, &insn));
		if (want.save & OP_SAVE_CHECK || want.cfa < OP_CFA_SP)
			continue;
		all++;
		if (!rows.rule.data[row].cfa)
			continue;
		known++;
		different += rows.rule.data[row].cfa == want.cfa &&
			     rows.rule.data[row].cfa_off != want.cfa_off;
	}
	CHECK(all > 100000);
	CHECK(known > all / 100 * 95);
	CHECK(different < all / 20);
	free(code);
	op_vec_clear(&rows.off);
	op_vec_clear(&rows.rule);
	close_file(&f);
}

TEST_MAIN({ "written", test_written }, { "wrong", test_not_understood },
	  { "data", test_data_before_a_function },
	  { "stack_of_its_own", test_stack_of_its_own }, { "libc", test_libc },
	  { "odd_frames", test_odd_frames }, { "windows", test_windows },
	  { "decoded_once", test_decoded_once }, { "read_whole", test_read_whole },
	  { "records", test_records }, { "switches", test_switches },
	  { "system", test_system })
#else
static void test_nothing(void)
{
}
TEST_MAIN({ "nothing", test_nothing })
#endif
