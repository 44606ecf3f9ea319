/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a jitdump file (jit-PID.dump), in which a compiler tells perf(1) what code it
 * made: version 1, tools/perf/Documentation/jitdump-specification.txt of Linux. The code
 * itself and unwinding data are passed over. Nothing in the file is trusted.
 */
#ifndef OP_RUNTIME_JITDUMP_DUMP_H
#define OP_RUNTIME_JITDUMP_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

enum {
	OP_JITDUMP_HEADER_BYTES = 40,
	/* Of a record so much is looked at: its lines behind that are left out. */
	OP_JITDUMP_RECORD_BYTES = 64 << 10,
	OP_JITDUMP_ENTRIES_MAX = 1 << 16,
	OP_JITDUMP_LINES_MAX = 1 << 18,
	OP_JITDUMP_TEXT_MAX = 4 << 20,
};

/* A piece of code; a place is [start, start + size). */
struct op_jitdump_entry {
	uint64_t start;
	uint64_t size; /* 0: it was moved away */
	uint32_t name; /* in text */
	uint32_t line; /* the first of its lines */
	uint32_t lines;
};

struct op_jitdump_line {
	uint32_t offset; /* in the code */
	uint32_t line;
	uint32_t file; /* in text */
};

struct op_jitdump_place {
	uint64_t start;
	uint32_t entry; /* a later one has a higher number */
};

struct op_jitdump {
	OP_VEC(struct op_jitdump_entry) entries;
	OP_VEC(struct op_jitdump_line) lines;
	OP_VEC(char) text;
	OP_VEC(struct op_jitdump_place) places; /* sorted by start where not `unsorted` */
	struct op_map64 by_index;		/* code_index to entry */
	uint64_t debug_addr; /* whose lines are the last ones; they wait for its code */
	uint32_t debug_line;
	uint32_t debug_lines;
	bool unsorted;
	bool closed;	  /* the writer said that nothing follows */
	uint64_t refused; /* entries, lines and texts past their limits */
};

/* What is found of an address; strings are valid until the next call. */
struct op_jitdump_found {
	const char *name;
	const char *file; /* "" where unknown */
	uint32_t line;	  /* 0: unknown */
};

void op_jitdump_init(struct op_jitdump *d);
void op_jitdump_deinit(struct op_jitdump *d);
/* The length of the header at @bytes; 0 where it is none of a jitdump of this machine. */
uint32_t op_jitdump_header(const void *bytes, size_t len);
/*
 * Take the record at @bytes, of which @len bytes are at hand and @left bytes are in the file.
 * Returns its whole length; 0 where it is not written to its end yet; -EBADMSG; -ENOMEM.
 */
int64_t op_jitdump_record(struct op_jitdump *d, const uint8_t *bytes, size_t len,
			  uint64_t left);
/* Of the code that covers @addr the last written. Returns 1, 0 or -ENOMEM. */
int op_jitdump_find(struct op_jitdump *d, uint64_t addr, struct op_jitdump_found *ret);
size_t op_jitdump_bytes(const struct op_jitdump *d);

#endif
