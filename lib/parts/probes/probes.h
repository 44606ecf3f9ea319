/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes: places that a user names, each with a program of its own in the kernel.
 *
 *   spec.c     parses a specification string
 *   place.c    finds the file offset of a symbol
 *   usdt.c     finds the file offsets of a static probe
 *   value.c    finds the value of a probe
 *   event.c    the names of perf's events
 *   attach.c   attaches a program to a place
 *   probes.c   the list of probes: which are wanted, which are attached
 *
 * And probes in every file that is mapped:
 *
 *   mapped.c         looks into each file once for all who want some
 *   mapped_probes.c  the files that have those of one user, and the attached programs
 */
#ifndef OP_PARTS_PROBES_PROBES_H
#define OP_PARTS_PROBES_PROBES_H

#include <stddef.h>

struct op_probes;

/* Set the wanted probes, as otelprof_set_probes() does. */
int op_probes_set(struct op_probes *p, const char *const *specs, size_t len);

#endif
