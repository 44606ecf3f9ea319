/* SPDX-License-Identifier: Apache-2.0 */
/* Finds Perl's version, variables and loop in a file. All are exported, for its extensions. */
#include "runtime/perl/image.h"

#include <errno.h>
#include <stdio.h>

#include "runtime/exports.h"

enum symbol {
	LOOP,
	LOOP_DEBUG,
	REVISION,
	VERSION,
	KEY,
	INTERPRETER,
	OP,
	CURCOP,
	STACKINFO,
	TOP_ENV,
	SYMBOLS,
};

static const char *const names[SYMBOLS] = {
	[LOOP] = "Perl_runops_standard",
	[LOOP_DEBUG] = "Perl_runops_debug",
	[REVISION] = "PL_revision",
	[VERSION] = "PL_version",
	[KEY] = "PL_thr_key",
	[INTERPRETER] = "PL_curinterp",
	[OP] = "PL_op",
	[CURCOP] = "PL_curcop",
	[STACKINFO] = "PL_curstackinfo",
	[TOP_ENV] = "PL_top_env",
};

static const uint64_t INTERPRETER_OP = 8; /* struct interpreter.Iop, since Perl 5.6 */

/* The version in its two bytes, 0x0524 for 5.36. Returns 0 or -errno. */
static int read_version(struct op_elf *elf, const struct op_elf_symbol *symbol,
			uint16_t *ret)
{
	uint8_t part[2];
	int r = op_elf_read_vaddr(elf, symbol[REVISION].value, &part[0], 1);

	if (r == 0)
		r = op_elf_read_vaddr(elf, symbol[VERSION].value, &part[1], 1);
	if (r == 0)
		*ret = (uint16_t)(part[0] << 8 | part[1]);
	return r;
}

/* Find the offsets of the interpreter's members. Returns 1, 0 if they are unknown, or
 * -errno. */
static int find_interpreter(struct op_elf *elf, const struct op_elf_symbol *symbol,
			    struct op_perl_image *ret)
{
	int r = 0;

	ret->key = symbol[KEY].value;
	ret->interpreter = symbol[INTERPRETER].value;
	ret->op = symbol[OP].value;
	ret->curcop = symbol[CURCOP].value;
	ret->stackinfo = symbol[STACKINFO].value;
	ret->top_env = symbol[TOP_ENV].value;
	if (ret->op) {
		ret->where = OP_PERL_GLOBALS;
		return ret->curcop && ret->stackinfo && ret->top_env;
	}
	ret->op = INTERPRETER_OP;
	ret->curcop = ret->layout.curcop;
	ret->stackinfo = ret->layout.stackinfo;
	ret->top_env = ret->layout.top_env;
	if (!ret->interpreter)
		return 0;
	ret->where = OP_PERL_POINTER;
	if (!ret->key)
		return 1;
	r = op_elf_tls_find(elf, "PL_current_context", &ret->tls);
	ret->where = r == 1 ? OP_PERL_TLS : OP_PERL_KEY;
	return r < 0 ? r : 1;
}

int op_runtime_perl_image(struct op_elf *elf, const char *path,
			  const struct op_layouts *layouts, struct op_log *log,
			  struct op_perl_image *ret, struct op_runtime_loop *ret_loop)
{
	struct op_elf_symbol symbol[SYMBOLS];
	struct op_perl_image image = { 0 };
	char text[OP_LAYOUTS_VERSION_MAX + 1];
	uint16_t version = 0;
	int r;

	if (!op_runtime_may_export(elf, names[LOOP]))
		return 0;
	r = op_elf_find_symbols(elf, names, SYMBOLS, symbol);
	if (r < 0)
		return r;
	if (!symbol[LOOP].size || !symbol[REVISION].value || !symbol[VERSION].value)
		return 0;
	r = read_version(elf, symbol, &version);
	if (r < 0)
		return r;
	r = op_layouts_find_number(layouts, &op_runtime_perl_layouts, version,
				   &image.layout);
	if (r == -ENOENT) {
		(void)snprintf(text, sizeof(text), "%u.%u", version >> 8u,
			       version & 255u);
		return op_layouts_unknown(&op_runtime_perl_layouts, text, path, log);
	}
	if (r == 0)
		r = find_interpreter(elf, symbol, &image);
	if (r == 0) {
		op_log(log, OP_LOG_WARNING,
		       "%s: Perl's interpreter was not found; its frames stay native",
		       path);
		return -ENOTSUP;
	}
	if (r < 0)
		return r;
	*ret = image;
	for (r = LOOP; r <= LOOP_DEBUG; r++) {
		if (!symbol[r].size)
			continue;
		ret_loop->range[ret_loop->count][0] = symbol[r].value;
		ret_loop->range[ret_loop->count++][1] = symbol[r].value + symbol[r].size;
	}
	return 1;
}
