/* SPDX-License-Identifier: Apache-2.0 */
/* Finds by its instructions whether x86-64 code keeps a frame record. */
#ifndef OP_CODE_UNWIND_HEIGHTS_RECORD_H
#define OP_CODE_UNWIND_HEIGHTS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OP_HEIGHTS_RECORD_BEFORE =
		8192, /* the most bytes that are looked at before an instruction */
	OP_HEIGHTS_RECORD_AFTER = 64,
};

/* Has the function around offset @at of @code[@len], which is at @addr, its frame record
 * at fp there? false: no, or not known. */
bool op_heights_keep_record(const uint8_t *code, size_t len, uint64_t addr, size_t at);

#endif
