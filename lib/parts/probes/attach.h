/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches a program to the place of a probe. */
#ifndef OP_PARTS_PROBES_ATTACH_H
#define OP_PARTS_PROBES_ATTACH_H

#include "parts/probes/spec.h"

/* The type (enum bpf_prog_type) that a program for such a probe must have. */
uint32_t op_probe_program_type(enum op_probe_type type);
/*
 * Attach @program to @spec, at site @site of @place if the probe has sites. Returns a
 * descriptor that detaches when it is closed, or -errno: -EOPNOTSUPP if the kernel has no
 * such probes.
 */
int op_probe_attach(const struct op_probe_spec *spec, const struct op_probe_place *place,
		    uint32_t site, int program, const char *sysfs_root);

/* Attach @program to the event of perf @spec on CPU @cpu. Returns a descriptor as above, or -errno:
 * -ENODEV if the CPU is not online, -ENOENT or -EOPNOTSUPP if there is no such event. */
int op_probe_attach_event(const struct op_probe_spec *spec, uint32_t cpu, int program);

#endif
