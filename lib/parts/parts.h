/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a handle (part.h). A new one is a folder, a row of op_part_ops, and a line in
 * parts.c.
 *
 *   goroutines/  snapshots of goroutines, and of the heaps of Go programs
 *   heap/        probes of allocations, and what is in use
 *   probes/      places that a user names, and probes in every mapped file
 *   rules/       which processes are sampled, and how often
 *   threads/     snapshots of threads
 */
#ifndef OP_PARTS_PARTS_H
#define OP_PARTS_PARTS_H

#include "base/cleanup.h"
#include "parts/part.h"

struct op_parts;
struct op_probes;
struct op_targets;

int op_parts_new(const struct op_part_config *config, struct op_parts **ret);
struct op_parts *op_parts_free(struct op_parts *p);
OP_DEFINE_CLEANUP(struct op_parts *, op_parts_free)

/* See op_part_ops. All parts are set; the first error is returned. */
int op_parts_set_kinds(struct op_parts *p, uint64_t kinds);
/* Poll those that go on at @when. */
void op_parts_poll(struct op_parts *p, enum op_part_when when, const struct op_turn *turn,
		   struct op_window *window);
/* The earliest time at which one is to be polled (CLOCK_MONOTONIC); 0: none. */
uint64_t op_parts_next_ns(const struct op_parts *p);
/* Snapshots that are not complete are logged. */
void op_parts_snapshot(struct op_parts *p, struct op_window *window,
		       enum op_part_end end);
/* What polls and snapshots took until now. */
const struct op_part_taken *op_parts_taken(const struct op_parts *p);
void op_parts_get_stats(const struct op_parts *p, struct otelprof_stats *ret);

/* Those that public calls use. */
struct op_probes *op_parts_probes(const struct op_parts *p);
struct op_targets *op_parts_targets(const struct op_parts *p);

#endif
