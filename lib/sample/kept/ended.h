/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the files in which stacks ended early, and why: a bounded number of pairs, and
 * the sum of all others. */
#ifndef OP_SAMPLE_KEPT_ENDED_H
#define OP_SAMPLE_KEPT_ENDED_H

#include <stddef.h>
#include <stdint.h>

struct op_mappings;

enum {
	OP_ENDED_MAX = 256, /* pairs of a file and a reason */
};

struct op_ended_row {
	char *file;	  /* path of the file, or the end of a long path; "": no file */
	uint64_t key;	  /* hash of file and end */
	uint32_t end;	  /* enum op_end, or an error */
	uint32_t file_of; /* index of the first row of the same file */
	uint64_t count;
};

struct op_ended {
	struct op_ended_row *row; /* [OP_ENDED_MAX], allocated for the first pair */
	size_t len;
	uint64_t seed;
	uint64_t others; /* stacks of pairs without a row */
};

/*
 * Count a stack with words @words[@words_len], leaf first, that ended with @end at @pc in
 * a process with @mappings (NULL: unknown). It counts for the file of the frame whose
 * caller was not found: the file at @pc or, if none is mapped there, the file of the
 * frame that returns to it.
 */
void op_ended_add(struct op_ended *ended, const struct op_mappings *mappings,
		  uint32_t end, uint64_t pc, const uint64_t *words, size_t words_len);
void op_ended_deinit(struct op_ended *ended);

#endif
