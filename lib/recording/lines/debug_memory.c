/* SPDX-License-Identifier: Apache-2.0 */
/* libdw loads all debug sections of a file when it opens it, and unpacks compressed
 * ones, also the symbol table. libelf allocates the size that a section's header states. */
#include "recording/lines/debug_budget.h"

#include <errno.h>
#include <gelf.h>
#include <malloc.h>
#include <string.h>

enum {
	ZDEBUG_BYTES = 12, /* "ZLIB" and the size, big endian */
	ZDEBUG_SIZE_AT = 4,
};

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The unpacked size of a .zdebug section; 0: it is not one. */
static uint64_t zdebug_size(Elf_Scn *section)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	const uint8_t *bytes = data ? data->d_buf : NULL;
	uint64_t size = 0;
	int i;

	if (!bytes || data->d_size < ZDEBUG_BYTES || memcmp(bytes, "ZLIB", 4) != 0)
		return 0;
	for (i = ZDEBUG_SIZE_AT; i < ZDEBUG_BYTES; i++)
		size = size << 8 | bytes[i];
	return size;
}

/* One of these is enough for libdw. */
static bool is_enough(const char *name)
{
	return strcmp(name, "info") == 0 || strcmp(name, "line") == 0 ||
	       strcmp(name, "frame") == 0;
}

static void add_section(Elf_Scn *section, const GElf_Shdr *header, const char *name,
			struct debug_memory *ret)
{
	static const char plain[] = ".debug_", packed[] = ".zdebug_";
	bool zdebug = strncmp(name, packed, sizeof(packed) - 1) == 0;
	bool debug = zdebug || strncmp(name, plain, sizeof(plain) - 1) == 0;
	uint64_t unpacked = zdebug ? zdebug_size(section) : 0;
	GElf_Chdr compressed;

	if (header->sh_flags & SHF_COMPRESSED && gelf_getchdr(section, &compressed))
		unpacked = compressed.ch_size;
	if (unpacked)
		ret->unpacked = sum_of(ret->unpacked, unpacked);
	if (!debug || header->sh_type == SHT_NOBITS)
		return;
	if (!unpacked)
		ret->mapped = sum_of(ret->mapped, header->sh_size);
	ret->suffices |= is_enough(name + (zdebug ? sizeof(packed) : sizeof(plain)) - 1);
}

struct debug_memory memory_of_elf(Elf *elf)
{
	struct debug_memory sum = { 0, 0, false };
	Elf_Scn *section = NULL;
	const char *name;
	GElf_Shdr header;
	size_t names;
	bool named = elf_getshdrstrndx(elf, &names) == 0;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		name = named ? elf_strptr(elf, names, header.sh_name) : NULL;
		add_section(section, &header, name ? name : "", &sum);
	}
	return sum;
}

int memory_of_fd(int fd, struct debug_memory *ret)
{
	Elf *elf;
	int r = -EINVAL;

	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		*ret = memory_of_elf(elf);
		r = 0;
	}
	(void)elf_end(elf);
	return r;
}

uint64_t memory_in_use(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
	struct mallinfo2 m = mallinfo2();

	return (uint64_t)m.uordblks + m.hblkhd;
#else
	return 0;
#endif
}
