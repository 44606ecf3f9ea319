/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints how many bits the addresses of a process have: where the kernel maps memory when it
 * is asked for a high place. And, where the kernel signs return addresses, the bits in which
 * a signature of a code address stands, as it tells them to a debugger.
 */
#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif

/* struct user_pac_mask of the kernel's user interface */
struct masks {
	uint64_t data;
	uint64_t code;
};

static void print_signature(void)
{
	struct masks masks = { 0 };
	struct iovec iov = { .iov_base = &masks, .iov_len = sizeof(masks) };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return;
	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_ARM_PAC_MASK, &iov) == 0)
		(void)printf("signature 0x%llx\n", (unsigned long long)masks.code);
	(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
	(void)waitpid(pid, &status, 0);
}

int main(void)
{
	static const int sizes[] = { 52, 48, 47, 42, 39, 36 };
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uintptr_t half = (uintptr_t)1 << (sizes[i] - 1);
		void *at = mmap((void *)(half + half / 2), 4096, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (at != MAP_FAILED && (uintptr_t)at >= half) {
			(void)printf("%d\n", sizes[i]);
			(void)fflush(stdout);
			print_signature();
			return 0;
		}
	}
	return 1;
}
