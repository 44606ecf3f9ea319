/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads recordings: files of ExportProfilesServiceRequest messages, each preceded by its
 * length as 4 bytes, big endian (`otelprof record -o FILE.otlp`), or one message as
 * `otelprof sink --dir` writes it.
 */
#ifndef OP_RECORDING_READ_REQUESTS_H
#define OP_RECORDING_READ_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>

/* Called with one request, which is valid during the call. A negative errno ends the
 * reading, and is reported as a fault of the file. */
typedef int (*recording_fn)(void *data, const void *request, size_t len);

/* Its name in messages: @path, or "standard input" for "-". */
const char *recording_title(const char *path);

/* Is it a descriptor of this process, from a shell? */
bool recording_is_given(const char *path);

/*
 * Call @fn for each request of the files @paths ("-": standard input). The rest of a
 * file after a damaged place is skipped with a message on stderr. The requests before
 * it count. Returns 0, or STATUS_FAILED after a message if no request could be read.
 */
int recording_read(char *const *paths, size_t len, recording_fn fn, void *data);

/* Looks at paths for a program that runs for long. */
struct recording_paths;

/* NULL without memory. */
struct recording_paths *recording_paths_new(void);
/* Returns NULL. */
struct recording_paths *recording_paths_free(struct recording_paths *p);
/* Is @path a regular file, or is nothing there? Returns 0; -ENOTSUP for a stream or
 * anything else; or -ETIMEDOUT if its file system does not answer. */
int recording_paths_look(struct recording_paths *p, const char *path);

/* Decompress a request, as gRPC has it: gzip or zlib. Returns 0 with *@ret, which the caller
 * frees; -EFBIG if it is larger than a request of a recording; -EBADMSG; or -ENOMEM. */
int recording_unpack(const void *bytes, size_t len, void **ret, size_t *ret_len);

/* Writes a request as a recording has it. Returns 0 or a negative errno. */
int recording_append(int fd, const void *request, size_t len);

#endif
