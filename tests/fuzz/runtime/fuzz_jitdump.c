/* SPDX-License-Identifier: Apache-2.0 */
/* A jitdump file: its header, its records, and what is found of any address. */
#include <stdint.h>
#include <string.h>

#include "runtime/jitdump/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(struct op_jitdump *d, uint64_t addr)
{
	struct op_jitdump_found found;

	if (op_jitdump_find(d, addr, &found) == 1 &&
	    (!*found.name || strlen(found.name) + strlen(found.file) > d->text.len))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_jitdump d;
	size_t at = op_jitdump_header(data, size);
	size_t i;

	op_jitdump_init(&d);
	while (at < size && !d.closed) {
		/* a part may be at hand, as of a record longer than a piece */
		size_t hand = data[at] & 64 ? (size - at) / 2 : size - at;
		int64_t n = op_jitdump_record(&d, data + at, hand, size - at);

		if (n <= 0)
			break;
		if ((uint64_t)n > size - at)
			__builtin_trap();
		at += (size_t)n;
	}
	if (d.entries.len > OP_JITDUMP_ENTRIES_MAX ||
	    d.lines.len > OP_JITDUMP_LINES_MAX || d.text.len > OP_JITDUMP_TEXT_MAX)
		__builtin_trap();
	for (i = 0; i < d.entries.len && i < 256; i++) {
		find(&d, d.entries.data[i].start);
		find(&d, d.entries.data[i].start + d.entries.data[i].size / 2);
		find(&d, d.entries.data[i].start - 1);
	}
	find(&d, 0);
	op_jitdump_deinit(&d);
	return 0;
}
