/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of kinds. */
#include "kind/kind.h"

#include <string.h>

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

const struct op_kind *op_kind_by_name(const char *name, size_t len)
{
	uint32_t i;

	for (i = 0; i < OP_KINDS; i++)
		if (strlen(KINDS[i]->name) == len && !memcmp(KINDS[i]->name, name, len))
			return KINDS[i];
	return NULL;
}
