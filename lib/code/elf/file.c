/* SPDX-License-Identifier: Apache-2.0 */
/* Opens ELF files: the header, the segments and the sections. */
#include "code/elf/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/elf/private.h"

enum {
	BLOCK_BYTES = 512, /* unit of st_blocks, stat(3type) */
};

/* The used members of Elf64_Ehdr. */
struct header {
	uint64_t phoff;
	uint64_t shoff;
	uint32_t phnum;
	uint32_t shnum;
	uint32_t shstrndx;
};

static int read_header(struct op_elf *elf, struct header *ret)
{
	uint8_t bytes[sizeof(Elf64_Ehdr)];
	struct header h = { 0 };
	struct op_reader reader;
	uint16_t phentsize;
	uint16_t shentsize;
	int r;

	r = op_elf_read(elf, 0, bytes, sizeof(bytes));
	if (r)
		return r == -ENODATA ? -ENOEXEC : r;
	if (memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;

	reader = op_reader_init(bytes, sizeof(bytes));
	op_read_skip(&reader, EI_NIDENT);
	elf->type = op_read_u16(&reader);
	elf->machine = op_read_u16(&reader);
	op_read_skip(&reader, 4); /* e_version */
	elf->entry = op_read_u64(&reader);
	h.phoff = op_read_u64(&reader);
	h.shoff = op_read_u64(&reader);
	op_read_skip(&reader, 4 + 2); /* e_flags, e_ehsize */
	phentsize = op_read_u16(&reader);
	h.phnum = op_read_u16(&reader);
	shentsize = op_read_u16(&reader);
	h.shnum = op_read_u16(&reader);
	h.shstrndx = op_read_u16(&reader);

	if (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64)
		return -ENOTSUP;
	if (h.phnum && phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	if (shentsize != sizeof(Elf64_Shdr))
		h.shoff = 0;
	*ret = h;
	return 0;
}

static int read_segments(struct op_elf *elf, const struct header *h)
{
	uint8_t bytes[sizeof(Elf64_Phdr)];
	size_t i;
	int r;

	if (!h->phnum)
		return 0;
	if (h->phnum > OP_ELF_SEGMENTS_MAX ||
	    !op_range_ok(h->phoff, h->phnum * sizeof(bytes), elf->size))
		return -EBADMSG;
	elf->segments = calloc(h->phnum, sizeof(*elf->segments));
	if (!elf->segments)
		return -ENOMEM;
	for (i = 0; i < h->phnum; i++) {
		struct op_elf_segment *s = &elf->segments[i];
		struct op_reader reader = op_reader_init(bytes, sizeof(bytes));

		r = op_elf_read(elf, h->phoff + i * sizeof(bytes), bytes, sizeof(bytes));
		if (r)
			return r;
		s->type = op_read_u32(&reader);
		s->flags = op_read_u32(&reader);
		s->offset = op_read_u64(&reader);
		s->vaddr = op_read_u64(&reader);
		op_read_skip(&reader, 8); /* p_paddr */
		s->filesz = op_read_u64(&reader);
		s->memsz = op_read_u64(&reader);
		s->align = op_read_u64(&reader);
	}
	elf->segments_len = h->phnum;
	return 0;
}

/* Read section header @i; *@ret_name is the offset of its name. */
static int read_section(struct op_elf *elf, uint64_t shoff, size_t i,
			struct op_elf_section *ret, uint32_t *ret_name)
{
	uint8_t bytes[sizeof(Elf64_Shdr)];
	struct op_reader reader = op_reader_init(bytes, sizeof(bytes));
	int r;

	r = op_elf_read(elf, shoff + i * sizeof(bytes), bytes, sizeof(bytes));
	if (r)
		return r;
	*ret_name = op_read_u32(&reader);
	ret->name = "";
	ret->type = op_read_u32(&reader);
	ret->flags = op_read_u64(&reader);
	ret->addr = op_read_u64(&reader);
	ret->offset = op_read_u64(&reader);
	ret->size = op_read_u64(&reader);
	ret->link = op_read_u32(&reader);
	ret->info = op_read_u32(&reader);
	return 0;
}

/* Counts that need more than 16 bits are in the first section header (gABI, "ELF
 * Header"). */
static int extend_header(struct op_elf *elf, struct header *h)
{
	struct op_elf_section first;
	uint32_t name;
	int r;

	if (h->shnum && h->shstrndx != SHN_XINDEX)
		return 0;
	r = read_section(elf, h->shoff, 0, &first, &name);
	if (r)
		return r;
	if (!h->shnum)
		h->shnum = (uint32_t)OP_MIN(first.size, UINT32_MAX);
	if (h->shstrndx == SHN_XINDEX)
		h->shstrndx = first.link;
	return 0;
}

/* Read the section names and add a NUL. Without names all sections are called "". */
static int read_section_names(struct op_elf *elf, const struct header *h, size_t *ret_len)
{
	const struct op_elf_section *s;
	int r;

	*ret_len = 0;
	if (h->shstrndx >= h->shnum)
		return 0;
	s = &elf->sections[h->shstrndx];
	if (s->type != SHT_STRTAB || s->size > OP_ELF_SECTION_NAMES_MAX)
		return 0;
	elf->names = malloc(s->size + 1);
	if (!elf->names)
		return -ENOMEM;
	r = op_elf_read(elf, s->offset, elf->names, s->size);
	if (r)
		return r;
	elf->names[s->size] = 0;
	*ret_len = s->size;
	return 0;
}

static int read_sections(struct op_elf *elf, struct header *h)
{
	_cleanup_free_ uint32_t *names = NULL;
	size_t names_len = 0;
	size_t i;
	int r;

	if (!h->shoff)
		return 0;
	r = extend_header(elf, h);
	if (r)
		return r;
	if (!h->shnum)
		return 0;
	if (h->shnum > OP_ELF_SECTIONS_MAX ||
	    !op_range_ok(h->shoff, h->shnum * sizeof(Elf64_Shdr), elf->size))
		return -EBADMSG;
	elf->sections = calloc(h->shnum, sizeof(*elf->sections));
	names = calloc(h->shnum, sizeof(*names));
	if (!elf->sections || !names)
		return -ENOMEM;
	for (i = 0; i < h->shnum; i++) {
		r = read_section(elf, h->shoff, i, &elf->sections[i], &names[i]);
		if (r)
			return r;
	}
	r = read_section_names(elf, h, &names_len);
	if (r)
		return r;
	for (i = 0; i < h->shnum; i++) {
		if (names[i] < names_len)
			elf->sections[i].name = elf->names + names[i];
	}
	elf->sections_len = h->shnum;
	return 0;
}

static int open_common(struct op_elf *elf)
{
	struct header h;
	int r;

	r = read_header(elf, &h);
	if (!r)
		r = read_segments(elf, &h);
	if (r)
		return r;
	r = read_sections(elf, &h);
	if (r == -ENOMEM || (r && !elf->segments_len))
		return r;
	if (r) {
		/* The section table is cut off or scrambled, as some strippers leave
		 * it. The segments are enough, as for the dynamic linker. */
		free(elf->sections);
		elf->sections = NULL;
		elf->sections_len = 0;
	}
	return 0;
}

int op_elf_open(int fd, struct op_elf **ret)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		return -ENOEXEC;
	elf = calloc(1, sizeof(*elf));
	if (!elf)
		return -ENOMEM;
	elf->fd = fd;
	elf->size = (uint64_t)st.st_size;
	elf->mtime_ns = op_elf_stat_mtime_ns(&st);
	elf->data = OP_MIN(elf->size, (uint64_t)st.st_blocks * BLOCK_BYTES);
	elf->work_ns = op_clock_monotonic_ns();
	r = open_common(elf);
	if (r) {
		elf->fd = -1; /* the caller keeps it */
		return r;
	}
	*ret = OP_TAKE_PTR(elf);
	return 0;
}

int op_elf_open_path(const char *path, struct op_elf **ret)
{
	_cleanup_close_ int fd = -1;
	int r;

	/* O_NONBLOCK, because opening a FIFO could block. */
	fd = op_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	r = op_elf_open(fd, ret);
	if (!r)
		fd = -1;
	return r;
}

int op_elf_open_bytes(void *bytes, size_t len, struct op_elf **ret)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	int r;

	elf = calloc(1, sizeof(*elf));
	if (!elf)
		return -ENOMEM;
	elf->fd = -1;
	elf->bytes = bytes;
	elf->size = elf->data = len;
	elf->work_ns = op_clock_monotonic_ns();
	r = open_common(elf);
	if (r) {
		elf->bytes = NULL; /* the caller keeps them */
		return r;
	}
	*ret = OP_TAKE_PTR(elf);
	return 0;
}

struct op_elf *op_elf_free(struct op_elf *elf)
{
	if (!elf)
		return NULL;
	if (elf->fd >= 0)
		(void)close(elf->fd);
	free(elf->bytes);
	free(elf->segments);
	free(elf->sections);
	free(elf->names);
	free(elf->window);
	free(elf->kept);
	free(elf);
	return NULL;
}

uint16_t op_elf_machine(const struct op_elf *elf)
{
	return elf->machine;
}

uint16_t op_elf_type(const struct op_elf *elf)
{
	return elf->type;
}

uint64_t op_elf_entry(const struct op_elf *elf)
{
	return elf->entry;
}

uint64_t op_elf_size(const struct op_elf *elf)
{
	return elf->size;
}

uint64_t op_elf_data(const struct op_elf *elf)
{
	return elf->data;
}

int op_elf_fd(const struct op_elf *elf)
{
	return elf->fd;
}

void op_elf_suspend(struct op_elf *elf)
{
	op_closep(&elf->fd);
	/* The file may be modified before it is opened again, so drop what was read. */
	free(elf->window);
	elf->window = NULL;
	elf->window_len = 0;
	free(elf->kept);
	elf->kept = NULL;
}

int op_elf_take_fd(struct op_elf *elf)
{
	int fd = OP_TAKE_FD(elf->fd);

	op_elf_suspend(elf);
	return fd;
}

bool op_elf_is_suspended(const struct op_elf *elf)
{
	return elf->fd < 0 && !elf->bytes;
}

void op_elf_resume(struct op_elf *elf, int fd)
{
	struct stat st;

	assert(op_elf_is_suspended(elf) && fd >= 0);
	elf->fd = fd;
	if (fstat(fd, &st) == 0)
		elf->mtime_ns = op_elf_stat_mtime_ns(&st);
}

int64_t op_elf_mtime_ns(const struct op_elf *elf)
{
	return elf->mtime_ns;
}

const struct op_elf_segment *op_elf_segments(const struct op_elf *elf, size_t *ret_len)
{
	*ret_len = elf->segments_len;
	return elf->segments;
}

const struct op_elf_section *op_elf_sections(const struct op_elf *elf, size_t *ret_len)
{
	*ret_len = elf->sections_len;
	return elf->sections;
}

const struct op_elf_section *op_elf_section(const struct op_elf *elf, const char *name)
{
	size_t i;

	for (i = 0; i < elf->sections_len; i++) {
		if (strcmp(elf->sections[i].name, name) == 0)
			return &elf->sections[i];
	}
	return NULL;
}
