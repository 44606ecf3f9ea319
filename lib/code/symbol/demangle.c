/* SPDX-License-Identifier: Apache-2.0 */
/* Runs libiberty's demanglers with bounds on input, output, recursion and time. */
#include "code/symbol/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

enum {
	INPUT_MAX = 4096,
	OUTPUT_MAX = 32 << 10,
	/* For v0 names that may have punycode; see take(). */
	PUNYCODE_INPUT_MAX = 512,
};

struct output {
	struct op_strbuf text;
	jmp_buf too_long;
};

/*
 * A few hundred bytes of back references can produce an output larger than any memory, so
 * a longjmp() leaves the demangler when the bound is reached. Its callback interface
 * keeps nothing on the heap except the punycode of a v0 name, which would leak. Such
 * names therefore have a bound on their input.
 */
static void take(const char *bytes, size_t len, void *data)
{
	struct output *out = data;

	if (out->text.failed || out->text.len + len > OUTPUT_MAX)
		longjmp(out->too_long, 1);
	op_strbuf_add(&out->text, bytes, len);
}

static bool run(const char *name, enum op_mangling as, struct output *out)
{
	enum {
		OPTIONS = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP
	};

	if (setjmp(out->too_long))
		return false;
	if (as == OP_MANGLING_RUST)
		return rust_demangle_callback(name, DMGL_NO_OPTS, take, out);
	return cplus_demangle_v3_callback(name, OPTIONS, take, out);
}

static char *demangle_as(const char *name, enum op_mangling as)
{
	struct output out = { 0 };

	if (run(name, as, &out) && !out.text.failed && out.text.len)
		return out.text.data;
	op_strbuf_deinit(&out.text);
	return NULL;
}

static bool may_have_punycode(const char *name)
{
	for (; *name; name++) {
		if (name[0] == 'u' && isdigit((unsigned char)name[1]))
			return true;
	}
	return false;
}

/* The length of @name without ".llvm.<number>", which link-time optimisation appends. */
static size_t length_without_llvm(const char *name)
{
	const char *suffix = strstr(name, ".llvm.");

	return suffix ? (size_t)(suffix - name) : strlen(name);
}

char *op_demangle(const char *name, enum op_mangling *ret_mangling)
{
	bool v0 = strncmp(name, "_R", 2) == 0;
	_cleanup_free_ char *plain = NULL;
	char *text = NULL;

	if (!v0 && strncmp(name, "_Z", 2) != 0 && strncmp(name, "_GLOBAL_", 8) != 0)
		return NULL;
	if (strnlen(name, INPUT_MAX + 1) > INPUT_MAX)
		return NULL;
	if (v0 && may_have_punycode(name) && strlen(name) > PUNYCODE_INPUT_MAX)
		return NULL;
	plain = strndup(name, length_without_llvm(name));
	if (!plain)
		return NULL;
	/* Legacy Rust names are C++ names with a hash, so try Rust first. */
	text = demangle_as(plain, OP_MANGLING_RUST);
	if (text) {
		*ret_mangling = OP_MANGLING_RUST;
		return text;
	}
	text = v0 ? NULL : demangle_as(name, OP_MANGLING_CXX);
	if (text)
		*ret_mangling = OP_MANGLING_CXX;
	return text;
}
