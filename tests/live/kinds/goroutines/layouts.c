/* SPDX-License-Identifier: Apache-2.0 */
/* Prints where the library takes members of runtime.g to be: "MINOR MEMBER OFFSET"; or, of the
 * program FILE, where its code has the variables of the memory profile: "NAME ADDRESS". */
#include <stdio.h>

#include "code/elf/file.h"
#include "code/elf/gopclntab.h"
#include "runtime/go/go.h"
#include "runtime/go/layout.h"
#include "runtime/go/search.h"

enum {
	MINOR_MAX = 64,
};

static int search(const char *path)
{
	_cleanup_(op_gopclntab_freep) struct op_gopclntab *table = NULL;
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	struct op_go_search search = { 0 };
	struct op_go_buckets_at at = { 0 };
	uint64_t began_ns = op_clock_monotonic_ns();
	int r = op_elf_open_path(path, &elf);

	if (r == 0)
		r = op_gopclntab_open(elf, &table);
	if (r == 0)
		r = op_go_search(&search, elf, table, op_go_minor(elf), NULL, &at);
	fprintf(stderr, "%d after %llu functions, %llu us\n", r,
		(unsigned long long)search.next,
		(unsigned long long)(op_clock_monotonic_ns() - began_ns) / 1000);
	if (r <= 0)
		return 1;
	printf("runtime.mbuckets %llx\n", (unsigned long long)at.list);
	printf("runtime.MemProfileRate %llx\n", (unsigned long long)at.rate);
	printf("runtime.mProfCycle %llx\n", (unsigned long long)at.cycle);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int minor;

	if (argc > 1)
		return search(argv[1]);
	for (minor = 0; minor < MINOR_MAX; minor++) {
		const struct op_go_layout *l = op_go_layout(minor);

		if (!l)
			continue;
		printf("%u stack %d\n", minor, OP_GO_STACK);
		printf("%u sched.sp %d\n", minor, OP_GO_SCHED_SP);
		printf("%u sched.pc %d\n", minor, OP_GO_SCHED_PC);
		printf("%u sched.g %d\n", minor, OP_GO_SCHED_G);
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
