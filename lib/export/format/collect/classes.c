/* SPDX-License-Identifier: Apache-2.0 */
#include "export/format/collect/classes.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"

enum {
	NAME_BYTES = 256, /* of a name or a path, whose beginning or end decides */
};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool begins_any(const char *text, const char *const *with, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (begins(text, with[i]))
			return true;
	return false;
}
#define BEGINS_ANY(text, list) begins_any(text, list, OP_ARRAY_SIZE(list))

static bool has_any(const char *text, const char *const *inside, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (strstr(text, inside[i]))
			return true;
	return false;
}
#define HAS_ANY(text, list) has_any(text, list, OP_ARRAY_SIZE(list))

/* "python3.11" is the program python, "pythonista" is another one. */
static bool is_program(const char *module, const char *const *names, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (begins(module, names[i]) &&
		    !isalpha((unsigned char)module[strlen(names[i])]))
			return true;
	return false;
}

/* The C library, the base libraries of C++ and Rust, and allocators. */
static const char *const libc_modules[] = {
	"libc.so",    "libc-",	    "libc.musl",   "ld-linux",	  "ld-musl",
	"ld-",	      "libpthread", "libm.so",	   "libm-",	  "libmvec",
	"libdl",      "librt",	    "libgcc_s",	   "libstdc++",	  "libc++",
	"libgomp",    "libatomic",  "libtcmalloc", "libjemalloc", "libmimalloc",
	"linux-vdso", "[vdso]",	    "libunwind",   "libasan",
};

static const char *const runtime_programs[] = {
	"python",    "libpython",  "node",	    "nodejs",	 "libnode",
	"libv8",     "deno",	   "bun",	    "java",	 "libjvm",
	"libjli",    "libjava",	   "libnio",	    "libnet",	 "ruby",
	"libruby",   "php",	   "php-fpm",	    "libphp",	 "perl",
	"libperl",   "dotnet",	   "libcoreclr",    "libclrjit", "libclrgc",
	"libSystem", "libhostfxr", "libhostpolicy", "beam.smp",	 "luajit",
	"libluajit",
};

/* Names in a C library that is linked into a program. */
static const char *const libc_functions[] = {
	"malloc",
	"calloc",
	"realloc",
	"free",
	"_int_",
	"__libc_",
	"__memcpy",
	"__memmove",
	"__memset",
	"__memcmp",
	"__strlen",
	"__strcmp",
	"__str",
	"memcpy",
	"memmove",
	"memset",
	"_start",
	"start_thread",
	"clone",
	"__clone",
	"operator new",
	"operator delete",
	"std::",
	"__gnu_cxx::",
	"__cxxabi",
	"je_",
	"tc_",
	"mi_",
	"__pthread_",
	"pthread_",
	"void std::",
	"bool std::",
	"__lll_",
	"futex_wait",
	"__futex_",
	"core::",
	"alloc::",
	"<alloc::",
	"<core::",
	"<std::",
	"__rust_",
	"__rustc",
	"rust_begin_unwind",
	"__restore_rt",
};

/* Directories of the sources of standard libraries. */
static const char *const libc_files[] = {
	"/include/c++/",   "-linux-gnu/c++/", "/rustc/",    "/rust/deps/",
	"/rustlib/src/",   "../sysdeps/",     "./sysdeps/", "./malloc/",
	"./nptl/",	   "./string/",	      "./csu/",	    "./stdlib/",
	"./stdio-common/", "./libio/",	      "./io/",	    "/libstdc++-v3/",
};

/* Rust's own sources, if their paths are relative. */
static const char *const rust_folders[] = {
	"library/alloc/",
	"library/core/",
	"library/std/",
	"library/proc_macro/",
};

static const char *const library_folders[] = {
	"/site-packages/", "/dist-packages/", "/node_modules/",	   "/gems/",
	"/pkg/mod/",	   "/vendor/",	      "/.cargo/registry/", "/usr/include/",
};

static const char *const built_elsewhere[] = {
	"/usr/", "/build/", "/builddir/", "/nix/store/", "/home/conda/", "/croot/",
};

/* The packages that come with Go. */
static const char *const go_packages[] = {
	"runtime", "sync",     "syscall",  "internal", "reflect", "strings",  "bytes",
	"fmt",	   "io",       "os",	   "net",      "time",	  "sort",     "strconv",
	"regexp",  "math",     "encoding", "crypto",   "bufio",	  "compress", "container",
	"context", "database", "errors",   "hash",     "html",	  "image",    "log",
	"maps",	   "mime",     "path",	   "slices",   "text",	  "unicode",  "unique",
	"iter",	   "cmp",      "archive",  "testing",  "go",	  "index",    "debug",
	"embed",   "expvar",   "flag",	   "plugin",   "vendor",  "weak",     "_rt0_",
};

static const char *const java_packages[] = {
	"java.", "javax.", "jdk.", "sun.", "com.sun.", "jakarta.",
};

static const char *const java_libraries[] = {
	"org.springframework.",
	"org.apache.",
	"org.hibernate.",
	"io.netty.",
	"kotlin.",
	"kotlinx.",
	"scala.",
	"com.google.common.",
	"com.fasterxml.",
	"org.eclipse.",
	"reactor.",
	"io.vertx.",
	"org.postgresql.",
	"com.zaxxer.",
};

static const char *const dotnet_packages[] = {
	"System.",
	"Microsoft.",
	"Internal.",
	"Interop",
};

/* Parts of paths of a language's standard library that is written in the language
 * itself. */
static const char *const language_files[] = {
	"<frozen ",
	"node:",
	"<internal:",
	"/lib/python2",
	"/lib/python3",
	"/lib64/python3",
	"/usr/share/perl",
	"/perl5/",
	"/x86_64-linux-gnu/perl",
	"/aarch64-linux-gnu/perl",
	"/lib/ruby/",
	"/rubylibdir/",
};

/* Modules of the libraries of Erlang/OTP and Elixir, whose files have no folder. */
static const char *const beam_modules[] = {
	"application", "array:",     "binary:", "code",	  "dict:",   "erl_",
	"erlang:",     "ets:",	     "file",	"gb_",	  "gen_",    "init:",
	"io",	       "lists:",     "logger",	"maps:",  "ord",     "prim_",
	"proc_lib:",   "proplists:", "queue:",	"rand:",  "re:",     "sets:",
	"string:",     "supervisor", "sys:",	"timer:", "unicode", "Enum.",
	"GenServer.",  "Kernel.",
};

/* Is the package of a Go function, before its first "." or "/", one of Go's? */
static bool is_go_package(const char *name)
{
	size_t len = strcspn(name, "./"), i;

	for (i = 0; i < OP_ARRAY_SIZE(go_packages); i++)
		if (strlen(go_packages[i]) == len && !memcmp(name, go_packages[i], len))
			return true;
	return begins(name, "type:.") || begins(name, "_rt0_") || begins(name, "go.") ||
	       !strchr(name, '.');
}

struct frame {
	char name[NAME_BYTES];
	char type[NAME_BYTES];
	char file[NAME_BYTES];
	char path[NAME_BYTES]; /* of the module */
	const char *module;    /* its last part */
};

static void copy(const struct op_collect *c, uint32_t string, bool end, char *ret)
{
	size_t len, skip;
	const char *text = op_collect_text(c, string, &len);

	skip = end && len >= NAME_BYTES ? len - NAME_BYTES + 1 : 0;
	len = OP_MIN(len - skip, (size_t)NAME_BYTES - 1);
	memcpy(ret, text + skip, len);
	ret[len] = 0;
}

static enum op_frame_class class_of_native(const struct frame *f)
{
	if (begins(f->module, "libotelprof-"))
		return OP_CLASS_NONE;
	if (BEGINS_ANY(f->module, libc_modules))
		return OP_CLASS_LIBC;
	if (is_program(f->module, runtime_programs, OP_ARRAY_SIZE(runtime_programs)))
		return OP_CLASS_RUNTIME;
	if (BEGINS_ANY(f->name, libc_functions) || HAS_ANY(f->file, libc_files) ||
	    BEGINS_ANY(f->file, rust_folders))
		return OP_CLASS_LIBC;
	if (op_frame_is_unnamed(f->name, strlen(f->name)))
		return OP_CLASS_UNNAMED;
	if (HAS_ANY(f->file, library_folders))
		return OP_CLASS_LIBRARY;
	/* A library whose sources are in these directories was built here. One from a
	 * package has no sources, or paths of the machine that built it. */
	if (strstr(f->module, ".so") || strstr(f->module, ".node"))
		return *f->file != '/' || BEGINS_ANY(f->file, built_elsewhere)
			       ? OP_CLASS_LIBRARY
			       : OP_CLASS_OWN;
	return OP_CLASS_OWN;
}

static enum op_frame_class class_of_go(const struct frame *f)
{
	if (is_go_package(f->name))
		return OP_CLASS_LANGUAGE;
	return HAS_ANY(f->file, library_folders) ? OP_CLASS_LIBRARY : OP_CLASS_OWN;
}

/* Code that runs in virtual machines, which has names of packages and no paths. */
static enum op_frame_class class_of_managed(const struct frame *f)
{
	bool jvm = !strcmp(f->type, "jvm");

	/* Stubs and the interpreter have no class. */
	if (!strchr(f->name, '.'))
		return OP_CLASS_RUNTIME;
	if (jvm ? BEGINS_ANY(f->name, java_packages)
		: BEGINS_ANY(f->name, dotnet_packages))
		return OP_CLASS_LANGUAGE;
	return jvm && BEGINS_ANY(f->name, java_libraries) ? OP_CLASS_LIBRARY
							  : OP_CLASS_OWN;
}

static enum op_frame_class class_of_script(const struct frame *f)
{
	if (!*f->file)
		return OP_CLASS_RUNTIME;
	if (!strcmp(f->type, "beam"))
		return BEGINS_ANY(f->name, beam_modules) ? OP_CLASS_LANGUAGE
							 : OP_CLASS_OWN;
	if (HAS_ANY(f->file, library_folders))
		return OP_CLASS_LIBRARY;
	return HAS_ANY(f->file, language_files) ? OP_CLASS_LANGUAGE : OP_CLASS_OWN;
}

/* Frames that name the reason why a stack ends early. */
static const char *const endings[] = {
	"[unwind error: ",
	"[truncated]",
	"[no unwind table yet]",
	"[stack lost]",
};

bool op_frame_is_ours(const char *name, size_t len)
{
	static const char begin[] = "bpf_prog_";
	const char *part = len > sizeof(begin) ? memchr(name + sizeof(begin), '_',
							len - sizeof(begin))
					       : NULL;
	size_t left = part ? len - (size_t)(part - name) : 0;

	/* "bpf_prog_", the tag in hexadecimal digits, and the name */
	return part && strncmp(name, begin, strlen(begin)) == 0 && left > 4 &&
	       memcmp(part, "_op_", 4) == 0;
}

bool op_frame_is_unnamed(const char *name, size_t len)
{
	size_t digits = 0;

	/* the host hides its kernel's names */
	if (len == strlen("[kernel]") && !memcmp(name, "[kernel]", len))
		return true;
	while (len && strchr("0123456789abcdef", name[len - 1])) {
		len--;
		digits++;
	}
	/* without a file only the address */
	if (digits && len == 2)
		return memcmp(name, "0x", 2) == 0;
	/* after a file or, as in java@0x, after a runtime whose object was gone */
	return digits && len >= 3 &&
	       (memcmp(name + len - 3, "+0x", 3) == 0 ||
		memcmp(name + len - 3, "@0x", 3) == 0);
}

enum op_frame_class op_frame_class_of(const struct op_collect *c, uint32_t function)
{
	const struct op_collect_function *fn = &c->functions.data[function];
	struct frame f;

	copy(c, fn->name, false, f.name);
	copy(c, fn->type, false, f.type);
	copy(c, fn->file, true, f.file);
	copy(c, fn->module, true, f.path);
	f.module = strrchr(f.path, '/') ? strrchr(f.path, '/') + 1 : f.path;
	if (BEGINS_ANY(f.name, endings))
		return OP_CLASS_NONE;
	if (op_frame_is_ours(f.name, strlen(f.name)))
		return OP_CLASS_NONE;
	if (!strcmp(f.type, "kernel"))
		return OP_CLASS_KERNEL;
	if (!strcmp(f.type, "go"))
		return class_of_go(&f);
	if (!strcmp(f.type, "jvm") || !strcmp(f.type, "dotnet"))
		return class_of_managed(&f);
	if (!*f.type || !strcmp(f.type, "native") || !strcmp(f.type, "rust"))
		return class_of_native(&f);
	return class_of_script(&f);
}
