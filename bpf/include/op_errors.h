/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The numbers of op_errors.def as an enum. */
#ifndef OP_ERRORS_H
#define OP_ERRORS_H

enum op_error {
	OP_ERROR_FIRST = 32,
#define OP_ERROR(number, name, sentence) OP_ERROR_##name = number,
#include "op_errors.def"
#undef OP_ERROR
	OP_ERROR_LIMIT = 160, /* greater than every number, now and later */
};

#define OP_ERROR(number, name, sentence)                                                 \
	_Static_assert((number) >= OP_ERROR_FIRST && (number) < OP_ERROR_LIMIT, #name);
#include "op_errors.def"
#undef OP_ERROR

#endif
