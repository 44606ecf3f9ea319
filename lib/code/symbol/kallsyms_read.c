/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses /proc/kallsyms. A line is "ffffffff81000000 T name", and in a module
 * "\t[module]" follows. The addresses of the kernel itself ascend; those of a module do
 * not, and are sorted here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/symbol/kallsyms_private.h"

enum {
	PIECE_BYTES = 64 << 10,
	/* of one module, while it is sorted */
	MODULE_SYMBOLS_MAX = 1 << 18,
	HEX_DIGITS = 16,
};

struct line {
	uint64_t addr;
	char type;
	const char *name;
	const char *module;
};

struct symbol {
	uint64_t addr;
	uint32_t rank;
	uint32_t name; /* offset in names */
};

struct input {
	struct op_kallsyms_builder b;
	uint32_t module; /* module of the lines being read */
	OP_VEC(struct symbol) symbols;
	OP_VEC(char) names;
};

static void input_deinit(struct input *in)
{
	op_kallsyms_abort(&in->b);
	op_vec_clear(&in->symbols);
	op_vec_clear(&in->names);
}

/* Split the line @text into its parts. */
static bool parse_line(char *text, struct line *ret)
{
	struct line line = { .module = "vmlinux" };
	char *tab;
	int i;

	for (i = 0; i < HEX_DIGITS && text[i] && text[i] != ' '; i++) {
		char c = text[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
						   : -1;

		if (digit < 0)
			return false;
		line.addr = line.addr << 4 | (uint64_t)digit;
	}
	text += i;
	if (!i || text[0] != ' ' || !text[1] || text[2] != ' ' || !text[3])
		return false;
	line.type = text[1];
	line.name = text + 3;
	tab = strchr(text, '\t');
	if (tab) {
		size_t len = strlen(tab + 1);

		*tab++ = 0;
		if (len < 3 || len >= OP_KALLSYMS_MODULE_MAX || tab[0] != '[' ||
		    tab[len - 1] != ']')
			return false;
		tab[len - 1] = 0;
		line.module = tab + 1;
	}
	*ret = line;
	return line.name[0] != 0;
}

/* Is it not a function? Ignored are mapping symbols of aarch64, local labels, and the
 * padding before functions, which is never executed (x86, CONFIG_CALL_PADDING). */
static bool is_ignored(const char *name)
{
	return name[0] == '$' || strncmp(name, ".L", 2) == 0 ||
	       strncmp(name, "__pfx_", 6) == 0;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a;
	const struct symbol *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The lines of a module have ended: add its symbols. */
static int end_module(struct input *in)
{
	const struct symbol *s;

	if (!in->symbols.len)
		return 0;
	qsort(in->symbols.data, in->symbols.len, sizeof(*in->symbols.data),
	      compare_symbols);
	op_vec_foreach(s, &in->symbols) {
		int r = op_kallsyms_add(&in->b, s->addr, s->rank,
					in->names.data + s->name, in->module);

		if (r)
			return r;
	}
	in->symbols.len = 0;
	in->names.len = 0;
	return 0;
}

/* Make @name the module of the following lines. */
static int set_module(struct input *in, const char *name)
{
	struct op_kallsyms_module *m;
	size_t i;
	int r;

	if (in->b.table.modules.len &&
	    strcmp(in->b.table.modules.data[in->module].name, name) == 0)
		return 0;
	r = end_module(in);
	if (r)
		return r;
	for (i = 0; i < in->b.table.modules.len; i++) {
		if (strcmp(in->b.table.modules.data[i].name, name) == 0) {
			in->module = (uint32_t)i;
			return 0;
		}
	}
	if (in->b.table.modules.len >= OP_KALLSYMS_MODULES_MAX)
		return -EFBIG;
	m = op_vec_push(&in->b.table.modules);
	if (!m)
		return -ENOMEM;
	*m = (struct op_kallsyms_module){ .name = strdup(name) };
	if (!m->name) {
		in->b.table.modules.len--;
		return -ENOMEM;
	}
	in->module = (uint32_t)in->b.table.modules.len - 1;
	return 0;
}

static int collect(struct input *in, const struct line *line, uint32_t rank)
{
	const char *name = rank == UINT32_MAX ? "" : line->name;
	size_t len = strlen(name) + 1;
	struct symbol *s;

	if (in->symbols.len >= MODULE_SYMBOLS_MAX) {
		in->b.table.refused++;
		return 0;
	}
	if (op_vec_reserve(&in->names, len))
		return -ENOMEM;
	s = op_vec_push(&in->symbols);
	if (!s)
		return -ENOMEM;
	*s = (struct symbol){ line->addr, rank, (uint32_t)in->names.len };
	memcpy(in->names.data + in->names.len, name, len);
	in->names.len += len;
	return 0;
}

static int take_line(struct input *in, char *text)
{
	struct line line;
	uint32_t rank;
	int r;

	if (!parse_line(text, &line) || !line.addr || is_ignored(line.name))
		return 0;
	r = set_module(in, line.module);
	if (r)
		return r;
	rank = op_kallsyms_rank(line.type, line.name);
	if (strcmp(line.module, "vmlinux") != 0)
		return collect(in, &line, rank);
	return op_kallsyms_add(&in->b, line.addr, rank, line.name, in->module);
}

/* Parse the complete lines of @buf; the rest is moved to the front and *@len becomes its
 * length. */
static int take_lines(struct input *in, char *buf, size_t *len)
{
	char *start = buf;
	char *end = buf + *len;
	char *newline;

	while ((newline = memchr(start, '\n', (size_t)(end - start)))) {
		int r;

		*newline = 0;
		r = take_line(in, start);
		if (r)
			return r;
		start = newline + 1;
	}
	*len = (size_t)(end - start);
	/* A line that fills the buffer is not a line of kallsyms. */
	if (*len == PIECE_BYTES)
		*len = 0;
	memmove(buf, start, *len);
	return 0;
}

static int read_lines(struct input *in, int fd)
{
	_cleanup_free_ char *buf = NULL;
	size_t len = 0;
	int r;

	buf = malloc(PIECE_BYTES);
	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, buf + len, PIECE_BYTES - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		len += (size_t)n;
		r = take_lines(in, buf, &len);
		if (r)
			return r;
	}
}

int op_kallsyms_read(int fd, struct op_kallsyms *ret)
{
	_cleanup_(input_deinit) struct input in = { 0 };
	int r;

	r = read_lines(&in, fd);
	if (!r)
		r = end_module(&in);
	if (!r)
		r = op_kallsyms_finish(&in.b);
	if (r)
		return r;
	*ret = in.b.table;
	in.b.table = (struct op_kallsyms){ 0 };
	return 0;
}
