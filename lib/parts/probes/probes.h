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
 */
#ifndef OP_PARTS_PROBES_PROBES_H
#define OP_PARTS_PROBES_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct op_capture;
struct op_detail;
struct op_log;
struct op_probes;

struct op_probes_config {
	struct op_log *log;
	struct op_capture *capture; /* borrowed until op_probes_free() */
	const char *sysfs_root;	    /* borrowed */
};

int op_probes_new(const struct op_probes_config *config, struct op_probes **ret);
struct op_probes *op_probes_free(struct op_probes *p);
OP_DEFINE_CLEANUP(struct op_probes *, op_probes_free)

/* Set the wanted probes. As otelprof_set_probes(). */
int op_probes_set(struct op_probes *p, const char *const *specs, size_t len);
/* Attach the wanted probes if @on, else detach all. Returns 0, or -errno with
 * a sentence. */
int op_probes_switch(struct op_probes *p, bool on);
/* What the number of a probe stands for, that one has or had; or NULL. An op_detail_fn. */
const struct op_detail *op_probes_detail(void *p, uint32_t number);

#endif
