/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the places in BEAM's file that lead to its code and processes. */
#ifndef OP_RUNTIME_BEAM_IMAGE_H
#define OP_RUNTIME_BEAM_IMAGE_H

#include <stdint.h>

#include "base/log.h"
#include "code/elf/file.h"

/* ELF addresses, and an offset. */
struct op_beam_image {
	uint64_t list;	    /* __jit_debug_descriptor */
	uint64_t key;	    /* of a thread's ErtsSchedulerData; 4 bytes */
	uint64_t caller[2]; /* process_main(), which calls the scheduler's loop */
	uint32_t current;   /* ErtsSchedulerData.current_process */
};

/* Returns 1; 0 if @elf is not BEAM; -ENOTSUP, which was logged; or -errno. */
int op_runtime_beam_image(struct op_elf *elf, const char *path, struct op_log *log,
			  struct op_beam_image *ret);

#endif
