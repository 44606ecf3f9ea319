/* SPDX-License-Identifier: Apache-2.0 */
/* The value of a hex digit, independent of the locale. */
#ifndef OP_BASE_HEX_H
#define OP_BASE_HEX_H

/* The value of a hex digit of either case; -1 if @c is not one. */
static inline int op_hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

#endif
