/* SPDX-License-Identifier: Apache-2.0 */
/* libelf before 0.189 does not know sections compressed with zstd. It gets a copy of
 * the file in memory, with those sections unpacked. */
#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "recording/lines/debug_budget.h"

enum {
	BY_ZSTD = 2, /* ELFCOMPRESS_ZSTD, which older headers lack */
	ALIGNMENT = 16,
};

/* The compression header of a section by zstd. */
static bool is_zstd(Elf_Scn *section, const GElf_Shdr *header, GElf_Chdr *ret)
{
	return header->sh_flags & SHF_COMPRESSED && gelf_getchdr(section, ret) &&
	       ret->ch_type == BY_ZSTD;
}

static bool has_zstd(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Chdr packed;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && is_zstd(section, &header, &packed))
			return true;
	return false;
}

static bool copy_all(int to, int from, uint64_t memory)
{
	struct stat st;
	off_t at = 0;

	if (fstat(from, &st) < 0 || (uint64_t)st.st_size > memory)
		return false;
	while (at < st.st_size)
		if (sendfile(to, from, &at, (size_t)(st.st_size - at)) <= 0)
			return false;
	return true;
}

/* Append the section's bytes to @copy, and update its header. */
static bool unpack(int copy, const Elf64_Ehdr *file, Elf_Scn *section,
		   const GElf_Chdr *packed)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	_cleanup_free_ void *bytes = malloc(packed->ch_size + 1);
	off_t at = lseek(copy, 0, SEEK_END);
	Elf64_Shdr header;
	size_t len;
	off_t where = (off_t)(file->e_shoff + elf_ndxscn(section) * sizeof(header));

	if (!data || !bytes || at < 0 || data->d_size < sizeof(Elf64_Chdr) ||
	    pread(copy, &header, sizeof(header), where) != sizeof(header))
		return false;
	len = ZSTD_decompress(bytes, packed->ch_size,
			      (const char *)data->d_buf + sizeof(Elf64_Chdr),
			      data->d_size - sizeof(Elf64_Chdr));
	at = (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	header.sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	header.sh_offset = (uint64_t)at;
	header.sh_size = packed->ch_size;
	header.sh_addralign = packed->ch_addralign;
	return !ZSTD_isError(len) && len == packed->ch_size &&
	       lseek(copy, at, SEEK_SET) == at && op_write_full(copy, bytes, len) == 0 &&
	       pwrite(copy, &header, sizeof(header), where) == sizeof(header);
}

static bool unpack_all(int copy, Elf *elf, uint64_t memory)
{
	const Elf64_Ehdr *file = elf64_getehdr(elf);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Chdr packed;

	if (!file || file->e_shentsize != sizeof(Elf64_Shdr))
		return false;
	/* The owner may change the file after its headers were added up. */
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    is_zstd(section, &header, &packed) &&
		    (packed.ch_size > memory || !unpack(copy, file, section, &packed)))
			return false;
	return true;
}

int debug_unpack(int fd, uint64_t memory)
{
	_cleanup_close_ int copy = -1;
	struct debug_memory size;
	Elf *elf;
	bool good;

	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	good = elf && elf_kind(elf) == ELF_K_ELF && has_zstd(elf);
	if (good) {
		/* If it does not fit, the code that loads it reports that. */
		size = memory_of_elf(elf);
		good = size.unpacked <= memory && size.mapped <= memory - size.unpacked;
	}
	if (good) {
		copy = memfd_create("otelprof-unpacked", MFD_CLOEXEC);
		good = copy >= 0 && copy_all(copy, fd, memory) &&
		       unpack_all(copy, elf, memory);
	}
	(void)elf_end(elf);
	return good ? OP_TAKE_FD(copy) : -1;
}
