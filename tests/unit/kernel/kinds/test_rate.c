/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit on samples of probes, allocations and perf events (bpf/event/rate.h, compiled
 * here). What the kept hits stand for has to be the number of hits, of each of two places.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

#include "op_control.h"
#include "random.h"
#include "test.h"

struct op_rate;
struct op_slot {
	struct op_record record;
};

static const struct op_settings op_settings = { .event_budget = 1000 };
static struct op_rate *rate_of_cpu(void);
static struct {
	struct op_slot slot;
	struct op_counts counts;
	uint64_t now_ns;
	uint32_t keep_one_in; /* what a rule asks for; 0: there are no rules */
	int in_use;
} k;

static void op_count_in(struct op_counts *counts, uint32_t counter)
{
	counts->value[counter]++;
}

/* Stands in for what these headers have. */
#define __BPF_HELPERS__
#define OP_EVENT_H
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define SEC(name)
#define __uint(name, value)	      int(*name)[value]
#define __type(name, of)	      __typeof__(of) *name
#define BPF_MAP_TYPE_PERCPU_ARRAY     1
#define OP_TICKS_NONE		      0
#define bpf_map_lookup_elem(map, key) ((void)(map), (void)(key), rate_of_cpu())
#define bpf_get_prandom_u32()	      random_u32()
#define bpf_ktime_get_ns()	      (k.now_ns)
#define op_counts_of(event)	      ((void)(event), &k.counts)
#define op_rules_keep_all()	      (!k.keep_one_in)

static struct op_slot *op_event_enter_as(struct op_counts *counts, uint32_t event,
					 bool named, int ticks, uint64_t now,
					 bool *ret_filtered)
{
	CHECK(!named && ticks == OP_TICKS_NONE && now == k.now_ns);
	k.slot.record.event = (uint16_t)event;
	k.slot.record.hits = k.keep_one_in ? k.keep_one_in : 1;
	*ret_filtered = random_u32() % k.slot.record.hits;
	if (*ret_filtered) {
		op_count_in(counts, OP_COUNT_FILTERED);
		return NULL;
	}
	k.in_use++;
	return &k.slot;
}

static void op_slot_release(struct op_slot *slot)
{
	CHECK(slot == &k.slot);
	k.in_use--;
}

#include "bpf/event/rate.h"

static struct op_rate rate;

static struct op_rate *rate_of_cpu(void)
{
	return &rate;
}

enum {
	HITS = 24000, /* in each second */
	SECONDS = 60,
};

struct sums {
	uint64_t place[2]; /* what its kept hits stand for */
	uint64_t kept;
};

static void begin(uint32_t keep_one_in)
{
	memset(&k, 0, sizeof(k));
	memset(&rate, 0, sizeof(rate));
	k.keep_one_in = keep_one_in;
	k.now_ns = 1000 * OP_RATE_SECOND_NS;
}

static void hit(struct sums *s, int place)
{
	struct op_slot *slot = op_rate_begin(OP_EVENT_HEAP);

	if (!slot)
		return;
	CHECK(slot->record.hits);
	s->place[place] += slot->record.hits;
	s->kept++;
	op_slot_release(slot);
}

/* One second: all hits in its first half. @in_turn: place 1 after each hit of place 0; else
 * half of the hits after the other half. */
static void second(struct sums *s, uint32_t hits, bool in_turn)
{
	uint64_t begun = k.now_ns;
	uint32_t i;

	for (i = 0; i < hits; i++) {
		hit(s, in_turn ? i % 2 : i >= hits / 2);
		k.now_ns = begun + OP_RATE_SECOND_NS / 2 * (i + 1) / hits;
	}
	k.now_ns = begun + OP_RATE_SECOND_NS;
}

static bool within(uint64_t value, uint64_t of, double part)
{
	return (double)value > (double)of * (1 - part) &&
	       (double)value < (double)of * (1 + part);
}

/* Of hits in turn, a block has as many of each place, and each may be the one that is kept:
 * shares are off as far as heads and tails of so many throws. Returns by how many sigma,
 * squared. */
static double off_by(const struct sums *s)
{
	double off = ((double)s->place[0] - (double)s->place[1]) /
		     (double)(s->place[0] + s->place[1]);

	return off * off * (double)s->kept;
}

static void check(uint32_t keep_one_in, bool in_turn)
{
	struct sums all = { 0 };
	uint64_t hits = 0;
	int i;

	begin(keep_one_in);
	for (i = 0; i < SECONDS; i++) {
		struct sums s = { 0 };

		second(&s, HITS, in_turn);
		hits += HITS;
		all.place[0] += s.place[0];
		all.place[1] += s.place[1];
		all.kept += s.kept;
		/* the first second learns the length of blocks, which is rounded up */
		CHECK(s.kept > op_settings.event_budget / 2);
		CHECK(s.kept < op_settings.event_budget * (i ? 1.1 : 2));
		if (keep_one_in)
			continue; /* a rule's choice has its own noise */
		CHECK(within(s.place[0] + s.place[1], HITS, 0.01));
		CHECK(in_turn || within(s.place[0], HITS / 2, 0.03));
		CHECK(in_turn || within(s.place[1], HITS / 2, 0.03));
	}
	printf("  %s%s: %llu of %llu, %.2f %% of the first place, %llu kept a second\n",
	       in_turn ? "in turn" : "halves", keep_one_in ? ", of a rule" : "",
	       (unsigned long long)(all.place[0] + all.place[1]),
	       (unsigned long long)hits,
	       (double)all.place[0] * 100 / (double)(all.place[0] + all.place[1]),
	       (unsigned long long)(all.kept / SECONDS));
	CHECK(within(all.place[0] + all.place[1], hits, 0.01));
	CHECK(within(all.place[0], hits / 2, 0.03));
	CHECK(within(all.place[1], hits / 2, 0.03));
	CHECK(!in_turn || off_by(&all) < 6 * 6);
	CHECK_INT(k.in_use, 0);
	CHECK_INT(k.counts.value[OP_COUNT_TAKEN], hits);
	CHECK_INT(k.counts.value[OP_COUNT_FILTERED] + all.kept, hits);
}

static void test_bursts(void)
{
	check(0, false);
	check(0, true);
}

/* A rule that keeps one in four leaves hits for the limit. Both factors count. */
static void test_with_a_rule(void)
{
	check(4, false);
	check(4, true);
}

/* Few hits are all taken, even after a second with many. */
static void test_few(void)
{
	struct sums s = { 0 };

	begin(0);
	second(&s, op_settings.event_budget - 1, true);
	CHECK_INT(s.kept, op_settings.event_budget - 1);
	CHECK_INT(s.place[0] + s.place[1], op_settings.event_budget - 1);
	second(&s, HITS, true);
	k.now_ns += 2 * OP_RATE_SECOND_NS;
	hit(&s, 0); /* may be in a block that is still open */
	while (rate.at < rate.block)
		hit(&s, 0);
	s = (struct sums){ 0 };
	hit(&s, 1);
	hit(&s, 1);
	CHECK_INT(s.kept, 2);
	CHECK_INT(s.place[1], 2);
}

/* Seconds with many hits and with few: what is kept of a block stands for what is not. */
static void test_changing(void)
{
	static const uint32_t some[] = { 24000, 300, 240000, 1, 5000, 1100, 90000 };
	struct sums s = { 0 };
	uint64_t hits = 0;
	int i;

	begin(0);
	for (i = 0; i < SECONDS; i++) {
		uint32_t n = some[random_u32() % (sizeof(some) / sizeof(some[0]))];

		second(&s, n, true);
		hits += n;
	}
	printf("  %llu of %llu, %.2f %% of the first place\n",
	       (unsigned long long)(s.place[0] + s.place[1]), (unsigned long long)hits,
	       (double)s.place[0] * 100 / (double)(s.place[0] + s.place[1]));
	/* but for a block that is still open */
	CHECK(within(s.place[0] + s.place[1], hits, 0.001));
	CHECK(within(s.place[0], hits / 2, 0.03));
}

TEST_MAIN({ "bursts", test_bursts }, { "with_a_rule", test_with_a_rule },
	  { "few", test_few }, { "changing", test_changing })
