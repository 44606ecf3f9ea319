/* SPDX-License-Identifier: Apache-2.0 */
/* Which file is Ruby, and what is found in it without symbols: in libraries that are made here. */
#include "runtime/ruby/image.h"

#include "tools.h"

#include <stdio.h>
#include <string.h>

enum {
	SOURCE_BYTES = 1 << 16,
	INSNS = 170,
};

static char source[SOURCE_BYTES];
static size_t source_len;

static void add(const char *text)
{
	size_t len = strlen(text);

	CHECK(source_len + len < sizeof(source));
	memcpy(source + source_len, text, len + 1);
	source_len += len;
}

/* A loop of @insns instructions, and what looks like Ruby's variables. */
static void make_source(const char *version, uint32_t insns)
{
	char text[128];
	uint32_t i;

	source_len = 0;
	add("#include <stdint.h>\n#define HIDDEN __attribute__((visibility(\"hidden\")))\n");
	(void)snprintf(text, sizeof(text), "const char ruby_version[] = \"%s\";\n",
		       version);
	add(text);
	add("struct symbols { uint32_t last_id; void *str; uint64_t ids; };\n"
	    "HIDDEN struct symbols made_symbols = { 5 };\n"
	    "HIDDEN __thread void *made_other, *made_context;\n"
	    "int outside(void *);\n"
	    "HIDDEN __attribute__((noinline)) long made_core(const uint8_t *p, long a) {\n"
	    "	static const void *const table[] = {\n");
	for (i = 0; i < insns; i++) {
		(void)snprintf(text, sizeof(text), "		&&l%u,\n", i);
		add(text);
	}
	add("	};\n	goto *table[*p];\nl0: return a;\n");
	for (i = 1; i < insns; i++) {
		(void)snprintf(
			text, sizeof(text),
			"l%u: a = a * %u ^ outside(&a); p += 3; goto *table[*p];\n", i,
			3 + 2 * i);
		add(text);
	}
	add("}\n"
	    "HIDDEN __attribute__((noinline)) long made_exec(const uint8_t *p) {\n"
	    "	long tag[8] = { 1, 2 };\n"
	    "	outside(tag);\n"
	    "	long r = made_core(p, tag[1]);\n"
	    "	return r + tag[0];\n"
	    "}\n"
	    "long rb_yield(const uint8_t *p) { outside(0); return made_exec(p) + 1; }\n"
	    "int rb_profile_frames(int start, int limit, void **buff, int *lines) {\n"
	    "	void **ec = made_context;\n"
	    "	return ec ? outside(ec[2]) + start + limit : 0;\n"
	    "}\n"
	    "static __attribute__((noinline)) uint64_t find(uint32_t n, int t) {\n"
	    "	uint64_t r = 0;\n"
	    "	outside(&r);\n"
	    "	if (n && n <= made_symbols.last_id)\n"
	    "		r = ((uint64_t *)made_symbols.ids)[n] + t;\n"
	    "	return r;\n"
	    "}\n"
	    "uint64_t rb_id2str(uint64_t id) { return find(id > 169 ? id >> 4 : id, 0); }\n"
	    "void set(uint64_t v) { made_symbols.ids = v; made_symbols.last_id++;\n"
	    "	made_other = made_context = &made_symbols; }\n");
}

static struct op_elf *make_by(const char *gcc, const char *version, uint32_t insns,
			      const char *flags)
{
	struct op_elf *elf = NULL;
	char cc[128];

	make_source(version, insns);
	(void)snprintf(cc, sizeof(cc), "%s -shared -fPIC -O2 -w %s", gcc, flags);
	if (!tools_compile(cc, source, "libruby-made.so"))
		SKIP("no gcc");
	CHECK_OK(op_elf_open_path(tools_path("libruby-made.so"), &elf));
	return elf;
}

static struct op_elf *make(const char *version, uint32_t insns, const char *flags)
{
	return make_by("gcc", version, insns, flags);
}

static struct op_elf_symbol symbol(struct op_elf *elf, const char *name)
{
	struct op_elf_symbol ret = { 0 };

	CHECK_INT(op_elf_find_symbol(elf, name, &ret), 1);
	return ret;
}

/* Symbols of a name that the search does not know are the truth. */
static void test_found(void)
{
	static const char *const flags[] = { "",	 "-fcf-protection=full",
					     "-fno-plt", "-fno-omit-frame-pointer",
					     "-O3",	 "-ftls-model=initial-exec" };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(flags); i++) {
		struct op_elf *elf = make("3.3.8", INSNS, flags[i]);
		struct op_elf_symbol core = symbol(elf, "made_core");
		struct op_elf_symbol exec = symbol(elf, "made_exec");
		struct op_runtime_loop loop = { 0 };
		struct op_ruby_image image = { 0 };
		uint64_t word = 0;

		CHECK_INT(op_runtime_ruby_image(elf, "libruby-made.so", NULL, NULL,
						&image, &loop),
			  1);
		CHECK_INT(loop.count, 2);
		CHECK_INT(loop.range[0][0], exec.value);
		CHECK_INT(loop.range[0][1], exec.value + exec.size);
		CHECK_INT(loop.range[1][0], core.value);
		CHECK_INT(loop.range[1][1], core.value + core.size);
		CHECK(image.loop.after[0][0] > exec.value &&
		      image.loop.after[0][1] > image.loop.after[0][0] &&
		      image.loop.after[0][1] <= exec.value + exec.size);
		CHECK_INT(image.symbols, symbol(elf, "made_symbols").value);
		CHECK_INT(image.tls.form,
			  i == 5 ? OP_ELF_TLS_SLOT_OFFSET : OP_ELF_TLS_SLOT_MODULE);
		if (i < 5) {
			CHECK_OK(op_elf_read_vaddr(elf, image.tls.slot + 8, &word,
						   sizeof(word)));
			CHECK_INT(word, symbol(elf, "made_context").value);
		}
		op_elf_free(elf);
	}
}

/* Is there a descriptor of thread-local variable @offset at @slot, as readelf says? */
static bool has_descriptor(uint64_t slot, uint64_t offset)
{
	char line[256];
	bool found = false;
	FILE *f;

	(void)snprintf(line, sizeof(line), "LC_ALL=C readelf -rW %s",
		       tools_path("libruby-made.so"));
	f = popen(line, "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long long at;
		unsigned long long addend;

		found |= sscanf(line, "%llx %*x R_AARCH64_TLSDESC %llx", &at, &addend) ==
				 2 &&
			 at == slot && addend == offset;
	}
	CHECK_INT(pclose(f), 0);
	return found;
}

static void test_aarch64(void)
{
	static const char *const flags[] = { "", "-O3 -mbranch-protection=standard" };
	size_t i;
	size_t j;

	TOOLS_NEED("aarch64-linux-gnu-gcc");
	for (i = 0; i < OP_ARRAY_SIZE(flags); i++) {
		struct op_elf *elf =
			make_by("aarch64-linux-gnu-gcc", "3.3.8", INSNS, flags[i]);
		struct op_elf_symbol core = symbol(elf, "made_core");
		struct op_elf_symbol exec = symbol(elf, "made_exec");
		struct op_runtime_loop loop = { 0 };
		struct op_ruby_image image = { 0 };

		CHECK_INT(op_runtime_ruby_image(elf, "libruby-made.so", NULL, NULL,
						&image, &loop),
			  1);
		CHECK_INT(loop.range[0][0], exec.value);
		CHECK_INT(loop.range[0][1], exec.value + exec.size);
		CHECK_INT(loop.range[1][0], core.value);
		CHECK_INT(loop.range[1][1], core.value + core.size);
		CHECK(image.loop.after[0][0] > exec.value);
		for (j = 0; j < OP_RUBY_AFTER && image.loop.after[j][0]; j++)
			CHECK(image.loop.after[j][1] > image.loop.after[j][0]);
		CHECK_INT(image.symbols, symbol(elf, "made_symbols").value);
		CHECK_INT(image.tls.form, OP_ELF_TLS_SLOT_DESCRIPTOR);
		CHECK(has_descriptor(image.tls.slot, symbol(elf, "made_context").value));
		op_elf_free(elf);
	}
}

static int probe(struct op_elf *elf)
{
	struct op_runtime_loop loop;
	struct op_ruby_image image;
	int r = op_runtime_ruby_image(elf, "libruby-made.so", NULL, NULL, &image, &loop);

	op_elf_free(elf);
	return r;
}

static void test_not_ruby(void)
{
	CHECK_INT(probe(make("3.3.8", INSNS, "-Drb_profile_frames=other")), 0);
	CHECK_INT(probe(make("3.3.8", INSNS, "-Druby_version=other")), 0);
	CHECK_INT(probe(make("a version", INSNS, "")), 0);
	CHECK_INT(probe(make("1.8.7", INSNS, "")), -ENOTSUP);
	CHECK_INT(probe(make("9.9.9", INSNS, "")), -ENOTSUP);
	CHECK_INT(probe(make("3.3.8", 40, "")), -ENOTSUP); /* no table of that length */
}

/* A program with Ruby in it, stripped. */
static void test_program(void)
{
	struct op_elf_symbol context;
	struct op_ruby_image image = { 0 };
	struct op_runtime_loop loop;
	struct op_elf *elf;

	make_source("3.3.8", INSNS);
	add("int outside(void *p) { return p != 0; }\nint main(void) { return 0; }\n");
	if (!tools_compile("gcc -fPIC -O2 -w -pie -rdynamic", source, "made"))
		SKIP("no gcc");
	CHECK_OK(op_elf_open_path(tools_path("made"), &elf));
	context = symbol(elf, "made_context");
	op_elf_free(elf);
	TOOLS_RUN("strip made");
	CHECK_OK(op_elf_open_path(tools_path("made"), &elf));
	CHECK_INT(op_runtime_ruby_image(elf, "made", NULL, NULL, &image, &loop), 1);
	CHECK_INT(image.tls.form, OP_ELF_TLS_STATIC);
	/* two variables of 8 bytes end at the thread pointer */
	CHECK_INT(image.tls.offset, (int64_t)context.value - 16);
	op_elf_free(elf);
}

TEST_MAIN({ "found", test_found }, { "program", test_program },
	  { "aarch64", test_aarch64 }, { "not_ruby", test_not_ruby })
