/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FUNCTIONS functions of 1 << SHIFT bytes (at least 64), each with a symbol and an FDE; their
 * frames have thirteen different sizes. Each is
 *
 *     void fN(unsigned int turns, void *const *others, unsigned int left);
 *
 * It calls the first of @left others with the rest of them; the last one takes @turns turns of
 * a loop.
 */
	.text
	.globl large_functions
	.p2align SHIFT
large_functions:

	.macro function
	.type f\@, @function
f\@:
	.cfi_startproc
	sub	$(8 + 16 * (\@ % 13)), %rsp
	.cfi_adjust_cfa_offset (8 + 16 * (\@ % 13))
	test	%edx, %edx
	jz	1f
	mov	(%rsi), %rax
	add	$8, %rsi
	dec	%edx
	call	*%rax
	jmp	2f
1:	dec	%edi
	jnz	1b
2:	add	$(8 + 16 * (\@ % 13)), %rsp
	.cfi_adjust_cfa_offset -(8 + 16 * (\@ % 13))
	ret
	.cfi_endproc
	.size	f\@, . - f\@
	.p2align SHIFT
	.endm

	.rept	FUNCTIONS
	function
	.endr
	.section .note.GNU-stack, "", @progbits
