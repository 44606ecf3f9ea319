/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as x86-64 code that nothing describes. */
#include <stdlib.h>
#include <string.h>

#include "code/unwind/heights/heights.h"
#include "code/unwind/heights/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	size_t rows;
	size_t last;
	size_t size;
	const uint8_t *code;
};

static int read_code(void *data, size_t off, void *buf, size_t len)
{
	const struct seen *seen = data;

	if (off > seen->size || len > seen->size - off)
		abort();
	memcpy(buf, seen->code + off, len);
	return 0;
}

static int on_rule(void *data, size_t off, struct op_unwind_rule rule)
{
	struct seen *seen = data;

	if (off >= seen->size || (seen->rows && off < seen->last))
		abort();
	if (rule.cfa == OP_CFA_SP && rule.cfa_off < 8)
		abort();
	if (rule.cfa != OP_CFA_INVALID && rule.cfa != OP_CFA_SIGNAL &&
	    rule.cfa != OP_CFA_STOP && !(rule.save & OP_SAVE_CHECK))
		abort();
	seen->last = off;
	seen->rows++;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct op_unwind_rule none = { .cfa = OP_CFA_INVALID };
	struct seen seen = { .size = size, .code = data };
	const struct op_heights_code from = { .read = read_code,
					      .data = &seen,
					      .len = size,
					      .addr = size,
					      .made = size & 1,
					      .amid = size & 2 };
	struct op_heights *h = NULL;

	if (size && op_heights_new(&from, none, &h) == 0 &&
	    op_heights_on(h, NULL, on_rule, &seen) == 0 && !seen.rows)
		abort();
	op_heights_free(h);
	if (size) {
		(void)op_heights_keep_record(data, size, size, size / 2);
		(void)op_heights_switch(data, size, size / 2);
	}
	return 0;
}
