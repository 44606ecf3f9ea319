/* SPDX-License-Identifier: Apache-2.0 */
/* Prints where the library takes members of runtime.g to be: "MINOR MEMBER OFFSET". */
#include <stdio.h>

#include "golang/layout.h"

enum {
	MINOR_MAX = 64,
};

int main(void)
{
	unsigned int minor;

	for (minor = 0; minor < MINOR_MAX; minor++) {
		const struct op_golang_layout *l = op_golang_layout(minor);

		if (!l)
			continue;
		printf("%u stack %d\n", minor, OP_GOLANG_STACK);
		printf("%u sched.sp %d\n", minor, OP_GOLANG_SCHED_SP);
		printf("%u sched.pc %d\n", minor, OP_GOLANG_SCHED_PC);
		printf("%u sched.g %d\n", minor, OP_GOLANG_SCHED_G);
		printf("%u sched.lr %u\n", minor, l->sched_lr);
		printf("%u sched.bp %u\n", minor, l->sched_bp);
		printf("%u syscallsp %u\n", minor, l->syscall_sp);
		printf("%u syscallpc %u\n", minor, l->syscall_sp + 8U);
		if (l->syscall_bp)
			printf("%u syscallbp %u\n", minor, l->syscall_bp);
		printf("%u atomicstatus %u\n", minor, l->status);
		printf("%u goid %u\n", minor, l->goid);
		printf("%u waitreason %u\n", minor, l->wait_reason);
		printf("%u startpc %u\n", minor, l->start_pc);
	}
	return 0;
}
