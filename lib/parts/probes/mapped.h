/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes in every file that processes map, now or later. Each user of this says which probes it
 * wants (mapped_probes.h). Files are opened here once for all users, a few in each poll.
 */
#ifndef OP_PARTS_PROBES_MAPPED_H
#define OP_PARTS_PROBES_MAPPED_H

#include "parts/probes/mapped_probes.h"

struct op_mapped;

enum {
	OP_MAPPED_USERS_MAX = 4,
};

/* Attach the probes of @user, which is borrowed until they are off, to all files that have
 * them. Files that are mapped now are looked into before it returns. */
void op_mapped_on(struct op_mapped *m, struct op_mapped_probes *user);
/* Detach them from all files. */
void op_mapped_off(struct op_mapped *m, struct op_mapped_probes *user);

#endif
