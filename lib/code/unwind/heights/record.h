/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the frame of an address in x86-64 code from the instructions around it. */
#ifndef OP_CODE_UNWIND_HEIGHTS_RECORD_H
#define OP_CODE_UNWIND_HEIGHTS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OP_HEIGHTS_RECORD_BEFORE = 8192, /* most bytes read before an instruction */
	OP_HEIGHTS_RECORD_AFTER = 64,
	OP_HEIGHTS_SWITCH_BEFORE = 32, /* for op_heights_switch() */
	OP_HEIGHTS_SWITCH_AFTER = 48,
};

/* Does the function around offset @at of @code[@len], which is at @addr, have its frame
 * record at fp there? False: no, or not known. */
bool op_heights_keep_record(const uint8_t *code, size_t len, uint64_t addr, size_t at);
/*
 * Has the code before offset @at of @code[@len] just set sp to another value, and does
 * it return or jump away soon, as where OCaml raises an exception? No unwind data
 * describes the stack there.
 */
bool op_heights_switch(const uint8_t *code, size_t len, size_t at);

#endif
