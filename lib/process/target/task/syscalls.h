/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without the C library, for code that runs in a task (task.h): it has no
 * errno and may find any lock taken. Each returns the kernel's value, -errno on failure.
 */
#ifndef OP_PROCESS_TARGET_TASK_SYSCALLS_H
#define OP_PROCESS_TARGET_TASK_SYSCALLS_H

#include <stdint.h>
#include <sys/syscall.h>

/*
 * For functions that run in a task (task.h), which has the library's code but no data of
 * the C library or of a sanitizer. The compiler must not turn a loop into a call of
 * memcpy().
 */
#ifdef __clang__
#define OP_TASK_CODE __attribute__((no_sanitize("address", "undefined"), no_builtin))
#else
#define OP_TASK_CODE                                                                     \
	__attribute__((no_sanitize_address, no_sanitize_undefined,                       \
		       optimize("no-tree-loop-distribute-patterns")))
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OP_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define OP_SANITIZED true
#endif
#endif
#ifndef OP_SANITIZED
#define OP_SANITIZED false
#endif

static inline long op_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "no system calls for this machine"
#endif
}

#define op_syscall(nr, ...)                                                              \
	op_syscall_pick(__VA_ARGS__, op_syscall_5, op_syscall_4, op_syscall_3,           \
			op_syscall_2, op_syscall_1)(nr, __VA_ARGS__)
#define op_syscall_pick(a, b, c, d, e, name, ...) name
#define op_syscall_1(nr, a)			  op_syscall6(nr, (long)(a), 0, 0, 0, 0, 0)
#define op_syscall_2(nr, a, b)			  op_syscall6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define op_syscall_3(nr, a, b, c)                                                        \
	op_syscall6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define op_syscall_4(nr, a, b, c, d)                                                     \
	op_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define op_syscall_5(nr, a, b, c, d, e)                                                  \
	op_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#endif
