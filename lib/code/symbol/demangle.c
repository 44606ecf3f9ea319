/* SPDX-License-Identifier: Apache-2.0 */
/* Runs libiberty's demanglers with bounds on input, output, recursion and time. */
#include "code/symbol/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

enum {
	INPUT_MAX = 32 << 10,
	OUTPUT_MAX = 64 << 10,
	/*
	 * libiberty refuses longer C++ names unless its limit of recursion is off.
	 * Without the limit it recurses at most once for each byte, which takes up to 146
	 * bytes of stack, and has arrays on the stack. So such names get a thread with a
	 * stack large enough for that.
	 */
	SHORT_MAX = 1024,
	STACK_BASE = 2 << 20,
	STACK_EACH = 512,		/* for each byte of a name */
	STACK_ARRAYS_SHORT = 128 << 10, /* arrays that are left to the caller's stack */
	STACK_ARRAYS_MAX = 192 << 20,
	ARRAY_ENTRY = 16,
	/* Nodes that one look for a pack may visit; see finds_packs(). */
	PACK_NODES_MAX = 1 << 18,
	SUBSTITUTIONS_MAX = 4096,
	/* Longer names may refer to template parameters PARAMETERS_MAX times. */
	MANY_PARAMETERS_MAX = 8192,
	PARAMETERS_MAX = 64,
	PARAMETER_DIGITS = 3, /* of a parameter's number that is refused */
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

/* Run with @arrays bytes for libiberty's arrays. Pages of the stack that are not touched
 * take no memory. */
static bool run_in_thread(const char *name, enum op_mangling as, size_t arrays,
			  struct output *out)
{
	struct long_name l = { .name = name, .as = as, .out = out };
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (pthread_attr_init(&attr))
		return false;
	(void)pthread_attr_setstacksize(&attr,
					STACK_BASE + STACK_EACH * strlen(name) + arrays);
	r = start_long(&attr, &l, &thread);
	(void)pthread_attr_destroy(&attr);
	return !r && !pthread_join(thread, NULL) && l.taken;
}

/*
 * The most bytes of the arrays that libiberty keeps on the stack while it prints: copies
 * of templates, one of each template for each reference to a parameter. It counts a node
 * at most twice.
 */
static size_t array_bytes(const char *name)
{
	size_t templates = 0;
	size_t references = 0;
	const char *at;

	for (at = name; *at; at++) {
		templates += *at == 'I';
		references +=
			(*at == 'R' || *at == 'O') && (at[1] == 'T' || at[1] == 'S');
	}
	return (2 * templates + 1) * (2 * references + 1) * ARRAY_ENTRY;
}

/* A substitution at @at ("S1_")? Its number from 1, and 0 for others ("S_", "St"). */
static size_t substitution(const char *at)
{
	size_t number = 0;
	size_t i;

	if (*at != 'S')
		return 0;
	for (i = 1; isdigit((unsigned char)at[i]) || isupper((unsigned char)at[i]); i++) {
		number = number * 36 + (size_t)(isdigit((unsigned char)at[i])
							? at[i] - '0'
							: at[i] - 'A' + 10);
		if (number > SUBSTITUTIONS_MAX)
			return SUBSTITUTIONS_MAX;
	}
	return at[i] != '_' ? 0 : i == 1 ? 1 : number + 2;
}

/* May a pack expansion begin at @at whose pattern is more than T&&... or the like? */
static bool may_be_pack(const char *at)
{
	/* what an expression may begin with: libiberty's operators and a few more */
	static const char codes[] =
		"aN aS aa ad an at aw az cb cc cl cm co cp cr cv cw dV dX da "
		"dc de di dl ds dt dv eO eo eq fL fR fl fp fr ge gs gt il ix "
		"lS le li ls lt mI mL mi ml mm na ne ng nt nw nx oR on oo or "
		"pL pl pm pp ps pt qu rM rS rc rm rs rq sP sZ sc so sp sr ss "
		"st sz te ti tl tr tw ";
	const char *pattern = at + 2;
	const char *pair;

	if (strncmp(at, "Dp", 2) != 0 && strncmp(at, "sp", 2) != 0 &&
	    strncmp(at, "sZ", 2) != 0)
		return false;
	pattern += strspn(pattern, "PROKV");
	if (strncmp(pattern, "fp", 2) == 0)
		return false;
	if (*pattern == 'T') {
		pattern +=
			1 + strspn(pattern + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		/* also no parameter that is a template and has arguments */
		return *pattern != '_' || pattern[1] == 'I';
	}
	if (*at == 'D' || !islower((unsigned char)*pattern) || *pattern == 'u')
		return true;
	for (pair = codes; *pair; pair += 3)
		if (strncmp(pattern, pair, 2) == 0)
			return true;
	return false;
}

/*
 * Would libiberty look for packs in more than PACK_NODES_MAX nodes? It follows each
 * substitution each time, so that a few hundred bytes make more nodes than could be
 * visited. What a substitution has was read before it is used first, so it is no larger
 * than all that, with the substitutions there.
 */
static bool finds_packs(const char *name)
{
	_cleanup_free_ uint32_t *nodes = NULL;
	bool packs = false;
	uint32_t all = 0;
	const char *at;

	for (at = name; *at && !packs; at++)
		packs = may_be_pack(at);
	if (!packs)
		return false;
	nodes = calloc(SUBSTITUTIONS_MAX + 1, sizeof(*nodes));
	if (!nodes)
		return true;
	for (at = name; *at && all <= PACK_NODES_MAX; at++) {
		size_t number = substitution(at);

		all++;
		if (number && !nodes[number])
			nodes[number] = all;
		if (number)
			all += nodes[number];
	}
	return all > PACK_NODES_MAX;
}

/* Has @name so many template parameters that finding them could take long? Each may be an
 * empty pack, which gives no output, and libiberty counts through the list to find it. */
static bool has_many_parameters(const char *name)
{
	bool is_long = strlen(name) > MANY_PARAMETERS_MAX;
	size_t parameters = 0;

	for (; *name; name++) {
		size_t digits = *name == 'T' ? strspn(name + 1, "0123456789") : 0;

		if (digits >= PARAMETER_DIGITS && name[1 + digits] == '_')
			return true;
		parameters += *name == 'T' &&
			      (name[1] == '_' || isalnum((unsigned char)name[1]));
	}
	return is_long && parameters > PARAMETERS_MAX;
}

static bool run_cxx(const char *name, struct output *out)
{
	size_t arrays = array_bytes(name);

	if (arrays > STACK_ARRAYS_MAX || finds_packs(name) || has_many_parameters(name))
		return false;
	if (strlen(name) > SHORT_MAX || arrays > STACK_ARRAYS_SHORT)
		return run_in_thread(name, OP_MANGLING_CXX, arrays, out);
	return run(name, OP_MANGLING_CXX, 0, out);
}

static char *demangle_as(const char *name, enum op_mangling as)
{
	struct output out = { 0 };
	bool taken = as == OP_MANGLING_CXX ? run_cxx(name, &out) : run(name, as, 0, &out);

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
