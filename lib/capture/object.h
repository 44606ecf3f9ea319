/* SPDX-License-Identifier: Apache-2.0 */
/* A BPF object of bpf/event: opened over the capture's maps and settings, and loaded. */
#ifndef OP_CAPTURE_OBJECT_H
#define OP_CAPTURE_OBJECT_H

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
 * Open an object with @settings. Its programs are not marked for loading yet. Maps that the
 * capture has already are used again, those of @walkers too; NULL: it has none.
 * Caller closes *@ret. Fails with a sentence in the log.
 */
int op_object_open(struct op_capture *c, const struct op_object_source *source,
		   const struct op_settings *settings, const struct op_walkers *walkers,
		   struct bpf_object **ret);

/* Open an object only for what it says of itself. NULL: there is no memory. Caller closes it. */
struct bpf_object *op_object_peek(const struct op_object_source *source);

/* Mark program @name of an opened object for loading, as of @type. Returns 0 or -ENOENT. */
int op_object_want(struct bpf_object *object, const char *name, uint32_t type);

/* Load what was marked. Fails with a sentence, and the verifier's, in the log. */
int op_object_load(struct op_capture *c, struct bpf_object *object);

/* A descriptor of program or map @name of a loaded object, the caller's. Or -errno. */
int op_object_program_fd(struct bpf_object *object, const char *name);
int op_object_map_fd(struct bpf_object *object, const char *name);

/* Around calls of libbpf: it is silent in between. */
void *op_object_hush(void);
void op_object_unhush(void *before);

void op_object_close(struct bpf_object *object);

#endif
