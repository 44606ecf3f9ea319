/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the answer. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/foreign/text.h"
#include "base/macros.h"
#include "recording/read/print.h"
#include "recording/tree/answer/answer.h"

/* A program that uses less of one CPU than this mostly waits. */
#define WAITS_BELOW 0.5
/* If threads use less of the CPUs than they could, they wait for each other, or for
 * others. */
#define TURNS_BELOW 0.8
/* A smaller share of the whole is not worth a word. */
#define LEAST_PERCENT 1.0
#define NOISE_PERCENT 5.0
#define SMALL	      10.0 /* times less than the first row */
/* A program with this share is the one that the reader examines. */
#define MAIN_PERCENT 70.0

static void add(char *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(char *buf, const char *fmt, ...)
{
	size_t len = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(buf + len, ANSWER_SENTENCE_BYTES - len, fmt, ap);
	va_end(ap);
}

static void add_waits(const struct answer *a, char *buf)
{
	double all = (double)a->v->total - (a->idle_waits ? 0 : (double)a->idle), share;
	size_t i;

	for (i = 0; i < a->waits_len; i++) {
		share = all > 0 ? 100 * (double)a->waits[i].value / all : 0;
		if (i && share < LEAST_PERCENT)
			break;
		add(buf, "%s%.0f%% for %s", i ? ", " : ": ", share,
		    op_wait_name(a->waits[i].wait));
	}
}

static void add_threads(const struct answer *a, char *buf)
{
	size_t others = a->threads.waited - a->threads.idle;

	if (a->threads.idle)
		add(buf, "%zu of %zu threads %s idle. The other%s", a->threads.idle,
		    a->threads.waited, a->threads.idle == 1 ? "was" : "were",
		    others == 1 ? "" : "s");
	else
		add(buf, "%zu thread%s", a->threads.waited, others == 1 ? "" : "s");
	add(buf, " waited %.0f%% of %s time", a->waited, others == 1 ? "its" : "their");
}

/* Waits for work, or for another thread, are no waits for a lock. */
static void add_locks(const struct answer *a, char *buf)
{
	int64_t locks = a->v->total - a->idle;
	char of_locks[64], others[64];

	(void)view_value(a->v, locks, of_locks, sizeof(of_locks));
	(void)view_value(a->v, a->idle, others, sizeof(others));
	if (locks > 0) {
		add(buf, "Threads waited %s for locks, and %s for work or other threads",
		    of_locks, others);
		return;
	}
	add(buf, "No thread waited for a lock. They waited %s", others);
	add_waits(a, buf);
}

static void add_cpus(const struct answer *a, unsigned int cpus, char *buf)
{
	/* Each sample stands for a whole interval, so the sum may be a little more than all. */
	add(buf, "Used %.2f", cpus ? OP_MIN(a->cpus, (double)cpus) : a->cpus);
	if (cpus)
		add(buf, " of %u", cpus);
	add(buf, " CPU%s for %.1f s. ", (cpus ? cpus : a->cpus) == 1 ? "" : "s",
	    a->seconds);
}

/* Work of the runtime, which is below none of the program's functions, and is done for
 * it. */
static void add_services(const struct answer *a, char *buf)
{
	bool any = false;
	double share;
	size_t i;

	for (i = SERVICE_NONE + 1; i < SERVICES; i++) {
		share = view_percent(a->v, a->services[i]);
		if (share < NOISE_PERCENT)
			continue;
		add(buf, any ? ", %.0f%% to the %s" : "%.0f%% of that went to the %s",
		    share, service_name((enum service)i));
		any = true;
	}
	if (any)
		add(buf, ". ");
}

static void add_time(const struct answer *a, unsigned int cpus, char *buf)
{
	if (a->threads.waited) {
		add_threads(a, buf);
		add(buf, "; --kind off_cpu shows for what. ");
	} else if (a->cpus < WAITS_BELOW && !answer_has_programs(a)) {
		add(buf, "It mostly waited, or got no CPU; --kinds off_cpu records "
			 "which. ");
	} else if (cpus && a->threads.ran > 1 && !answer_has_programs(a) &&
		   a->cpus < TURNS_BELOW * (double)OP_MIN(a->threads.ran, (size_t)cpus)) {
		add(buf,
		    "%zu threads ran, not all at once; --kinds off_cpu records what they "
		    "wait for. ",
		    a->threads.ran);
	}
}

static void add_all_waits(const struct answer *a, char *buf)
{
	const struct op_collect *c = a->v->c;
	char value[64];

	if (a->idle_waits && a->idle &&
	    view_text_is(c, c->kinds.data[a->v->kind].counted_type, "delay")) {
		add_locks(a, buf);
		return;
	}
	if (a->threads.waited)
		add_threads(a, buf);
	else
		add(buf, "%s%s", view_value(a->v, a->v->total, value, sizeof(value)),
		    a->counts ? a->v->total == 1 ? " thread" : " threads" : "");
	add_waits(a, buf);
}

static void add_memory(const struct answer *a, char *buf)
{
	char value[64];

	print_bytes((double)a->v->total / a->seconds, value, sizeof(value));
	add(buf, "%s a second", value);
	if (a->in_use >= 0) {
		print_bytes((double)a->in_use, value, sizeof(value));
		add(buf, "; %s still in use at the end", value);
	}
	add(buf, ". ");
}

static void add_standing(const struct answer *a, char *buf)
{
	if (!a->threads.standing || a->counts)
		return;
	add(buf, "%zu thread%s still waited at the end", a->threads.standing,
	    a->threads.standing == 1 ? "" : "s");
	add(buf, "; --kind threads shows where. ");
}

const char *answer_sentence(const struct answer *a, unsigned int cpus,
			    char buf[static ANSWER_SENTENCE_BYTES])
{
	*buf = 0;
	if (a->cpus >= 0)
		add_cpus(a, cpus, buf);
	if (a->about == ABOUT_TIME) {
		add_services(a, buf);
		add_time(a, cpus, buf);
	} else if (a->about == ABOUT_WAITS) {
		add_all_waits(a, buf);
		add(buf, ". ");
	} else if (a->about == ABOUT_MEMORY && a->seconds > 0 && !a->moment) {
		add_memory(a, buf);
	}
	add_standing(a, buf);
	if (*buf)
		buf[strlen(buf) - 1] = 0;
	return buf;
}

const char *answer_stands_words(const struct answer *a, const struct answer_row *row)
{
	if (a->about == ABOUT_MEMORY)
		return "still in use at the end";
	return row->whole == row->value ? "from the beginning to the end"
					: "still at the end";
}

size_t answer_rows_shown(const struct answer *a, size_t limit)
{
	const struct answer_row *row;
	double share, first = a->rows_len ? view_percent(a->v, a->rows[0].value) : 0;
	size_t i;

	if (a->stands_len && a->stands_len < limit)
		limit -= a->stands_len;
	for (i = 0; i < a->rows_len && i < limit; i++) {
		row = &a->rows[i];
		if (a->idle) /* the small ones are not among the rows */
			continue;
		share = view_percent(a->v, row->value);
		/* A row whose error is larger than its small share is noise. */
		if (i && ((share < LEAST_PERCENT && share < first / SMALL) ||
			  (share < NOISE_PERCENT && share < row->error)))
			break;
	}
	return i;
}

bool answer_has_programs(const struct answer *a)
{
	return a->programs_len > 2 &&
	       view_percent(a->v, a->programs[0].value) < MAIN_PERCENT;
}
