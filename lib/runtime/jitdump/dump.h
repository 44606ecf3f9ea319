/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the records of a jitdump file (jit-PID.dump), in which a JIT compiler describes
 * the code it generated for perf(1): version 1,
 * tools/perf/Documentation/jitdump-specification.txt of Linux. The code itself and
 * unwinding data are skipped. Nothing in the file is trusted.
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
	/* This much of a record is read. The lines after that are left out. */
	OP_JITDUMP_RECORD_BYTES = 64 << 10,
	OP_JITDUMP_ENTRIES_MAX = 1 << 16,
	OP_JITDUMP_LINES_MAX = 1 << 18,
	OP_JITDUMP_TEXT_MAX = 4 << 20,
};

/* A piece of generated code: [start, start + size). */
struct op_jitdump_entry {
	uint64_t start;
	uint64_t size;	/* 0: it was moved away */
	uint64_t index; /* its code_index */
	uint32_t name;	/* offset in text */
	uint32_t line;	/* index of its first line */
	uint32_t lines;
};

struct op_jitdump_line {
	uint32_t offset; /* offset in the code */
	uint32_t line;
	uint32_t file; /* offset in text */
};

struct op_jitdump_place {
	uint64_t start;
	uint32_t entry; /* index of the entry; a later entry has a higher index */
};

struct op_jitdump {
	OP_VEC(struct op_jitdump_entry) entries;
	OP_VEC(struct op_jitdump_line) lines;
	OP_VEC(char) text;
	OP_VEC(struct op_jitdump_place) places; /* sorted by start unless `unsorted` */
	struct op_map64 by_index;		/* code_index to index of the entry */
	uint64_t debug_addr; /* address of the code that the last lines belong to */
	uint32_t debug_line;
	uint32_t debug_lines;
	bool unsorted;
	bool closed; /* the writer announced that nothing follows */
	/* the older half of the entries, each time a limit was reached */
	uint64_t dropped;
};

/* The function and line of an address. The strings are valid until the next call. */
struct op_jitdump_found {
	const char *name;
	const char *file; /* "" if unknown */
	uint32_t line;	  /* 0: unknown */
};

void op_jitdump_init(struct op_jitdump *d);
void op_jitdump_deinit(struct op_jitdump *d);
/* The length of the file header at @bytes; 0 if it is not a jitdump header of this
 * machine. */
uint32_t op_jitdump_header(const void *bytes, size_t len);
/*
 * Parse the record at @bytes. @len of its bytes were read; the file has @left bytes from
 * it on. Returns the record's whole length; 0 if it is not completely written yet;
 * -EBADMSG; -ENOMEM.
 */
int64_t op_jitdump_record(struct op_jitdump *d, const uint8_t *bytes, size_t len,
			  uint64_t left);
/* Find the code that covers @addr; if several do, the last written. Returns 1, 0 or
 * -ENOMEM. */
int op_jitdump_find(struct op_jitdump *d, uint64_t addr, struct op_jitdump_found *ret);
size_t op_jitdump_bytes(const struct op_jitdump *d);

#endif
