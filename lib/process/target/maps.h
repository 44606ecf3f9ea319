/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/maps: the executable mappings of our own process by path, and those of
 * another process through struct op_target, in slices. */
#ifndef OP_PROCESS_TARGET_MAPS_H
#define OP_PROCESS_TARGET_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/sideband/events.h"

enum {
	/* Limit of a line: addresses and numbers, then a path in which each byte may be
	 * escaped by 4. */
	OP_MAPS_LINE_MAX = 128 + 4 * 4096,
	OP_MAPS_NAME_BYTES = 4096, /* of a path, with its NUL */
	/* A slice of a reading: executable mappings, which most processes have fewer of, and
	 * bytes of text. 1 to 2 ms of CPU time. */
	OP_MAPS_SLICE = 1024,
	OP_MAPS_SLICE_BYTES = 1 << 19,
	/* Executable mappings of one reading: a process may map more while it is read. */
	OP_MAPS_GIVEN_MAX = 1 << 18,
	/* Files of maps that stay open between two slices. Further readings begin again. */
	OP_MAPS_OPEN_MAX = 16,
};

/* A value other than 0 ends the reading and is returned. */
typedef int (*op_maps_fn)(void *ctx, const struct op_mmap_event *e);

/*
 * Parse one line of @len bytes, without its newline. The path of *@ret points into @line,
 * which is modified. Returns 1 for an executable mapping, 0 for another, -EBADMSG for
 * text that is not a line of maps.
 */
int op_maps_parse_line(char *line, size_t len, struct op_mmap_event *ret);

/*
 * Call @fn for each executable mapping in the file, in order. Lines that cannot be parsed
 * are skipped. Returns the number of all lines (0 for a kernel thread or a zombie),
 * -errno, or what @fn returned.
 */
int op_maps_read(const char *path, op_maps_fn fn, void *ctx);

/* Called with one line of @len bytes, without its newline; it may be modified. A value
 * other than 0 ends the reading and is returned. */
typedef int (*op_maps_line_fn)(void *ctx, char *line, size_t len);

/* Call @fn for every line of the file, in order. Returns 0, -errno, or what
 * @fn returned. */
int op_maps_each_line(const char *path, op_maps_line_fn fn, void *ctx);

/* Call @fn for the complete lines at the front of the *@len bytes of @buf, and move the
 * rest to its start. Returns 0 or what @fn returned. */
int op_maps_take_lines(char *buf, size_t *len, op_maps_line_fn fn, void *ctx);

struct op_maps_executables {
	op_maps_fn fn;
	void *ctx;
	int lines; /* number of all lines */
	uint32_t given;
};

/* An op_maps_line_fn: calls fn of struct op_maps_executables for the line of an
 * executable mapping. */
int op_maps_take_executable(void *ctx, char *line, size_t len);

struct op_target;

/* Successive mappings of one file. */
struct op_maps_run {
	uint64_t inode; /* 0: the last mapping has no file */
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t len;
};

/* The state of a reading of maps. {0} before the first slice. */
struct op_maps_reader {
	uint32_t given; /* executable mappings so far */
	/* by the kernel's own search: */
	uint64_t at; /* the address to go on at */
	bool found;
	struct op_maps_run run;
	char run_path[OP_MAPS_NAME_BYTES];
	/* by text: */
	char *text; /* the beginning of a line; NULL: the file is not open */
	size_t text_len;
	int fd;
	int lines;
};

/*
 * Call @fn for the next slice of executable mappings of process @pid. Returns -EINPROGRESS
 * if there are more. After the last it returns the number of lines or mappings (0 for a
 * kernel thread or a zombie), or what @fn returned. -errno: nothing more can be read. Also
 * returns -ETIMEDOUT and -EAGAIN like op_target_begin().
 */
int op_target_executables(struct op_target *t, uint32_t pid,
			  struct op_maps_reader *reader, op_maps_fn fn, void *ctx);
/* End a reading, complete or not. */
void op_maps_reader_end(struct op_target *t, struct op_maps_reader *reader);
/* Call @fn for every line of the process's maps. Returns 0, -errno, or what @fn returned. */
int op_target_each_line(struct op_target *t, uint32_t pid, op_maps_line_fn fn, void *ctx);

#endif
