/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of code that a process makes: they hold as long as the code is what was read, and never
 * for a sample whose code may have been another. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "code/unwind/made/made.h"
#include "test.h"

enum {
	BASE = 0x7f0000, /* of the mapping */
	BYTES = 3 << 16,
	FRAME = 0x208,	 /* what the function reserves */
	AT = 256,	 /* where it is, in each page */
	INSIDE = AT + 7, /* past its first instruction */
	NO_RETURN = 1024,
	HOLE = 2 << 16, /* a page that is not in memory from here on */
};

static struct {
	struct op_memory memory;
	uint8_t code[BYTES];
	void *slabs[OP_SLABS_MAX];
	struct op_arena *arena;
	struct op_unwind_rule rule[OP_UNWIND_RULES_MAX];
	struct op_unwind_rules *rules;
	struct op_made_pages pages;
	struct op_made *made;
	bool gone;
} rig;

static int read_code(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	if (m != &rig.memory || rig.gone || addr < BASE || addr + len > BASE + HOLE)
		return -EFAULT;
	memcpy(buf, rig.code + (addr - BASE), len);
	return 0;
}

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	*ret = rig.slabs[index] = calloc(1, OP_SLAB_BYTES);
	CHECK(*ret);
	return 0;
}

/* sub $@frame,%rsp; dec %ecx; jnz; add $@frame,%rsp; ret */
static void put_function(size_t at, int32_t frame)
{
	static const uint8_t code[] = { 0x48, 0x81, 0xec, 0,	0, 0, 0, 0xff, 0xc9, 0x75,
					0xfc, 0x48, 0x81, 0xc4, 0, 0, 0, 0,    0xc3 };

	memcpy(rig.code + at, code, sizeof(code));
	memcpy(rig.code + at + 3, &frame, sizeof(frame));
	memcpy(rig.code + at + 14, &frame, sizeof(frame));
}

static void begin(void)
{
	static const struct op_arena_ops ops = { .add_slab = make_slab };

	rig.memory.read = read_code;
	put_function(AT, FRAME);
	put_function((1 << 16) + AT, FRAME);
	put_function(NO_RETURN, FRAME);
	memcpy(rig.code + NO_RETURN + 18, "\xeb\xfe", 2); /* it jumps to itself */
	CHECK_OK(op_arena_new(&ops, NULL, OP_SLAB_BYTES, &rig.arena));
	CHECK_OK(op_unwind_rules_new(rig.rule, OP_UNWIND_RULES_MAX, &rig.rules));
	op_made_pages_init(&rig.pages, rig.arena, rig.rules);
	CHECK_OK(op_made_new(&rig.pages, &rig.memory, &rig.made));
}

static void end(void)
{
	size_t i;

	(void)op_made_free(rig.made, 0);
	CHECK_INT(rig.pages.len, 0);
	CHECK_INT(op_unwind_rules_used(rig.rules), 3);
	op_unwind_rules_free(rig.rules);
	op_arena_free(rig.arena);
	for (i = 0; i < OP_SLABS_MAX; i++)
		free(rig.slabs[i]);
	memset(&rig, 0, sizeof(rig));
}

/* A sample with a frame at @addr, now or at @time_ns. */
static enum op_made_word sample(uint64_t addr, uint64_t time_ns)
{
	bool new = false;

	time_ns = time_ns ? time_ns : op_clock_monotonic_ns();
	(void)op_made_number(rig.made, time_ns, NULL);
	return op_made_at(rig.made, addr, BASE, BASE + BYTES, time_ns, NULL, &new);
}

/* The rule that programs find. */
static struct op_unwind_rule rule_at(uint64_t addr)
{
	op_ref ref = op_made_segment(rig.made, BASE, BASE + BYTES);
	const struct op_segment *segment = op_arena_at(rig.arena, ref);
	const struct op_page *page;
	const struct op_row *row;
	uint32_t i;

	CHECK(ref);
	page = op_arena_at(rig.arena, segment->pages);
	page += (addr - segment->vaddr) >> OP_PAGE_SHIFT;
	row = op_arena_at(rig.arena, page->rows);
	for (i = page->count; i > 1 && row[i - 1].pc > (uint16_t)addr; i--)
		continue;
	return rig.rule[row[i - 1].rule];
}

static void wait_ms(long ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	(void)nanosleep(&time, NULL);
}

static void test_a_page_that_was_hit_has_rules(void)
{
	begin();
	/* before it was read there was no rule */
	CHECK_INT(sample(BASE + INSIDE, 0), OP_MADE_NONE);
	CHECK_INT(rule_at(BASE + AT).cfa_off, 8);
	CHECK_INT(rule_at(BASE + INSIDE).cfa, OP_CFA_SP);
	CHECK_INT(rule_at(BASE + INSIDE).cfa_off, FRAME + 8);
	CHECK(rule_at(BASE + INSIDE).save & OP_SAVE_CHECK);
	CHECK_INT(sample(BASE + INSIDE, 0), OP_MADE_RULE);
	CHECK_INT(rule_at(BASE + (1 << 16) + INSIDE).cfa, OP_CFA_FRAME);
	end();
}

static void test_code_that_does_not_return_has_no_rule(void)
{
	begin();
	(void)sample(BASE + NO_RETURN + 7, 0);
	CHECK_INT(rule_at(BASE + NO_RETURN + 7).cfa, OP_CFA_FRAME);
	CHECK_INT(sample(BASE + NO_RETURN + 7, 0), OP_MADE_NONE);
	end();
}

/* The code is read after the first sample, and has a rule at the second. */
static void begin_with_rule(void)
{
	begin();
	(void)sample(BASE + INSIDE, 0);
	CHECK_INT(sample(BASE + INSIDE, 0), OP_MADE_RULE);
}

static void test_code_that_changes_is_in_doubt(void)
{
	uint64_t before_ns;

	begin_with_rule();
	put_function(AT, FRAME + 64);
	before_ns = op_clock_monotonic_ns();
	wait_ms(30);
	CHECK_INT(sample(BASE + INSIDE, 0), OP_MADE_DOUBT); /* and it is read */
	CHECK_INT(rule_at(BASE + INSIDE).cfa_off, FRAME + 64 + 8);
	CHECK_INT(sample(BASE + INSIDE, before_ns), OP_MADE_DOUBT);
	CHECK_INT(sample(BASE + INSIDE, 0), OP_MADE_RULE);
	/* Code far from it changes nothing. */
	put_function((1 << 16) - 8192, FRAME);
	CHECK_INT(sample(BASE + INSIDE, 0), OP_MADE_RULE);
	end();
}

static void test_a_sample_that_was_not_checked_is_in_doubt(void)
{
	struct op_allowance none = { 0 };
	bool new = false;
	uint64_t now_ns;
	uint64_t number;

	begin_with_rule();
	op_allowance_until(&none, 1);
	now_ns = op_clock_monotonic_ns();
	number = op_made_number(rig.made, now_ns, &none);
	CHECK(number != op_made_number(rig.made, now_ns, &none));
	CHECK_INT(op_made_at(rig.made, BASE + INSIDE, BASE, BASE + BYTES, now_ns, &none,
			     &new),
		  OP_MADE_DOUBT);
	/* The process has ended. */
	rig.gone = true;
	CHECK_INT(sample(BASE + INSIDE, 0), OP_MADE_DOUBT);
	end();
}

/* A stack with a frame in doubt is never that of a later sample. */
static void test_doubt_has_a_number_of_its_own(void)
{
	struct op_allowance none = { 0 };
	bool new = false;
	uint64_t now_ns;
	uint64_t number;

	begin_with_rule();
	now_ns = op_clock_monotonic_ns();
	/* There was time for the pages, and none for the code that was not hit before. */
	number = op_made_number(rig.made, now_ns, NULL);
	op_allowance_until(&none, 1);
	CHECK_INT(op_made_at(rig.made, BASE + INSIDE + 2, BASE, BASE + BYTES, now_ns,
			     &none, &new),
		  OP_MADE_DOUBT);
	CHECK(op_made_number(rig.made, now_ns, NULL) != number);
	CHECK_INT(sample(BASE + INSIDE + 2, 0), OP_MADE_RULE);
	/* There was no time for the pages. */
	now_ns = op_clock_monotonic_ns();
	number = op_made_number(rig.made, now_ns, &none);
	CHECK_INT(op_made_at(rig.made, BASE + INSIDE, BASE, BASE + BYTES, now_ns, &none,
			     &new),
		  OP_MADE_DOUBT);
	CHECK(op_made_number(rig.made, now_ns, NULL) != number);
	end();
}

static void test_a_number_stays_while_the_code_does(void)
{
	uint64_t number;

	begin_with_rule();
	number = op_made_number(rig.made, op_clock_monotonic_ns(), NULL);
	CHECK_INT(op_made_number(rig.made, op_clock_monotonic_ns(), NULL), number);
	put_function(AT, FRAME + 64);
	CHECK(op_made_number(rig.made, op_clock_monotonic_ns(), NULL) != number);
	end();
}

/* How long after a comparison samples are read again. */
static uint64_t pause_ns(void)
{
	rig.pages.checked_ns = op_clock_monotonic_ns() + 1000000000;
	return op_made_pages_next_ns(&rig.pages) - rig.pages.checked_ns;
}

static void test_code_that_changes_is_compared_often(void)
{
	uint64_t ns;

	begin_with_rule();
	ns = pause_ns();
	put_function(AT, FRAME + 64);
	(void)op_made_number(rig.made, op_clock_monotonic_ns(), NULL);
	CHECK(pause_ns() < ns);
	rig.pages.changed_ns -= UINT64_C(60000000000);
	CHECK_INT(pause_ns(), ns);
	end();
}

static void test_pages_have_a_limit(void)
{
	size_t i;

	begin_with_rule();
	for (i = 0; i < OP_MADE_PAGES_MAX; i++) {
		bool new = false;
		uint64_t at = BASE + ((i + 64) << 16);

		rig.pages.left_ns = 1 << 30; /* however slow this machine is */
		(void)op_made_at(rig.made, at, at & ~0xffffffULL,
				 (at & ~0xffffffULL) + (1 << 24), 1, NULL, &new);
	}
	CHECK_INT(rig.pages.len, OP_MADE_PAGES_MAX);
	CHECK_INT(rule_at(BASE + INSIDE).cfa, OP_CFA_FRAME);
	CHECK_INT(sample(BASE + INSIDE, 1), OP_MADE_DOUBT);
	CHECK_INT(op_made_segment(rig.made, BASE, BASE + OP_MADE_REGION_BYTES_MAX), 0);
	end();
}

static void test_reading_has_its_share_of_a_cpu(void)
{
	begin();
	rig.pages.left_ns = -(INT64_C(1) << 40);
	CHECK_INT(sample(BASE + INSIDE, 0), OP_MADE_NONE);
	CHECK_INT(rig.pages.len, 0);
	rig.pages.left_ns = 1;
	(void)sample(BASE + INSIDE, 0);
	CHECK_INT(sample(BASE + INSIDE, 0), OP_MADE_RULE);
	end();
}

static void test_unreadable_code_is_in_doubt(void)
{
	begin();
	(void)sample(BASE + HOLE + INSIDE, 0);
	CHECK_INT(sample(BASE + HOLE + INSIDE, 0), OP_MADE_DOUBT);
	end();
}

TEST_MAIN({ "a_page_that_was_hit_has_rules", test_a_page_that_was_hit_has_rules },
	  { "code_that_does_not_return_has_no_rule",
	    test_code_that_does_not_return_has_no_rule },
	  { "code_that_changes_is_in_doubt", test_code_that_changes_is_in_doubt },
	  { "a_sample_that_was_not_checked_is_in_doubt",
	    test_a_sample_that_was_not_checked_is_in_doubt },
	  { "doubt_has_a_number_of_its_own", test_doubt_has_a_number_of_its_own },
	  { "a_number_stays_while_the_code_does",
	    test_a_number_stays_while_the_code_does },
	  { "code_that_changes_is_compared_often",
	    test_code_that_changes_is_compared_often },
	  { "pages_have_a_limit", test_pages_have_a_limit },
	  { "reading_has_its_share_of_a_cpu", test_reading_has_its_share_of_a_cpu },
	  { "unreadable_code_is_in_doubt", test_unreadable_code_is_in_doubt })
