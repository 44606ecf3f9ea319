/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by both decoders: the value of a load. */
#include "code/decode/decode.h"

struct op_decode_value op_decode_load(const struct op_decode_input *in,
				      struct op_decode_value at, uint32_t bytes)
{
	struct op_decode_value v = { OP_DECODE_UNKNOWN, 0, 0 };

	if (at.kind == OP_DECODE_CONST && bytes == 4) {
		v.kind = OP_DECODE_MEMORY;
		v.at = at.at;
	} else if (at.kind == OP_DECODE_CONST && bytes == 8) {
		/* it is a slot of the global offset table */
		if (op_memory_read(in->memory, at.at, &v.at, sizeof(v.at)) == 0)
			v.kind = OP_DECODE_CONST;
	} else if (at.kind == OP_DECODE_TP && bytes == 8) {
		v.kind = OP_DECODE_TP_MEMORY;
		v.at = at.at;
	}
	return v;
}
