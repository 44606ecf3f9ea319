/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of Go code, from the table that Go's own runtime unwinds with: for each pc the
 * bytes between SP and the frame's end (pcsp). That is exact in prologues, epilogues and
 * assembly without a frame, where a walk by frame pointers would lose the caller.
 *
 * On x86-64 the caller's frame pointer is saved right below the return address. On
 * aarch64 the link register is saved at SP and the frame pointer right below SP, so that
 * both are a frame record, too (since Go 1.21; the record of earlier versions is not
 * used).
 *
 * A flag marks functions that set SP to something else, because they switch stacks. The
 * frame pointer survives the switch, so their caller is found by it, whatever stack it is
 * on.
 */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "code/elf/gopclntab.h"
#include "code/unwind/heights/instruction.h"
#include "code/unwind/source.h"

enum {
	WORD = 8,
	NAME_MAX_BYTES = 64,
	/* Go 1.17, which has flags, also writes tables of version 1.16 */
	VERSION_WITH_FLAGS = 118,
	PUSH_RBP = 0x55,
	SWITCH_BYTES_MAX = 256, /* of a function that switches stacks and has no frame */
	MOV_RBP_BYTES = 8,	/* length of the longest `MOVQ BP, n(SP)` */
	/* What the runtime pushes between a goroutine and a call that it injects, on
	 * aarch64: the link register and padding (sigctxt.pushCall). */
	INJECTED_BYTES = 16,
};

enum go_kind {
	GO_PLAIN,    /* its frame is found by SP deltas */
	GO_TOP,	     /* it is outermost: nothing has called it */
	GO_SIGNAL,   /* the signal trampoline */
	GO_SWITCHES, /* it switches stacks */
	GO_LEAVES,   /* it leaves its stack for another one, and has no frame */
	/* the runtime injected a call of it, in a signal, at any instruction: what looks like a return
	 * address is that instruction's */
	GO_INJECTED,
};

struct op_source_go {
	struct op_elf *elf;
	struct op_gopclntab *table;
	struct op_builder *b;
	bool is_arm;
	uint64_t at; /* index of the next function */
	/* the function that is being read */
	const struct op_go_function *function;
	bool switches;
	bool injected;
	bool saves_fp;
	int32_t below; /* bytes between its frame and that of its caller */
	uint32_t ranges;
};

/* Log which file it is, if its descriptor says so. */
static void say_unread(const struct op_elf *elf, int error, struct op_log *log)
{
	char file[PATH_MAX] = "a file";
	char link[sizeof("/proc/self/fd/") + 10];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", op_elf_fd(elf));
	(void)readlink(link, file, sizeof(file) - 1);
	op_log(log, OP_LOG_WARNING,
	       "%s: its Go function table %s (%s); its stacks are walked without it",
	       file, error == -ENOTSUP ? "has an unknown version" : "cannot be read",
	       strerror(-error));
}

int op_source_go_new(struct op_elf *elf, struct op_log *log, struct op_source_go **ret)
{
	_cleanup_(op_source_go_freep) struct op_source_go *go = NULL;
	int r;

	go = calloc(1, sizeof(*go));
	if (!go)
		return -ENOMEM;
	go->elf = elf;
	go->is_arm = op_elf_machine(elf) == EM_AARCH64;
	r = op_gopclntab_open(elf, &go->table);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		if (r != -ENOENT)
			say_unread(elf, r, log);
		return 0;
	}
	*ret = OP_TAKE_PTR(go);
	return 1;
}

struct op_source_go *op_source_go_free(struct op_source_go *go)
{
	if (!go)
		return NULL;
	op_gopclntab_free(go->table);
	free(go);
	return NULL;
}

void op_source_go_range(const struct op_source_go *go, uint64_t *ret_start,
			uint64_t *ret_end)
{
	op_gopclntab_range(go->table, ret_start, ret_end);
}

/* ---- the kind of a function ---- */

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *name, const char *const *names, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static enum go_kind kind_by_name(const char *name, uint32_t flags)
{
	static const char *const top[] = {
		"runtime.goexit", "runtime.mstart", "runtime.rt0_go",
		"runtime.mcall", /* it has left its caller for the scheduler's stack */
	};
	static const char *const switches[] = {
		"runtime.systemstack",
		"runtime.asmcgocall",
		"runtime.cgocallback",
		"runtime.cgocallback_gofunc",
	};
	static const char *const injected[] = {
		"runtime.asyncPreempt",
		"runtime.sigpanic",
		"runtime.sigpanic0",
	};
	static const char *const leaves[] = { "runtime.morestack", "runtime.gogo" };

	/* Go's own walk ends at the handler, but the interrupted code is behind it. */
	if (strcmp(name, "runtime.sigtramp") == 0)
		return GO_PLAIN;
	if (has_prefix(name, "runtime.sigreturn"))
		return GO_SIGNAL;
	if (is_one_of(name, injected, OP_ARRAY_SIZE(injected)))
		return GO_INJECTED;
	if (flags & OP_GO_TOP_FRAME || has_prefix(name, "_rt0_") ||
	    is_one_of(name, top, OP_ARRAY_SIZE(top)))
		return GO_TOP;
	if (is_one_of(name, leaves, OP_ARRAY_SIZE(leaves)))
		return GO_LEAVES;
	if (flags & OP_GO_SP_WRITE || is_one_of(name, switches, OP_ARRAY_SIZE(switches)))
		return GO_SWITCHES;
	return GO_PLAIN;
}

static enum go_kind kind_of(struct op_source_go *go, const struct op_go_function *f)
{
	char name[NAME_MAX_BYTES];

	if (!f->flags && !f->id && op_gopclntab_version(go->table) >= VERSION_WITH_FLAGS)
		return GO_PLAIN;
	if (op_gopclntab_name(go->table, f, name, sizeof(name)) < 0)
		name[0] = '\0';
	return kind_by_name(name, f->flags);
}

/* ---- SP deltas ---- */

/* Is there a `MOVQ BP, @offset(SP)` at @pc? */
static bool stores_fp(struct op_source_go *go, uint64_t pc, int32_t offset)
{
	/* with an offset of 1 byte */
	static const uint8_t near[] = { 0x48, 0x89, 0x6c, 0x24 };
	/* with an offset of 4 bytes */
	static const uint8_t far[] = { 0x48, 0x89, 0xac, 0x24 };
	uint8_t code[MOV_RBP_BYTES] = { 0 };
	uint32_t at = (uint32_t)offset;

	if (op_elf_read_vaddr(go->elf, pc, code, sizeof(code)) < 0)
		return false;
	if (memcmp(code, near, sizeof(near)) == 0)
		return offset <= INT8_MAX && code[4] == at;
	return memcmp(code, far, sizeof(far)) == 0 && code[4] == (at & 0xff) &&
	       code[5] == (at >> 8 & 0xff) && code[6] == (at >> 16 & 0xff) &&
	       code[7] == at >> 24;
}

/*
 * Is the frame pointer saved in the frame of @delta bytes that is set up before @pc? In
 * assembly only the code shows that: either `PUSHQ BP` ends at @pc or, before Go 1.21,
 * the register is stored there. (At that store itself the register still holds the
 * caller's.)
 */
static bool saves_fp(struct op_source_go *go, uint64_t pc, int32_t delta)
{
	uint8_t byte = 0;

	if (go->is_arm || !(go->function->flags & OP_GO_ASM))
		return true;
	if (pc > go->function->entry &&
	    op_elf_read_vaddr(go->elf, pc - 1, &byte, 1) == 0 && byte == PUSH_RBP)
		return true;
	return delta >= WORD && stores_fp(go, pc, delta - WORD);
}

static struct op_unwind_rule rule_of(const struct op_source_go *go, int32_t delta)
{
	struct op_unwind_rule rule = { .cfa = OP_CFA_SP, .cfa_off = delta };

	if (!go->is_arm) {
		rule.cfa_off += WORD; /* the return address */
		if (go->injected)
			rule.cfa_off |= OP_CFA_SP_EXACT;
		if (delta && go->saves_fp) {
			rule.save = OP_SAVE_FP;
			rule.save_off = -2 * WORD;
		}
		return rule;
	}
	rule.cfa_off += go->below;
	if (delta) {
		if (delta > INT16_MAX - WORD - INJECTED_BYTES)
			return (struct op_unwind_rule){ .cfa = OP_CFA_INVALID };
		rule.save = OP_SAVE_PAIR;
		rule.save_off = (int16_t)(-go->below - delta - WORD);
	}
	return rule;
}

/* ---- functions without a frame that switch stacks ---- */

static int on_range(void *data, uint64_t start, uint64_t end, int32_t delta)
{
	uint32_t *ranges = data;

	return ++*ranges > 1 || delta;
}

/* Has @f no frame at any instruction? */
static bool is_frameless(struct op_source_go *go, const struct op_go_function *f)
{
	uint32_t ranges = 0;

	return op_gopclntab_values(go->table, f, f->pcsp, on_range, &ranges) == 0;
}

/* Does a function preserve register @reg of its caller? */
static bool is_preserved(uint8_t reg)
{
	return reg == OP_INSN_BX || (reg >= 12 && reg < OP_INSN_NO_REG);
}

/*
 * The rules around instruction @i at @pc, where *@reg holds SP of the goroutine. Where
 * it calls, the callee may have saved the register, so that only the frame pointer
 * leads on, to the caller of its caller.
 */
static int switch_rows(struct op_source_go *go, uint64_t pc, const struct op_insn *i,
		       uint8_t *reg)
{
	struct op_unwind_rule rule = { .cfa = OP_CFA_SP, .cfa_off = WORD };
	const struct op_unwind_rule call = { .cfa = OP_CFA_FRAME_SWITCH,
					     .save = OP_SAVE_CHECK };
	bool calls = i->kind == OP_INSN_CALL || i->kind == OP_INSN_CALL_FAR;
	int r = 0;

	if (*reg == OP_INSN_NO_REG) {
		if (i->kind != OP_INSN_COPY_SP || i->value || !is_preserved(i->reg))
			return 0;
		*reg = i->reg;
	} else if (i->kind == OP_INSN_SET_SP && i->reg == *reg && !i->value) {
		*reg = OP_INSN_NO_REG;
		return op_builder_row(go->b, pc + i->len, rule);
	} else if (!calls) {
		return 0;
	}
	rule.cfa = OP_CFA_REG;
	rule.cfa_off = WORD << 8 | *reg; /* these have one number in both numberings */
	if (calls)
		r = op_builder_row(go->b, pc + 1, call);
	return r < 0 ? r : op_builder_row(go->b, pc + i->len, rule);
}

/* Read the instructions of @f, which switches stacks and has no frame: the race detector's calls
 * keep SP in a register. */
static int read_switch(struct op_source_go *go, const struct op_go_function *f)
{
	const struct op_unwind_rule entry = { .cfa = OP_CFA_SP, .cfa_off = WORD };
	uint8_t code[SWITCH_BYTES_MAX];
	size_t len = OP_MIN(f->end - f->entry, sizeof(code));
	uint8_t reg = OP_INSN_NO_REG;
	struct op_insn i;
	size_t at;
	int r;

	r = op_builder_row(go->b, f->entry, entry);
	if (r < 0 || op_elf_read_vaddr(go->elf, f->entry, code, len) < 0)
		return r;
	for (at = 0; r >= 0 && at < len; at += i.len) {
		if (!op_insn_read(code + at, len - at, &i))
			break;
		r = switch_rows(go, f->entry + at, &i, &reg);
	}
	return r;
}

static int on_value(void *data, uint64_t start, uint64_t end, int32_t delta)
{
	struct op_source_go *go = data;
	uint32_t range = go->ranges++;
	struct op_unwind_rule rule = { .cfa = OP_CFA_INVALID };

	if (delta < 0 || delta > INT32_MAX - WORD || delta % WORD) {
		go->b->table->inexpressible++;
		return op_builder_row(go->b, start, rule);
	}
	if (range == 1)
		go->saves_fp = saves_fp(go, start, delta);
	/* Before its frame is set up, SP is unchanged. */
	if (go->switches && range > 0)
		rule = (struct op_unwind_rule){ .cfa = OP_CFA_FRAME_SWITCH };
	else
		rule = rule_of(go, delta);
	return op_builder_row(go->b, start, rule);
}

static int read_deltas(struct op_source_go *go, const struct op_go_function *f)
{
	const struct op_unwind_rule invalid = { .cfa = OP_CFA_INVALID };
	int r;

	/* There is no rule until the first value is read. */
	r = op_builder_row(go->b, f->entry, invalid);
	if (r < 0)
		return r;
	go->ranges = 0;
	go->saves_fp = true;
	r = op_gopclntab_values(go->table, f, f->pcsp, on_value, go);
	if (r != -EBADMSG)
		return r;
	go->b->table->bad_fdes++;
	return 0;
}

static int on_function(void *data, const struct op_go_function *f)
{
	struct op_source_go *go = data;
	enum go_kind kind = kind_of(go, f);
	int r;

	go->function = f;
	go->switches = kind == GO_SWITCHES;
	go->injected = kind == GO_INJECTED;
	go->below = go->is_arm && go->injected ? INJECTED_BYTES : 0;
	if (kind == GO_SIGNAL)
		r = op_builder_signal_forced(go->b, f->entry, f->end);
	else
		r = op_builder_function(go->b, f->entry, f->end);
	if (r >= 0)
		go->b->table->fdes++;
	if (r <= 0 || kind == GO_SIGNAL)
		return OP_MIN(r, 0);
	if (kind == GO_TOP)
		return op_builder_row(go->b, f->entry,
				      (struct op_unwind_rule){ .cfa = OP_CFA_STOP });
	if (kind == GO_LEAVES)
		return op_builder_row(
			go->b, f->entry,
			(struct op_unwind_rule){ .cfa = OP_CFA_FRAME_SWITCH });
	if (!f->pcsp)
		return op_builder_row(go->b, f->entry,
				      (struct op_unwind_rule){ .cfa = OP_CFA_FRAME });
	r = go->switches && !go->is_arm && is_frameless(go, f) ? read_switch(go, f)
							       : read_deltas(go, f);
	return r < 0 ? r : 0;
}

int op_source_go_read(struct op_source_go *go, struct op_builder *b,
		      struct op_allowance *allowance)
{
	go->b = b;
	return op_gopclntab_each_from(go->table, &go->at, allowance, on_function, go);
}
