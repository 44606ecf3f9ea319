/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go programs built here in each way of linking. The expected answers are the source's own
 * line numbers, what the program's runtime says of itself, and `nm`.
 */
#include "code/elf/gopclntab.h"

#include "tools.h"

static const char go_source[] =
	"package main\n"				/* 1 */
	"\n"						/* 2 */
	"import \"C\"\n"				/* 3 */
	"import (\n"					/* 4 */
	"\t\"fmt\"\n"					/* 5 */
	"\t\"os\"\n"					/* 6 */
	"\t\"runtime\"\n"				/* 7 */
	"\t\"reflect\"\n"				/* 8 */
	")\n"						/* 9 */
	"\n"						/* 10 */
	"var sink int\n"				/* 11 */
	"\n"						/* 12 */
	"func inner(n int) int {\n"			/* 13 */
	"\treturn n*n + sink\n"				/* 14 */
	"}\n"						/* 15 */
	"\n"						/* 16 */
	"func middle(n int) int {\n"			/* 17 */
	"\treturn inner(n) / 3\n"			/* 18 */
	"}\n"						/* 19 */
	"\n"						/* 20 */
	"//export outer\n"				/* 21 */
	"//go:noinline\n"				/* 22 */
	"func outer(n int) int {\n"			/* 23 */
	"\tsink++\n"					/* 24 */
	"\treturn middle(n) + 1\n"			/* 25 */
	"}\n"						/* 26 */
	"\n"						/* 27 */
	"type T[P any] struct{ p P }\n"			/* 28 */
	"\n"						/* 29 */
	"//go:noinline\n"				/* 30 */
	"func (t *T[P]) Method() int { return sink }\n" /* 31 */
	"\n"						/* 32 */
	"func main() {\n"				/* 33 */
	"\tt := T[int]{}\n"				/* 34 */
	"\tsink = outer(len(os.Args)) + t.Method()\n"	/* 35 */
	"\tfor _, fn := range []any{outer, main, fmt.Fprintf, os.Open, fmt.Sscan} {\n"
	"\t\tentry := reflect.ValueOf(fn).Pointer()\n"
	"\t\tf := runtime.FuncForPC(entry)\n"
	"\t\tfor pc := entry; pc < entry+2000; pc += 7 {\n"
	"\t\t\tg := runtime.FuncForPC(pc)\n"
	"\t\t\tif g == nil || g.Entry() != entry { continue }\n"
	"\t\t\tfile, line := f.FileLine(pc)\n"
	"\t\t\tfmt.Println(pc-base(), f.Name(), file, line)\n"
	"\t\t}\n"
	"\t}\n"
	"}\n"
	"\n"
	"func base() uintptr {\n"
	"\tvar at uintptr\n"
	"\tif n, _ := fmt.Sscanf(os.Getenv(\"MAIN\"), \"%x\", &at); n == 0 { return 0 }\n"
	"\treturn reflect.ValueOf(main).Pointer() - at\n"
	"}\n";

/* 1.x: the first with ... */
enum {
	GO_GENERICS = 18,   /* which the program has; the table is of the form 118 */
	GO_START_LINE = 20, /* of functions, in the table's form 120 */
};

/* What the table of the Go that is here has for a function that starts at @line. */
static uint32_t start_of(uint32_t line)
{
	return tools_go_minor() >= GO_START_LINE ? line : 0;
}

struct lines_seen {
	bool inlined;
	bool increment;
};

static void write_source(bool cgo)
{
	char *text = strdup(go_source);
	char *import;

	CHECK(text);
	import = strstr(text, "import \"C\"\n");
	if (!cgo)
		memcpy(import, "          \n", 11);
	tools_write("main.go", text);
	tools_write("go.mod", "module probe\n\ngo 1.18\n");
	free(text);
}

static bool ends_in(const char *text, const char *tail)
{
	size_t n = strlen(text);
	size_t m = strlen(tail);

	return n >= m && strcmp(text + n - m, tail) == 0;
}

static void open_table(const char *name, struct op_elf **ret_elf,
		       struct op_gopclntab **ret)
{
	CHECK_OK(op_elf_open_path(tools_path(name), ret_elf));
	CHECK_OK(op_gopclntab_open(*ret_elf, ret));
}

/* Every address of main.outer: the chain of inlined calls by line. */
static void check_outer_lines(struct op_gopclntab *t, const struct op_go_function *f)
{
	struct lines_seen seen = { 0 };
	struct op_go_line line[4];
	bool padding = false;
	uint64_t pc;
	int n;
	int i;

	CHECK_INT(f->start_line, start_of(23));
	for (pc = f->entry; pc < f->end; pc++) {
		n = op_gopclntab_lines(t, f, pc, line, 4);
		CHECK(n >= 1 && n <= 3);
		CHECK_STR(line[n - 1].function, "main.outer");
		CHECK_INT(line[n - 1].start_line, start_of(23));
		if (!line[0].file[0]) {
			/* The padding behind the code, less than an alignment. */
			CHECK_INT(n, 1);
			CHECK_INT(line[0].line, 0);
			CHECK(f->end - pc < 64);
			padding = true;
			continue;
		}
		CHECK(!padding);
		for (i = 0; i < n; i++)
			CHECK(ends_in(line[i].file, "/main.go"));
		if (n == 1 && line[0].line == 24)
			seen.increment = true;
		if (n == 1)
			continue;
		CHECK_INT(line[n - 1].line, 25);
		CHECK_STR(line[n - 2].function, "main.middle");
		CHECK_INT(line[n - 2].line, 18);
		CHECK_INT(line[n - 2].start_line, start_of(17));
		if (n == 2)
			continue;
		seen.inlined = true;
		CHECK_STR(line[0].function, "main.inner");
		CHECK_INT(line[0].line, 14);
		CHECK_INT(line[0].start_line, start_of(13));
		/* Too many: the outermost are kept. */
		CHECK_INT(op_gopclntab_lines(t, f, pc, line, 2), 2);
		CHECK_STR(line[0].function, "main.middle");
		CHECK_STR(line[1].function, "main.outer");
	}
	CHECK(seen.inlined);
	CHECK(seen.increment);
}

struct search {
	struct op_gopclntab *t;
	const char *name;
	struct op_go_function f;
	uint64_t before;
	uint64_t count;
};

static int search_name(void *data, const struct op_go_function *f)
{
	struct search *s = data;
	char name[256];

	CHECK(f->entry >= s->before);
	CHECK(f->end >= f->entry);
	s->before = f->entry;
	s->count++;
	CHECK_OK(op_gopclntab_name(s->t, f, name, sizeof(name)));
	if (strcmp(name, s->name) == 0)
		s->f = *f;
	return 0;
}

static void check_program(const char *name)
{
	struct op_elf *elf = NULL;
	struct op_gopclntab *t = NULL;
	struct search s = { .name = "main.outer" };
	struct op_go_function f;
	char buf[64];

	open_table(name, &elf, &t);
	CHECK_INT(op_gopclntab_version(t), tools_go_minor() >= GO_START_LINE ? 120 : 118);
	s.t = t;
	CHECK_INT(op_gopclntab_each(t, search_name, &s), 0);
	CHECK(s.count > 1);
	CHECK(s.f.entry);
	CHECK_INT(op_gopclntab_find(t, s.f.end - 1, &f), 1);
	CHECK_INT(f.entry, s.f.entry);
	CHECK_OK(op_gopclntab_name(t, &f, buf, sizeof(buf)));
	CHECK_STR(buf, "main.outer");
	CHECK_OK(op_gopclntab_name(t, &f, buf, 5));
	CHECK_STR(buf, "main");
	CHECK(op_gopclntab_find(t, s.f.end, &f) == 1 && f.entry == s.f.end);
	check_outer_lines(t, &s.f);
	CHECK_INT(op_gopclntab_find(t, 0, &f), 0);
	CHECK_INT(op_gopclntab_find(t, UINT64_MAX, &f), 0);
	op_gopclntab_free(t);
	op_elf_free(elf);
}

/* What the program's own runtime says of its addresses. */
static void check_against_runtime(const char *name, const char *env)
{
	struct op_elf *elf = NULL;
	struct op_gopclntab *t = NULL;
	char *text = tools_output("%s ./%s", env, name);
	char *save = NULL;
	char *row;
	int rows = 0;

	open_table(name, &elf, &t);
	for (row = strtok_r(text, "\n", &save); row; row = strtok_r(NULL, "\n", &save)) {
		struct op_go_line line[16];
		struct op_go_function f;
		char function[512];
		char file[1024];
		char got[512];
		unsigned long pc;
		int number;

		CHECK(sscanf(row, "%lu %511s %1023s %d", &pc, function, file, &number) ==
		      4);
		CHECK_INT(op_gopclntab_find(t, pc, &f), 1);
		CHECK_OK(op_gopclntab_name(t, &f, got, sizeof(got)));
		CHECK_STR(got, function);
		/* FileLine() means the innermost. */
		CHECK(op_gopclntab_lines(t, &f, pc, line, 16) > 0);
		CHECK_STR(line[0].file[0] ? line[0].file : "?", file);
		CHECK_INT(line[0].line, number);
		rows++;
	}
	CHECK(rows > 100);
	free(text);
	op_gopclntab_free(t);
	op_elf_free(elf);
}

/* Every Go function of the symbol table is found under its name. */
static void check_against_nm(const char *table, const char *symbols)
{
	struct op_elf *elf = NULL;
	struct op_gopclntab *t = NULL;
	char *text = tools_output("nm -n %s | grep -i ' t '", symbols);
	char *save = NULL;
	uint64_t start;
	uint64_t end;
	char *row;
	int rows = 0;

	open_table(table, &elf, &t);
	op_gopclntab_range(t, &start, &end);
	for (row = strtok_r(text, "\n", &save); row; row = strtok_r(NULL, "\n", &save)) {
		struct op_go_function f;
		char name[2048];
		char got[2048];
		unsigned long pc;

		CHECK(sscanf(row, "%lx %*c %2047s", &pc, name) == 2);
		if (pc < start || pc >= end || strchr(row + 19, ' ') ||
		    (strncmp(name, "runtime.", 8) != 0 &&
		     strncmp(name, "main.", 5) != 0) ||
		    strchr(name, '[') || ends_in(name, ".abi0") ||
		    strcmp(name, "runtime.text") == 0)
			continue;
		CHECK_INT(op_gopclntab_find(t, pc, &f), 1);
		CHECK_INT(f.entry, pc);
		CHECK_OK(op_gopclntab_name(t, &f, got, sizeof(got)));
		CHECK_STR(got, name);
		rows++;
	}
	CHECK(rows > 500);
	free(text);
	op_gopclntab_free(t);
	op_elf_free(elf);
}

#define GO_BUILD "GOFLAGS=-mod=mod GOTOOLCHAIN=local go build "

static void test_plain_and_stripped(void)
{
	TOOLS_NEED_GO(GO_GENERICS);
	write_source(false);
	TOOLS_RUN("CGO_ENABLED=0 " GO_BUILD "-o plain .");
	TOOLS_RUN("CGO_ENABLED=0 " GO_BUILD "-ldflags='-s -w' -o small .");
	TOOLS_RUN("objcopy --strip-all plain stripped");
	check_program("plain");
	check_program("small");
	check_program("stripped");
	check_against_nm("plain", "plain");
	check_against_nm("stripped", "plain");
	check_against_runtime("plain", "");
	check_against_runtime("small", "");
}

static void test_without_section_headers(void)
{
	TOOLS_NEED_GO(GO_GENERICS);
	write_source(false);
	TOOLS_RUN("CGO_ENABLED=0 " GO_BUILD "-ldflags='-s -w' -o nosections .");
	/* e_shoff, e_shnum and e_shstrndx become zero. */
	TOOLS_RUN("printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of=nosections bs=1 seek=40 "
		  "conv=notrunc status=none");
	TOOLS_RUN("printf '\\0\\0\\0\\0' | dd of=nosections bs=1 seek=60 conv=notrunc "
		  "status=none");
	{
		struct op_elf *elf = NULL;
		struct op_gopclntab *t = NULL;
		struct search s = { .name = "main.outer" };
		int err;

		CHECK_OK(op_elf_open_path(tools_path("nosections"), &elf));
		/* From 1.26 the start of the text is known from a section alone. */
		err = op_gopclntab_open(elf, &t);
		CHECK(err == 0 || err == -EBADMSG);
		if (!err) {
			s.t = t;
			CHECK_INT(op_gopclntab_each(t, search_name, &s), 0);
			CHECK(s.f.entry);
		}
		op_gopclntab_free(t);
		op_elf_free(elf);
	}
}

static void test_pie(void)
{
	TOOLS_NEED_GO(GO_GENERICS);
	write_source(false);
	TOOLS_RUN("CGO_ENABLED=0 " GO_BUILD "-buildmode=pie -o pie .");
	TOOLS_RUN("objcopy --strip-all pie pie-stripped");
	check_program("pie");
	check_program("pie-stripped");
	check_against_nm("pie-stripped", "pie");
	check_against_runtime("pie", "MAIN=`nm pie | grep ' main.main$'`");
}

static void test_shared_library(void)
{
	TOOLS_NEED_GO(GO_GENERICS);
	TOOLS_NEED("gcc");
	write_source(true);
	TOOLS_RUN("CGO_ENABLED=1 " GO_BUILD "-buildmode=c-shared -o lib.so .");
	TOOLS_RUN("objcopy --strip-all lib.so lib-stripped.so");
	check_program("lib.so");
	check_program("lib-stripped.so");
	check_against_nm("lib-stripped.so", "lib.so");
}

static void test_aarch64(void)
{
	TOOLS_NEED_GO(GO_GENERICS);
	write_source(false);
	TOOLS_RUN("GOARCH=arm64 CGO_ENABLED=0 " GO_BUILD "-ldflags=-s -o arm .");
	check_program("arm");
}

static void test_c_program_has_none(void)
{
	struct op_elf *elf = NULL;
	struct op_gopclntab *t = NULL;

	CHECK_OK(op_elf_open_path("/proc/self/exe", &elf));
	CHECK_INT(op_gopclntab_open(elf, &t), -ENOENT);
	CHECK(!t);
	op_elf_free(elf);
}

TEST_MAIN({ "c_program_has_none", test_c_program_has_none },
	  { "plain_and_stripped", test_plain_and_stripped },
	  { "without_section_headers", test_without_section_headers },
	  { "pie", test_pie }, { "shared_library", test_shared_library },
	  { "aarch64", test_aarch64 })
