/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Go's values by address (lines, files, stack depth), and inlined calls. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/elf/gopclntab_private.h"
#include "code/elf/private.h"

enum {
	VARINT_BYTES_MAX = 5, /* for 32 bits */
	VALUE_STEPS_MAX = 1 << 20,
	/* most empty steps of a table, and most that is read for one address */
	VALUE_STEPS_MORE = 16,
	ADDRESS_STEPS_MAX = 1 << 18, /* about 2 ms */
	STEP_WORK = 16,
	INLINE_DEPTH_MAX = 64,
	PCDATA_INLINE = 2,   /* abi.PCDATA_InlTreeIndex */
	FUNCDATA_INLINE = 3, /* abi.FUNCDATA_InlTree */
	CALL_BYTES_MAX = 20, /* runtime.inlinedCall */
	/* How many trees locate the function data, and in how many functions they are. */
	SAMPLE_TREES = 16,
	SAMPLE_FUNCTIONS = 4096,
};

/* A value table that is read forward. */
struct values {
	struct op_elf *elf;
	uint64_t off;
	uint64_t end;
	uint8_t buf[64];
	size_t pos;
	size_t len;
};

static int next_byte(struct values *v, uint8_t *ret)
{
	if (v->pos == v->len) {
		size_t n;
		int r;

		if (v->off >= v->end)
			return -EBADMSG;
		n = (size_t)OP_MIN(v->end - v->off, (uint64_t)sizeof(v->buf));
		r = op_elf_read(v->elf, v->off, v->buf, n);
		if (r)
			return r;
		v->off += n;
		v->pos = 0;
		v->len = n;
	}
	*ret = v->buf[v->pos++];
	return 0;
}

static int next_varint(struct values *v, uint32_t *ret)
{
	uint64_t value = 0;
	unsigned int i;

	for (i = 0; i < VARINT_BYTES_MAX; i++) {
		uint8_t byte;
		int r = next_byte(v, &byte);

		if (r)
			return r;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80)) {
			*ret = (uint32_t)value;
			return 0;
		}
	}
	return -EBADMSG;
}

int op_gopclntab_values(
	struct op_gopclntab *t, const struct op_go_function *f, uint32_t offset,
	int (*fn)(void *data, uint64_t start, uint64_t end, int32_t value), void *data)
{
	struct values v = { .elf = t->elf, .off = t->values + offset, .end = t->end };
	uint32_t value = UINT32_MAX; /* -1 */
	uint64_t pc = f->entry;
	uint64_t most;
	uint64_t i;

	if (!offset || f->end <= f->entry)
		return 0;
	/* each value is valid for at least one instruction */
	most = (f->end - f->entry) / OP_MAX(t->quantum, 1) + VALUE_STEPS_MORE;
	most = OP_MIN(most, (uint64_t)VALUE_STEPS_MAX);
	for (i = 0; i < most && pc < f->end; i++) {
		uint64_t start = pc;
		uint32_t delta;
		int r;

		if (!t->steps_left)
			return -EFBIG;
		t->steps_left--;
		r = next_varint(&v, &delta);
		if (r)
			return r;
		/* A zero ends the table, except as its first value. */
		if (!delta && i)
			return 0;
		value += (delta >> 1) ^ (0 - (delta & 1));
		r = next_varint(&v, &delta);
		if (r)
			return r;
		pc += (uint64_t)delta * t->quantum;
		if (pc == start)
			continue;
		r = fn(data, start, OP_MIN(pc, f->end), (int32_t)value);
		if (r)
			return r;
	}
	return pc >= f->end ? 0 : -EBADMSG;
}

struct value_at {
	uint64_t vaddr;
	int32_t value;
};

static int take_value(void *data, uint64_t start, uint64_t end, int32_t value)
{
	struct value_at *at = data;

	if (at->vaddr < start || at->vaddr >= end)
		return 0;
	at->value = value;
	return 1;
}

int op_gopclntab_value(struct op_gopclntab *t, const struct op_go_function *f,
		       uint32_t offset, uint64_t vaddr, int32_t *ret)
{
	struct value_at at = { .vaddr = vaddr };
	int r;

	r = op_gopclntab_values(t, f, offset, take_value, &at);
	if (r > 0)
		*ret = at.value;
	return r;
}

/* Read a string of one of the tables, cut to the buffer. */
static int read_name(struct op_gopclntab *t, uint64_t off, char *buf, size_t size)
{
	int r;

	r = op_elf_read_str(t->elf, off, t->end, buf, size);
	if (r == -ENAMETOOLONG) {
		buf[size - 1] = 0;
		r = 0;
	}
	return r;
}

int op_gopclntab_name(struct op_gopclntab *t, const struct op_go_function *f, char *buf,
		      size_t size)
{
	return read_name(t, t->names + f->name, buf, size);
}

static int read_file(struct op_gopclntab *t, const struct op_go_function *f,
		     int32_t number, char *buf, size_t size)
{
	uint64_t base = t->version == OP_GO_1_2 ? t->files : t->cutab;
	uint64_t strings = t->version == OP_GO_1_2 ? t->start : t->files;
	uint32_t offset;
	int r;

	if (number < 0)
		return -ENODATA;
	r = op_elf_read(t->elf, base + 4 * ((uint64_t)f->cu + (uint32_t)number), &offset,
			sizeof(offset));
	if (r)
		return r;
	if (offset == UINT32_MAX) /* the linker removed the file */
		return -ENODATA;
	return read_name(t, strings + offset, buf, size);
}

/* An inlined call whose strings are not read yet. */
struct call {
	uint32_t name;
	uint32_t start_line;
	uint64_t vaddr; /* the address that determines file and line; 0: unknown */
};

/* The number of the innermost inlined call at @vaddr, or -1. */
static int32_t inline_number(struct op_gopclntab *t, const struct op_go_function *f,
			     uint64_t vaddr)
{
	uint32_t offset;
	int32_t value;

	if (f->npcdata <= PCDATA_INLINE ||
	    op_elf_read(t->elf, f->at + op_gopclntab_record_bytes(t) + 4 * PCDATA_INLINE,
			&offset, sizeof(offset)) ||
	    op_gopclntab_value(t, f, offset, vaddr, &value) <= 0)
		return -1;
	return value;
}

/* Where the tree of @f's inlined calls is: an ELF address in 1.16, then an offset from
 * t->gofunc. Returns 0; -ENODATA if there is none; or -errno. */
static int find_tree(struct op_gopclntab *t, const struct op_go_function *f,
		     uint64_t *ret)
{
	uint64_t off = f->at + op_gopclntab_record_bytes(t) + 4 * (uint64_t)f->npcdata;
	size_t size = t->version >= OP_GO_1_18 ? 4 : 8;
	uint64_t tree = 0;
	int r;

	if (t->version < OP_GO_1_16 || f->nfuncdata <= FUNCDATA_INLINE)
		return -ENODATA;
	if (size == 8)
		off += (t->vaddr + (off - t->start)) & 4; /* addresses are aligned */
	r = op_elf_read(t->elf, off + FUNCDATA_INLINE * size, &tree, size);
	if (r || tree == (size == 8 ? 0 : UINT32_MAX))
		return r ? r : -ENODATA;
	*ret = tree;
	return 0;
}

/* Read inlined call @number of the tree at ELF address @tree; *@ret_vaddr is the address of
 * its call site. */
static int read_call(struct op_gopclntab *t, const struct op_go_function *f,
		     uint64_t tree, int32_t number, struct call *ret, uint64_t *ret_vaddr)
{
	size_t size = t->version >= OP_GO_1_20 ? 16 : 20;
	uint8_t bytes[CALL_BYTES_MAX];
	struct op_reader reader = op_reader_init(bytes, size);
	uint32_t parent;
	int r;

	r = op_elf_read_vaddr(t->elf, tree + (uint64_t)(uint32_t)number * size, bytes,
			      size);
	if (r)
		return r;
	/* 1.20: funcID, 3 of padding, name, parent, start line.
	 * 1.16: parent's number, funcID, 1 of padding, file, line, name, parent. */
	if (t->version >= OP_GO_1_20) {
		if (bytes[1] || bytes[2] || bytes[3])
			return -EBADMSG; /* it is the layout of a later version */
		op_read_skip(&reader, 4);
	} else {
		if ((int16_t)op_read_u16(&reader) >= number)
			return -EBADMSG; /* parents are first */
		op_read_skip(&reader, 10);
	}
	ret->name = op_read_u32(&reader);
	parent = op_read_u32(&reader);
	ret->start_line = t->version >= OP_GO_1_20 ? op_read_u32(&reader) : 0;
	if (parent >= f->end - f->entry)
		return -EBADMSG;
	*ret_vaddr = f->entry + parent;
	return 0;
}

/* What the trees of some functions show about a place where the function data may be. */
struct sample {
	struct op_gopclntab *t;
	uint64_t place;
	unsigned int functions;
	unsigned int trees;
	unsigned int right;
};

/* Is the first call of the tree at ELF address @tree made in @f itself, and does it
 * call a function whose name is in the table? */
static bool is_tree(struct op_gopclntab *t, const struct op_go_function *f, uint64_t tree)
{
	struct call call;
	uint64_t vaddr;
	char before;

	return !read_call(t, f, tree, 0, &call, &vaddr) && call.name &&
	       !op_elf_read(t->elf, t->names + call.name - 1, &before, 1) && !before &&
	       inline_number(t, f, vaddr) < 0;
}

static int take_sample(void *data, const struct op_go_function *f)
{
	struct sample *s = data;
	uint64_t offset;

	if (!find_tree(s->t, f, &offset)) {
		s->trees++;
		s->right += is_tree(s->t, f, s->place + offset);
	}
	return ++s->functions == SAMPLE_FUNCTIONS || s->trees == SAMPLE_TREES;
}

/* Find the start of the function data: the place from which nearly every tree is valid.
 * Returns 0 or -errno. */
static int seek_gofunc(struct op_gopclntab *t)
{
	uint64_t off;
	size_t i;

	for (i = 0; i < OP_GO_PLACES; i++) {
		struct sample s = { .t = t, .place = t->places[i] };
		int r;

		if (op_elf_vaddr_offset(t->elf, s.place, 1, &off))
			continue;
		r = op_gopclntab_each(t, take_sample, &s);
		if (r < 0)
			return r;
		if (s.right <= s.trees / 2)
			continue;
		t->gofunc = s.place;
		break;
	}
	t->gofunc_sought = true;
	return 0;
}

/* This is done once, not for each address. */
static int find_gofunc(struct op_gopclntab *t)
{
	uint64_t left = t->steps_left;
	int r;

	if (t->gofunc_sought)
		return 0;
	t->steps_left = VALUE_STEPS_MAX;
	r = seek_gofunc(t);
	if (!t->steps_left) { /* what was found may be wrong */
		t->gofunc = 0;
		t->gofunc_sought = true;
	}
	t->steps_left = left;
	return r;
}

/* The ELF address of the tree of @f's inlined calls. */
static int locate_tree(struct op_gopclntab *t, const struct op_go_function *f,
		       uint64_t *ret)
{
	uint64_t tree;
	int r;

	r = find_tree(t, f, &tree);
	if (!r && t->version >= OP_GO_1_18) {
		r = find_gofunc(t);
		tree += t->gofunc;
		if (!r && !t->gofunc)
			r = -ENODATA;
	}
	if (!r)
		*ret = tree;
	return r;
}

/* Find the inlined calls at @vaddr, innermost first. Returns how many. */
static size_t find_calls(struct op_gopclntab *t, const struct op_go_function *f,
			 uint64_t vaddr, struct call ret[INLINE_DEPTH_MAX])
{
	uint64_t tree = 0;
	size_t n = 0;

	while (n < INLINE_DEPTH_MAX - 1) {
		int32_t number = inline_number(t, f, vaddr);
		uint64_t parent;

		if (number < 0)
			break;
		ret[n].vaddr = vaddr;
		if ((!tree && locate_tree(t, f, &tree)) ||
		    read_call(t, f, tree, number, &ret[n], &parent)) {
			/* The address is in inlined code of an unknown function, so this
			 * function's line is unknown, too. */
			n = 0;
			vaddr = 0;
			break;
		}
		n++;
		vaddr = parent;
	}
	ret[n].name = f->name;
	ret[n].start_line = f->start_line;
	ret[n].vaddr = vaddr;
	return n + 1;
}

static void read_line(struct op_gopclntab *t, const struct op_go_function *f,
		      const struct call *call, struct op_go_line *ret)
{
	int32_t value;

	ret->line = 0;
	ret->file[0] = 0;
	ret->start_line = call->start_line;
	if (read_name(t, t->names + call->name, ret->function, sizeof(ret->function)))
		ret->function[0] = 0;
	if (!call->vaddr)
		return;
	if (op_gopclntab_value(t, f, f->pcln, call->vaddr, &value) > 0 && value > 0)
		ret->line = (uint32_t)value;
	if (op_gopclntab_value(t, f, f->pcfile, call->vaddr, &value) <= 0 ||
	    read_file(t, f, value, ret->file, sizeof(ret->file)))
		ret->file[0] = 0;
}

/* Returns the number of lines, as long as there are steps left. */
static size_t read_lines(struct op_gopclntab *t, const struct op_go_function *f,
			 uint64_t vaddr, struct op_go_line *ret, size_t len)
{
	struct call calls[INLINE_DEPTH_MAX];
	size_t n = find_calls(t, f, vaddr, calls);
	size_t skip = n > len ? n - len : 0;
	size_t i;

	for (i = skip; i < n && t->steps_left; i++)
		read_line(t, f, &calls[i], &ret[i - skip]);
	return n - skip;
}

int op_gopclntab_lines(struct op_gopclntab *t, const struct op_go_function *f,
		       uint64_t vaddr, struct op_go_line *ret, size_t len)
{
	const struct call outermost = { .name = f->name, .start_line = f->start_line };
	size_t n;

	t->steps_left = ADDRESS_STEPS_MAX;
	n = read_lines(t, f, vaddr, ret, len);
	(void)op_elf_work(t->elf, (ADDRESS_STEPS_MAX - t->steps_left) * STEP_WORK);
	if (!t->steps_left && len) {
		/* no compiler's table is that long: use only the function's name */
		read_line(t, f, &outermost, ret);
		n = 1;
	}
	t->steps_left = UINT64_MAX;
	return (int)n;
}
