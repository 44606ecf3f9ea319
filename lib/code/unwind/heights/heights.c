/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/heights/heights.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/vec.h"
#include "code/unwind/heights/instruction.h"
#include "code/unwind/heights/sequence.h"
#include "code/unwind/heights/stack.h"
#include "code/unwind/heights/starts.h"
#include "code/unwind/heights/targets.h"

enum {
	RET = 0xc3,
	HLT = 0xf4,
	ALIGNMENT = 16, /* alignment of functions, if they are aligned */
	JUMP_MAX = 1 << 15,
	/* a jump farther than this, with nothing pushed, leads to another function */
	FAR = 4096,
	/* bytes of a function whose end is searched in three ways */
	TRIED_BYTES_MAX = 1 << 16,
	PIECE_STEPS = 1 << 14, /* the same, instructions of a function */
	SCAN_BYTES = 1 << 18,  /* between two readings of the clock; at most the window */
};

/* Results of reading: */
#define NO_MEMORY SIZE_MAX
#define MORE	  (SIZE_MAX - 1)

struct row {
	uint32_t off;
	struct op_unwind_rule rule;
};

/* The farthest offsets to which functions jump: the current one, and all up to it. */
struct reach {
	size_t own;
	size_t all;
};

/* The last instruction: */
struct last {
	uint8_t kind;
	size_t end;
};

/* How far a reading of a function has come. */
struct reading {
	bool begun;
	size_t at;
	bool called; /* the last instruction that is no padding was a call */
	bool padded; /* the last one was padding */
	struct op_unwind_rule rule;
};

/* The readings of a function. */
struct tries {
	uint64_t steps; /* instructions that were read, repeated ones included */
	uint64_t left;	/* those that may still be read again */
	/* Whether an aligned address behind a call may begin another function. 0: no; 1:
	 * after padding; 2: always. */
	unsigned int split;
	bool again; /* it is read a second time */
};

struct op_heights {
	struct op_heights_code from;
	size_t len;
	size_t phase; /* address of offset 0 modulo ALIGNMENT */
	struct op_unwind_rule none;
	struct op_sequence_code memory;
	struct op_jump_targets targets;
	struct op_starts starts;
	struct op_sequence sequence;

	size_t scanned; /* bytes whose calls were read */
	bool begun;
	bool wants_kept;

	size_t start; /* start of the function */
	bool cut;     /* the function is longer than can be read at once */
	bool lost;    /* `start` is inside a longer function that was read */
	struct reach reach;
	struct op_code_stack now;
	bool moved;	 /* `now` has changed since the last row */
	bool dead;	 /* the previous instruction does not continue here */
	bool weak;	 /* `now` comes from code that does not lead here */
	bool guessed;	 /* `weak` was set somewhere in the function */
	bool broken;	 /* the bytes where it ends are no instruction */
	bool bad;	 /* it is broken, or a return has words still pushed */
	bool jumps;	 /* it has a jump or a return */
	bool returns;	 /* it returns after fp was cleared: it is not outermost */
	bool balanced;	 /* it returns with nothing pushed */
	bool trampoline; /* control does not fall into it: a jump through a register */
	struct last last;
	struct tries tries;
	struct reading reading;
	OP_VEC(struct row) rows;
};

static bool is_aligned(const struct op_heights *p, size_t off)
{
	return (off + p->phase) % ALIGNMENT == 0;
}

/* The code at @off, which is in memory. */
static const uint8_t *code_at(const struct op_heights *p, size_t off)
{
	return p->memory.bytes + (off - p->memory.from);
}

/* Get [@from, @from + @len) into memory, or up to the end of the code. Returns 0 or
 * -errno. */
static int load(struct op_heights *p, size_t from, size_t len)
{
	len = OP_MIN(len, p->len - from);
	p->memory.from = p->memory.end = from;
	op_sequence_forget(&p->sequence);
	if (len && p->from.read(p->from.data, from, p->memory.bytes, len) < 0)
		return -EIO;
	p->memory.end = from + len;
	return 0;
}

/* Get the function at p->start into memory, and the bytes before it that are examined. */
static int load_function(struct op_heights *p)
{
	size_t from = p->start > ALIGNMENT ? p->start - ALIGNMENT : 0;

	if (p->memory.end && from >= p->memory.from &&
	    (p->memory.end == p->len ||
	     p->memory.end - p->start > OP_HEIGHTS_FUNCTION_MAX + FAR))
		return 0;
	return load(p, from, OP_HEIGHTS_WINDOW_BYTES);
}

/* ---- jumps ---- */

static struct op_jump_target *find_target(struct op_heights *p, size_t off, bool add)
{
	return op_jump_targets_find(&p->targets, p->start, off, add);
}

/* The instruction that ends at @end jumps with the stack `now`. */
static void jump(struct op_heights *p, size_t end, int64_t distance)
{
	int64_t to = (int64_t)end + distance;
	struct op_jump_target *t;

	if (to < (int64_t)p->start || to >= (int64_t)p->len ||
	    distance > (op_code_stack_is_entry(&p->now) ? FAR : JUMP_MAX))
		return;
	t = find_target(p, (size_t)to, true);
	if (t && (t->function != p->targets.function || t->off != (uint32_t)to ||
		  (t->weak && !p->weak)))
		*t = (struct op_jump_target){ p->targets.function, (uint32_t)to, p->weak,
					      p->now };
	if ((size_t)to > p->reach.own)
		p->reach.own = (size_t)to;
	if (p->reach.own > p->reach.all)
		p->reach.all = p->reach.own;
}

/* ---- functions ---- */

static int add_row(struct op_heights *p, size_t off, struct op_unwind_rule rule)
{
	if (p->rows.len &&
	    !memcmp(&p->rows.data[p->rows.len - 1].rule, &rule, sizeof(rule)))
		return 0;
	if (op_vec_reserve(&p->rows, 1) < 0)
		return -ENOMEM;
	p->rows.data[p->rows.len++] = (struct row){ (uint32_t)off, rule };
	return 0;
}

/*
 * Control does not reach @off from the last instruction, above it apart from padding.
 * Does a function begin here? If not, the stack is that of the jumps to @off or, if no
 * jump is known yet, the one before.
 */
static bool begins_function(struct op_heights *p, size_t off, bool padded)
{
	const struct op_jump_target *t = find_target(p, off, false);
	uint8_t kind = p->last.kind;
	bool returned = kind == OP_INSN_RETURN || kind == OP_INSN_TRAP;

	if (t) {
		p->now = t->height;
		p->moved = true;
	}
	p->weak = !t || t->weak;
	p->dead = false;
	if (op_starts_has(&p->starts, off))
		return true;
	if (t && !op_code_stack_is_entry(&t->height))
		goto within;
	/* The code after a jump through a table is one of its targets. */
	if (off > p->reach.own && kind != OP_INSN_JUMP_FAR)
		return true;
	if ((t || returned || op_code_stack_is_entry(&p->now)) &&
	    (off > p->reach.own || (padded && is_aligned(p, off))))
		return true;
within:
	p->guessed |= p->weak;
	return false;
}

/* Are words still pushed at a return? Then some instruction was not understood. */
static bool is_unbalanced(const struct op_heights *p)
{
	return !p->lost && !p->now.outermost &&
	       (p->now.sp != OP_CODE_STACK_WORD || p->now.saved);
}

/* The stack at @off was uncertain. Use that of a jump to it if that is certain. */
static void strengthen(struct op_heights *p, size_t off)
{
	const struct op_jump_target *t = find_target(p, off, false);

	if (!t || t->weak)
		return;
	p->now = t->height;
	p->moved = true;
	p->weak = false;
}

/* Control goes elsewhere, always or sometimes, from an instruction that ends at @end. */
static void leave(struct op_heights *p, const struct op_insn *i, size_t end)
{
	if (i->kind == OP_INSN_RETURN) {
		p->bad |= is_unbalanced(p);
		p->balanced |= !p->lost;
		p->returns |= p->now.outermost;
	}
	if (i->kind == OP_INSN_JUMP || i->kind == OP_INSN_JUMP_IF)
		jump(p, end, i->value);
	p->dead = i->kind != OP_INSN_JUMP_IF;
	p->jumps |= i->kind != OP_INSN_TRAP;
}

/* Apply the instruction that ends at @end. */
static void apply(struct op_heights *p, const struct op_insn *i, size_t end)
{
	const uint32_t leaves = 1u << OP_INSN_JUMP | 1u << OP_INSN_JUMP_FAR |
				1u << OP_INSN_JUMP_IF | 1u << OP_INSN_RETURN |
				1u << OP_INSN_TRAP;

	p->dead = false;
	if (leaves >> i->kind & 1)
		leave(p, i, end);
	if (!op_code_stack_ignores(&p->now, i)) {
		op_code_stack_apply(&p->now, i);
		p->moved = true;
	}
	p->last = (struct last){ i->kind, end };
}

/*
 * Skip known instructions from @at on that neither change the stack nor jump: most of a
 * function that is read again. Returns the end of the last one.
 */
static size_t skip_quiet(struct op_heights *p, size_t at)
{
	size_t end = OP_MIN(p->memory.end, p->start + OP_HEIGHTS_FUNCTION_MAX);
	uint32_t regs = op_code_stack_regs(&p->now);
	struct op_sequence *s = &p->sequence;
	size_t begin = at;

	while (at < end && s->next < s->len) {
		const struct op_insn *i = &s->step[s->next].insn;

		if (i->kind != OP_INSN_OTHER || i->regs & regs || !i->len)
			break;
		at += i->len;
		s->next++;
		p->tries.steps++;
	}
	if (at != begin)
		p->last = (struct last){ OP_INSN_OTHER, at };
	return at;
}

/* @first: it was not read before. */
static void begin_function(struct op_heights *p, bool first)
{
	if (first)
		p->trampoline =
			p->last.kind == OP_INSN_JUMP_FAR && p->last.end == p->start;
	if (first && p->start > p->reach.all)
		p->targets.function++; /* no earlier jump goes beyond this place */
	p->now = p->lost ? OP_CODE_STACK_LOST : OP_CODE_STACK_ENTRY;
	p->moved = true;
	p->cut = false;
	p->reach.own = p->start;
	p->dead = p->weak = p->guessed = p->bad = p->broken = p->jumps = false;
	p->returns = p->balanced = false;
	p->rows.len = 0;
	p->tries.steps = 0;
	p->reading = (struct reading){ .begun = true, .at = p->start, .rule = p->none };
	op_sequence_begin(&p->sequence, p->start);
}

/* Read on in the function at p->start. Returns the offset of its end, NO_MEMORY or MORE. */
static size_t read_function(struct op_heights *p)
{
	struct op_unwind_rule rule = p->reading.rule;
	size_t at = p->reading.at;
	bool called = p->reading.called;
	bool padded = p->reading.padded;
	unsigned int steps = 0;

	while (at < p->memory.end && at - p->start < OP_HEIGHTS_FUNCTION_MAX) {
		const struct op_step *step = op_sequence_next(&p->sequence, at, p->dead);
		const struct op_insn *i = &step->insn;
		size_t to = step->off;

		if (to == p->memory.end || (p->dead && begins_function(p, to, to > at)))
			return to;
		at = to;
		if (called && at > p->reach.own &&
		    (op_starts_has(&p->starts, at) ||
		     (p->tries.split && is_aligned(p, at) &&
		      (padded || p->tries.split > 1))))
			return at; /* the call did not return */
		if (p->weak)
			strengthen(p, at);
		if (p->moved) {
			rule = op_code_stack_rule(&p->now, p->from.keep, p->none);
			if (add_row(p, at, rule) < 0)
				return NO_MEMORY;
			p->moved = false;
		}
		p->tries.steps++;
		if (!i->len) {
			p->broken = p->bad = true;
			break;
		}
		at += i->len;
		apply(p, i, at);
		padded = i->kind == OP_INSN_PAD;
		if (!padded)
			called = i->kind == OP_INSN_CALL || i->kind == OP_INSN_CALL_FAR;
		p->wants_kept |= called && rule.cfa == OP_CFA_REG &&
				 (rule.cfa_off & 255) == OP_CODE_STACK_KEPT;
		if (!called && !p->dead && !p->weak && !p->moved)
			at = skip_quiet(p, at);
		if (++steps == PIECE_STEPS) {
			p->reading = (struct reading){ true, at, called, padded, rule };
			return MORE;
		}
	}
	p->cut = at - p->start >= OP_HEIGHTS_FUNCTION_MAX;
	return at;
}

/* The offset at which code may go on after data: where functions are aligned and
 * padded. */
static size_t skip_data(struct op_heights *p, size_t at)
{
	do {
		at += ALIGNMENT - (at + p->phase) % ALIGNMENT;
	} while (at < p->memory.end && !op_starts_has(&p->starts, at) &&
		 *code_at(p, at - 1) != RET &&
		 !op_sequence_is_padding(*code_at(p, at - 1)));
	return at < p->memory.end ? op_sequence_skip(&p->sequence, at) : p->memory.end;
}

/* Is it a call of rt_sigreturn(2), to which a signal handler returns? */
static bool is_restorer(const struct op_heights *p)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };

	return p->memory.end - p->start >= sizeof(code) &&
	       !memcmp(code_at(p, p->start), code, sizeof(code));
}

/*
 * Is it the code to which the first function on a stack returns, as boost.context and
 * PHP's fibers make it? It ends the process, and its address is taken: it follows the
 * trampoline that jumps to the function, and runs straight into a halt.
 */
static bool is_outermost(const struct op_heights *p)
{
	return p->trampoline && op_starts_has(&p->starts, p->start) && !p->bad &&
	       !p->jumps && p->last.kind == OP_INSN_TRAP &&
	       *code_at(p, p->last.end - 1) == HLT;
}

/*
 * Is it the end of a retpoline: the target address replaces the word at sp that the call
 * here has pushed, or the word is dropped?
 */
static bool is_retpoline(const struct op_heights *p, size_t *ret_len)
{
	struct op_insn first;
	struct op_insn second;
	size_t left = p->memory.end - p->start;
	size_t len = op_insn_read(code_at(p, p->start), left, &first);

	*ret_len = len;
	if (!len || !op_insn_read(code_at(p, p->start + len), left - len, &second))
		return false;
	return second.kind == OP_INSN_RETURN &&
	       ((first.kind == OP_INSN_STORE && !first.value) ||
		(first.kind == OP_INSN_ADD_SP && first.value == OP_CODE_STACK_WORD));
}

/* Pass the rules of the end of a retpoline, whose first instruction has @len bytes. */
static int give_retpoline(const struct op_heights *p, size_t len, op_heights_fn fn,
			  void *data)
{
	struct op_unwind_rule rule = { .cfa = OP_CFA_SP,
				       .save = OP_SAVE_CHECK,
				       .cfa_off = 2 * OP_CODE_STACK_WORD };
	struct op_insn i;
	int r = fn(data, p->start, rule);

	(void)op_insn_read(code_at(p, p->start), len, &i);
	if (r < 0 || i.kind != OP_INSN_ADD_SP)
		return r;
	rule.cfa_off = OP_CODE_STACK_WORD;
	return fn(data, p->start + len, rule);
}

/* Is it no function, or one that was not understood? */
static bool has_no_rule(const struct op_heights *p)
{
	return p->bad || (p->from.made && !p->balanced);
}

static int give(const struct op_heights *p, op_heights_fn fn, void *data)
{
	const struct op_unwind_rule signal = { .cfa = OP_CFA_SIGNAL };
	const struct op_unwind_rule stop = { .cfa = OP_CFA_STOP };
	size_t len;
	size_t i;
	int r = 0;

	/* Return addresses are looked up one byte early, so the rule begins early if that
	 * byte is padding. */
	if (is_restorer(p))
		return fn(data,
			  p->start - (p->start &&
				      op_sequence_is_padding(*code_at(p, p->start - 1))),
			  signal);
	/* The byte above is the end of the jump, where no instruction begins. */
	if (is_outermost(p))
		return fn(data, p->start - 1, stop);
	if (is_retpoline(p, &len))
		return give_retpoline(p, len, fn, data);
	if (has_no_rule(p))
		return fn(data, p->start, p->none);
	for (i = 0; i < p->rows.len && r >= 0; i++) {
		const struct row *row = &p->rows.data[i];
		bool wrong = p->returns && row->rule.cfa == OP_CFA_STOP;

		r = fn(data, row->off, wrong ? p->none : row->rule);
	}
	return r;
}

/*
 * The function was read up to @end. Must it be read again, because a jump back was not
 * known, or to find its end in another way?
 */
static bool wants_again(struct op_heights *p, size_t end)
{
	bool failed;

	if (p->guessed && !p->tries.again && p->tries.left) {
		p->tries.again = true;
		return true;
	}
	p->tries.again = false;
	failed = p->bad && end - p->start <= TRIED_BYTES_MAX;
	if (failed)
		p->targets.function++; /* the jumps of a failed attempt do not count */
	if (!failed || p->tries.split == 2 || !p->tries.left)
		return false;
	p->tries.split++;
	return true;
}

/*
 * The function at p->start was read up to @end. Where is the next one? Code that a process
 * makes has data before its functions, as BEAM's, and what looks like an instruction there
 * may hide where a function begins. So without a rule it is the next known start.
 */
static size_t next_start(struct op_heights *p, size_t end)
{
	size_t at = p->start + 1;
	size_t len;

	if (p->from.made && has_no_rule(p) && !is_retpoline(p, &len) && !p->cut &&
	    p->tries.left) {
		while (at < end && !op_starts_has(&p->starts, at))
			at++;
		if (at < end) {
			p->tries.left -= OP_MIN(p->tries.steps, p->tries.left);
			p->targets.function++; /* the jumps of data do not count */
			return at;
		}
	}
	return p->broken ? skip_data(p, end) : end;
}

/* Read a piece of the function at p->start. It is over after some readings. */
static int read_next(struct op_heights *p, op_heights_fn fn, void *data)
{
	bool first = !p->tries.split && !p->tries.again;
	size_t end;
	int r;

	if (!p->reading.begun)
		begin_function(p, first);
	end = read_function(p);
	if (end == NO_MEMORY || end == MORE)
		return end == MORE ? 0 : -ENOMEM;
	p->reading.begun = false;
	if (!first)
		p->tries.left -= OP_MIN(p->tries.steps, p->tries.left);
	if (wants_again(p, end))
		return 0;
	p->tries.split = 0;
	r = give(p, fn, data);
	p->start = next_start(p, end);
	p->lost = p->cut && !p->broken;
	return r;
}

/* Find where functions begin. Returns 0, -EINPROGRESS or -EIO. */
static int scan(struct op_heights *p, struct op_allowance *allowance)
{
	while (p->scanned < p->len) {
		if (load(p, p->scanned, SCAN_BYTES) < 0)
			return -EIO;
		op_starts_find(&p->starts, p->memory.bytes, p->memory.from,
			       p->memory.end - p->memory.from);
		p->scanned = p->memory.end < p->len ? p->memory.end - OP_INSN_BYTES_MAX
						    : p->len;
		if (p->scanned == p->len)
			p->memory.from = p->memory.end = 0;
		if (op_allowance_is_over(allowance))
			return -EINPROGRESS;
	}
	return 0;
}

static int begin(struct op_heights *p, op_heights_fn fn, void *data)
{
	int r = fn(data, 0, p->none);

	p->begun = true;
	if (r >= 0 && load_function(p) == 0)
		p->start = op_sequence_skip(&p->sequence, 0);
	p->lost = p->from.amid && !p->start;
	return r;
}

int op_heights_on(struct op_heights *p, struct op_allowance *allowance, op_heights_fn fn,
		  void *data)
{
	int r = scan(p, allowance);

	if (r == -EIO)
		return fn(data, 0, p->none);
	if (r == 0 && !p->begun)
		r = begin(p, fn, data);
	while (r >= 0 && p->start < p->len) {
		if (load_function(p) < 0)
			return fn(data, p->start, p->none);
		r = read_next(p, fn, data);
		if (r >= 0 && op_allowance_is_over(allowance))
			return -EINPROGRESS;
	}
	return r < 0 ? r : 0;
}

int op_heights_new(const struct op_heights_code *code, struct op_unwind_rule none,
		   struct op_heights **ret)
{
	_cleanup_(op_heights_freep) struct op_heights *p = calloc(1, sizeof(*p));
	size_t len = code->len > UINT32_MAX ? 0 : code->len;

	if (!p)
		return -ENOMEM;
	p->from = *code;
	p->len = len;
	p->phase = code->addr % ALIGNMENT;
	p->none = none;
	p->tries.left = len / 4 * 3 + OP_HEIGHTS_AGAIN_MIN;
	op_starts_init(&p->starts, len, p->phase, ALIGNMENT);
	p->memory.bytes = malloc(OP_MIN(len, (size_t)OP_HEIGHTS_WINDOW_BYTES) + 1);
	if (op_jump_targets_init(&p->targets) < 0 || !p->starts.bits ||
	    !p->memory.bytes ||
	    op_sequence_init(&p->sequence, &p->memory, &p->starts, len) < 0)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(p);
	return 0;
}

bool op_heights_wants_kept(const struct op_heights *p)
{
	return p->wants_kept;
}

uint64_t op_heights_decoded(const struct op_heights *p)
{
	return p->sequence.decoded;
}

size_t op_heights_bytes(const struct op_heights *p)
{
	return sizeof(*p) + op_jump_targets_bytes() + op_starts_bytes(&p->starts) +
	       op_sequence_bytes(&p->sequence) +
	       OP_MIN(p->len, (size_t)OP_HEIGHTS_WINDOW_BYTES) +
	       p->rows.cap * sizeof(*p->rows.data);
}

struct op_heights *op_heights_free(struct op_heights *p)
{
	if (!p)
		return NULL;
	op_jump_targets_deinit(&p->targets);
	op_starts_deinit(&p->starts);
	op_sequence_deinit(&p->sequence);
	free(p->memory.bytes);
	op_vec_clear(&p->rows);
	free(p);
	return NULL;
}
