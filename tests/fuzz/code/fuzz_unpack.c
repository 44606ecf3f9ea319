/* SPDX-License-Identifier: Apache-2.0 */
/* A file of anybody with compressed sections: what they take is bounded, whatever they state. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "recording/lines/debug_budget.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	MEMORY = 1 << 16,
	/* what an unpacked section is aligned to, for each header that fits */
	MARGIN = 16,
	HEADER_BYTES = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	_cleanup_close_ int copy = -1;
	struct debug_memory all;
	struct stat st;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (memory_of_fd(fd, &all) < 0)
		all = (struct debug_memory){ 0, 0, false };
	copy = debug_unpack(fd, MEMORY);
	if (copy < 0)
		return 0;
	if (all.unpacked > MEMORY || fstat(copy, &st) ||
	    (uint64_t)st.st_size > size + all.unpacked + size / HEADER_BYTES * MARGIN)
		abort();
	return 0;
}
