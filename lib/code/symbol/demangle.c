/* SPDX-License-Identifier: Apache-2.0 */
/* Runs libiberty's demanglers with bounds on input, output, recursion and time. */
#include "code/symbol/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

enum {
	INPUT_MAX = 8192,
	OUTPUT_MAX = 32 << 10,
	/*
	 * libiberty refuses longer C++ names unless its limit of recursion is off.
	 * Without the limit it recurses at most once for each byte, and has an array of
	 * the name's length on the stack. So such names get a thread with a stack large
	 * enough for that.
	 */
	SHORT_MAX = 1024,
	STACK_BYTES = 32 << 20,
	/* For v0 names that may have punycode; see take(). */
	PUNYCODE_INPUT_MAX = 512,
};

struct output {
	struct op_strbuf text;
	jmp_buf too_long;
};

/*
 * A few hundred bytes of back references can produce an output larger than any memory,
 * so a longjmp() leaves the demangler at the bound. Its callback interface keeps
 * nothing on the heap except the punycode of a v0 name, which would leak. So the input
 * of such names is bounded, too.
 */
static void take(const char *bytes, size_t len, void *data)
{
	struct output *out = data;

	if (out->text.failed || out->text.len + len > OUTPUT_MAX)
		longjmp(out->too_long, 1);
	op_strbuf_add(&out->text, bytes, len);
}

static bool run(const char *name, enum op_mangling as, int more, struct output *out)
{
	enum {
		OPTIONS = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP
	};

	if (setjmp(out->too_long))
		return false;
	if (as == OP_MANGLING_RUST)
		return rust_demangle_callback(name, DMGL_NO_OPTS, take, out);
	return cplus_demangle_v3_callback(name, OPTIONS | more, take, out);
}

struct long_name {
	const char *name;
	enum op_mangling as;
	struct output *out;
	bool taken;
};

static void *run_long(void *arg)
{
	struct long_name *l = arg;

	l->taken = run(l->name, l->as, DMGL_NO_RECURSE_LIMIT, l->out);
	return NULL;
}

static int start_long(const pthread_attr_t *attr, struct long_name *l, pthread_t *ret)
{
	_cleanup_signals_ sigset_t before = op_signals_block();

	return pthread_create(ret, attr, run_long, l);
}

static bool run_in_thread(const char *name, enum op_mangling as, struct output *out)
{
	struct long_name l = { .name = name, .as = as, .out = out };
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (pthread_attr_init(&attr))
		return false;
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	r = start_long(&attr, &l, &thread);
	(void)pthread_attr_destroy(&attr);
	return !r && !pthread_join(thread, NULL) && l.taken;
}

static char *demangle_as(const char *name, enum op_mangling as)
{
	struct output out = { 0 };

	bool is_long = as == OP_MANGLING_CXX && strlen(name) > SHORT_MAX;
	bool taken = is_long ? run_in_thread(name, as, &out) : run(name, as, 0, &out);

	if (taken && !out.text.failed && out.text.len)
		return out.text.data;
	op_strbuf_deinit(&out.text);
	return NULL;
}

static bool is_base62(char c)
{
	return isalnum((unsigned char)c);
}

/* Skip a number in base 62 or 16 that begins at @at and ends with '_'; @at if there is none. */
static const char *skip_number(const char *at)
{
	const char *end = at;

	while (is_base62(*end))
		end++;
	return *end == '_' ? end + 1 : at;
}

/* Skip an identifier that begins with its length. */
static const char *skip_identifier(const char *at)
{
	size_t len = strlen(at);
	size_t bytes = 0;
	size_t i = 0;

	for (; isdigit((unsigned char)at[i]) && bytes < len; i++)
		bytes = bytes * 10 + (size_t)(at[i] - '0');
	i += at[i] == '_';
	return at + (bytes < len - i ? i + bytes : len);
}

/*
 * May a v0 name have an identifier in punycode, a 'u' before its length? Elsewhere such bytes are
 * in other identifiers, or in numbers: disambiguators (s), bound lifetimes (G, L), back
 * references (B) and values (K, whose type comes first).
 */
static bool may_have_punycode(const char *name)
{
	const char *at = name;

	while (*at) {
		char c = *at;

		if (c == 'u' && isdigit((unsigned char)at[1]))
			return true;
		if (isdigit((unsigned char)c)) {
			at = skip_identifier(at);
			continue;
		}
		at++;
		if (c == 's' || c == 'G' || c == 'L' || c == 'B')
			at = skip_number(at);
		else if (c == 'K' && *at && *at != 'B')
			at = skip_number(at + 1 + (at[1] == 'n'));
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
	if (v0 && may_have_punycode(name + 2) && strlen(name) > PUNYCODE_INPUT_MAX)
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
