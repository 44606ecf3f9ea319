/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/deferred.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "process/publish.h"
#include "process/state.h"
#include "sample/state.h"

enum {
	/* Tables made for one record: executables on one stack that no sample met before. */
	ROUNDS_MAX = 64,
};

/*
 * How far above sp memory counts as stack (the default limit of a stack). The stack has
 * moved on since the copy was made: what is not in the copy is not read at all.
 */
static const uint64_t STACK_SPAN = UINT64_C(8) << 20;
/* Below sp: the red zone, and what a leaf without a frame may touch. */
static const uint64_t STACK_BELOW = 4096;

/* The memory of a process as it was: the copied stack, and what does not move. */
struct copy {
	struct op_memory memory;
	const struct op_memory *live; /* heap objects of interpreters; they may move on */
	const uint8_t *bytes;
	uint64_t sp;
	size_t len;
	bool *ran_out; /* a read above the copy */
};

static int copy_read(const struct op_memory *memory, uint64_t addr, void *buf, size_t len)
{
	const struct copy *c = op_container_of(memory, struct copy, memory);
	uint64_t low = c->sp > STACK_BELOW ? c->sp - STACK_BELOW : 0;
	uint64_t high;

	if (addr >= c->sp && op_range_ok(addr - c->sp, len, c->len)) {
		memcpy(buf, c->bytes + (addr - c->sp), len);
		return 0;
	}
	if (op_add_overflow(c->sp, STACK_SPAN, &high))
		high = UINT64_MAX;
	if (addr >= low && addr < high) {
		*c->ran_out = true;
		return -EFAULT;
	}
	return op_memory_read(c->live, addr, buf, len);
}

void op_deferred_leaf(struct op_sampler *sampler, const struct op_registers *registers)
{
	struct op_host_stack *s = sampler->host_stack;

	s->words = 1;
	s->frames = 1;
	s->end = OP_ERROR_native_no_mapping;
	s->end_pc = registers->pc;
	s->word[0] = (uint64_t)OP_FRAME_NATIVE_EXACT << OP_FRAME_KIND_SHIFT |
		     (registers->pc & OP_FRAME_ADDRESS_MASK);
}

/*
 * Make what @pc waits for. A return address may be the first byte after its mapping, so
 * the byte before counts, too. Returns true where it is worth another try.
 */
static bool make_for(struct op_sampler *sampler, struct op_proc *proc, uint64_t pc)
{
	const struct op_vma *v = op_layout_find(proc->layout, pc);

	if ((!v || !(v->flags & OP_MAPPING_LAZY)) && pc)
		v = op_layout_find(proc->layout, pc - 1);
	if (!v || !v->exe || !(v->flags & OP_MAPPING_LAZY))
		return false;
	/* A failure makes it a mapping of frame pointers for a while. */
	(void)op_publish_make_table(sampler->processes, proc->program, v);
	return true;
}

static int unwind_once(struct op_sampler *sampler, struct op_proc *proc,
		       const struct op_registers *registers, const struct copy *copy)
{
	struct op_host_input input = {
		.arena = sampler->processes->config.arena,
		.rules = sampler->config.rules,
		.process = proc->current->process,
		.registers = registers,
		.memory = &copy->memory,
		.heap_moved = true,
	};

	return op_host_unwind(&input, sampler->host_stack);
}

/* Say "cut", not "unreadable", where the stack goes on above the copy. */
static void finish(struct op_host_stack *s, bool ran_out)
{
	if (s->end == OP_END_UNKNOWN)
		s->end = OP_ERROR_native_no_mapping;
	else if (ran_out && s->end >= OP_END_MAX)
		s->end = OP_END_TRUNCATED;
}

int op_deferred_unwind(struct op_sampler *sampler, struct op_proc *proc,
		       const struct op_registers *registers, const void *stack,
		       size_t stack_len)
{
	bool ran_out = false;
	struct copy copy = {
		.memory.read = copy_read,
		.live = &proc->program->memory.memory,
		.bytes = stack,
		.sp = registers->sp,
		.len = stack_len,
		.ran_out = &ran_out,
	};
	uint64_t pc = registers->pc;
	int round;
	int r = 0;

	(void)op_publish(sampler->processes, proc, false);
	for (round = 0; round < ROUNDS_MAX; round++) {
		bool made = make_for(sampler, proc, pc);

		r = op_publish(sampler->processes, proc, false);
		if (r == 0 && !proc->current)
			r = -ENOENT; /* nothing is mapped, as far as is known */
		if (r < 0 || (round && !made))
			break;
		ran_out = false;
		r = unwind_once(sampler, proc, registers, &copy);
		if (r < 0 || sampler->host_stack->end != OP_END_UNKNOWN)
			break;
		pc = sampler->host_stack->end_pc;
	}
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !sampler->host_stack->words)
		op_deferred_leaf(sampler, registers);
	finish(sampler->host_stack, ran_out);
	/* The kernel may hold on to a generation that was replaced here. */
	if (op_publish(sampler->processes, proc, true) < 0)
		op_unpublish(sampler->processes, proc);
	return 0;
}
