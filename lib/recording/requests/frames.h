/* SPDX-License-Identifier: Apache-2.0 */
/* Applies focus, ignore and hide to a collection that is complete, with its source
 * lines. */
#ifndef OP_RECORDING_REQUESTS_FRAMES_H
#define OP_RECORDING_REQUESTS_FRAMES_H

#include "export/format/collect/collect.h"
#include "recording/requests/filter.h"

/* In *@ret_numbers: the stack was left out. */
#define FILTER_GONE UINT32_MAX

/*
 * Leave stacks and frames out of @c, to which nothing can be added afterwards.
 * *@ret_numbers has the new number of each stack or FILTER_GONE. The caller frees it. A
 * stack whose frames are all hidden stays, without frames. Returns 0 or -ENOMEM.
 */
int filter_frames(const struct filter *f, struct op_collect *c, uint32_t **ret_numbers);
/* Remove entries to which no stack refers. Nothing can be added afterwards. Returns 0,
 * or -ENOMEM with texts missing. */
int filter_compact(struct op_collect *c);

#endif
