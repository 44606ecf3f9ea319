/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/goroutines/process.h"

#include <errno.h>
#include <stdlib.h>

#include "base/io.h"
#include "code/elf/file.h"
#include "code/elf/gopclntab.h"
#include "process/generation.h"
#include "process/image/executable.h"
#include "process/mappings/mappings.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/publish.h"
#include "runtime/go/go.h"

/* The mapping of the program's own code, which is the lowest one of its executable.
 * NULL: none. */
static const struct op_mapping *code_of(const struct op_proc *proc)
{
	const struct op_mappings *mappings = op_proc_view_now(proc).mappings;
	size_t i;

	for (i = 0; i < mappings->len; i++)
		if (mappings->vma[i].exe && !mappings->vma[i].exe->vdso)
			return &mappings->vma[i];
	return NULL;
}

/* Does the file look like a Go program? Opens it if it was not opened yet. */
static bool is_go(struct op_processes *p, const struct op_program *program,
		  const struct op_mapping *v)
{
	if (op_publish_open(p, program, v, false) < 0 || !v->exe->image->elf)
		return false;
	return op_elf_section(v->exe->image->elf, ".go.buildinfo") != NULL;
}

/* Find what the symbols name. Returns 0, also if there are none, or -ENOMEM. */
static int find(struct op_golang_process *g, struct op_processes *p,
		const struct op_program *program, const struct op_mapping *v)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	int r = op_publish_open_file(p, program, v, &elf, &g->bias);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	g->minor = op_go_minor(elf);
	g->layout = op_go_layout(g->minor);
	if (g->layout)
		r = op_go_find_symbols(elf, g->bias, &g->places);
	g->places.buckets.minor = g->minor;
	return r == -ENOMEM ? r : 0;
}

void op_golang_process_search(struct op_golang_process *g, struct op_processes *p,
			      const struct op_proc *proc)
{
	const struct op_program *program = op_proc_view_now(proc).program;
	const struct op_memory *memory = &program->memory.memory;
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	const struct op_mapping *v = code_of(proc);
	int r = 0;

	g->searched = true;
	g->searched_ns = op_clock_monotonic_ns();
	if (!v || !g->layout)
		return;
	if (!g->places.allgs || !g->places.reasons)
		r = op_publish_open_file(p, program, v, &elf, &g->bias);
	if (r == 0 && elf)
		(void)op_go_find_content(elf, g->bias, memory, g->layout, &g->places);
	if (g->places.allgs && g->places.reasons)
		op_go_read_reasons(memory, g->places.reasons, &g->reasons);
}

/* Continue the search in @elf. Returns 1 with ELF addresses; 0; or -errno. */
static int search_code(struct op_golang_process *g, struct op_elf *elf,
		       const struct op_allowance *allowance, uint64_t until_ns,
		       struct op_go_buckets_at *ret)
{
	_cleanup_(op_gopclntab_freep) struct op_gopclntab *table = NULL;
	struct op_allowance part = op_allowance_within(allowance, until_ns);
	int r = op_gopclntab_open(elf, &table);

	if (r == -ENOENT || r == -ENOTSUP || r == -EBADMSG)
		return 0; /* a table that nobody can read */
	if (r < 0)
		return r;
	return op_go_search(&g->heap_search, elf, table, g->minor, &part, ret);
}

int op_golang_process_search_heap(struct op_golang_process *g, struct op_processes *p,
				  const struct op_proc *proc, uint64_t until_ns)
{
	const struct op_program *program = op_proc_view_now(proc).program;
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	const struct op_mapping *v = code_of(proc);
	struct op_go_buckets_at at;
	int r;

	if (g->heap_searched || g->places.buckets.list || !v || !g->layout ||
	    g->minor < OP_GO_SEARCH_SINCE)
		return 0;
	r = op_publish_open_file(p, program, v, &elf, &g->bias);
	if (r == 0)
		r = search_code(g, elf, op_processes_config(p)->allowance, until_ns, &at);
	if (r < 0)
		return r;
	g->heap_searched = true;
	if (r > 0)
		g->places.buckets = (struct op_go_buckets_at){
			.list = at.list + g->bias,
			.rate = at.rate + g->bias,
			.cycle = at.cycle + g->bias,
			.minor = at.minor,
		};
	return 0;
}

int op_golang_process_new(struct op_processes *p, const struct op_proc *proc,
			  struct op_golang_process **ret)
{
	_cleanup_(op_golang_process_freep) struct op_golang_process *g = NULL;
	const struct op_program *program = op_proc_view_now(proc).program;
	const struct op_mapping *v = code_of(proc);
	int r;

	*ret = NULL;
	if (!v || !is_go(p, program, v))
		return 0;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->pid = program->pid;
	g->since_ns = program->since_ns;
	g->born_ns = program->born_ns;
	r = find(g, p, program, v);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(g);
	return 0;
}

struct op_golang_process *op_golang_process_free(struct op_golang_process *g)
{
	if (!g)
		return NULL;
	op_golang_process_rest(g);
	op_golang_process_forget_heap(g);
	free(g);
	return NULL;
}

bool op_golang_process_is(const struct op_golang_process *g, const struct op_proc *proc)
{
	const struct op_program *program = op_proc_view_now(proc).program;

	return program->pid == g->pid && program->since_ns == g->since_ns &&
	       program->born_ns == g->born_ns;
}

static void open_table(struct op_golang_process *g, struct op_processes *p,
		       const struct op_proc *proc)
{
	const struct op_mapping *v = code_of(proc);

	g->no_table = true;
	if (!v || op_publish_open_file(p, op_proc_view_now(proc).program, v, &g->elf,
				       &g->bias) < 0)
		return;
	g->no_table = op_gopclntab_open(g->elf, &g->table) < 0;
}

bool op_golang_process_begins(struct op_golang_process *g, struct op_processes *p,
			      const struct op_proc *proc, uint64_t pc)
{
	struct op_go_function f;
	uint64_t known;
	bool begins;
	int r;

	if (op_map64_get(&g->entries, pc, &known))
		return known;
	if (!g->table && !g->no_table)
		open_table(g, p, proc);
	if (!g->table)
		return false;
	r = op_gopclntab_find(g->table, pc - g->bias, &f);
	if (r < 0) { /* it would read as much again at the next pc */
		g->table = op_gopclntab_free(g->table);
		g->no_table = true;
		return false;
	}
	begins = r > 0 && f.entry == pc - g->bias;
	if (g->entries.len >= OP_GOLANG_ENTRIES_MAX)
		op_map64_clear(&g->entries);
	(void)op_map64_put(&g->entries, pc, begins);
	return begins;
}

bool op_golang_process_waits(struct op_golang_process *g, const struct op_goroutine *o)
{
	static const char *const idle[] = {
		"GC sweep wait",	  "GC scavenge wait",
		"GC worker (idle)",	  "force gc (idle)",
		"finalizer wait",	  "cleanup wait",
		"trace reader (blocked)", "GOMAXPROCS updater (idle)",
	};
	size_t i;

	/* A goroutine that was made runnable again has not moved since it parked. */
	if (o->state == OP_GOROUTINE_RUNNABLE)
		return o->pc == g->parked_pc;
	if (o->state != OP_GOROUTINE_WAITING && o->state != OP_GOROUTINE_LEAKED)
		return false;
	g->parked_pc = o->pc;
	for (i = 0; i < OP_ARRAY_SIZE(idle); i++)
		if (o->reason < OP_GO_REASONS_MAX &&
		    !strcmp(g->reasons.text[o->reason], idle[i]))
			return false;
	return true;
}

void op_golang_process_forget_heap(struct op_golang_process *g)
{
	g->heap_old |= g->heap_round != 0;
	g->heap_round = 0;
	g->heap_known = false;
	g->heap_whole = false;
	g->heap_stacks = 0;
	g->heap_stopped = 0;
	op_map64_clear(&g->heap_allocs);
}

void op_golang_process_rest(struct op_golang_process *g)
{
	g->table = op_gopclntab_free(g->table);
	g->elf = op_elf_free(g->elf);
	g->no_table = false;
	op_map64_clear(&g->entries);
}
