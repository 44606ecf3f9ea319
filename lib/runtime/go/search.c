/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/go/search.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "code/elf/file.h"
#include "code/elf/gopclntab.h"

enum {
	LIST,
	RATE,
	CYCLE,
	NAME_BYTES = 40,
	WORD = 8,
	/* A single function may load other variables, too. */
	FUNCTIONS_MIN = 2,
	ALWAYS = 0,
	/* It was merged into runtime.memProfileInternal. */
	PROFILE_MOVED = 23,
};

/* runtime/mprof.go, malloc.go and mcache.go. */
static const struct {
	const char *name;
	uint8_t variable;
	uint8_t since; /* the first Go 1.x in which the function loads it */
	uint8_t until; /* the first in which it does not */
} FUNCTIONS[] = {
	{ "runtime.mProf_FlushLocked", LIST, ALWAYS, UINT8_MAX },
	{ "runtime.MemProfile", LIST, ALWAYS, PROFILE_MOVED },
	{ "runtime.memProfileInternal", LIST, PROFILE_MOVED, UINT8_MAX },
	{ "runtime.profilealloc", RATE, ALWAYS, UINT8_MAX },
	{ "runtime.allocmcache", RATE, ALWAYS, UINT8_MAX },
	{ "runtime.mProf_Flush", CYCLE, ALWAYS, UINT8_MAX },
	{ "runtime.mProf_PostSweep", CYCLE, ALWAYS, UINT8_MAX },
	{ "runtime.mProf_Free", CYCLE, ALWAYS, UINT8_MAX },
};

static const uint8_t WIDTH[OP_GO_VARIABLES] = {
	[LIST] = WORD,
	[RATE] = WORD,
	[CYCLE] = WORD / 2,
};

struct pass {
	struct op_go_search *search;
	struct op_elf *elf;
	struct op_gopclntab *table;
	uint32_t wanted; /* bits as in the search */
};

static bool is_wanted(uint32_t minor, size_t i)
{
	return minor >= FUNCTIONS[i].since && minor < FUNCTIONS[i].until;
}

/* Is there a variable of @width bytes at ELF address @at? */
static bool is_variable(const struct op_elf *elf, uint64_t at, uint64_t width)
{
	const struct op_elf_segment *segment;
	size_t len;
	size_t i;

	segment = op_elf_segments(elf, &len);
	for (i = 0; i < len && at % width == 0; i++)
		if (segment[i].type == PT_LOAD && segment[i].flags & PF_W &&
		    at >= segment[i].vaddr &&
		    op_range_ok(at - segment[i].vaddr, width, segment[i].memsz))
			return true;
	return false;
}

/* Keep only variables that one more function loads. A function that loads too many is
 * ignored. */
static void keep(const struct op_elf *elf, struct op_go_common *c,
		 const struct op_decode_loads *loads, uint64_t width)
{
	const struct op_decode_loads *from = c->functions ? &c->loads : loads;
	size_t kept = 0;
	size_t i;

	for (i = 0; i < from->len && !loads->full; i++)
		if (op_decode_loads_has(loads, from->at[i]) &&
		    is_variable(elf, from->at[i], width))
			c->loads.at[kept++] = from->at[i];
	c->loads.len = kept;
	c->functions++;
}

static int read_function(struct pass *p, size_t which, const struct op_go_function *f)
{
	uint64_t len = OP_MIN(f->end - f->entry, (uint64_t)OP_GO_CODE_BYTES_MAX);
	uint8_t variable = FUNCTIONS[which].variable;
	uint8_t code[OP_GO_CODE_BYTES_MAX];
	struct op_decode_loads loads = { 0 };
	int r = op_elf_read_vaddr(p->elf, f->entry, code, (size_t)len);

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	if (op_elf_machine(p->elf) == EM_AARCH64)
		op_decode_loads_aarch64(code, (size_t)len, f->entry, WIDTH[variable],
					&loads);
	else
		op_decode_loads_x86_64(code, (size_t)len, f->entry, WIDTH[variable],
				       &loads);
	keep(p->elf, &p->search->common[variable], &loads, WIDTH[variable]);
	p->search->seen |= 1U << which;
	return 0;
}

static int on_function(void *data, const struct op_go_function *f)
{
	struct pass *p = data;
	char name[NAME_BYTES];
	size_t i;
	int r;

	if (p->search->next >= OP_GO_SEARCHED_MAX)
		return -E2BIG;
	r = op_gopclntab_name(p->table, f, name, sizeof(name));
	if (r == -ENODATA)
		return 0;
	for (i = 0; r == 0 && i < OP_ARRAY_SIZE(FUNCTIONS); i++)
		if (p->wanted & 1U << i && strcmp(name, FUNCTIONS[i].name) == 0)
			r = read_function(p, i, f);
	if (r < 0)
		return r;
	return p->search->seen == p->wanted;
}

/* The one variable, or 0. */
static uint64_t only(const struct op_go_common *c)
{
	return c->functions >= FUNCTIONS_MIN && c->loads.len == 1 ? c->loads.at[0] : 0;
}

int op_go_search(struct op_go_search *s, struct op_elf *elf, struct op_gopclntab *table,
		 uint32_t minor, struct op_allowance *allowance,
		 struct op_go_buckets_at *ret)
{
	struct pass p = { .search = s, .elf = elf, .table = table };
	struct op_go_buckets_at at = { .minor = minor };
	size_t i;
	int r;

	for (i = 0; i < OP_ARRAY_SIZE(FUNCTIONS); i++)
		p.wanted |= is_wanted(minor, i) ? 1U << i : 0;
	r = op_gopclntab_each_from(table, &s->next, allowance, on_function, &p);
	if (r < 0)
		return r;
	at.list = only(&s->common[LIST]);
	at.rate = only(&s->common[RATE]);
	at.cycle = only(&s->common[CYCLE]);
	if (!at.list || !at.rate || !at.cycle)
		return 0;
	*ret = at;
	return 1;
}
