/* SPDX-License-Identifier: Apache-2.0 */
/* Examines a PHP executable: its version, its layout and where its functions are. */
#ifndef OP_RUNTIME_PHP_IMAGE_H
#define OP_RUNTIME_PHP_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "code/elf/file.h"
#include "runtime/php/layout.h"
#include "runtime/runtime.h"

#include "op_php.h"

/* Addresses are ELF addresses. */
struct op_php_image {
	struct op_php_layout layout;
	uint16_t machine;
	uint16_t version;  /* 0x0804 */
	bool registers;	   /* the loop keeps its frame in a register (hybrid VM) */
	uint64_t executor; /* executor_globals. For threads, executor_globals_offset */
	/* tsrm_get_ls_cache_tcb_offset(), which returns where a thread has the address of
	 * its globals; 0: PHP is not built for threads */
	uint64_t threads;
	uint64_t body;	   /* an address in the loop's body; 0: not found */
	bool body_fp;	   /* its CFA is relative to fp, not to sp */
	uint32_t body_cfa; /* bytes */
	uint64_t beginner[OP_PHP_BEGINNERS][2]; /* as in struct op_php */
};

/* Like probe() of struct op_runtime_ops, with the image in *@ret. */
int op_runtime_php_image(struct op_elf *elf, const char *path,
			 const struct op_layouts *layouts, struct op_log *log,
			 struct op_php_image *ret, struct op_runtime_loop *ret_loop);

#endif
