/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes: places that a user names, each with a program of its own in the kernel.
 *
 *   spec.c     a specification string, taken apart
 *   place.c    a symbol of a file to an offset in it
 *   usdt.c     the same of a static probe
 *   attach.c   a program to its place
 *   probes.c   the list: which are wanted, which are attached
 */
#ifndef OP_PROBE_PROBES_H
#define OP_PROBE_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct op_capture;
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

/* These are wanted from now on. As otelprof_set_probes(). */
int op_probes_set(struct op_probes *p, const char *const *specs, size_t len);
/* Attach the wanted ones where @on, detach all where not. 0, or -errno with a sentence. */
int op_probes_switch(struct op_probes *p, bool on);
/* The specification of the probe that had @number, or NULL. An op_detail_name_fn. */
const char *op_probes_name(void *p, uint32_t number);

#endif
