/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are built here byte by byte, with what is to be found known, and files that
 * the compiler made, compared with what readelf and sha256sum say of them.
 */
#include "code/elf/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "builder.h"
#include "tools.h"

static struct builder b;

static struct op_elf *open_built(void)
{
	struct op_elf *elf = NULL;

	CHECK_OK(op_elf_open_bytes(builder_copy(&b), b.len, &elf));
	return elf;
}

static int try_built(size_t len)
{
	struct op_elf *elf = NULL;
	void *copy = builder_copy(&b);
	int err = op_elf_open_bytes(copy, len, &elf);

	if (err) {
		CHECK(!elf);
		free(copy);
	}
	op_elf_free(elf);
	return err;
}

static Elf64_Ehdr *header(void)
{
	return (Elf64_Ehdr *)(void *)b.bytes;
}

static void test_headers_are_read(void)
{
	const struct op_elf_section *s;
	const struct op_elf_segment *p;
	struct op_elf *elf;
	char text[8];
	size_t len;

	builder_init(&b);
	builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "abcdefg",
			8);
	builder_finish(&b);
	header()->e_entry = 0x401234;
	elf = open_built();
	CHECK_INT(op_elf_machine(elf), EM_X86_64);
	CHECK_INT(op_elf_type(elf), ET_DYN);
	CHECK_INT(op_elf_entry(elf), 0x401234);
	CHECK_INT(op_elf_size(elf), b.len);
	CHECK_INT(op_elf_fd(elf), -1);
	p = op_elf_segments(elf, &len);
	CHECK_INT(len, 2);
	CHECK_INT(p[0].type, PT_LOAD);
	CHECK_INT(p[0].vaddr, BUILDER_BASE);
	CHECK(op_elf_sections(elf, &len));
	CHECK_INT(len, 3);
	s = op_elf_section(elf, ".text");
	CHECK(s);
	CHECK_INT(s->size, 8);
	CHECK_INT(s->flags, SHF_ALLOC | SHF_EXECINSTR);
	CHECK(!op_elf_section(elf, ".data"));
	CHECK_OK(op_elf_read(elf, s->offset, text, 8));
	CHECK_STR(text, "abcdefg");
	memset(text, 0, sizeof(text));
	CHECK_OK(op_elf_read_vaddr(elf, s->addr + 1, text, 3));
	CHECK_STR(text, "bcd");
	CHECK_OK(op_elf_read_str(elf, s->offset + 2, s->offset + s->size, text,
				 sizeof(text)));
	CHECK_STR(text, "cdefg");
	CHECK_INT(op_elf_read_str(elf, s->offset, s->offset + s->size, text, 4),
		  -ENAMETOOLONG);
	CHECK_INT(op_elf_read_str(elf, s->offset, s->offset + 3, text, sizeof(text)),
		  -ENODATA);
	CHECK_INT(op_elf_read_vaddr(elf, BUILDER_BASE - 1, text, 1), -ENODATA);
	CHECK_INT(op_elf_read_vaddr(elf, UINT64_MAX, text, 8), -ENODATA);
	CHECK_INT(op_elf_read(elf, b.len - 3, text, 4), -ENODATA);
	CHECK_INT(op_elf_read(elf, UINT64_MAX - 1, text, 4), -ENODATA);
	CHECK_OK(op_elf_read(elf, b.len, text, 0));
	op_elf_free(elf);
}

static void test_other_files_are_refused(void)
{
	struct op_elf *elf = NULL;

	builder_init(&b);
	builder_finish(&b);
	CHECK_OK(try_built(b.len));
	CHECK_INT(try_built(0), -ENOEXEC);
	CHECK_INT(try_built(63), -ENOEXEC);
	header()->e_machine = EM_ARM;
	CHECK_INT(try_built(b.len), -ENOTSUP);
	header()->e_machine = EM_AARCH64;
	CHECK_OK(try_built(b.len));
	header()->e_ident[EI_CLASS] = ELFCLASS32;
	CHECK_INT(try_built(b.len), -ENOTSUP);
	header()->e_ident[EI_CLASS] = ELFCLASS64;
	header()->e_ident[EI_DATA] = ELFDATA2MSB;
	CHECK_INT(try_built(b.len), -ENOTSUP);
	header()->e_ident[EI_DATA] = ELFDATA2LSB;
	header()->e_ident[0] = 0;
	CHECK_INT(try_built(b.len), -ENOEXEC);
	header()->e_ident[0] = ELFMAG0;
	header()->e_phoff = UINT64_MAX - 8;
	CHECK_INT(try_built(b.len), -EBADMSG);
	header()->e_phoff = sizeof(Elf64_Ehdr);
	header()->e_phentsize = 32;
	CHECK_INT(try_built(b.len), -EBADMSG);

	CHECK_INT(op_elf_open_path("/nonexistent", &elf), -ENOENT);
	CHECK_INT(op_elf_open_path("/", &elf), -ENOEXEC);
	CHECK_OK(mkfifo(tools_path("fifo"), 0600));
	CHECK_INT(op_elf_open_path(tools_path("fifo"), &elf), -ENOEXEC);
	CHECK(!elf);
}

/* Without section headers there are still segments. */
static void test_bad_sections_are_left_out(void)
{
	static const struct {
		uint64_t shoff;
		uint16_t shnum;
		uint16_t shstrndx;
		size_t sections;
	} cases[] = {
		{ UINT64_MAX, 3, 2, 0 },
		{ UINT64_MAX - 100, 3, 2, 0 },
		{ 0, 3, 2, 0 },
		{ 1 << 20, 3, 2, 0 },
	};
	struct op_elf *elf;
	size_t len;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		builder_init(&b);
		builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, "abcdefg", 8);
		builder_finish(&b);
		header()->e_shoff = cases[i].shoff;
		header()->e_shnum = cases[i].shnum;
		header()->e_shstrndx = cases[i].shstrndx;
		elf = open_built();
		(void)op_elf_sections(elf, &len);
		CHECK_INT(len, cases[i].sections);
		CHECK(op_elf_segments(elf, &len) && len == 2);
		op_elf_free(elf);
	}

	/* A bad index of names: sections without names. */
	builder_init(&b);
	builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, "abcdefg", 8);
	builder_finish(&b);
	header()->e_shstrndx = 77;
	elf = open_built();
	CHECK(op_elf_sections(elf, &len));
	CHECK_INT(len, 3);
	CHECK_STR(op_elf_sections(elf, &len)[1].name, "");
	op_elf_free(elf);
}

/* Each byte of the file cut off in turn, and each bit of the headers changed in turn: an
 * error or a result, never a read outside (which the sanitizer sees). */
static void test_cut_and_broken_files(void)
{
	static const struct builder_symbol symbols[] = {
		{ "one", BUILDER_BASE + 0x100, 8, STB_GLOBAL, STT_FUNC, 1 },
	};
	size_t len;
	size_t i;

	builder_init(&b);
	builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, NULL, 64);
	builder_symbols(&b, true, symbols, 1);
	len = builder_finish(&b);
	for (i = 0; i < len; i++)
		(void)try_built(i);
	for (i = 0; i < len * 8; i++) {
		struct op_elf *elf = NULL;
		struct op_elf_symbol s;
		struct op_build_ids ids;
		void *copy;

		b.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		copy = builder_copy(&b);
		if (op_elf_open_bytes(copy, len, &elf)) {
			free(copy);
		} else {
			(void)op_elf_find_symbol(elf, "one", &s);
			(void)op_elf_build_ids(elf, &ids);
			op_elf_free(elf);
		}
		b.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

static void test_find_symbols(void)
{
	static const struct builder_symbol symbols[] = {
		{ "local", 0x10, 1, STB_LOCAL, STT_FUNC, 1 },
		{ "prefix_target", 0x20, 2, STB_GLOBAL, STT_FUNC, 1 },
		{ "undefined", 0, 0, STB_GLOBAL, STT_FUNC, SHN_UNDEF },
		{ "twice", 0x30, 3, STB_LOCAL, STT_OBJECT, 1 },
		{ "twice", 0x31, 4, STB_GLOBAL, STT_OBJECT, 1 },
		{ "tls", 0, 4, STB_GLOBAL, STT_TLS, 1 },
	};
	static const struct builder_symbol dynamic[] = {
		{ "both", 0x50, 1, STB_GLOBAL, STT_FUNC, 1 },
	};
	const char *names[] = {
		"local", "target", "undefined", "twice", "tls", "", "both"
	};
	struct op_elf_symbol ret[7];
	struct op_elf_symbol one;
	struct op_elf *elf;
	uint16_t table;
	Elf64_Sym *sym;

	builder_init(&b);
	builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, NULL, 64);
	table = builder_symbols(&b, false, symbols, 6);
	/* A name that is the tail of another, as linkers share strings. */
	sym = (Elf64_Sym *)(void *)(b.bytes + b.sections[table].sh_offset);
	sym[2].st_name += sizeof("prefix_") - 1;
	builder_symbols(&b, true, dynamic, 1);
	builder_finish(&b);
	elf = open_built();
	CHECK_INT(op_elf_find_symbols(elf, names, 7, ret), 5);
	CHECK_INT(ret[0].value, 0x10);
	CHECK_INT(ret[1].value, 0x20);
	CHECK_INT(ret[1].size, 2);
	CHECK_INT(ret[1].type, STT_FUNC);
	CHECK_INT(ret[2].shndx, 0);
	CHECK_INT(ret[3].value, 0x31);
	CHECK_INT(ret[4].shndx, 1);
	CHECK_INT(ret[5].shndx, 0);
	CHECK_INT(ret[6].value, 0x50);
	CHECK_INT(op_elf_find_symbol(elf, "prefix_target", &one), 0);
	CHECK_INT(op_elf_find_symbol(elf, "tls", &one), 1);
	CHECK_INT(op_elf_find_symbols(elf, names, OP_ELF_FIND_MAX + 1, ret), -E2BIG);
	op_elf_free(elf);
}

enum {
	MANY_AT_ONCE = 250
};

/* Functions number @first and on are one byte each, in order from @start. */
static void check_many(struct op_elf *elf, uint64_t start, int first)
{
	static char names[MANY_AT_ONCE][32];
	static struct op_elf_symbol found[MANY_AT_ONCE];
	const char *list[MANY_AT_ONCE];
	int i;

	for (i = 0; i < MANY_AT_ONCE; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "function_with_name_%d",
			       first + i);
		list[i] = names[i];
	}
	CHECK_INT(op_elf_find_symbols(elf, list, MANY_AT_ONCE, found), MANY_AT_ONCE);
	for (i = 0; i < MANY_AT_ONCE; i++)
		CHECK_INT(found[i].value, start + (uint64_t)(first + i));
}

/* A table longer than a piece, and a name across the border of two pieces. */
static void test_find_across_pieces(void)
{
	char *text;
	struct op_elf *elf = NULL;
	struct op_elf_symbol s;
	unsigned long value = 0;
	int i;

	TOOLS_NEED("gcc");
	TOOLS_RUN("i=0; while [ $i -lt 9000 ]; do echo \".globl function_with_name_$i\n"
		  "function_with_name_$i: nop\"; i=$((i+1)); done > many.s; "
		  "gcc -shared -nostdlib -s -o many.so many.s");
	CHECK_OK(op_elf_open_path(tools_path("many.so"), &elf));
	CHECK_INT(op_elf_find_symbol(elf, "function_with_name_0", &s), 1);
	value = s.value;
	/* Every one, so that each border of two pieces is met. */
	for (i = 0; i < 9000; i += MANY_AT_ONCE)
		check_many(elf, value, i);
	CHECK_INT(op_elf_find_symbol(elf, "function_with_name_9000", &s), 0);
	op_elf_free(elf);
	/* .dynsym again, found by the loader's means alone. */
	TOOLS_RUN(
		"cp many.so bare.so; printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of=bare.so bs=1 "
		"seek=40 conv=notrunc status=none");
	CHECK_OK(op_elf_open_path(tools_path("bare.so"), &elf));
	for (i = 0; i < 9000; i += 997) {
		char name[64];

		(void)snprintf(name, sizeof(name), "function_with_name_%d", i);
		CHECK_INT(op_elf_find_symbol(elf, name, &s), 1);
		CHECK_INT(s.value, value + (unsigned long)i);
	}
	op_elf_free(elf);
	text = tools_output(
		"readelf --dyn-syms -W many.so | grep -w function_with_name_8999 | head -1");
	CHECK(strstr(text, "function_with_name_8999"));
	free(text);
}

static void write_bytes(const char *name, size_t len)
{
	FILE *f = fopen(tools_path(name), "we");
	size_t i;

	CHECK(f);
	for (i = 0; i < len; i++)
		CHECK(fputc((int)(i * 7 % 251), f) != EOF);
	CHECK(fclose(f) == 0);
}

static void check_section(const char *file, size_t len)
{
	struct op_elf *elf = NULL;
	const struct op_elf_section *s;
	void *data = NULL;
	size_t got = 0;
	size_t i;

	CHECK_OK(op_elf_open_path(tools_path(file), &elf));
	s = op_elf_section(elf, ".debug_test");
	CHECK(s);
	CHECK_OK(op_elf_section_data(elf, s, len, &data, &got));
	CHECK_INT(got, len);
	for (i = 0; i < len; i++)
		CHECK(((uint8_t *)data)[i] == i * 7 % 251);
	free(data);
	data = NULL;
	CHECK_INT(op_elf_section_data(elf, s, len - 1, &data, &got), -EFBIG);
	CHECK(!data);
	op_elf_free(elf);
}

static void test_compressed_sections(void)
{
	enum {
		LEN = 300000
	};
	struct op_elf *elf = NULL;

	TOOLS_NEED("gcc");
	TOOLS_NEED("objcopy");
	write_bytes("data", LEN);
	TOOLS_RUN("echo 'void f(void){}' > f.c; gcc -shared -o f.so f.c");
	TOOLS_RUN("objcopy --add-section .debug_test=data f.so plain.so");
	check_section("plain.so", LEN);
	TOOLS_RUN("objcopy --compress-debug-sections=zlib plain.so zlib.so");
	CHECK_OK(op_elf_open_path(tools_path("zlib.so"), &elf));
	CHECK(op_elf_section(elf, ".debug_test")->flags & SHF_COMPRESSED);
	op_elf_free(elf);
	check_section("zlib.so", LEN);
	if (tools_try(
		    "objcopy --compress-debug-sections=zstd plain.so zstd.so 2>/dev/null"))
		SKIP("this objcopy has no zstd");
	check_section("zstd.so", LEN);
}

static void test_broken_compression(void)
{
	Elf64_Chdr chdr = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1 << 30 };
	struct op_elf *elf;
	void *data = NULL;
	uint8_t bytes[64];
	size_t len;
	uint32_t type;

	for (type = 0; type < 4; type++) {
		memset(bytes, 0x5a, sizeof(bytes));
		chdr.ch_type = type;
		memcpy(bytes, &chdr, sizeof(chdr));
		builder_init(&b);
		builder_section(&b, ".z", SHT_PROGBITS, SHF_COMPRESSED, bytes, 64);
		builder_section(&b, ".short", SHT_PROGBITS, SHF_COMPRESSED, bytes, 8);
		builder_finish(&b);
		elf = open_built();
		CHECK_INT(op_elf_section_data(elf, op_elf_section(elf, ".z"), 1 << 20,
					      &data, &len),
			  -EFBIG);
		CHECK(op_elf_section_data(elf, op_elf_section(elf, ".z"), 1 << 30, &data,
					  &len) < 0);
		CHECK_INT(op_elf_section_data(elf, op_elf_section(elf, ".short"), 1 << 20,
					      &data, &len),
			  -EBADMSG);
		CHECK(!data);
		op_elf_free(elf);
	}
}

static void test_build_ids(void)
{
	char word[8];
	struct op_build_ids ids;
	struct op_elf *elf = NULL;
	char *text;

	TOOLS_NEED("gcc");
	TOOLS_RUN("echo 'int main(void){return 0;}' > m.c; "
		  "gcc -o m m.c "
		  "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567");
	CHECK_OK(op_elf_open_path(tools_path("m"), &elf));
	CHECK_OK(op_elf_build_ids(elf, &ids));
	CHECK_STR(ids.gnu, "0123456789abcdef0123456789abcdef01234567");
	CHECK_OK(op_elf_read(elf, ids.gnu_at, word, sizeof(word)));
	CHECK_INT(memcmp(word, "\x01\x23\x45\x67\x89\xab\xcd\xef", sizeof(word)), 0);
	CHECK_STR(ids.go, "");
	text = tools_output(
		"(head -c4096 m; tail -c4096 m; printf '%%016x' `stat -c%%s m` | "
		"sed 's/../\\\\x&/g' | xargs -0 printf '%%b') | sha256sum | "
		"head -c32");
	CHECK_STR(ids.htlhash, text);
	free(text);
	op_elf_free(elf);
}

static void test_go_build_id(void)
{
	struct op_build_ids ids;
	struct op_elf *elf = NULL;
	char *text;

	TOOLS_NEED("go");
	tools_write("main.go", "package main\nfunc main() {}\n");
	TOOLS_RUN("CGO_ENABLED=0 GOTOOLCHAIN=local go build -o gobin main.go");
	CHECK_OK(op_elf_open_path(tools_path("gobin"), &elf));
	CHECK_OK(op_elf_build_ids(elf, &ids));
	text = tools_output("go tool buildid gobin | tr -d '\\n'");
	CHECK_STR(ids.go, text);
	free(text);
	op_elf_free(elf);
}

static void test_notes_of_any_shape(void)
{
	/* namesz 4, descsz 3, type 3, "GNU", then an end without padding */
	static const uint8_t odd[] = { 4, 0, 0,	  0,   3,   0, 0,    0,	   3,	0,
				       0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef };
	static const uint8_t cut[] = { 4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
				       3, 0, 0, 0, 'G',	 'N',  'U',  0 };
	uint8_t big[20 + 200] = {
		4, 0, 0, 0, 200, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0
	};
	struct op_build_ids ids = { 0 };

	op_elf_parse_notes(odd, sizeof(odd), 4, 0, &ids);
	CHECK_STR(ids.gnu, "abcdef");
	memset(&ids, 0, sizeof(ids));
	op_elf_parse_notes(cut, sizeof(cut), 4, 0, &ids);
	CHECK_STR(ids.gnu, "");
	op_elf_parse_notes(big, 216, 4, 0, &ids);
	CHECK_INT(strlen(ids.gnu), 64);
	op_elf_parse_notes(odd, sizeof(odd), 4, 0, &ids);
	CHECK_INT(strlen(ids.gnu), 64);
}

/* The file gets shorter while it is open. */
static void test_truncated_while_open(void)
{
	struct op_elf *elf = NULL;
	uint8_t buf[8192];
	uint64_t size;

	/* longer than any window, however this program was built */
	TOOLS_RUN("cp /proc/%d/exe copy && truncate -s 200000 copy", (int)getpid());
	CHECK_OK(op_elf_open_path(tools_path("copy"), &elf));
	size = op_elf_size(elf);
	CHECK_INT(size, 200000);
	CHECK_OK(truncate(tools_path("copy"), 5000));
	CHECK_INT(op_elf_read(elf, 50000, buf, 100), -ESTALE);
	CHECK_INT(op_elf_read(elf, 50000, buf, sizeof(buf)), -ESTALE);
	op_elf_free(elf);
}

/* What is read is the content that was opened, or nothing. */
static void test_written_while_open(void)
{
	struct op_elf *elf = NULL;
	char before[64];
	char buf[8192];
	int fd;
	int i;

	TOOLS_RUN("cp /proc/%d/exe written", (int)getpid());
	CHECK_OK(op_elf_open_path(tools_path("written"), &elf));
	CHECK_OK(op_elf_read(elf, 20000, before, sizeof(before)));
	fd = open(tools_path("written"), O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	for (i = 0; i < 100; i++)
		CHECK(pwrite(fd, "other", 5, i * 1000) == 5);
	(void)close(fd);
	CHECK_OK(op_elf_read(elf, 20000, buf, sizeof(before)));
	CHECK(memcmp(buf, before, sizeof(before)) == 0);
	CHECK_INT(op_elf_read(elf, 60000, buf, 100), -ESTALE);
	CHECK_INT(op_elf_read(elf, 60000, buf, sizeof(buf)), -ESTALE);
	CHECK_INT(op_elf_read_apart(elf, 60000, buf, 8), -ESTALE);
	op_elf_free(elf);
}

/* A sparse file of a terabyte with a table of symbols that is all hole, and one that is read
 * again and again: both end, long before all is read. */
static int count_symbol(void *data, const struct op_elf_symbol *symbol, uint32_t name)
{
	++*(uint64_t *)data;
	return 0;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	CHECK_OK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts));
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void test_sparse(void)
{
	const struct builder_symbol none = { .name = "f" };
	const char *path = tools_path("sparse");
	const uint64_t size = UINT64_C(1) << 34;
	struct op_elf_symtab table;
	struct op_elf_symbol symbol;
	struct op_elf *elf = NULL;
	Elf64_Shdr *headers;
	uint64_t began_ns;
	uint64_t seen = 0;
	uint16_t number;
	size_t len;
	char c;
	int r = 0;
	int i;

	builder_init(&b);
	number = builder_symbols(&b, false, &none, 1);
	len = builder_finish(&b);
	headers = (Elf64_Shdr *)(void *)(b.bytes + len - b.count * sizeof(Elf64_Shdr));
	headers[number].sh_size = size - (1 << 20);
	headers[headers[number].sh_link].sh_size = size - (1 << 20);
	tools_write_bytes("sparse", b.bytes, len);
	CHECK_OK(truncate(path, (off_t)size));
	CHECK_OK(op_elf_open_path(path, &elf));
	CHECK(op_elf_data(elf) < 1 << 20);
	CHECK_INT(op_elf_symtab(elf, OP_ELF_SYMTAB, &table), 1);
	CHECK(table.count > 100000000);
	CHECK_INT(op_elf_symbol_each(elf, &table, count_symbol, &seen), -EFBIG);
	CHECK_INT(seen, 0); /* none is read in vain */
	elf = op_elf_free(elf);
	/* Strings of no bytes, each of which costs as much as one with some. */
	CHECK_OK(op_elf_open_path(path, &elf));
	began_ns = thread_cpu_ns();
	CHECK_INT(op_elf_find_symbol(elf, "f", &symbol), -EFBIG);
	CHECK(thread_cpu_ns() - began_ns < UINT64_C(200000000));
	elf = op_elf_free(elf);
	CHECK_OK(op_elf_open_path(path, &elf));
	for (i = 0; r == 0 && i < 10000000; i++)
		r = op_elf_read(elf, 64, &c, 1);
	CHECK_INT(r, -EFBIG);
	/* There is more to be had later. */
	CHECK_OK(usleep(1100000));
	CHECK_OK(op_elf_read(elf, 64, &c, 1));
	op_elf_free(elf);
	CHECK_OK(unlink(path));
}

TEST_MAIN({ "sparse", test_sparse }, { "headers_are_read", test_headers_are_read },
	  { "other_files_are_refused", test_other_files_are_refused },
	  { "bad_sections_are_left_out", test_bad_sections_are_left_out },
	  { "cut_and_broken_files", test_cut_and_broken_files },
	  { "find_symbols", test_find_symbols },
	  { "find_across_pieces", test_find_across_pieces },
	  { "broken_compression", test_broken_compression },
	  { "build_ids", test_build_ids }, { "go_build_id", test_go_build_id },
	  { "notes_of_any_shape", test_notes_of_any_shape },
	  { "truncated_while_open", test_truncated_while_open },
	  { "written_while_open", test_written_while_open },
	  { "compressed_sections", test_compressed_sections })
