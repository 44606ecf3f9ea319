/* SPDX-License-Identifier: Apache-2.0 */
/* Indirect functions of this C library: the code that the dynamic linker has chosen is among the
 * implementations that were found. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "parts/probes/indirect.h"
#include "parts/probes/usdt.h"
#include "test.h"

static const char *const FUNCTION[] = { "strlen", "memcpy", "memset",  "strchr",
					"strcmp", "memchr", "strnlen", "wcslen" };

static void check(struct op_elf *elf, void *libc, uint64_t base, const char *name)
{
	struct op_probe_place place = { 0 };
	struct op_elf_symbol symbol;
	uint64_t offset = 0;
	uint32_t i;

	if (op_elf_find_symbol(elf, name, &symbol) <= 0 || symbol.type != STT_GNU_IFUNC)
		return;
	CHECK_INT(op_probe_indirect(elf, &symbol, &place), 0);
	CHECK_INT(op_probe_offset(elf, (uintptr_t)dlsym(libc, name) - base, &offset), 0);
	for (i = 0; i < place.sites_len && place.site[i] != offset; i++)
		;
	printf("  %s has %u implementations\n", name, place.sites_len);
	CHECK(i < place.sites_len);
}

static void test_libc(void)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	/* a sanitizer's own functions come before those of the library */
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct link_map *map;
	Dl_info info;
	size_t i;

	CHECK(libc);
	CHECK(dladdr1((void *)(uintptr_t)dlsym(libc, "getpid"), &info, (void **)&map,
		      RTLD_DL_LINKMAP));
	CHECK_INT(op_elf_open_path(info.dli_fname, &elf), 0);
	for (i = 0; i < sizeof(FUNCTION) / sizeof(FUNCTION[0]); i++)
		check(elf, libc, map->l_addr, FUNCTION[i]);
	CHECK_INT(dlclose(libc), 0);
}

/* A resolver that is no code: nothing is found. */
static void test_none(void)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	struct op_elf_symbol symbol = { .value = 0, .size = 64 };
	struct op_probe_place place;

	CHECK_INT(op_elf_open_path("/proc/self/exe", &elf), 0);
	CHECK_INT(op_probe_indirect(elf, &symbol, &place), -EADDRNOTAVAIL);
	CHECK_INT(place.sites_len, 0);
}

TEST_MAIN({ "libc", test_libc }, { "none", test_none })
