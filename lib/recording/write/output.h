/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file of a command completely or not at all, and keeps the file that it
 * replaces. */
#ifndef OP_RECORDING_WRITE_OUTPUT_H
#define OP_RECORDING_WRITE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Writes everything to @fd. Returns 0, or STATUS_FAILED after a message. */
typedef int (*output_fn)(void *data, int fd);

/*
 * Let @fn write the file @path; "-" is standard output. A file is written under a
 * temporary name and renamed, so that an existing file is never half overwritten. The
 * existing one is kept as FILE.old. The target of a link is replaced, and the link
 * stays. Pipes and devices are written directly. None of the @inputs_len files @inputs
 * can be the output. Returns 0, or STATUS_FAILED after a message.
 */
int output_write(const char *path, char *const *inputs, size_t inputs_len, output_fn fn,
		 void *data);

/* The same in two steps, for output that is known later. output_begin() reports that
 * @path cannot be written. Both return 0, or STATUS_FAILED after a message.
 * output_end() frees @o in every case, and writes nothing without @fn. */
struct output;
int output_begin(const char *path, struct output **ret);
int output_end(struct output *o, output_fn fn, void *data);

/* Make the folder of such files if it does not exist. A folder of another user is
 * refused, because that user could replace each file. Returns 0, or STATUS_FAILED after
 * a message. */
int output_folder(const char *path);

/* Does the folder @path belong to root or to the user of this process? */
bool output_folder_is_ours(const char *path);

/*
 * Write a new file of @len bytes, private to the user. @fill is called for names until
 * no file has the name. Returns 0 or a negative errno.
 */
typedef void (*output_name_fn)(void *data, char *ret, size_t size);
int output_new(const char *folder, const void *bytes, size_t len, output_name_fn fill,
	       void *data);

/* An older file, which is kept as NAME.old once there is a new one, as perf does. */
struct older {
	char *name; /* its later name; NULL: there is none */
	char *link; /* its second name until then; NULL: it could not be made */
};

/* Its own name stays until the new file takes it, so a file always has that name. */
void older_keep(const char *path, struct older *ret);
/* If no new file takes its name, it keeps it, and an earlier NAME.old stays. */
void older_end(const char *path, struct older *older);

#endif
