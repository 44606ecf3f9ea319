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
#include "code/unwind/heights/stack.h"
#include "code/unwind/heights/starts.h"

enum {
	RET = 0xc3,
	HLT = 0xf4,
	INT3 = 0xcc,
	NOP = 0x90,
	ALIGNMENT = 16, /* alignment of functions, if they are aligned */
	JUMP_MAX = 1 << 15,
	/* a jump farther than this, with nothing pushed, leads to another function */
	FAR = 4096,
	TARGET_SLOTS = 1024, /* for targets of jumps in one function; a power of two */
	TARGET_PROBES = 8,
	/* bytes of a function whose end is searched in three ways */
	TRIED_BYTES_MAX = 1 << 16,
	SCAN_BYTES = 1 << 18, /* between two readings of the clock; at most the window */
};

#define NO_MEMORY SIZE_MAX

struct target {
	/* number of its function: slots of other functions are free */
	uint32_t function;
	uint32_t off;
	bool weak;
	struct op_code_stack height;
};

struct row {
	uint32_t off;
	struct op_unwind_rule rule;
};

/* What is in memory: [from, end) of the code. */
struct in_memory {
	uint8_t *code;
	size_t from;
	size_t end;
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

struct op_heights {
	struct op_heights_code from;
	size_t len;
	size_t phase; /* address of offset 0 modulo ALIGNMENT */
	struct op_unwind_rule none;
	struct in_memory memory;
	struct target *target; /* [TARGET_SLOTS] */
	struct op_starts starts;
	uint32_t function; /* number of the current function */

	size_t left;	/* instructions that may still be read */
	size_t scanned; /* bytes whose calls were read */
	bool begun;
	bool wants_kept;

	size_t start; /* start of the function */
	bool cut;     /* the function is longer than can be read at once */
	bool lost;    /* `start` is inside a longer function that was read */
	struct reach reach;
	struct op_code_stack now;
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
	/* Whether an aligned address behind a call may begin another function. 0: no; 1:
	 * after padding; 2: always. */
	unsigned int split;
	OP_VEC(struct row) rows;
};

static bool is_aligned(const struct op_heights *p, size_t off)
{
	return (off + p->phase) % ALIGNMENT == 0;
}

/* The code at @off, which is in memory. */
static const uint8_t *code_at(const struct op_heights *p, size_t off)
{
	return p->memory.code + (off - p->memory.from);
}

/* Get [@from, @from + @len) into memory, or up to the end of the code. Returns 0 or
 * -errno. */
static int load(struct op_heights *p, size_t from, size_t len)
{
	len = OP_MIN(len, p->len - from);
	p->memory.from = p->memory.end = from;
	if (len && p->from.read(p->from.data, from, p->memory.code, len) < 0)
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

static struct target *find_target(struct op_heights *p, size_t off, bool add)
{
	uint32_t hash = (uint32_t)off * 2654435761u;
	uint32_t i;

	for (i = 0; i < TARGET_PROBES; i++) {
		struct target *t = &p->target[((hash >> 16) + i) & (TARGET_SLOTS - 1)];

		/* it belongs to an earlier function, or is before this one */
		if (t->function != p->function || t->off < p->start) {
			if (add)
				return t;
			continue;
		}
		if (t->off == off)
			return t;
	}
	return NULL;
}

/* The instruction that ends at @end jumps with the stack `now`. */
static void jump(struct op_heights *p, size_t end, int64_t distance)
{
	int64_t to = (int64_t)end + distance;
	struct target *t;

	if (to < (int64_t)p->start || to >= (int64_t)p->len ||
	    distance > (op_code_stack_is_entry(&p->now) ? FAR : JUMP_MAX))
		return;
	t = find_target(p, (size_t)to, true);
	if (t && (t->function != p->function || t->off != (uint32_t)to ||
		  (t->weak && !p->weak)))
		*t = (struct target){ p->function, (uint32_t)to, p->weak, p->now };
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

static bool ends_flow(const struct op_insn *i)
{
	return i->kind == OP_INSN_JUMP || i->kind == OP_INSN_JUMP_FAR ||
	       i->kind == OP_INSN_RETURN || i->kind == OP_INSN_TRAP;
}

static bool is_padding(uint8_t byte)
{
	return byte == INT3 || byte == NOP || !byte;
}

/* The offset at which code goes on after padding. */
static size_t skip_padding(struct op_heights *p, size_t at)
{
	struct op_insn i;

	while (at < p->memory.end && p->left && !op_starts_has(&p->starts, at)) {
		p->left--;
		if (is_padding(*code_at(p, at))) {
			at++;
			continue;
		}
		if (!op_insn_read(code_at(p, at), p->memory.end - at, &i) ||
		    i.kind != OP_INSN_PAD)
			break;
		at += i.len;
	}
	return at < p->memory.end ? at : p->memory.end;
}

/*
 * Control does not reach @off from @last, the instruction above it apart from padding.
 * Does a function begin here? If not, the stack is that of the jumps to @off or, if no
 * jump is known yet, the one before.
 */
static bool begins_function(struct op_heights *p, size_t off, bool padded,
			    const struct op_insn *last)
{
	const struct target *t = find_target(p, off, false);
	bool returned = last->kind == OP_INSN_RETURN || last->kind == OP_INSN_TRAP;

	if (t)
		p->now = t->height;
	p->weak = !t || t->weak;
	p->dead = false;
	if (op_starts_has(&p->starts, off))
		return true;
	if (t && !op_code_stack_is_entry(&t->height))
		goto within;
	/* The code after a jump through a table is one of its targets. */
	if (off > p->reach.own && last->kind != OP_INSN_JUMP_FAR)
		return true;
	if ((t || returned || op_code_stack_is_entry(&p->now)) &&
	    (off > p->reach.own || (padded && is_aligned(p, off))))
		return true;
within:
	p->guessed |= p->weak;
	return false;
}

/* Is it a return with words still pushed? Then some instruction was not understood. */
static bool is_unbalanced(const struct op_heights *p, const struct op_insn *i)
{
	return i->kind == OP_INSN_RETURN && !p->lost && !p->now.outermost &&
	       (p->now.sp != OP_CODE_STACK_WORD || p->now.saved);
}

/* The stack at @off was uncertain. Use that of a jump to it if that is certain. */
static void strengthen(struct op_heights *p, size_t off)
{
	const struct target *t = find_target(p, off, false);

	if (!t || t->weak)
		return;
	p->now = t->height;
	p->weak = false;
}

/* Read the next instruction and apply it. Returns its length; 0: there is none. */
static size_t step(struct op_heights *p, size_t at, struct op_insn *i)
{
	size_t len = op_insn_read(code_at(p, at), p->memory.end - at, i);

	if (p->left)
		p->left--;
	if (!len)
		return 0;
	p->bad |= is_unbalanced(p, i);
	p->balanced |= i->kind == OP_INSN_RETURN && !p->lost;
	p->returns |= i->kind == OP_INSN_RETURN && p->now.outermost;
	if (i->kind == OP_INSN_JUMP || i->kind == OP_INSN_JUMP_IF)
		jump(p, at + len, i->value);
	op_code_stack_apply(&p->now, i);
	p->dead = ends_flow(i);
	p->jumps |= i->kind == OP_INSN_JUMP_IF || (p->dead && i->kind != OP_INSN_TRAP);
	p->last.kind = i->kind;
	p->last.end = at + len;
	return len;
}

/* Read the function at p->start. Returns the offset of its end, or NO_MEMORY. */
static size_t read_function(struct op_heights *p)
{
	struct op_unwind_rule rule;
	struct op_insn i = { 0 };
	size_t at = p->start;
	bool called = false;
	bool padded = false;
	size_t len;

	p->now = p->lost ? OP_CODE_STACK_LOST : OP_CODE_STACK_ENTRY;
	p->cut = false;
	p->reach.own = at;
	p->dead = p->weak = p->guessed = p->bad = p->broken = p->jumps = false;
	p->returns = p->balanced = false;
	p->rows.len = 0;
	while (at < p->memory.end && p->left && at - p->start < OP_HEIGHTS_FUNCTION_MAX) {
		size_t to = p->dead ? skip_padding(p, at) : at;

		if (to == p->memory.end ||
		    (p->dead && begins_function(p, to, to > at, &i)))
			return to;
		at = to;
		if (called && at > p->reach.own &&
		    (op_starts_has(&p->starts, at) ||
		     (p->split && is_aligned(p, at) && (padded || p->split > 1))))
			return at; /* the call did not return */
		if (p->weak)
			strengthen(p, at);
		rule = op_code_stack_rule(&p->now, p->from.keep, p->none);
		if (add_row(p, at, rule) < 0)
			return NO_MEMORY;
		len = step(p, at, &i);
		if (!len) {
			p->broken = p->bad = true;
			break;
		}
		padded = i.kind == OP_INSN_PAD;
		if (!padded)
			called = i.kind == OP_INSN_CALL || i.kind == OP_INSN_CALL_FAR;
		p->wants_kept |= called && rule.cfa == OP_CFA_REG &&
				 (rule.cfa_off & 255) == OP_CODE_STACK_KEPT;
		at += len;
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
		 *code_at(p, at - 1) != RET && !is_padding(*code_at(p, at - 1)));
	return at < p->memory.end ? skip_padding(p, at) : p->memory.end;
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
			  p->start - (p->start && is_padding(*code_at(p, p->start - 1))),
			  signal);
	/* The byte above is the end of the jump, where no instruction begins. */
	if (is_outermost(p))
		return fn(data, p->start - 1, stop);
	if (is_retpoline(p, &len))
		return give_retpoline(p, len, fn, data);
	if (p->bad || (p->from.made && !p->balanced))
		return fn(data, p->start, p->none);
	for (i = 0; i < p->rows.len && r >= 0; i++) {
		const struct row *row = &p->rows.data[i];
		bool wrong = p->returns && row->rule.cfa == OP_CFA_STOP;

		r = fn(data, row->off, wrong ? p->none : row->rule);
	}
	return r;
}

/* Read the function again if a jump back was not known the first time. */
static size_t read_twice(struct op_heights *p)
{
	size_t end = read_function(p);

	return end != NO_MEMORY && p->guessed ? read_function(p) : end;
}

/* Read the function at p->start, trying three ways to find its end. */
static int read_next(struct op_heights *p, op_heights_fn fn, void *data)
{
	size_t end = 0;
	int r;

	p->trampoline = p->last.kind == OP_INSN_JUMP_FAR && p->last.end == p->start;
	if (p->start > p->reach.all)
		p->function++; /* no earlier jump goes beyond this place */
	for (p->split = 0; p->split <= 2; p->split++) {
		end = read_twice(p);
		if (end == NO_MEMORY || !p->bad || end - p->start > TRIED_BYTES_MAX)
			break;
		p->function++; /* the jumps of a failed attempt do not count */
	}
	if (end == NO_MEMORY)
		return -ENOMEM;
	r = give(p, fn, data);
	p->start = p->broken ? skip_data(p, end) : end;
	p->lost = p->cut && !p->broken;
	return r;
}

/* Find where functions begin. Returns 0, -EINPROGRESS or -EIO. */
static int scan(struct op_heights *p, struct op_allowance *allowance)
{
	while (p->scanned < p->len) {
		if (load(p, p->scanned, SCAN_BYTES) < 0)
			return -EIO;
		op_starts_find(&p->starts, p->memory.code, p->memory.from,
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
		p->start = skip_padding(p, 0);
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
		if (!p->left || load_function(p) < 0)
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
	p->left = len + OP_HEIGHTS_STEPS_MIN;
	op_starts_init(&p->starts, len, p->phase, ALIGNMENT);
	p->memory.code = malloc(OP_MIN(len, (size_t)OP_HEIGHTS_WINDOW_BYTES) + 1);
	p->target = calloc(TARGET_SLOTS, sizeof(*p->target));
	if (!p->target || !p->starts.bits || !p->memory.code)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(p);
	return 0;
}

bool op_heights_wants_kept(const struct op_heights *p)
{
	return p->wants_kept;
}

size_t op_heights_bytes(const struct op_heights *p)
{
	return sizeof(*p) + TARGET_SLOTS * sizeof(*p->target) +
	       op_starts_bytes(&p->starts) +
	       OP_MIN(p->len, (size_t)OP_HEIGHTS_WINDOW_BYTES) +
	       p->rows.cap * sizeof(*p->rows.data);
}

struct op_heights *op_heights_free(struct op_heights *p)
{
	if (!p)
		return NULL;
	free(p->target);
	op_starts_deinit(&p->starts);
	free(p->memory.code);
	op_vec_clear(&p->rows);
	free(p);
	return NULL;
}
