/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a mapping has the file that an executable stands for. The kernel names files by
 * device and inode, which another file may have had or may get (executable.h). A claim holds
 *   - if the file was compared by that very mapping, or
 *   - if the content that is known was there both before and after the process mapped it: no
 *     attribute of the file was changed since before (ctime, which only the kernel sets), and
 *     it was compared after, through whatever process.
 * Where files of one device may have one inode at one time, and where the path differs, only
 * the first counts. Of a process that ended, its path is compared.
 */
#ifndef OP_PROCESS_IMAGE_CLAIM_H
#define OP_PROCESS_IMAGE_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

struct op_executable;
struct op_executable_place;
struct op_executables;
struct op_file_key;
struct op_file_stamp;
struct op_opened;

struct op_claim {
	uint64_t mapped_ns; /* CLOCK_MONOTONIC; when it was read, if without an event */
	bool told;	    /* the time is that of an event */
	bool other_path;    /* than that of the executable */
	bool numbered;	    /* by an inode generation, which is equal */
	bool compared;	    /* by the mapping: it is this file */
};

/* The claim of a mapping made at @mapped_ns on @e. */
struct op_claim op_claim_of(const struct op_executable *e, const struct op_file_key *key,
			    const char *path, uint64_t mapped_ns);

/* Must the file be compared before what is known of @e is used for the mapping? Not where
 * nothing is known yet. @claim may be NULL. */
bool op_claim_is_doubted(const struct op_executable *e, const struct op_claim *claim);
/* Compare the file. Returns 0; -ESTALE if another one is mapped, or nothing shows which
 * one was; or -errno. */
int op_claim_check(struct op_executables *x, struct op_executable *e,
		   const struct op_executable_place *place);
/* The same for @claim itself, of *@e: an executable of another file takes its place, as a counted
 * reference. Returns 1 then; 0 if nothing changed; or -errno. */
int op_claim_settle(struct op_executables *x, struct op_executable **e,
		    const struct op_executable_place *place, struct op_claim *claim);
/* @o was opened as the content of @e, through @place. Returns -ESRCH if it may be another
 * file, which says nothing of @e. */
int op_claim_take(struct op_executables *x, struct op_executable *e,
		  const struct op_executable_place *place, const struct op_opened *o);

#endif
