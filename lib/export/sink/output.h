/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears complete or not at all. It is written without a name, gets a
 * temporary one beside its path, and is renamed. So no signal that ends the process
 * leaves a file. On file systems without unnamed files it has the temporary name from
 * the start. Standard output, pipes and devices are written directly.
 */
#ifndef OP_EXPORT_SINK_OUTPUT_H
#define OP_EXPORT_SINK_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/foreign/owner.h"

struct op_output {
	char *path;
	char *temp;	  /* name of the file being written; NULL: it has none */
	int fd;		  /* of the temporary file; of the stream if @stream; or -1 */
	int published_fd; /* the file that last got the path's name, or -1 */
	bool stream;
	struct op_owner owner; /* who gets the file */
};

/*
 * Open the stream, or the first temporary file. A pipe, a socket, a device and a link
 * must belong to this user, to root or to the user behind sudo, who also gets the file:
 * whoever may write to the directory could have made another one to get what is written.
 * Returns 0; -EPERM for others; or another -errno. After success call deinit.
 */
int op_output_init(struct op_output *o, const char *path);
/* Remove the unpublished file, if any, and close all descriptors. */
void op_output_deinit(struct op_output *o);
/* Call this in the child of a fork: closes, but leaves the files to the parent. */
void op_output_forget(struct op_output *o);

/* Create a temporary file if there is none. Returns 0 or -errno. */
int op_output_open(struct op_output *o);
/* Give the temporary file a name, so that its contents can be read if this process is
 * killed. Returns 0 or -errno. */
int op_output_name(struct op_output *o);
/*
 * Copy @len bytes of the published file into the (empty) temporary file. Returns 0,
 * -errno, or -ENODATA, with the temporary file empty, if the published file was
 * truncated, renamed or removed: its contents belong to whoever did that.
 */
int op_output_continue(struct op_output *o, uint64_t len);
/* Rename the temporary file to its path, once it is on the disk. Returns 0 or -errno; after an error
 * it is discarded. */
int op_output_publish(struct op_output *o);
/* The same if no file has that name, else -EEXIST. Then another path may be tried. */
int op_output_publish_new(struct op_output *o, const char *path);
/* Remove the temporary file. */
void op_output_discard(struct op_output *o);

#endif
