/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/pe/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/macros.h"

enum {
	PAGE = 4096,
};

/* The page with number @page, of which the part behind the file's end is 0. */
static const uint8_t *get_page(struct op_dotnet_file *f, uint64_t page)
{
	const size_t slot = page % f->slots;
	uint8_t *to = f->bytes + slot * PAGE;
	ssize_t n;

	if (f->page[slot] == page + 1)
		return to;
	f->page[slot] = 0;
	n = pread(f->fd, to, PAGE, (off_t)(page * PAGE));
	if (n < 0)
		return NULL;
	memset(to + n, 0, PAGE - (size_t)n);
	f->page[slot] = page + 1;
	return to;
}

static int file_read(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	struct op_dotnet_file *f = op_container_of(m, struct op_dotnet_file, memory);
	uint8_t *to = buf;

	if (!op_range_ok(addr, len, f->size))
		return -EFAULT;
	while (len) {
		const uint8_t *from = get_page(f, addr / PAGE);
		size_t n = OP_MIN((size_t)(PAGE - addr % PAGE), len);

		if (!from)
			return -EIO;
		memcpy(to, from + addr % PAGE, n);
		to += n;
		addr += n;
		len -= n;
	}
	return 0;
}

int op_runtime_dotnet_file_init(struct op_dotnet_file *f, int fd, uint32_t slots,
				uint64_t max)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	*f = (struct op_dotnet_file){ .memory = { file_read },
				      .fd = fd,
				      .size = (uint64_t)st.st_size,
				      .slots = slots };
	f->page = calloc(slots, sizeof(*f->page));
	f->bytes = malloc((size_t)slots * PAGE);
	return f->page && f->bytes ? 0 : -ENOMEM;
}

void op_runtime_dotnet_file_deinit(struct op_dotnet_file *f)
{
	free(f->page);
	free(f->bytes);
}
