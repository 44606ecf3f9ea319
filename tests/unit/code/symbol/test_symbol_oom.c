/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory: everything these folders do, with the n-th allocation failing, for every n
 * until none fails. A call gives a result or a negative code, and leaks nothing (which
 * the sanitizer sees). Linked with --wrap for the allocation functions.
 */
#include <fcntl.h>

#include "base/io.h"
#include "code/elf/gopclntab.h"
#include "code/symbol/demangle.h"
#include "code/symbol/kernel.h"
#include "code/symbol/perfmap.h"
#include "code/symbol/symbols.h"
#include "fail_alloc.h"
#include "go_builder.h"
#include "tools.h"

/* Run @fn, which returns 0 or the error it met, until nothing fails any more. */
static void sweep(int (*fn)(void))
{
	enum {
		RUNS_MAX = 5000
	};
	int n;

	for (n = 0; n < RUNS_MAX; n++) {
		int err;

		failed = false;
		fail_after = n;
		err = fn();
		fail_after = -1;
		CHECK(err <= 0);
		if (err)
			CHECK(failed);
		if (!failed) {
			CHECK_INT(err, 0);
			CHECK(n > 3);
			return;
		}
	}
	TEST_FAIL("no end after %d runs", n);
}

static struct builder b;
static const char *file;

static int count_function(void *data, const struct op_go_function *f)
{
	*(int *)data += 1;
	return 0;
}

static int use_go(void)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	_cleanup_(op_gopclntab_freep) struct op_gopclntab *t = NULL;
	struct op_elf_symbol symbol;
	struct op_go_function f;
	int count = 0;
	void *copy;
	int err;

	copy = __real_malloc(b.len);
	CHECK(copy);
	memcpy(copy, b.bytes, b.len);
	err = op_elf_open_bytes(copy, b.len, &elf);
	if (err) {
		free(copy);
		return err;
	}
	err = op_gopclntab_open(elf, &t);
	if (!err)
		err = op_gopclntab_each(t, count_function, &count);
	if (!err) {
		CHECK_INT(count, 2);
		err = op_gopclntab_find(t, GO_TEXT, &f);
		CHECK(err);
	}
	if (err > 0)
		err = op_elf_find_symbol(elf, "none", &symbol);
	return err;
}

static int use_symbols(void)
{
	struct op_symbols_options options = { .root = "/", .path = file };
	_cleanup_(op_symbols_freep) struct op_symbols *s = NULL;
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	struct op_build_ids ids;
	struct op_symbol found;
	void *data = NULL;
	size_t len;
	int err;

	err = op_elf_open_path(file, &elf);
	if (!err)
		err = op_elf_build_ids(elf, &ids);
	if (!err && op_elf_section(elf, ".debug_x"))
		err = op_elf_section_data(elf, op_elf_section(elf, ".debug_x"), 1 << 20,
					  &data, &len);
	free(data);
	if (!err)
		err = op_symbols_new(elf, &options, NULL, &s);
	if (!err)
		err = op_symbols_find(s, op_elf_entry(elf), &found, 1);
	return err < 0 ? err : 0;
}

static int use_kernel(void)
{
	_cleanup_(op_kernel_symbols_freep) struct op_kernel_symbols *k = NULL;
	struct op_kernel_symbol found;
	int err;

	err = op_kernel_symbols_new(tools_path("proc"), tools_path("sys"), NULL, &k);
	if (err)
		return err;
	/* Names that there is no memory for are not found, and asked for again. */
	err = op_kernel_symbols_find(k, 0xffffffff81000000, &found);
	if (!failed)
		CHECK_INT(err, 1);
	return err < 0 ? err : 0;
}

static int open_map(void *ctx)
{
	return op_open(tools_path("map"), O_RDONLY);
}

static int use_perfmap(void)
{
	_cleanup_(op_perfmap_freep) struct op_perfmap *map = NULL;
	int err;

	err = op_perfmap_new(open_map, NULL, &map);
	if (err)
		return err;
	CHECK_STR(op_perfmap_find(map, 0x1000), "first");
	return 0;
}

static int use_names(void)
{
	static const char *const names[] = {
		"_ZN5space4funcIiEEvT_", "_RNvNtCs1234_7mycrate3foo3bar",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"
	};
	size_t i;

	for (i = 0; i < 3; i++) {
		enum op_mangling mangling;
		char *text = op_demangle(names[i], &mangling);

		CHECK(text || failed);
		free(text);
	}
	return 0;
}

static void test_go(void)
{
	go_build(&b, 120);
	sweep(use_go);
}

static void test_symbols(void)
{
	TOOLS_NEED("gcc");
	TOOLS_NEED("xz");
	tools_write("a.c",
		    "static int f(int n){return n;} int main(int n){return f(n);}\n");
	TOOLS_RUN("gcc -g -O0 -o full a.c && strip -o mini full && "
		  "objcopy -S --only-keep-debug full dbg && "
		  "objcopy --strip-debug full m && xz -kf m && "
		  "objcopy --add-section .gnu_debugdata=m.xz mini && "
		  "objcopy --add-section .debug_x=a.c full && "
		  "objcopy --compress-debug-sections=zlib full");
	file = strdup(tools_path("full"));
	sweep(use_symbols);
	free((char *)file);
	file = strdup(tools_path("mini"));
	sweep(use_symbols);
	free((char *)file);
}

static void test_kernel(void)
{
	TOOLS_RUN("mkdir -p proc sys");
	tools_write("proc/kallsyms",
		    "ffffffff81000000 T first\nffffffff81000100 t second\n"
		    "ffffffffc0000000 t third\t[mod]\n");
	sweep(use_kernel);
}

static void test_perfmap(void)
{
	tools_write("map", "1000 10 first\n2000 10 second\n");
	sweep(use_perfmap);
}

static void test_names(void)
{
	sweep(use_names);
}

TEST_MAIN({ "go", test_go }, { "symbols", test_symbols }, { "kernel", test_kernel },
	  { "perfmap", test_perfmap }, { "names", test_names })
