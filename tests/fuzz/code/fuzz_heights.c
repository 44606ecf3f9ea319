/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as x86-64 code that nothing describes. */
#include <stdlib.h>

#include "code/unwind/heights/heights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	size_t rows;
	size_t last;
	size_t size;
};

static int on_rule(void *data, size_t off, struct op_unwind_rule rule)
{
	struct seen *seen = data;

	if (off >= seen->size || (seen->rows && off < seen->last))
		abort();
	if (rule.cfa == OP_CFA_SP && rule.cfa_off < 8)
		abort();
	if (rule.cfa != OP_CFA_INVALID && rule.cfa != OP_CFA_SIGNAL &&
	    !(rule.save & OP_SAVE_CHECK))
		abort();
	seen->last = off;
	seen->rows++;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct op_unwind_rule none = { .cfa = OP_CFA_INVALID };
	struct seen seen = { .size = size };
	struct op_heights *h = NULL;

	if (size && op_heights_new(data, size, size, none, &h) == 0 &&
	    op_heights_on(h, NULL, on_rule, &seen) == 0 && !seen.rows)
		abort();
	op_heights_free(h);
	return 0;
}
