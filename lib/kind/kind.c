/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of kinds. */
#include "kind/kind.h"

static const struct op_kind *const KINDS[OP_KINDS] = {
#define OP_KIND(number, upper, lower) [number] = &op_kind_##lower,
#include "op_kinds.def"
#undef OP_KIND
};

const struct op_kind *const *op_kinds(void)
{
	return KINDS;
}

const struct op_kind *op_kind_of(uint32_t event)
{
	return event < OP_KINDS ? KINDS[event] : NULL;
}
