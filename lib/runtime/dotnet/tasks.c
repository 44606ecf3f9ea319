/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/tasks.h"

#include <errno.h>
#include <stdbool.h>

#include "runtime/dotnet/module.h"

static const char core_name[] = "System.Private.CoreLib";
static const char box_name[] = "AsyncStateMachineBox`1";

enum {
	ENTRIES = 1 << OP_DOTNET_LEVEL_BITS,
	TABLES_MAX = 64,
	MODULES_MAX = 256,
};

/* The process's memory, of which a poll reads only so much at once. */
struct bounded {
	struct op_memory memory;
	const struct op_memory *from;
	uint32_t *left;
};

struct search {
	const struct op_memory *memory;
	const struct op_dotnet_layout *layout;
	struct op_dotnet *ret;
	uint64_t fragment; /* the last one, and its module */
	uint64_t module;
	uint32_t tables;
	uint32_t modules;
};

static int read_bounded(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	const struct bounded *b = (const struct bounded *)m;

	_Static_assert(offsetof(struct bounded, memory) == 0, "it is the first");
	if (!*b->left)
		return -E2BIG;
	--*b->left;
	return op_memory_read(b->from, addr, buf, len);
}

static int read_metadata(const struct search *s, uint64_t module,
			 struct op_dotnet_metadata *ret)
{
	struct op_dotnet_pe pe;
	uint64_t base;
	uint64_t at;
	int r = op_runtime_dotnet_module_base(s->memory, s->layout, module, &base);

	if (r == 0)
		r = op_runtime_dotnet_pe(s->memory, base, &pe);
	if (r < 0)
		return r;
	at = op_runtime_dotnet_pe_at(&pe, pe.metadata.rva, pe.metadata.size);
	return at ? op_runtime_dotnet_metadata(s->memory, at, pe.metadata.size, ret)
		  : -EBADMSG;
}

/* Returns 1 if @module is the framework's, 0, or -errno. */
static int take_module(struct search *s, uint64_t module)
{
	struct op_dotnet_metadata metadata;
	uint32_t row;
	int r;

	if (++s->modules > MODULES_MAX)
		return -ENOENT;
	r = read_metadata(s, module, &metadata);
	if (r == 0)
		r = op_runtime_dotnet_assembly_is(&metadata, core_name);
	if (r <= 0)
		return 0;
	r = op_runtime_dotnet_private_type(&metadata, box_name, &row);
	if (r < 0)
		return r;
	s->ret->core = module;
	s->ret->box = row;
	s->ret->continuation = (__u8)s->layout->task_continuation;
	s->ret->state = (__u8)s->layout->task_state;
	s->ret->row_bits = (__u8)s->layout->row_bits;
	return 1;
}

/* The code of one image has many fragments in turn. */
static int take_fragment(struct search *s, uint64_t at)
{
	uint64_t f[OP_DOTNET_FRAGMENT_BYTES / 8];
	uint64_t module = 0;
	int r;

	if (at == s->fragment)
		return 0;
	s->fragment = at;
	r = op_memory_read(s->memory, at, f, sizeof(f));
	if (r == 0)
		r = op_memory_read(s->memory, f[3] + OP_DOTNET_SECTION_IMAGE, &module,
				   sizeof(module));
	if (r == -E2BIG)
		return r;
	if (r < 0 || !module || module == s->module)
		return 0;
	s->module = module;
	return take_module(s, module);
}

/* Returns 1 if the framework is below the table at @at, 0, or -errno. */
static int take_table(struct search *s, uint64_t at, int level)
{
	uint64_t entry[ENTRIES];
	int i;
	int r;

	if (++s->tables > TABLES_MAX)
		return -ENOENT;
	r = op_memory_read(s->memory, at, entry, sizeof(entry));
	for (i = 0; r == 0 && i < ENTRIES; i++) {
		uint64_t below = entry[i] & ~UINT64_C(1);

		if (below)
			r = level == 1 ? take_fragment(s, below)
				       : take_table(s, below, level - 1);
	}
	return r;
}

int op_runtime_dotnet_tasks(const struct op_memory *memory,
			    const struct op_dotnet_layout *layout, struct op_dotnet *ret)
{
	uint32_t left = OP_DOTNET_TASKS_READS;
	const struct bounded bounded = { { read_bounded }, memory, &left };
	struct search s = { .memory = &bounded.memory, .layout = layout, .ret = ret };
	int r = take_table(&s, ret->ranges, OP_DOTNET_LEVELS);

	return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}
