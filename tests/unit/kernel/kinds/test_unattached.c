/* SPDX-License-Identifier: Apache-2.0 */
/* What is said where a kernel lacks what a kind is attached to: one sentence that names it. */
#include <errno.h>
#include <string.h>

#include "kernel/kinds/kind.h"
#include "test.h"

static const char LOCKS[] =
	"the kind kernel_locks needs the tracepoints "
	"lock:contention_begin and lock:contention_end, which Linux has since 5.19";

static void check(const struct op_kind *kind, const char *tracepoint, int error,
		  const char *want)
{
	char got[OP_KIND_SENTENCE_BYTES];
	size_t hooks = 0;
	size_t i;

	for (i = 0; i < kind->hooks_len; i++) {
		if (strcmp(kind->hooks[i].tracepoint, tracepoint) != 0)
			continue;
		op_kind_unattached(kind, i, error, got);
		if (strcmp(got, want) != 0)
			TEST_FAIL("%s: %s", tracepoint, got);
		hooks++;
	}
	CHECK(hooks > 0);
}

static void test_sentences(void)
{
	/* 5.10 has neither; either may be missed first */
	check(&op_kind_kernel_locks, "contention_begin", -ENOENT, LOCKS);
	check(&op_kind_kernel_locks, "contention_end", -ENOENT, LOCKS);
	check(&op_kind_block_io, "block_rq_issue", -ENOENT,
	      "the kind block_io needs the tracepoint block_rq_issue, which this "
	      "kernel lacks");
	check(&op_kind_kernel_locks, "contention_end", -EPERM,
	      "the kind kernel_locks could not be attached to the "
	      "tracepoint contention_end: Operation not permitted");
}

/* Each kind's sentence is whole. */
static void test_lengths(void)
{
	char got[OP_KIND_SENTENCE_BYTES];
	uint32_t k;
	size_t i;

	for (k = 0; k < OP_KINDS; k++)
		for (i = 0; i < op_kinds()[k]->hooks_len; i++) {
			if (!op_kinds()[k]->hooks[i].tracepoint)
				continue;
			op_kind_unattached(op_kinds()[k], i, -ENOENT, got);
			CHECK(strlen(got) < sizeof(got) - 1);
		}
}

TEST_MAIN({ "sentences", test_sentences }, { "lengths", test_lengths })
