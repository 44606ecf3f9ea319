/* SPDX-License-Identifier: Apache-2.0 */
/* Globs, packages, names and files of Perl in memory of any bytes. Input: version, then the
 * memory. A name ends. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "input.h"
#include "runtime/perl/sub.h"

enum {
	BASE = 0x1000,
	TRIES = 16,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const versions[] = { "5.28", "5.32", "5.36", "5.42" };
	struct input in = { { read_input }, data + 1, size ? size - 1 : 0, BASE };
	struct op_perl_layout layout;
	struct op_perl_subs subs;
	uint64_t i;

	if (!size ||
	    op_layouts_find(NULL, &op_runtime_perl_layouts,
			    versions[data[0] % OP_ARRAY_SIZE(versions)], &layout) < 0)
		return 0;
	op_runtime_perl_subs_init(&subs, &in.memory, &layout, data[0] & 0x80);
	for (i = 0; i < TRIES; i++) {
		const uint64_t words[OP_PERL_FRAME_WORDS] = {
			BASE + (i & 3) * 64, i,
			(BASE + (i & 7) * 64) | i << 4 << OP_PERL_KIND_SHIFT
		};
		const struct op_perl_sub *sub;

		subs.window = (uint32_t)i / 4;
		(void)op_runtime_perl_subs_keep(&subs, words[0], (uint32_t)(i % 3 + 1),
						&in.memory);
		if (op_runtime_perl_subs_get(&subs, words, &sub) < 0)
			continue;
		/* a byte of Latin-1 becomes two */
		if (strlen(sub->name) > 4 * OP_PERL_NAME_MAX + 16 ||
		    strlen(sub->file) > 2 * OP_PERL_FILE_MAX)
			abort();
	}
	op_runtime_perl_subs_deinit(&subs);
	return 0;
}
