/* SPDX-License-Identifier: Apache-2.0 */
/* A BPF object of bpf/event: opened with the maps and settings of a capture, then
 * loaded. */
#ifndef OP_KERNEL_OBJECT_H
#define OP_KERNEL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct bpf_object;
struct op_capture;
struct op_packed_object;
struct op_walkers;

struct op_object_source {
	const char *name;
	const struct op_packed_object *packed;
};

/*
 * Open an object with @settings. None of its programs is marked for loading yet. It
 * shares the maps that the capture already has, and those of @walkers (NULL: it needs no
 * walkers). The caller closes *@ret. On failure the log has a sentence.
 */
int op_object_open(struct op_capture *c, const struct op_object_source *source,
		   const struct op_settings *settings, const struct op_walkers *walkers,
		   struct bpf_object **ret);

/* Open an object only to read its types. Returns NULL without memory. The caller closes
 * it. */
struct bpf_object *op_object_peek(const struct op_object_source *source);

/* Mark program @name of an opened object for loading with @type. Returns 0 or -ENOENT. */
int op_object_want(struct bpf_object *object, const char *name, uint32_t type);

/* Load the marked programs. On failure the log has a sentence and the verifier's
 * output. */
int op_object_load(struct op_capture *c, struct bpf_object *object);

/* A descriptor of program or map @name of a loaded object, which the caller closes; or
 * -errno. */
int op_object_program_fd(struct bpf_object *object, const char *name);
int op_object_map_fd(struct bpf_object *object, const char *name);

/* What refuses bpf(2) and perf_event_open(2) to a process that has the capabilities: a
 * seccomp filter, or a user namespace, as a phrase. NULL: nothing that is known. */
const char *op_object_refusal(void);

/* Call these before and after calls of libbpf, which print nothing in between. */
void *op_object_hush(void);
void op_object_unhush(void *before);

void op_object_close(struct bpf_object *object);

#endif
