/* SPDX-License-Identifier: Apache-2.0 */
/* Where the value of a probe is when it is hit: an offset into the context of its program. */
#include <errno.h>

#include "base/macros.h"
#include "probe/spec.h"

enum {
	WORD_BYTES = 8,
};

/* Offsets into struct pt_regs: a function's arguments by the machine's calling convention, and
 * what it returns. */
#if defined(__x86_64__)
static const uint16_t ARGUMENTS[] = { 112, 104, 96, 88, 72, 64 }; /* di si dx cx r8 r9 */
static const uint16_t RETURNED = 80;				  /* ax */
#elif defined(__aarch64__)
static const uint16_t ARGUMENTS[] = { 0, 8, 16, 24, 32, 40, 48, 56 }; /* x0 to x7 */
static const uint16_t RETURNED = 0;
#endif

int op_probe_value_place(const struct op_probe_spec *spec,
			 const struct op_probe_place *place, uint32_t site,
			 struct op_argument *ret)
{
	const struct op_probe_value *value = &spec->value;
	struct op_argument a = {
		.place = OP_ARGUMENT_REGISTER,
		.bytes = value->bytes,
		.is_signed = value->is_signed,
	};

	if (spec->type == OP_PROBE_STATIC) {
		/* the note says where it is, and how wide */
		if (value->index >= place->arguments_len[site])
			return -ERANGE;
		*ret = place->argument[site][value->index];
		return 0;
	}
	if (spec->type == OP_PROBE_TRACEPOINT) {
		a.reg = (uint16_t)(value->index * WORD_BYTES);
	} else if (spec->is_return) {
		a.reg = RETURNED;
	} else {
		if (value->index >= OP_ARRAY_SIZE(ARGUMENTS))
			return -ERANGE;
		a.reg = ARGUMENTS[value->index];
	}
	*ret = a;
	return 0;
}
