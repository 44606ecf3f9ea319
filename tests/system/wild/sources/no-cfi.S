/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions with no unwind data, as assembly by hand often is: a leaf, one that pushes, one
 * with a frame pointer, one that realigns its stack, one that calls back into C.
 */
	.text
#define FUNCTION(name) .globl name; .type name, @function; .p2align 4; name
#define END(name) .size name, . - name

FUNCTION(asm_leaf):
	mov	%rdi, %rax
	mov	$2000, %ecx
1:	imul	$1664525, %rax, %rax
	add	$1013904223, %rax
	dec	%ecx
	jnz	1b
	ret
END(asm_leaf)

FUNCTION(asm_pushes):
	push	%rbx
	push	%r12
	sub	$72, %rsp
	mov	%rdi, %rbx
	mov	$2000, %r12d
1:	imul	$1664525, %rbx, %rbx
	mov	%rbx, 16(%rsp)
	add	$1013904223, %rbx
	dec	%r12d
	jnz	1b
	mov	%rbx, %rax
	add	$72, %rsp
	pop	%r12
	pop	%rbx
	ret
END(asm_pushes)

FUNCTION(asm_frame_pointer):
	push	%rbp
	mov	%rsp, %rbp
	sub	$32, %rsp
	call	asm_leaf
	mov	%rax, %rdi
	call	asm_leaf
	leave
	ret
END(asm_frame_pointer)

FUNCTION(asm_realigns):
	push	%rbp
	mov	%rsp, %rbp
	push	%rbx
	sub	$136, %rsp
	and	$-64, %rsp
	mov	%rdi, %rbx
	mov	$2000, %ecx
1:	imul	$1664525, %rbx, %rbx
	mov	%rbx, 64(%rsp)
	add	64(%rsp), %rbx
	dec	%ecx
	jnz	1b
	mov	%rbx, %rax
	mov	-8(%rbp), %rbx
	leave
	ret
END(asm_realigns)

FUNCTION(asm_calls_back):
	push	%rbx
	push	%r13
	sub	$24, %rsp
	mov	%rdi, %rbx
	mov	%rsi, %r13
	call	*%r13
	mov	%rax, %rdi
	add	%rbx, %rdi
	call	*%r13
	add	$24, %rsp
	pop	%r13
	pop	%rbx
	ret
END(asm_calls_back)

	.section .note.GNU-stack, "", @progbits
