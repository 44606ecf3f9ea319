/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of an executable file: its unwind table, its names, the runtime it is. Files
 * of equal content share one image: build ids and htlhash find the candidate, which anybody
 * can forge. One file that is seen below several mounts, such as a library in the layers of
 * many containers, is known by its inode and times. Copies are compared byte by byte, and
 * share only where one owner has them on one file system: who owns a file may change it
 * between two looks, so that what was made of it is not what is there now. A file that a
 * program serves shares nothing.
 *
 * All of it is made when first needed and can be given up again: the table when the arena is
 * full, names past their limit, least recently used first; the descriptor by the rules of
 * image/file.h.
 */
#ifndef OP_IMAGE_IMAGE_H
#define OP_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/log.h"
#include "elf/file.h"
#include "image/names.h"
#include "runtime/runtime.h"
#include "symbol/symbols.h"
#include "unwind/arena.h"
#include "unwind/rules.h"
#include "unwind/source.h"
#include "unwind/table.h"

struct op_target;

enum {
	/* Files are compared by content up to this size, some ms. A larger one has an image
	 * of its own. */
	OP_IMAGE_COMPARE_MAX = 16 << 20,
	/* Tables that are being made at one time: some MiB each. */
	OP_IMAGES_JOBS_MAX = 8,
};

/* What tells a file from another one: kept by the kernel, but by who serves it. */
struct op_file_stamp {
	uint64_t dev;
	uint64_t inode;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns; /* set by the kernel's clock alone */
	uint32_t uid;	  /* its owner */
	bool served;	  /* by a program, which may tell anything */
};

/* An executable PT_LOAD. */
struct op_image_segment {
	uint64_t vaddr;
	uint64_t memsz;
	uint64_t offset;
	uint64_t filesz;
};

struct op_image {
	TAILQ_ENTRY(op_image) lru;  /* of all, least recently used first */
	TAILQ_ENTRY(op_image) open; /* of those with a descriptor, oldest first */
	uint32_t refs;
	uint64_t key;
	struct op_image *same_key; /* the next one */
	struct op_build_ids ids;
	struct op_file_stamp stamp; /* of the file it was made of */
	char *file;		    /* base name */
	struct op_image_segment segments[OP_TABLE_SEGMENTS_MAX];
	size_t segments_len;
	struct op_elf *elf; /* suspended while its file is closed (image/file.h) */
	const void *opener; /* the executable whose file is open */
	bool other;	    /* it is no ELF file */
	bool copy;	    /* what is open is a copy in memory of a served file */
	struct op_table *table;
	struct op_source_direct *direct; /* single rules while there is a job */
	struct op_table_job *job;	 /* makes the table; NULL: nobody does */
	uint64_t job_ns;		 /* of its last slice */
	uint64_t table_retry_ns;	 /* it failed: not before */
	uint32_t table_failures;
	struct op_symbols *symbols;
	size_t symbols_bytes;
	bool symbols_failed;
	uint64_t symbols_cost_ns;	      /* of CPU time, to load them */
	uint64_t symbols_used_ns;	      /* a name was looked up, monotonic */
	const struct op_runtime_ops *runtime; /* NULL: none */
	void *runtime_image;
	struct op_runtime_loop loop;
	uint64_t used_window; /* the last window with a frame of it */
	struct op_names names;
	uint32_t epoch;				 /* of mapping[] */
	uint32_t mapping[OP_TABLE_SEGMENTS_MAX]; /* of the segments, in the window */
};

TAILQ_HEAD(op_image_list, op_image);

struct op_images {
	struct op_log *log;
	struct op_arena *arena;
	struct op_rules *rules;
	uint64_t runtimes_off;
	const struct op_layouts *layouts; /* the user's; NULL: none. Borrowed */
	uint64_t symbol_budget_bytes;
	uint64_t seed;
	struct op_map64 by_key; /* to the first struct op_image * */
	struct op_image_list lru;
	struct op_image_list open;
	size_t open_len;
	size_t copies;		   /* of these, of served files */
	uint64_t files_checked_ns; /* op_images_check_files() */
	bool deleted_open; /* an open file was deleted already when it was opened */
	uint64_t symbol_bytes;
	uint64_t window;
	size_t jobs;
	size_t others_attached; /* instances of files that are no ELF files */
	uint64_t tables_failed;
};

/* Takes @elf on success. The image of the same content where there is one. */
int op_image_new(struct op_images *x, struct op_elf *elf, const char *path,
		 const struct op_file_stamp *stamp, struct op_image **ret);
/*
 * The image of a file that is no ELF file and that a runtime knows: @fd, borrowed. It has no
 * segments and no table. Returns 1, 0 where no runtime knows it, or -errno.
 */
int op_image_new_other(struct op_images *x, int fd, const char *path,
		       const struct op_file_stamp *stamp, struct op_image **ret);
/* Is this file, which an executable of the image is by now, one to read the image's content
 * of? Not one that another owner can change. */
bool op_image_may_read(const struct op_image *image, const struct op_file_stamp *stamp);
void op_image_put(struct op_images *x, struct op_image *image, uint64_t now_ns);

/* Frames of it were met: not the next to be given up. */
void op_image_touch(struct op_images *x, struct op_image *image);

/*
 * Make the table, with the interpreter's loop marked where @with_loop; the file is open.
 * Returns 0, -errno, -EAGAIN where it failed a while ago, or -EINPROGRESS when @slice (may
 * be NULL) is over. What nobody goes on with is given up after a while.
 */
int op_image_make_table(struct op_images *x, struct op_image *image, bool with_loop,
			uint64_t now_ns, struct op_slice *slice);
/* The rule at ELF address @vaddr while the table is made. Returns whether it is known before
 * that; not of a runtime's file. */
bool op_image_rule(struct op_image *image, uint64_t vaddr, struct op_rule *ret);
/* Give up the tables that nobody goes on with. */
void op_images_check_jobs(struct op_images *x, uint64_t now_ns);
/* The arena's segment number @i of the image, 0: no table. */
op_ref op_image_segment_ref(const struct op_image *image, size_t i);
/* The executable segment which the file range [@offset, @offset + @len) maps, or SIZE_MAX. */
size_t op_image_find_segment(const struct op_image *image, uint64_t offset, uint64_t len);

/* Load the names; the file is open. Bounded by the budget. A debug file is looked for on the
 * host and below the root of process @pid, where @path is. */
void op_image_load_symbols(struct op_images *x, struct op_image *image,
			   struct op_target *t, uint32_t pid, const char *path);

/*
 * Give up the indices of names that nobody has asked for so long that it costs next to nothing
 * to load them again: what was found is kept with the addresses it was found for.
 */
void op_images_rest_symbols(struct op_images *x, uint64_t now_ns);

/*
 * The least recently used image whose table was not needed in this window nor in the last,
 * or NULL.
 */
struct op_image *op_images_coldest(struct op_images *x);

void op_images_init(struct op_images *x);
void op_images_deinit(struct op_images *x);

#endif
