/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A claim says that a mapping has the file of an executable. The kernel names files by
 * device and inode, which another file may have had or may get (executable.h). A claim is
 * valid
 *   - if the file was compared through that mapping, or by its handle, or
 *   - if the content that is known was there both before and after the process mapped it: no
 *     attribute of the file was changed since before (ctime, which only the kernel sets), and
 *     it was compared after, through whatever process.
 * A handle is an inode with its generation. It is known for files of the root's disk.
 * Only the first counts where two files of a device may have the same inode at one time
 * (btrfs: and the same generation), and where the path differs. For a process that ended,
 * its path is compared, and the generation where that device is one.
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
	uint64_t mapped_ns; /* CLOCK_MONOTONIC, of the event or of reading the maps */
	uint64_t since_ns;  /* if not told: it was mapped after this time */
	bool told;	    /* mapped_ns is the time of an event */
	bool other_path;    /* its path is not the executable's */
	bool numbered;	    /* the inode generations are known, and equal */
	bool compared;	    /* compared through the mapping: it is this file */
};

/* The claim of a mapping made at @mapped_ns on @e. */
struct op_claim op_claim_of(const struct op_executable *e, const struct op_file_key *key,
			    const char *path, uint64_t mapped_ns);

/* Must the file be compared before @e is used for the mapping? Not while nothing is known
 * of @e. @claim may be NULL. */
bool op_claim_is_doubted(const struct op_executable *e, const struct op_claim *claim);
/* May the content of @e have been written after @time_ns, while it was mapped? */
bool op_claim_is_rewritten(const struct op_executable *e, const struct op_claim *claim,
			   uint64_t time_ns);
/* Compare the file. Returns 0, -ESTALE if another file is mapped or the mapped file
 * cannot be determined, or -errno. */
int op_claim_check(struct op_executables *x, struct op_executable *e,
		   const struct op_executable_place *place);
/* Compare the file of @claim on *@e. If another file is mapped, *@e becomes a counted
 * reference to its executable. Returns 1 then, 0 if nothing changed, or -errno. */
int op_claim_settle(struct op_executables *x, struct op_executable **e,
		    const struct op_executable_place *place, struct op_claim *claim);
/* @o was opened as the content of @e, through @place. Returns -ESRCH if it may be another
 * file. */
int op_claim_take(struct op_executables *x, struct op_executable *e,
		  const struct op_executable_place *place, const struct op_opened *o);

#endif
