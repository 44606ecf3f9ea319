/* SPDX-License-Identifier: Apache-2.0 */
/* Reads bytes of the file, by offset and by address. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "code/elf/private.h"

/* A write sets the mtime before it changes the content. So what was read before the mtime was
 * compared is the content that was opened. */
static bool was_written(const struct op_elf *elf)
{
	struct stat st;

	return fstat(elf->fd, &st) < 0 || op_elf_stat_mtime_ns(&st) != elf->mtime_ns;
}

static ssize_t read_file(const struct op_elf *elf, uint64_t off, void *buf, size_t len)
{
	ssize_t n = op_pread_full(elf->fd, buf, len, off);

	return n >= 0 && was_written(elf) ? -ESTALE : n;
}

static int read_direct(const struct op_elf *elf, uint64_t off, void *buf, size_t len)
{
	ssize_t n = read_file(elf, off, buf, len);

	if (n < 0)
		return (int)n;
	return (size_t)n < len ? -ENODATA : 0;
}

/* Move the window so that it starts at the page of @off. */
static int move_window(struct op_elf *elf, uint64_t off)
{
	ssize_t n;

	if (!elf->window) {
		elf->window = malloc(OP_ELF_WINDOW_BYTES);
		if (!elf->window)
			return -ENOMEM;
	}
	elf->window_len = 0;
	n = read_file(elf, off, elf->window, OP_ELF_WINDOW_BYTES);
	if (n < 0)
		return (int)n;
	elf->window_off = off;
	elf->window_len = (size_t)n;
	return 0;
}

static uint64_t work_limit(const struct op_elf *elf)
{
	return elf->data * OP_ELF_WORK_FACTOR + OP_ELF_WORK_MORE;
}

int op_elf_may_work(const struct op_elf *elf, uint64_t bytes)
{
	return bytes > work_limit(elf) ? -EFBIG : 0;
}

int op_elf_work(struct op_elf *elf, uint64_t bytes)
{
	uint64_t now_ns;

	elf->work += bytes;
	if (elf->work <= work_limit(elf))
		return 0;
	now_ns = op_clock_monotonic_ns();
	if (now_ns < elf->work_ns + OP_ELF_WORK_NS)
		return -EFBIG;
	elf->work = bytes;
	elf->work_ns = now_ns;
	return 0;
}

/* Check and account for a read. Returns 1; 0 if @len is 0; or -errno. */
static int begin_read(struct op_elf *elf, uint64_t off, size_t len)
{
	int r;

	if (!op_range_ok(off, len, elf->size))
		return -ENODATA;
	if (!len)
		return 0;
	r = op_elf_work(elf, len + OP_ELF_CALL_WORK);
	return r ? r : 1;
}

static bool is_in_window(const struct op_elf *elf, uint64_t off, size_t len)
{
	return off >= elf->window_off &&
	       op_range_ok(off - elf->window_off, len, elf->window_len);
}

int op_elf_read(struct op_elf *elf, uint64_t off, void *buf, size_t len)
{
	int r = begin_read(elf, off, len);

	if (r <= 0)
		return r;
	if (elf->bytes) {
		memcpy(buf, elf->bytes + off, len);
		return 0;
	}
	if (len > OP_ELF_WINDOW_BYTES / 4)
		return read_direct(elf, off, buf, len);
	if (!is_in_window(elf, off, len)) {
		uint64_t page = OP_ALIGN_DOWN(off, (uint64_t)OP_ELF_WINDOW_BYTES);
		uint64_t start = off + len <= page + OP_ELF_WINDOW_BYTES ? page : off;

		r = move_window(elf, start);
		if (r == -ENOMEM)
			return read_direct(elf, off, buf, len);
		if (r)
			return r;
		if (!is_in_window(elf, off, len))
			return -ENODATA;
	}
	memcpy(buf, elf->window + (off - elf->window_off), len);
	return 0;
}

int op_elf_read_apart(struct op_elf *elf, uint64_t off, void *buf, size_t len)
{
	int r = begin_read(elf, off, len);

	if (r <= 0)
		return r;
	if (elf->bytes)
		memcpy(buf, elf->bytes + off, len);
	else if (is_in_window(elf, off, len))
		memcpy(buf, elf->window + (off - elf->window_off), len);
	else
		return read_direct(elf, off, buf, len);
	return 0;
}

int op_elf_read_kept(struct op_elf *elf, uint64_t off, void *buf, size_t len)
{
	struct op_elf_kept *kept;
	int r;

	if (elf->bytes || !len || len > OP_ELF_KEPT_BYTES)
		return op_elf_read_apart(elf, off, buf, len);
	if (!elf->kept)
		elf->kept = calloc(OP_ELF_KEPT, sizeof(*elf->kept));
	if (!elf->kept)
		return op_elf_read_apart(elf, off, buf, len);
	kept = &elf->kept[op_hash_u64(off) % OP_ELF_KEPT];
	if (kept->off != off || kept->len != len) {
		kept->len = 0;
		r = op_elf_read_apart(elf, off, kept->bytes, len);
		if (r)
			return r;
		kept->off = off;
		kept->len = (uint8_t)len;
	}
	memcpy(buf, kept->bytes, len);
	return 0;
}

/* The PT_LOAD whose file part holds @vaddr, or NULL. */
static const struct op_elf_segment *find_load(const struct op_elf *elf, uint64_t vaddr)
{
	size_t i;

	for (i = 0; i < elf->segments_len; i++) {
		const struct op_elf_segment *s = &elf->segments[i];

		if (s->type == PT_LOAD && vaddr >= s->vaddr &&
		    vaddr - s->vaddr < s->filesz)
			return s;
	}
	return NULL;
}

int op_elf_vaddr_offset(const struct op_elf *elf, uint64_t vaddr, uint64_t len,
			uint64_t *ret)
{
	const struct op_elf_segment *s = find_load(elf, vaddr);

	if (!s || !op_range_ok(vaddr - s->vaddr, len, s->filesz) ||
	    op_add_overflow(s->offset, vaddr - s->vaddr, ret))
		return -ENODATA;
	return 0;
}

int op_elf_read_vaddr(struct op_elf *elf, uint64_t vaddr, void *buf, size_t len)
{
	uint64_t off;
	int r;

	r = op_elf_vaddr_offset(elf, vaddr, len, &off);
	return r ? r : op_elf_read(elf, off, buf, len);
}

int op_elf_read_str(struct op_elf *elf, uint64_t off, uint64_t end, char *buf,
		    size_t size)
{
	size_t done = 0;

	end = OP_MIN(end, elf->size);
	while (done < size && off < end) {
		size_t n = (size_t)OP_MIN(OP_MIN((uint64_t)(size - done), end - off),
					  OP_ELF_STRING_STEP);
		int r = op_elf_read(elf, off, buf + done, n);

		if (r)
			return r;
		if (memchr(buf + done, 0, n))
			return 0;
		done += n;
		off += n;
	}
	return done < size ? -ENODATA : -ENAMETOOLONG;
}
