/* SPDX-License-Identifier: Apache-2.0 */
#include "target/remote.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/checked.h"
#include "base/macros.h"

static int remote_read(const struct op_memory *memory, uint64_t addr, void *buf,
		       size_t len)
{
	const struct op_remote *m = op_container_of(memory, struct op_remote, memory);
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec there = { .iov_len = len };
	uint64_t end;
	ssize_t n;

	if (m->gone)
		return -ESRCH;
	if (op_add_overflow(addr, len, &end))
		return -EFAULT;
	there.iov_base =
		(void *)(uintptr_t)addr; /* an address over there, never used here */
	n = process_vm_readv(m->pid, &local, 1, &there, 1, 0);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

void op_remote_init(struct op_remote *m, int pid)
{
	*m = (struct op_remote){ .memory.read = remote_read, .pid = pid };
}
