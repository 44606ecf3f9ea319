/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file of a command completely or not at all, and keeps what it replaces. */
#ifndef OP_RECORDING_WRITE_OUTPUT_H
#define OP_RECORDING_WRITE_OUTPUT_H

#include <stddef.h>

/* Writes everything to @fd. Returns 0, or STATUS_FAILED after a message. */
typedef int (*output_fn)(void *data, int fd);

/*
 * Let @fn write the file @path; "-" is standard output. A file is written under a temporary name
 * and renamed, so that an existing file is never half overwritten, and is kept as FILE.old; the
 * target of a link is replaced, and the link stays. Pipes and devices are written into. What is
 * read cannot be what is written: @inputs, @inputs_len files. Returns 0, or STATUS_FAILED after a
 * message.
 */
int output_write(const char *path, char *const *inputs, size_t inputs_len, output_fn fn,
		 void *data);

/* The same in two steps, for output that becomes known later: the first one reports what
 * cannot be written. Both return 0, or STATUS_FAILED after a message; output_end() frees
 * @o in every case, and without @fn writes nothing. */
struct output;
int output_begin(const char *path, struct output **ret);
int output_end(struct output *o, output_fn fn, void *data);

/* Make the folder of such files if it is not there. One of another user is no place: that user
 * could take each file and put another one there. Returns 0, or STATUS_FAILED after a message. */
int output_folder(const char *path);

/*
 * Write a new file of @len bytes, private to the user, whose name @fill gives: it is called until
 * it gives one that no file has. Returns 0 or a negative errno.
 */
typedef void (*output_name_fn)(void *data, char *ret, size_t size);
int output_new(const char *folder, const void *bytes, size_t len, output_name_fn fill,
	       void *data);

/* An older file, which is kept as NAME.old, as perf does, once there is a new one. */
struct older {
	char *name; /* that it is to have; NULL: there is none */
	char *link; /* its second name until then; NULL: it could not be made */
};

/* Its own name stays until the new file takes it, so that there is always a file of that name. */
void older_keep(const char *path, struct older *ret);
/* Where no new file has its name, it has that itself, and what was kept before stays. */
void older_end(const char *path, struct older *older);

#endif
