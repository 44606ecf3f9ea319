/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small programs, compiled and stripped here in each way a distribution does it, and tables
 * built entry by entry. The expected addresses come from nm of the file that was not
 * stripped.
 */
#include "code/symbol/symbols.h"

#include "code/dwarf/eh_hdr.h"

#include "builder.h"
#include "tools.h"

static const char c_source[] =
	"int sink;\n"
	"__attribute__((noinline)) static int quiet(int n) { return sink += n * 3; }\n"
	"__attribute__((noinline)) int loud(int n) { return quiet(n) + quiet(n + sink); }\n"
	"__attribute__((weak, alias(\"loud\"))) int __loud_alias(int);\n"
	"int main(int argc, char **argv) { return loud(argc) ? 0 : 1; }\n";

struct opened {
	struct op_elf *elf;
	struct op_symbols *symbols;
};

static void open_options(struct opened *o, const char *name,
			 const struct op_symbols_options *options)
{
	o->elf = NULL;
	o->symbols = NULL;
	CHECK_OK(op_elf_open_path(tools_path(name), &o->elf));
	CHECK_OK(op_symbols_new(o->elf, options, NULL, &o->symbols));
}

static void close_opened(struct opened *o)
{
	op_symbols_free(o->symbols);
	op_elf_free(o->elf);
}

struct function {
	unsigned long start;
	unsigned long size;
};

static struct function from_nm(const char *file, const char *name)
{
	char *text = tools_output("nm -S %s | grep ' %s$'", file, name);
	struct function f = { 0 };

	CHECK(sscanf(text, "%lx %lx", &f.start, &f.size) == 2);
	free(text);
	return f;
}

static void check_at(struct op_symbols *s, uint64_t vaddr, const char *name,
		     uint64_t start)
{
	struct op_symbol found;

	CHECK_INT(op_symbols_find(s, vaddr, &found, 1), 1);
	CHECK_STR(found.name, name);
	CHECK_INT(found.start, start);
}

static void check_none(struct op_symbols *s, uint64_t vaddr)
{
	struct op_symbol found = { .name = "untouched" };

	CHECK_INT(op_symbols_find(s, vaddr, &found, 1), 0);
	CHECK_STR(found.name, "untouched");
}

/* The functions of @truth, an unstripped file, are found in @file. */
static void check_c_program(const char *file, const char *truth,
			    const struct op_symbols_options *options, bool has_static)
{
	static const char *const names[] = { "loud", "main", "quiet" };
	struct opened o;
	size_t i;

	open_options(&o, file, options);
	for (i = 0; i < (has_static ? 3 : 2); i++) {
		struct function f = from_nm(truth, names[i]);

		check_at(o.symbols, f.start, names[i], f.start);
		check_at(o.symbols, f.start + f.size - 1, names[i], f.start);
	}
	if (!has_static)
		check_none(o.symbols, from_nm(truth, "quiet").start);
	check_none(o.symbols, from_nm(truth, "sink").start);
	check_none(o.symbols, 0);
	check_none(o.symbols, UINT64_MAX);
	CHECK(op_symbols_bytes(o.symbols) < 64 << 10);
	close_opened(&o);
}

static void compile(const char *flags, const char *out)
{
	TOOLS_NEED("gcc");
	tools_write("a.c", c_source);
	TOOLS_RUN("gcc -O1 %s -o %s a.c", flags, out);
}

static void test_plain_static_pie(void)
{
	compile("", "pie");
	check_c_program("pie", "pie", NULL, true);
	compile("-no-pie", "fixed");
	check_c_program("fixed", "fixed", NULL, true);
	compile("-static", "static");
	check_c_program("static", "static", NULL, true);
	compile("-g -Wl,--compress-debug-sections=zlib", "compressed");
	check_c_program("compressed", "compressed", NULL, true);
}

static void test_stripped_has_dynamic_names(void)
{
	compile("-rdynamic", "full");
	TOOLS_RUN("strip -o stripped full");
	check_c_program("stripped", "full", NULL, false);
	/* -Wl,-s without -rdynamic: no names at all, no error. */
	compile("-s", "bare");
	{
		struct opened o;
		struct op_symbol found;

		open_options(&o, "bare", NULL);
		CHECK_INT(op_symbols_find(o.symbols, op_elf_entry(o.elf), &found, 1), 0);
		close_opened(&o);
	}
}

/* Without names a function is known by where it begins, from any address in it. */
static void test_stripped_has_starts(void)
{
	static const char *const names[] = { "loud", "main", "quiet" };
	uint64_t start;
	uint64_t end;
	struct opened o;
	size_t i;

	compile("", "full");
	TOOLS_RUN("strip -o stripped full");
	open_options(&o, "stripped", NULL);
	for (i = 0; i < 3; i++) {
		struct function f = from_nm("full", names[i]);
		uint64_t at;

		check_none(o.symbols, f.start);
		for (at = f.start; at < f.start + f.size; at++) {
			CHECK_INT(op_eh_hdr_function(o.elf, at, &start, &end), 1);
			CHECK_INT(start, f.start);
			CHECK_INT(end, f.start + f.size);
		}
	}
	CHECK_INT(op_eh_hdr_function(o.elf, op_elf_entry(o.elf), &start, &end), 1);
	CHECK_INT(start, op_elf_entry(o.elf));
	CHECK_INT(op_eh_hdr_function(o.elf, 0, &start, &end), 0);
	CHECK_INT(op_eh_hdr_function(o.elf, UINT64_MAX, &start, &end), 0);
	close_opened(&o);
}

/* As above, of more functions than a search reads in one piece; sizes and order are nm's. */
static void test_many_starts(void)
{
	enum {
		MANY = 3000,
	};
	char *pos;
	char *text;
	uint64_t start;
	uint64_t end;
	struct opened o;
	int n = 0;

	TOOLS_NEED("gcc");
	TOOLS_RUN("for i in $(seq %d); do echo \"int f$i(int x) { return x * $i; }\"; "
		  "done >many.c; gcc -O1 -shared -fPIC -o many.so many.c; "
		  "strip -o stripped many.so",
		  MANY);
	open_options(&o, "stripped", NULL);
	pos = text = tools_output("nm -S many.so | grep ' T f'");
	while (*pos) {
		uint64_t at = strtoull(pos, &pos, 16);
		uint64_t size = strtoull(pos, &pos, 16);

		CHECK_INT(op_eh_hdr_function(o.elf, at + size - 1, &start, &end), 1);
		CHECK_INT(start, at);
		CHECK_INT(end, at + size);
		pos = strchr(pos, '\n') + 1;
		n++;
	}
	CHECK_INT(n, MANY);
	free(text);
	close_opened(&o);
}

/* A label without a size names what follows it closely, and no code far behind it. */
static void test_label_ends(void)
{
	struct op_symbol found;
	struct function f;
	struct opened o;
	char *text;

	tools_write("s.s", ".text\n.globl label\nlabel: .skip 65536, 0x90\nret\n");
	TOOLS_RUN("gcc -shared -o label.so s.s");
	open_options(&o, "label.so", NULL);
	text = tools_output("nm label.so | grep ' label$'");
	f.start = strtoul(text, NULL, 16);
	free(text);
	check_at(o.symbols, f.start + 100, "label", f.start);
	CHECK_INT(op_symbols_find(o.symbols, f.start, &found, 1), 1);
	CHECK(found.guessed);
	check_none(o.symbols, f.start + 32768);
	close_opened(&o);
}

/* Stays valid, as tools_path() does not. */
static const char *root_path(void)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s", tools_path("root"));
	return path;
}

static void test_debuglink(void)
{
	struct op_symbols_options options = { 0 };
	struct opened o;
	struct function f;

	compile("-Wl,--build-id=none", "full");
	TOOLS_RUN(
		"rm -rf root && mkdir -p root/usr/bin/.debug root/usr/lib/debug/usr/bin");
	TOOLS_RUN("objcopy --only-keep-debug full prog.debug");
	TOOLS_RUN(
		"strip -o stripped full && objcopy --add-gnu-debuglink=prog.debug stripped");
	options.root = root_path();
	options.path = "/usr/bin/prog";
	f = from_nm("full", "quiet");

	open_options(&o, "stripped", &options);
	check_none(o.symbols, f.start);
	close_opened(&o);

	TOOLS_RUN("cp prog.debug root/usr/bin/");
	check_c_program("stripped", "full", &options, true);
	/* a name that was kept does not stand for all */
	TOOLS_RUN("strip -s -K loud -o kept full && "
		  "objcopy --add-gnu-debuglink=prog.debug kept");
	check_c_program("kept", "full", &options, true);
	TOOLS_RUN("mv root/usr/bin/prog.debug root/usr/bin/.debug/");
	check_c_program("stripped", "full", &options, true);
	TOOLS_RUN("mv root/usr/bin/.debug/prog.debug root/usr/lib/debug/usr/bin/");
	check_c_program("stripped", "full", &options, true);
	/* Of another build: the checksum differs. */
	TOOLS_RUN("printf x >> root/usr/lib/debug/usr/bin/prog.debug");
	open_options(&o, "stripped", &options);
	check_none(o.symbols, f.start);
	close_opened(&o);
}

static void test_build_id_directory(void)
{
	struct op_symbols_options options = { 0 };
	struct opened o;
	struct function f;

	compile("-Wl,--build-id=0xfeed0123456789", "full");
	TOOLS_RUN("rm -rf root && mkdir -p root/usr/lib/debug/.build-id/fe");
	TOOLS_RUN("objcopy --only-keep-debug full "
		  "root/usr/lib/debug/.build-id/fe/ed0123456789.debug");
	TOOLS_RUN("strip -o stripped full && strip -s -K loud -o kept full");
	options.root = root_path();
	check_c_program("stripped", "full", &options, true);
	check_c_program("kept", "full", &options, true);
	f = from_nm("full", "quiet");

	/* Without a root none is looked for. */
	open_options(&o, "stripped", NULL);
	check_none(o.symbols, f.start);
	close_opened(&o);

	/* A link inside the root stays inside; one that leads out is not followed out. */
	TOOLS_RUN("mv root/usr/lib/debug/.build-id/fe/ed0123456789.debug root/d && "
		  "ln -s /d root/usr/lib/debug/.build-id/fe/ed0123456789.debug");
	check_c_program("stripped", "full", &options, true);
	TOOLS_RUN("mv root/d outside.debug && ln -sf %s/outside.debug "
		  "root/usr/lib/debug/.build-id/fe/ed0123456789.debug",
		  tools_make_dir());
	open_options(&o, "stripped", &options);
	check_none(o.symbols, f.start);
	close_opened(&o);

	/* Of another build under the right name. */
	compile("-Wl,--build-id=0xaaaaaaaaaaaaaa", "other");
	TOOLS_RUN("rm root/usr/lib/debug/.build-id/fe/ed0123456789.debug && cp other "
		  "root/usr/lib/debug/.build-id/fe/ed0123456789.debug");
	open_options(&o, "stripped", &options);
	check_none(o.symbols, f.start);
	close_opened(&o);
}

/* "xz -9" and "-9 -T0" ask for more memory than the default, "-6". */
static void check_mini_debug_info(const char *level)
{
	TOOLS_RUN("xz -k -f %s mini; strip -o stripped full; "
		  "objcopy --add-section .gnu_debugdata=mini.xz stripped",
		  level);
	check_c_program("stripped", "full", NULL, true);
	/* a name that was kept does not stand for all */
	TOOLS_RUN("strip -s -K loud -o kept full; "
		  "objcopy --add-section .gnu_debugdata=mini.xz kept");
	check_c_program("kept", "full", NULL, true);
}

/* As Fedora makes it: what .dynsym lacks, compressed with xz. */
static void test_mini_debug_info(void)
{
	TOOLS_NEED("xz");
	compile("-rdynamic", "full");
	TOOLS_RUN(
		"nm -D full --format=posix --defined-only | cut -d' ' -f1 | sort > dyn; "
		"nm full --format=posix --defined-only | "
		"awk '$2==\"T\"||$2==\"t\"{print $1}' | sort > all; "
		"comm -13 dyn all > keep; "
		"objcopy --only-keep-debug full debug; "
		"objcopy -S --remove-section .comment --keep-symbols=keep debug mini; "
		"grep -q quiet keep && ! grep -q loud keep");
	check_mini_debug_info("-9");
	check_mini_debug_info("-9 -T0");
	check_mini_debug_info("");
	/* Damaged: the rest goes on. */
	TOOLS_RUN(
		"strip -o broken full; dd if=mini.xz of=cut.xz bs=100 count=2 status=none; "
		"objcopy --add-section .gnu_debugdata=cut.xz broken");
	check_c_program("broken", "full", NULL, false);
}

/* What the linker saw is what is found, for every function of this program. */
static void test_every_function_of_nm(void)
{
	char *text;
	char *save = NULL;
	char *row;
	struct opened o;
	int rows = 0;

	TOOLS_RUN("cp /proc/%d/exe self", (int)getpid());
	open_options(&o, "self", NULL);
	text = tools_output("nm -S self | grep -i ' [tw] ' | awk 'NF==4'");
	for (row = strtok_r(text, "\n", &save); row; row = strtok_r(NULL, "\n", &save)) {
		struct op_symbol found;
		unsigned long start;
		unsigned long size;
		char name[1024];

		CHECK(sscanf(row, "%lx %lx %*c %1023s", &start, &size, name) == 3);
		if (strncmp(name, "op_", 3) != 0 || strchr(name, '@'))
			continue;
		CHECK_INT(op_symbols_find(o.symbols, start + size - 1, &found, 1), 1);
		CHECK_STR(found.name, name);
		CHECK_INT(found.start, start);
		rows++;
	}
	CHECK(rows > 50);
	free(text);
	close_opened(&o);
}

static void test_cxx(void)
{
	struct op_symbol found;
	struct function f;
	struct opened o;

	TOOLS_NEED("g++");
	tools_write(
		"a.cc",
		"#include <vector>\n"
		"namespace space { template <typename T> struct Box {\n"
		"  __attribute__((noinline)) int put(std::vector<T> const &v, void (*f)(int)) {\n"
		"    f(1); return (int)v.size(); }\n"
		"};\n"
		"template struct Box<long>; }\n"
		"extern \"C\" __attribute__((noinline)) int plain() { return 3; }\n"
		"int main() { return plain(); }\n");
	TOOLS_RUN("g++ -O1 -o cxx a.cc");
	open_options(&o, "cxx", NULL);
	f = from_nm("cxx", "_ZN5space3BoxIlE3putERKSt6vectorIlSaIlEEPFviE");
	CHECK_INT(op_symbols_find(o.symbols, f.start, &found, 1), 1);
	CHECK_STR(found.name,
		  "space::Box<long>::put(std::vector<long, std::allocator<long> > "
		  "const&, void (*)(int))");
	CHECK_STR(found.system_name, "_ZN5space3BoxIlE3putERKSt6vectorIlSaIlEEPFviE");
	CHECK_STR(found.frame_type, "native");
	f = from_nm("cxx", "plain");
	CHECK_INT(op_symbols_find(o.symbols, f.start, &found, 1), 1);
	CHECK_STR(found.name, "plain");
	CHECK_STR(found.system_name, "");
	close_opened(&o);
}

static void check_rust(const char *flags)
{
	struct op_symbol found;
	struct opened o;
	unsigned long start;
	char *text;

	TOOLS_RUN("rustc -C opt-level=1 %s -o rs a.rs", flags);
	open_options(&o, "rs", NULL);
	text = tools_output("nm rs | grep 'workhorse' | head -1");
	CHECK(sscanf(text, "%lx", &start) == 1);
	CHECK_INT(op_symbols_find(o.symbols, start, &found, 1), 1);
	CHECK_STR(found.name, "a::inner::workhorse");
	CHECK(strstr(text, found.system_name) && found.system_name[0] == '_');
	CHECK_STR(found.frame_type, "rust");
	free(text);
	text = tools_output("nm rs | grep ' main$'");
	CHECK(sscanf(text, "%lx", &start) == 1);
	CHECK_INT(op_symbols_find(o.symbols, start, &found, 1), 1);
	CHECK_STR(found.name, "main");
	CHECK_STR(found.frame_type, "native");
	free(text);
	close_opened(&o);
}

static void test_rust(void)
{
	TOOLS_NEED("rustc");
	tools_write("a.rs",
		    "mod inner { #[inline(never)] pub fn workhorse(n: usize) -> usize {\n"
		    " n.wrapping_mul(3) } }\n" /* black_box() is of Rust 1.66 */
		    "fn main() { std::process::exit((inner::workhorse("
		    "std::env::args().count()) == 0) as i32) }\n");
	/* New compilers have v0 by default, old ones the legacy form. */
	check_rust("-C symbol-mangling-version=v0");
	check_rust("");
}

static void test_go(void)
{
	struct op_symbol found[4];
	struct opened o;
	struct function f;
	uint64_t pc;
	bool inlined = false;

	TOOLS_NEED("go");
	tools_write("main.go",
		    "package main\n\nvar sink int\n\n"
		    "func small(n int) int { return n*n + sink }\n\n"
		    "//go:noinline\nfunc big(n int) int {\n\treturn small(n) + 1\n}\n\n"
		    "func main() { sink = big(3) }\n");
	TOOLS_RUN("CGO_ENABLED=0 GOTOOLCHAIN=local go build -o gobin main.go");
	TOOLS_RUN("strip -o gostripped gobin");
	f = from_nm("gobin", "main.big");
	open_options(&o, "gostripped", NULL);
	for (pc = f.start; pc < f.start + f.size; pc++) {
		int n = op_symbols_find(o.symbols, pc, found, 4);

		CHECK(n == 1 || n == 2);
		CHECK_STR(found[n - 1].name, "main.big");
		CHECK_STR(found[n - 1].frame_type, "go");
		CHECK_INT(found[n - 1].start, f.start);
		/* Which Go's table has from 1.20 on. */
		CHECK_INT(found[n - 1].start_line, tools_go_minor() >= 20 ? 8 : 0);
		if (n == 2) {
			inlined = true;
			CHECK_STR(found[0].name, "main.small");
			CHECK_INT(found[0].line, 5);
			CHECK_INT(found[1].line, 9);
		}
		CHECK_INT(op_symbols_find(o.symbols, pc, found, 1), 1);
		CHECK_STR(found[0].name, "main.big");
	}
	CHECK(inlined);
	CHECK(op_symbols_bytes(o.symbols) < 64 << 10);
	close_opened(&o);
}

static void test_assembly(void)
{
	struct opened o;
	struct function f = { 0 };
	char *text;

	TOOLS_NEED("gcc");
	tools_write("a.s", ".text\n"
			   ".globl first\nfirst: nop\nnop\n"
			   "first.loop: nop\nnop\n" /* inside: a label */
			   ".globl second\nsecond: nop\n.skip 15, 0x90\n"
			   ".globl third\n.type third, @function\nthird: nop\n"
			   "third.label: nop\n.size third, . - third\n"
			   ".skip 14, 0xcc\n" /* nobody's */
			   ".globl fourth\nfourth: nop\n");
	TOOLS_RUN("gcc -shared -nostdlib -o asm a.s");
	text = tools_output("nm asm | grep ' first$'");
	CHECK(sscanf(text, "%lx", &f.start) == 1);
	free(text);
	open_options(&o, "asm", NULL);
	check_at(o.symbols, f.start, "first", f.start);
	check_at(o.symbols, f.start + 3, "first", f.start);
	check_at(o.symbols, f.start + 4, "second", f.start + 4);
	check_at(o.symbols, f.start + 19, "second", f.start + 4);
	check_at(o.symbols, f.start + 20, "third", f.start + 20);
	check_at(o.symbols, f.start + 21, "third", f.start + 20);
	check_none(o.symbols, f.start + 22);
	check_none(o.symbols, f.start + 35);
	check_at(o.symbols, f.start + 36, "fourth", f.start + 36);
	check_none(o.symbols, f.start + 37);
	close_opened(&o);
}

static struct builder b;

static void open_built(struct opened *o)
{
	o->elf = NULL;
	o->symbols = NULL;
	CHECK_OK(op_elf_open_bytes(builder_copy(&b), b.len, &o->elf));
	CHECK_OK(op_symbols_new(o->elf, NULL, NULL, &o->symbols));
}

static void test_aliases_and_nesting(void)
{
	enum {
		T = BUILDER_BASE + 0x200
	};
	static const struct builder_symbol symbols[] = {
		{ "__write", T, 16, STB_GLOBAL, STT_FUNC, 1 },
		{ "write", T, 16, STB_WEAK, STT_FUNC, 1 },
		{ "local_write", T, 16, STB_LOCAL, STT_FUNC, 1 },
		{ "a", T, 0, STB_GLOBAL, STT_FUNC, 1 },
		{ "weak", T + 16, 16, STB_WEAK, STT_FUNC, 1 },
		{ "strong", T + 16, 16, STB_GLOBAL, STT_FUNC, 1 },
		{ "static_only", T + 32, 16, STB_LOCAL, STT_FUNC, 1 },
		{ "outer", T + 48, 100, STB_GLOBAL, STT_FUNC, 1 },
		{ "nested", T + 58, 10, STB_LOCAL, STT_FUNC, 1 },
		{ "versioned@@LIB_1.0", T + 160, 8, STB_GLOBAL, STT_FUNC, 1 },
		{ "*Crate(Int32)@Work#spin<Int32>", T + 152, 4, STB_LOCAL, STT_FUNC, 1 },
		{ "camlOps__@", T + 156, 2, STB_LOCAL, STT_FUNC, 1 },
		{ "other@plain", T + 158, 2, STB_LOCAL, STT_FUNC, 1 },
		{ "function_of_a_label", T + 168, 8, STB_LOCAL, STT_FUNC, 1 },
		{ ".LTHUNK0.lto_priv.0", T + 168, 8, STB_LOCAL, STT_FUNC, 1 },
		{ "data", T + 176, 8, STB_GLOBAL, STT_OBJECT, 1 },
		{ "absolute", T + 184, 8, STB_GLOBAL, STT_FUNC, SHN_ABS },
		{ "endless", T + 200, UINT64_MAX, STB_GLOBAL, STT_FUNC, 1 },
		{ "outside", T + 0x2000, 8, STB_GLOBAL, STT_FUNC, 1 },
	};
	struct opened o;

	builder_init(&b);
	b.len = 0x200;
	builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL,
			0x100);
	builder_symbols(&b, false, symbols, sizeof(symbols) / sizeof(symbols[0]));
	builder_finish(&b);
	CHECK_INT(b.sections[1].sh_addr, T);
	open_built(&o);
	check_at(o.symbols, T, "write", T);
	check_at(o.symbols, T + 15, "write", T);
	check_at(o.symbols, T + 16, "strong", T + 16);
	check_at(o.symbols, T + 32, "static_only", T + 32);
	check_at(o.symbols, T + 57, "outer", T + 48);
	check_at(o.symbols, T + 58, "nested", T + 58);
	check_at(o.symbols, T + 67, "nested", T + 58);
	check_at(o.symbols, T + 68, "outer", T + 48);
	check_at(o.symbols, T + 147, "outer", T + 48);
	check_none(o.symbols, T + 148);
	check_at(o.symbols, T + 160, "versioned", T + 160);
	/* a version is one only where the file defines some, or behind "@@" */
	check_at(o.symbols, T + 152, "*Crate(Int32)@Work#spin<Int32>", T + 152);
	check_at(o.symbols, T + 156, "camlOps__@", T + 156);
	check_at(o.symbols, T + 158, "other@plain", T + 158);
	check_at(o.symbols, T + 168, "function_of_a_label", T + 168);
	check_none(o.symbols, T + 176);
	check_none(o.symbols, T + 184);
	check_at(o.symbols, T + 0xff, "endless", T + 200);
	check_none(o.symbols, T + 0x100);
	check_none(o.symbols, T + 0x2000);
	close_opened(&o);
}

/* The part behind a single "@" is a version where the file defines versions, and if it
 * looks like one. */
static void test_defined_versions(void)
{
	enum {
		T = BUILDER_BASE + 0x200
	};
	static const struct builder_symbol symbols[] = {
		{ "old@LIB_1.0", T, 8, STB_GLOBAL, STT_FUNC, 1 },
		{ "new@@LIB_2.0", T + 8, 8, STB_GLOBAL, STT_FUNC, 1 },
		{ "*Crate(Int32)@Work#spin<Int32>", T + 16, 8, STB_LOCAL, STT_FUNC, 1 },
		{ "camlOps__@", T + 24, 8, STB_LOCAL, STT_FUNC, 1 },
	};
	struct opened o;

	builder_init(&b);
	b.len = 0x200;
	builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 64);
	builder_symbols(&b, false, symbols, sizeof(symbols) / sizeof(symbols[0]));
	builder_section(&b, ".gnu.version_d", SHT_GNU_verdef, SHF_ALLOC, NULL, 20);
	builder_finish(&b);
	open_built(&o);
	check_at(o.symbols, T, "old", T);
	check_at(o.symbols, T + 8, "new", T + 8);
	check_at(o.symbols, T + 16, "*Crate(Int32)@Work#spin<Int32>", T + 16);
	check_at(o.symbols, T + 24, "camlOps__@", T + 24);
	close_opened(&o);
}

static void test_aarch64_mapping_symbols(void)
{
	enum {
		T = BUILDER_BASE + 0x200
	};
	static const struct builder_symbol symbols[] = {
		{ "$x", T, 0, STB_LOCAL, STT_NOTYPE, 1 },
		{ "function", T, 0, STB_GLOBAL, STT_FUNC, 1 },
		{ "$d.7", T + 16, 0, STB_LOCAL, STT_NOTYPE, 1 },
		{ "$x", T + 32, 0, STB_LOCAL, STT_NOTYPE, 1 },
		{ "sized", T + 44, 4, STB_GLOBAL, STT_FUNC, 1 },
		{ "$d.8", T + 48, 0, STB_LOCAL, STT_NOTYPE, 1 },
	};
	struct opened o;

	builder_init(&b);
	b.machine = EM_AARCH64;
	b.len = 0x200;
	builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 64);
	builder_symbols(&b, false, symbols, 6);
	builder_finish(&b);
	open_built(&o);
	check_at(o.symbols, T + 40, "function", T);
	check_at(o.symbols, T + 47, "sized", T + 44);
	check_none(o.symbols, T + 48);
	close_opened(&o);
}

/* Of too large a table .dynsym remains. */
static void test_memory_limit(void)
{
	struct op_symbols_options options = { .limit_bytes = 200 * 12 };
	struct opened o;
	char *text;
	unsigned long start;

	TOOLS_NEED("gcc");
	TOOLS_RUN("(i=0; while [ $i -lt 300 ]; do echo \".type f$i,@function\nf$i: nop\n"
		  ".size f$i,1\"; i=$((i+1)); done; echo '.globl visible\n"
		  ".type visible,@function\nvisible: nop\n.size visible,1') > many.s; "
		  "gcc -shared -nostdlib -o many.so many.s");
	text = tools_output("nm many.so | grep -w -E 'visible'");
	CHECK(sscanf(text, "%lx", &start) == 1);
	free(text);
	open_options(&o, "many.so", &options);
	check_at(o.symbols, start, "visible", start);
	check_none(o.symbols, start - 1);
	CHECK(op_symbols_bytes(o.symbols) < 2000);
	close_opened(&o);
	options.limit_bytes = 0;
	open_options(&o, "many.so", &options);
	check_at(o.symbols, start - 1, "f299", start - 1);
	close_opened(&o);
}

/* Entries of the linkage table have the names that objdump gives them. */
static void check_linkage_table(const char *file)
{
	char *text =
		tools_output("objdump -d -j .plt -j .plt.sec %s 2>/dev/null | "
			     "sed -n 's/^0*\\([0-9a-f]*\\) <\\(.*@plt\\)>:$/\\1 \\2/p'",
			     file);
	char *at = text;
	struct opened o;
	int found = 0;

	open_options(&o, file, NULL);
	while (*at) {
		unsigned long start;
		char name[64];
		int len;

		CHECK(sscanf(at, "%lx %63s\n%n", &start, name, &len) == 2);
		check_at(o.symbols, start, name, start);
		check_at(o.symbols, start + 6, name, start);
		found++;
		at += len;
	}
	CHECK(found >= 2);
	close_opened(&o);
	free(text);
}

static void test_linkage_table(void)
{
	static const char *const flags[] = { "", "-Wl,-z,now", "-Wl,-z,ibtplt", "-s",
					     "-fuse-ld=gold" };
	size_t i;

	TOOLS_NEED("gcc");
	TOOLS_NEED("objdump");
	tools_write("p.c",
		    "#include <stdio.h>\n#include <stdlib.h>\n"
		    "int main(int c, char **v) { puts(v[0]); return abs(atoi(v[0])); }");
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		TOOLS_RUN("gcc -O1 -fno-builtin %s -o linked p.c", flags[i]);
		check_linkage_table("linked");
	}
}

TEST_MAIN({ "aliases_and_nesting", test_aliases_and_nesting },
	  { "defined_versions", test_defined_versions },
	  { "aarch64_mapping_symbols", test_aarch64_mapping_symbols },
	  { "every_function_of_nm", test_every_function_of_nm },
	  { "plain_static_pie", test_plain_static_pie },
	  { "stripped_has_dynamic_names", test_stripped_has_dynamic_names },
	  { "stripped_has_starts", test_stripped_has_starts },
	  { "many_starts", test_many_starts }, { "label_ends", test_label_ends },
	  { "debuglink", test_debuglink },
	  { "build_id_directory", test_build_id_directory },
	  { "mini_debug_info", test_mini_debug_info }, { "assembly", test_assembly },
	  { "memory_limit", test_memory_limit }, { "linkage_table", test_linkage_table },
	  { "cxx", test_cxx }, { "rust", test_rust }, { "go", test_go })
