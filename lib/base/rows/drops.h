/* SPDX-License-Identifier: Apache-2.0 */
/* Why samples are dropped. */
#ifndef OP_BASE_ROWS_DROPS_H
#define OP_BASE_ROWS_DROPS_H

enum op_drop {
#define OP_DROP(NAME, name, sentence) OP_DROP_##NAME,
#include "base/rows/drops.def"
#undef OP_DROP
	OP_DROPS
};

#endif
