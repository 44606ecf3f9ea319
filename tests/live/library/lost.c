/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function that no walk can leave: it has no unwind data, its stack pointer stands in zeroes
 * and its frame pointer is odd.
 */
#include "lost.h"

#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)

#if defined(__x86_64__)
__asm__(".text\n"
	".globl lost\n"
	".type lost, @function\n"
	"lost:\n"
	"	push %rbp\n"
	"	mov %rsp, lost_sp(%rip)\n"
	"	lea lost_stack+2048(%rip), %rsp\n"
	"	mov $1, %ebp\n"
	"	mov $" TEXT(LOST_TURNS) ", %ecx\n"
					"1:	dec %ecx\n"
					"	jnz 1b\n"
					"	mov lost_sp(%rip), %rsp\n"
					"	pop %rbp\n"
					"	ret\n"
					".size lost, . - lost\n"
					".local lost_sp\n"
					".comm lost_sp, 8, 8\n"
					".local lost_stack\n"
					".comm lost_stack, 4096, 16\n");
#endif
