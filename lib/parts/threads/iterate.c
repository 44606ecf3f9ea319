/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/threads/iterate.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int op_threads_iterate(int program, op_threads_take_fn take, void *ctx)
{
	_cleanup_close_ int link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
	_cleanup_close_ int fd = link < 0 ? -1 : bpf_iter_create(link);
	_cleanup_free_ uint8_t *buffer = malloc(OP_THREADS_READ_BYTES);
	size_t len = 0;

	if (!buffer)
		return -ENOMEM;
	if (link < 0 || fd < 0)
		return -errno;
	for (;;) {
		ssize_t n = read(fd, buffer + len, OP_THREADS_READ_BYTES - len);
		int64_t taken;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		len += (size_t)n;
		taken = take(ctx, buffer, len);
		if (taken < 0)
			return (int)taken;
		len -= (size_t)taken;
		memmove(buffer, buffer + taken, len);
	}
}
