/* SPDX-License-Identifier: Apache-2.0 */
/* What files show: exports, the cold part of a function, whether a file is CPython. */
#include "code/elf/private.h"
#include "runtime/cold_part.h"
#include "runtime/exports.h"
#include "runtime/runtime.h"

#include "tools.h"

enum {
	WARNING_BYTES = 512
};

static bool compile(const char *source, const char *flags, const char *name)
{
	char cc[128];

	(void)snprintf(cc, sizeof(cc), "gcc -shared -fPIC -O2 %s", flags);
	return tools_compile(cc, source, name);
}

static struct op_elf *open_made(const char *name)
{
	struct op_elf *elf = NULL;

	CHECK_OK(op_elf_open_path(tools_path(name), &elf));
	return elf;
}

static const char split[] =
	"void bad(int, int) __attribute__((cold));\n"
	"int other(int);\n"
	"int f(int *a, int n) {\n"
	"	int s = 0;\n"
	"	for (int i = 0; i < n; i++) {\n"
	"		if (__builtin_expect(a[i] == 7, 0)) { bad(i, s); s += other(s) * 3; }\n"
	"		s += a[i] * s;\n"
	"		if (__builtin_expect(a[i] == 9, 0)) { bad(s, i); s -= other(i) / 3; }\n"
	"		s ^= other(s);\n"
	"		if (__builtin_expect(s == 11, 0)) { bad(s, 1); s -= other(i + 2); }\n"
	"	}\n"
	"	return s;\n"
	"}\n"
	"int whole(int a) { return a * 3; }\n";

/* The symbol of the part is the truth; the search does not use it. */
static void test_cold_part(void)
{
	struct op_elf_symbol f, cold, whole;
	struct op_elf *elf;
	uint64_t got[2] = { 0 };

	if (!compile(split, "", "split.so"))
		SKIP("no gcc");
	elf = open_made("split.so");
	CHECK_INT(op_elf_find_symbol(elf, "f", &f), 1);
	CHECK_INT(op_elf_find_symbol(elf, "f.cold", &cold), 1);
	CHECK_INT(op_runtime_cold_part(elf, f.value, f.value + f.size, got), 1);
	CHECK_INT(got[0], cold.value);
	CHECK_INT(got[1], cold.value + cold.size);
	CHECK_INT(op_elf_find_symbol(elf, "whole", &whole), 1);
	CHECK_INT(op_runtime_cold_part(elf, whole.value, whole.value + whole.size, got),
		  0);
	op_elf_free(elf);
}

static const char many_names[] =
	"#define F(n) __attribute__((used)) static void a_name_of_a_local_function_##n(void) {}\n"
	"#define T(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8)\n"
	"#define T2(n) T(F, n)\n"
	"#define U(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8)\n"
	"#define U2(n) U(T2, n)\n"
	"#define V(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8)\n"
	"V(U2, 1) V(U2, 2) V(U2, 3) V(U2, 4)\n";

/* A program has half a gigabyte of names: who looks whether it is a runtime reads few. */
static void test_other_programs_are_not_read(void)
{
	const struct op_runtime_ops *const *ops;
	struct op_elf *elf;
	size_t len;
	size_t i;

	if (!compile(many_names, "-Wl,--hash-style=gnu", "names.so"))
		SKIP("no gcc");
	elf = open_made("names.so");
	CHECK(op_elf_size(elf) > 200 << 10);
	ops = op_runtime_all(&len);
	for (i = 0; i < len; i++) {
		struct op_runtime_loop loop = { 0 };
		void *image = NULL;
		uint64_t before = elf->work;

		if (!ops[i]->probe)
			continue;
		CHECK_INT(ops[i]->probe(elf, "names.so", NULL, NULL, &image, &loop), 0);
		CHECK(elf->work - before < 16 << 10);
	}
	op_elf_free(elf);
}

static void test_exports(void)
{
	struct op_elf *elf;

	if (!compile(split, "-Wl,--hash-style=gnu", "exports.so"))
		SKIP("no gcc");
	elf = open_made("exports.so");
	CHECK(op_runtime_may_export(elf, "f"));
	CHECK(op_runtime_may_export(elf, "whole"));
	/* one name may be taken for there by chance, not all of these */
	CHECK(!op_runtime_may_export(elf, "_PyEval_EvalFrameDefault") ||
	      !op_runtime_may_export(elf, "bad") || !op_runtime_may_export(elf, "other"));
	op_elf_free(elf);
}

static int probe_with(const char *name, const char *as, const struct op_layouts *layouts)
{
	const struct op_runtime_ops *python = op_runtime_get(OP_RUNTIME_PYTHON);
	struct op_elf *elf = open_made(name);
	struct op_runtime_loop loop;
	void *image = NULL;
	int r = python->probe(elf, as, layouts, NULL, &image, &loop);

	if (r == 1) {
		struct op_elf_symbol f;

		CHECK_INT(op_elf_find_symbol(elf, "_PyEval_EvalFrameDefault", &f), 1);
		CHECK_INT(loop.range[0][0], f.value);
		CHECK_INT(loop.range[0][1], f.value + f.size);
		free(image);
	}
	op_elf_free(elf);
	return r;
}

#define PYTHON                                                                           \
	"int _PyEval_EvalFrameDefault(int a) { return a; }\n"                            \
	"int PyGILState_GetThisThreadState(void) { return 0; }\n"

static int probe(const char *name, const char *as)
{
	return probe_with(name, as, NULL);
}

static void test_which_is_python(void)
{
	static const char like[] = "[python 3.99]\nlike = 3.11\n";
	char error[OP_LAYOUTS_ERROR_MAX];
	struct op_layouts *layouts;

	if (!compile(PYTHON "const unsigned long Py_Version = 0x030b02f0;\n", "", "a.so"))
		SKIP("no gcc");
	CHECK(compile(PYTHON "const unsigned long Py_Version = 0x03630000;\n", "",
		      "b.so"));
	CHECK(compile(PYTHON "void PyThread_tss_get(void) {}\n", "", "c.so"));
	CHECK(compile("int PyEval_EvalFrameEx(void) { return 0; }\n", "", "d.so"));
	CHECK(compile("extern int _PyEval_EvalFrameDefault(int);\n"
		      "int main(void) { return _PyEval_EvalFrameDefault(1); }\n",
		      "", "e.so"));
	CHECK(compile(PYTHON "const unsigned long Py_Version = 0x030d00f0;\n", "",
		      "f.so"));
	/* whatever its name */
	CHECK_INT(probe("a.so", "/usr/bin/python3.11"), 1);
	CHECK_INT(probe("a.so", "/opt/app/embedded"), 1);
	CHECK_INT(probe("c.so", "/opt/app/embedded"), 1);
	/* 3.99; 2.7; a program that links libpython; 3.13 without _Py_DebugOffsets */
	CHECK_INT(probe("b.so", "/usr/lib/libpython3.99.so"), -ENOTSUP);
	CHECK_INT(probe("d.so", "/usr/lib/libpython2.7.so"), -ENOTSUP);
	CHECK_INT(probe("e.so", "/usr/bin/python3.11"), 0);
	CHECK_INT(probe("f.so", "/usr/bin/python3.13"), -ENOTSUP);
	/* what the user's file adds */
	CHECK_OK(op_layouts_new(&layouts));
	CHECK_OK(op_layouts_add(layouts, op_runtime_get(OP_RUNTIME_PYTHON)->layouts));
	CHECK_OK(op_layouts_read(layouts, "x", like, strlen(like), error));
	CHECK_INT(probe_with("b.so", "/usr/lib/libpython3.99.so", layouts), 1);
	op_layouts_free(layouts);
}

static int read_nothing(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	/* lea 0x7ffffff0(%rip),%rdi; jmp: the accessor; all else is not mapped */
	static const uint8_t code[] = { 0x48, 0x8d, 0x3d, 0xf0, 0xff, 0xff,
					0x7f, 0xe9, 0,	  0x10, 0,    0 };

	if (len > sizeof(code) || len < 6)
		return -EFAULT;
	memcpy(buf, code, len);
	return 0;
}

/* An accessor of code that no compiler makes: hlt. */
static int read_unknown(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	memset(buf, 0xf4, len);
	return 0;
}

/* The process ended. */
static int read_fails(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	return -EIO;
}

static struct op_elf *make_early(void)
{
	if (!compile("int _PyEval_EvalFrameDefault(int a) { return a; }\n"
		     "__asm__(\".globl PyGILState_GetThisThreadState\\n\"\n"
		     "	\".type PyGILState_GetThisThreadState,@function\\n\"\n"
		     "	\"PyGILState_GetThisThreadState: .zero 12\\n\"\n"
		     "	\".size PyGILState_GetThisThreadState,12\");\n"
		     "const unsigned long Py_Version = 0x030b02f0;\n",
		     "", "early.so"))
		SKIP("no gcc");
	return open_made("early.so");
}

/* Met between exec and the loader's relocations: it is Python, but not yet. */
static void test_attach_too_early(void)
{
	const struct op_runtime_ops *python = op_runtime_get(OP_RUNTIME_PYTHON);
	struct op_memory memory = { read_nothing };
	struct op_runtime_target target = { .pid = 1, .memory = &memory };
	struct op_runtime_loop loop;
	uint8_t bpf[512] = { 0 };
	void *instance = NULL;
	struct op_elf *elf = make_early();
	void *image = NULL;

	CHECK_INT(python->probe(elf, "python3.11", NULL, NULL, &image, &loop), 1);
	CHECK(sizeof(bpf) >= python->bpf_size);
	CHECK_INT(python->attach(image, &target, NULL, bpf, &instance), -EAGAIN);
	free(image);
	op_elf_free(elf);
}

static void count_warning(void *userdata, int level, const char *message)
{
	*(int *)userdata += level <= OP_LOG_WARNING;
}

/* A file with the symbols of Node.js 20, in whose heap a pointer has so many bytes. */
#define V8(bytes)                                                                          \
	"int _ZN2v88internal7Version6major_E = 11, _ZN2v88internal7Version6minor_E = 3;\n" \
	"#define X(name) int v8dbg_##name = 8;\n"                                          \
	"X(class_JSFunction__shared__SharedFunctionInfo)\n"                                \
	"X(class_SharedFunctionInfo__name_or_scope_info__Object)\n"                        \
	"X(class_SharedFunctionInfo__script_or_debug_info__HeapObject)\n"                  \
	"X(class_SharedFunctionInfo__raw_function_token_offset__int16_t)\n"                \
	"X(class_SharedFunctionInfo__flags__int)\n"                                        \
	"X(FirstNonstringType)\n"                                                          \
	"X(type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE)\n"                          \
	"X(type_Script__SCRIPT_TYPE)\n"                                                    \
	"X(type_BytecodeArray__BYTECODE_ARRAY_TYPE)\n"                                     \
	"X(type_ScopeInfo__SCOPE_INFO_TYPE)\n"                                             \
	"X(type_Code__CODE_TYPE)\n"                                                        \
	"X(scopeinfo_idx_first_vars)\n"                                                    \
	"int v8dbg_TaggedSize = " bytes ";\n"                                              \
	"__attribute__((used)) static int Builtins_Add(int a) { return a; }\n"

/* As Electron exports it: V8's own version alone. */
static const char v8_alone[] =
	"int _ZN2v88internal7Version6major_E = 99, _ZN2v88internal7Version6minor_E = 1;\n";

static void keep_warning(void *userdata, int level, const char *message)
{
	if (level <= OP_LOG_WARNING)
		(void)snprintf(userdata, WARNING_BYTES, "%s", message);
}

static int probe_v8(const char *name, struct op_log *log)
{
	const struct op_runtime_ops *node = op_runtime_get(OP_RUNTIME_NODE);
	struct op_elf *elf = open_made(name);
	struct op_runtime_loop loop;
	void *image = NULL;
	int r = node->probe(elf, "/opt/app/embedded", NULL, log, &image, &loop);

	if (r == 1)
		free(image);
	op_elf_free(elf);
	return r;
}

/* What embeds V8 has its version and symbols as Node.js has, and may have other objects. */
static void test_compressed_pointers(void)
{
	int warnings = 0;
	struct op_log log = { count_warning, &warnings, .level = OP_LOG_DEBUG };

	if (!compile(V8("8"), "", "v8.so"))
		SKIP("no gcc");
	CHECK(compile(V8("4"), "", "compressed.so"));
	CHECK_INT(probe_v8("v8.so", &log), 1);
	CHECK_INT(warnings, 0);
	CHECK_INT(probe_v8("compressed.so", &log), -ENOTSUP);
	CHECK_INT(warnings, 1);
}

/* The user is not sent to write a layout file, which would not help. */
static void test_electron_gets_a_warning(void)
{
	char warning[WARNING_BYTES] = "";
	struct op_log log = { keep_warning, warning, .level = OP_LOG_DEBUG };

	if (!compile(v8_alone, "", "electron.so"))
		SKIP("no gcc");
	CHECK_INT(probe_v8("electron.so", &log), -ENOTSUP);
	CHECK(strstr(warning, "Electron") && !strstr(warning, "layout file"));
	warning[0] = '\0';
	CHECK(compile(V8("4"), "", "compressed.so"));
	CHECK_INT(probe_v8("compressed.so", &log), -ENOTSUP);
	CHECK(strstr(warning, "compressed pointers"));
}

/* Each short-lived process is no news; a file that cannot be read is, once. */
static void test_no_state_gets_one_warning_per_file(void)
{
	const struct op_runtime_ops *python = op_runtime_get(OP_RUNTIME_PYTHON);
	int warnings = 0;
	struct op_log log = { count_warning, &warnings, .level = OP_LOG_DEBUG };
	struct op_memory unknown = { read_unknown };
	struct op_memory gone = { read_fails };
	struct op_runtime_target target = { .pid = 1, .memory = &gone };
	struct op_runtime_loop loop;
	uint8_t bpf[256] = { 0 };
	void *instance = NULL;
	struct op_elf *elf = make_early();
	void *image = NULL;

	CHECK_INT(python->probe(elf, "python3.11", NULL, NULL, &image, &loop), 1);
	CHECK_INT(python->attach(image, &target, &log, bpf, &instance), -EIO);
	CHECK_INT(warnings, 0);
	target.memory = &unknown;
	CHECK_INT(python->attach(image, &target, &log, bpf, &instance), -ENOTSUP);
	CHECK_INT(python->attach(image, &target, &log, bpf, &instance), -ENOTSUP);
	CHECK_INT(warnings, 1);
	free(image);
	op_elf_free(elf);
}

static void test_registry(void)
{
	const struct op_runtime_ops *const *all;
	size_t len = 0;
	size_t i;

	all = op_runtime_all(&len);
	CHECK(len >= 1);
	for (i = 0; i < len; i++)
		CHECK(op_runtime_get(all[i]->id) == all[i]);
	CHECK(!op_runtime_get(OP_RUNTIME_NONE));
	CHECK_STR(op_runtime_get(OP_RUNTIME_PYTHON)->frame_type, "cpython");
}

TEST_MAIN({ "others", test_other_programs_are_not_read },
	  { "compressed_pointers", test_compressed_pointers },
	  { "electron_gets_a_warning", test_electron_gets_a_warning },
	  { "cold_part", test_cold_part }, { "exports", test_exports },
	  { "which_is_python", test_which_is_python },
	  { "attach_too_early", test_attach_too_early },
	  { "no_state_gets_one_warning_per_file",
	    test_no_state_gets_one_warning_per_file },
	  { "registry", test_registry })
