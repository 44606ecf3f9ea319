/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain on a stack at a higher address: from the thread's stack down to one in .bss, and from
 * there up to one by mmap(). call_on keeps the old stack pointer in %rbp, and its CFI says so, as
 * that of libgcc's __morestack for -fsplit-stack does. x86-64.
 */
#include <sys/mman.h>

#include "links.h"

enum {
	STACK_BYTES = 1 << 16,
};

static char low[STACK_BYTES] __attribute__((aligned(16)));
static char *high;

void call_on(void *top, void (*fn)(struct job *), struct job *j);

__asm__(".text\n"
	".globl call_on\n"
	".type call_on, @function\n"
	"call_on:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rdi, %rsp\n"
	"	mov %rdx, %rdi\n"
	"	call *%rsi\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size call_on, . - call_on\n");

TRUTH_FN void on_high(struct job *j)
{
	f24(j);
	KEEP();
}

TRUTH_FN void on_low(struct job *j)
{
	call_on(high + STACK_BYTES, on_high, j);
	KEEP();
}

TRUTH_FN void on_own(struct job *j)
{
	call_on(low + sizeof(low), on_low, j);
	KEEP();
}

int main(int argc, char **argv)
{
	high = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (high == MAP_FAILED)
		return 1;
	return truth_main(argc, argv, on_own);
}
