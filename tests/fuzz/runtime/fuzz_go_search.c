/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the variables of Go's memory profile, in an ELF file of any content. The inputs
 * are those of tests/unit/runtime/go/program.h, and what was made of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "code/elf/file.h"
#include "code/elf/gopclntab.h"
#include "runtime/go/search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CALLS_MAX = OP_GO_SEARCHED_MAX / OP_ALLOWANCE_STEPS + 2,
};

static void check(struct op_elf *elf, uint64_t at, uint64_t width)
{
	const struct op_elf_segment *segment;
	size_t len;
	size_t i;

	segment = op_elf_segments(elf, &len);
	for (i = 0; i < len; i++)
		if (at >= segment[i].vaddr && at - segment[i].vaddr < segment[i].memsz)
			break;
	if (i == len || at % width)
		abort();
}

static void search(struct op_elf *elf, struct op_gopclntab *table, uint32_t minor)
{
	struct op_go_search whole = { 0 };
	struct op_go_search sliced = { 0 };
	struct op_go_buckets_at at = { 0 };
	struct op_go_buckets_at again = { 0 };
	int r = op_go_search(&whole, elf, table, minor, NULL, &at);
	int calls = 0;
	int other;

	if (r > 0) {
		check(elf, at.list, 8);
		check(elf, at.rate, 8);
		check(elf, at.cycle, 4);
	} else if (at.list || at.rate || at.cycle) {
		abort();
	}
	do {
		struct op_allowance part = op_allowance_within(NULL, 1);

		if (++calls > CALLS_MAX)
			abort();
		other = op_go_search(&sliced, elf, table, minor, &part, &again);
	} while (other == -EINPROGRESS);
	/* the work on a file is limited by the second */
	if (r >= 0 && other >= 0 && (r != other || memcmp(&at, &again, sizeof(at)) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t minors[] = { 21, 26 };
	_cleanup_(op_gopclntab_freep) struct op_gopclntab *table = NULL;
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	uint8_t *copy = malloc(size ? size : 1);
	size_t i;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (op_elf_open_bytes(copy, size, &elf)) {
		free(copy);
		return 0;
	}
	if (op_gopclntab_open(elf, &table) == 0)
		for (i = 0; i < OP_ARRAY_SIZE(minors); i++)
			search(elf, table, minors[i]);
	return 0;
}
