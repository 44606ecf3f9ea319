/* SPDX-License-Identifier: Apache-2.0 */
/* A process that waits in three known places, and says how long. */
#ifndef TEST_OFF_CPU_CHILD_H
#define TEST_OFF_CPU_CHILD_H

#include <stdint.h>

#include "kind_profile.h"
#include "on_cpu.h"

enum {
	PLACES = 3, /* waits_in_a(), waits_in_b(), waits_in_c(): 50, 30, 20 % */
};

/* What it does, in drive() or in short_lived(). */
enum work {
	SLEEPS = 's',	   /* sleeps of half a millisecond */
	SLOW_SLEEPS = 'S', /* of ten */
	PINNED = 'p',	   /* two threads on one CPU that wait for each other */
	MIGRATING = 'm',   /* the same, from CPU to CPU */
	SHORT_LIVED = 't', /* threads that sleep in each place once and end */
};

struct answer {
	struct off_ns off_ns;	  /* of all threads at work */
	int64_t place_ns[PLACES]; /* by the clock, in each place */
	int64_t places_cpu_ns;	  /* of these, on a CPU */
	/* Off the CPUs in each place, of SLEEPS; else 0. */
	struct off_ns place_off_ns[PLACES];
	int64_t waits[PLACES];
	int64_t switches; /* of the process */
};

struct kind_child start_child(void);
/* Let it work for @ms. The answer comes through @from. */
void ask_child(const struct kind_child *c, char work, uint32_t ms);

#endif
