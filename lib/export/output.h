/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is seen whole or not at all: written beside its path under another name and
 * renamed over it. Standard output, pipes and devices are written straight.
 */
#ifndef OP_EXPORT_OUTPUT_H
#define OP_EXPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_output {
	char *path;
	char *temp;	  /* name of the file being written, or NULL */
	int fd;		  /* of it; of the stream where @stream; or -1 */
	int published_fd; /* what was last given the path's name, or -1 */
	bool stream;
};

/* Open the stream, or the first temporary file. Returns 0 or -errno; deinit on success. */
int op_output_init(struct op_output *o, const char *path);
/* Remove what was not published, close all. */
void op_output_deinit(struct op_output *o);
/* In the child of a fork: close, but leave the files to the parent. */
void op_output_forget(struct op_output *o);

/* Make a temporary file where there is none. Returns 0 or -errno. */
int op_output_open(struct op_output *o);
/* Fill the (empty) temporary file with the @len bytes of the published one. */
int op_output_continue(struct op_output *o, uint64_t len);
/* Give the temporary file its name. Returns 0 or -errno; it is then discarded. */
int op_output_publish(struct op_output *o);
/* Remove the temporary file. */
void op_output_discard(struct op_output *o);

#endif
