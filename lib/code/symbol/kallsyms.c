/* SPDX-License-Identifier: Apache-2.0 */
/* Builds, compresses and searches the table of kernel functions. */
#include "code/symbol/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "code/symbol/kallsyms_private.h"

enum {
	COMPRESSION_LEVEL = 3,
	/* The largest size of the names of a block, uncompressed. */
	BLOCK_NAMES_MAX = OP_KALLSYMS_BLOCK * OP_KALLSYMS_NAME_MAX,
};

void op_kallsyms_deinit(struct op_kallsyms *k)
{
	struct op_kallsyms_module *m;

	op_vec_foreach(m, &k->modules) {
		free(m->name);
		free(m->build_id);
	}
	op_vec_clear(&k->modules);
	op_vec_clear(&k->blocks);
	op_vec_clear(&k->offsets);
	op_vec_clear(&k->names);
}

void op_kallsyms_abort(struct op_kallsyms_builder *b)
{
	op_kallsyms_deinit(&b->table);
	op_vec_clear(&b->names);
	(void)ZSTD_freeCCtx(b->zstd);
	b->zstd = NULL;
}

uint32_t op_kallsyms_rank(char type, const char *name)
{
	uint32_t bind;

	switch (type) {
	case 'T':
		bind = 0;
		break;
	case 'W':
	case 'w':
		bind = 1;
		break;
	case 't':
		bind = 2;
		break;
	default:
		return UINT32_MAX;
	}
	return bind * OP_KALLSYMS_NAME_MAX + (uint32_t)strspn(name, "_");
}

/* The block is full: compress its names. */
static int put_block(struct op_kallsyms_builder *b)
{
	struct op_kallsyms *t = &b->table;
	struct op_kallsyms_block *block;
	size_t bound = ZSTD_compressBound(b->names.len);
	size_t n;

	if (!b->block.len)
		return 0;
	if (!b->zstd)
		b->zstd = ZSTD_createCCtx();
	block = b->zstd ? op_vec_push(&t->blocks) : NULL;
	if (!block)
		return -ENOMEM;
	*block = b->block;
	if (op_vec_reserve(&t->names, bound))
		return -ENOMEM;
	n = ZSTD_compressCCtx(b->zstd, t->names.data + t->names.len, bound, b->names.data,
			      b->names.len, COMPRESSION_LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM;
	block->names = (uint32_t)t->names.len;
	block->names_len = (uint32_t)n;
	t->names.len += n;
	b->block.len = 0;
	b->names.len = 0;
	return 0;
}

/* Append one symbol; "" marks the end of the function before it. */
static int put(struct op_kallsyms_builder *b, uint64_t addr, const char *name,
	       uint32_t module)
{
	struct op_kallsyms *t = &b->table;
	size_t len = strlen(name) + 1;
	uint32_t *offset;
	int r;

	if (t->offsets.len >= OP_KALLSYMS_SYMBOLS_MAX) {
		t->refused++;
		return 0;
	}
	if (b->block.len == OP_KALLSYMS_BLOCK || b->block.module != module ||
	    addr < b->block.base || addr - b->block.base > UINT32_MAX) {
		r = put_block(b);
		if (r)
			return r;
	}
	if (!b->block.len)
		b->block = (struct op_kallsyms_block){
			.base = addr,
			.first = (uint32_t)t->offsets.len,
			.module = module,
		};
	if (op_vec_reserve(&b->names, len))
		return -ENOMEM;
	offset = op_vec_push(&t->offsets);
	if (!offset)
		return -ENOMEM;
	*offset = (uint32_t)(addr - b->block.base);
	memcpy(b->names.data + b->names.len, name, len);
	b->names.len += len;
	b->block.len++;
	return 0;
}

static int put_last(struct op_kallsyms_builder *b)
{
	bool gap = b->last.rank == UINT32_MAX;
	bool again = gap && b->in_gap;

	if (!b->has_last)
		return 0;
	b->has_last = false;
	b->in_gap = gap;
	if (again)
		return 0;
	if (!gap) {
		struct op_kallsyms_module *m = &b->table.modules.data[b->last.module];

		if (!m->start || b->last.addr < m->start)
			m->start = b->last.addr;
		b->table.symbols++;
	}
	return put(b, b->last.addr, b->last.name, b->last.module);
}

int op_kallsyms_add(struct op_kallsyms_builder *b, uint64_t addr, uint32_t rank,
		    const char *name, uint32_t module)
{
	struct op_kallsyms_symbol *last = &b->last;
	int r;

	if (b->has_last && last->addr == addr && last->module == module &&
	    last->rank <= rank)
		return 0;
	if (b->has_last && (last->addr != addr || last->module != module)) {
		/* The first symbol of a module ends no function, because modules are
		 * independent. */
		bool same = last->module == module;

		r = put_last(b);
		if (r)
			return r;
		b->in_gap = b->in_gap || !same;
	}
	last->addr = addr;
	last->module = module;
	last->rank = rank;
	(void)snprintf(last->name, sizeof(last->name), "%s",
		       rank == UINT32_MAX ? "" : name);
	b->has_last = true;
	return 0;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct op_kallsyms_block *x = a;
	const struct op_kallsyms_block *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

int op_kallsyms_finish(struct op_kallsyms_builder *b)
{
	struct op_kallsyms *t = &b->table;
	void *p;
	int r;

	r = put_last(b);
	if (!r)
		r = put_block(b);
	if (r || !t->blocks.len)
		return r;
	qsort(t->blocks.data, t->blocks.len, sizeof(*t->blocks.data), compare_blocks);
	/* Growth leaves up to half of the memory unused; failing to shrink
	 * is harmless. */
	p = realloc(t->names.data, t->names.len);
	if (p) {
		t->names.data = p;
		t->names.cap = t->names.len;
	}
	p = realloc(t->offsets.data, t->offsets.len * sizeof(*t->offsets.data));
	if (p) {
		t->offsets.data = p;
		t->offsets.cap = t->offsets.len;
	}
	return 0;
}

uint32_t op_kallsyms_lookup(const struct op_kallsyms *k, uint64_t addr,
			    const struct op_kallsyms_block **ret_block)
{
	const struct op_kallsyms_block *block;
	const uint32_t *offsets;
	size_t above = op_first_where(i, k->blocks.len, k->blocks.data[i].base > addr);

	if (!above)
		return UINT32_MAX;
	block = &k->blocks.data[above - 1];
	offsets = &k->offsets.data[block->first];
	above = op_first_where(i, block->len, offsets[i] > addr - block->base);
	if (!above || addr - block->base - offsets[above - 1] >= OP_KALLSYMS_FUNCTION_MAX)
		return UINT32_MAX;
	*ret_block = block;
	return block->first + (uint32_t)above - 1;
}

int op_kallsyms_names(const struct op_kallsyms *k, const struct op_kallsyms_block *block,
		      struct ZSTD_DCtx_s *context, char **ret, size_t *ret_len)
{
	const char *in = k->names.data + block->names;
	unsigned long long size = ZSTD_getFrameContentSize(in, block->names_len);
	char *names;
	size_t n;

	if (size > BLOCK_NAMES_MAX) /* also if the size is unknown */
		return -EBADMSG;
	names = malloc(size + 1);
	if (!names)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(context, names, size, in, block->names_len);
	if (ZSTD_isError(n)) {
		free(names);
		return -ENOMEM;
	}
	names[n] = 0;
	*ret = names;
	*ret_len = n;
	return 0;
}

size_t op_kallsyms_bytes(const struct op_kallsyms *k)
{
	return k->blocks.cap * sizeof(*k->blocks.data) +
	       k->offsets.cap * sizeof(*k->offsets.data) + k->names.cap +
	       k->modules.cap * sizeof(*k->modules.data);
}
