/* SPDX-License-Identifier: Apache-2.0 */
/* Focus, ignore and hide on a collection that is complete, with its source lines. */
#ifndef OP_RECORDING_REQUESTS_FRAMES_H
#define OP_RECORDING_REQUESTS_FRAMES_H

#include "export/format/collect/collect.h"
#include "recording/requests/filter.h"

/* A stack that was left out, in *@ret_numbers. */
#define FILTER_GONE UINT32_MAX

/*
 * Leave stacks and frames out of @c, to which nothing can be added afterwards. *@ret_numbers has for
 * each stack its new number or FILTER_GONE; the caller frees it. A stack all of whose frames are
 * hidden stays, without frames. Returns 0 or -ENOMEM.
 */
int filter_frames(const struct filter *f, struct op_collect *c, uint32_t **ret_numbers);
/* Drop what no stack refers to. Afterwards nothing can be added. Returns 0 or -ENOMEM, after which
 * texts are missing. */
int filter_compact(struct op_collect *c);

#endif
