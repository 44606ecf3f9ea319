/* SPDX-License-Identifier: Apache-2.0 */
/* A file as memory, of which the pages that were read last are kept. */
#ifndef OP_RUNTIME_DOTNET_PE_FILE_H
#define OP_RUNTIME_DOTNET_PE_FILE_H

#include <stdint.h>

#include "base/memory.h"

struct op_dotnet_file {
	struct op_memory memory; /* an address is an offset in the file */
	int fd;			 /* borrowed */
	uint64_t size;
	uint32_t slots;
	uint64_t *page; /* 1 + the number of the page in each slot */
	uint8_t *bytes;
};

/* Keep @slots pages of @fd, whose file has at most @max bytes. Returns 0, -EFBIG or -errno. */
int op_runtime_dotnet_file_init(struct op_dotnet_file *f, int fd, uint32_t slots,
				uint64_t max);
void op_runtime_dotnet_file_deinit(struct op_dotnet_file *f);

#endif
