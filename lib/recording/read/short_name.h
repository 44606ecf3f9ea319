/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of C++ and Rust functions that have no room. What tells functions apart best is kept:
 * first the parameters go, then what is nested in template arguments, then these. What was
 * cut is a "…"; --callers and --callees take such names.
 */
#ifndef OP_RECORDING_READ_SHORT_NAME_H
#define OP_RECORDING_READ_SHORT_NAME_H

#define SHORT_MARK "…"

/* Shorten @name in place, as far as it can be, towards @columns. */
void name_shorten(char *name, int columns);

#endif
