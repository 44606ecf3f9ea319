/* SPDX-License-Identifier: Apache-2.0 */
/* A program to the place of a probe. */
#ifndef OP_PROBE_ATTACH_H
#define OP_PROBE_ATTACH_H

#include "probe/spec.h"

/* Of which type (enum bpf_prog_type) the program of such a probe is. */
uint32_t op_probe_program_type(enum op_probe_type type);
/*
 * Attach @program to @spec, at site @site of @place where it has such. Returns a descriptor,
 * whose closing detaches, or -errno: -EOPNOTSUPP where this kernel has no such probes.
 */
int op_probe_attach(const struct op_probe_spec *spec, const struct op_probe_place *place,
		    uint32_t site, int program, const char *sysfs_root);

#endif
