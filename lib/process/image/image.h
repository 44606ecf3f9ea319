/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of an executable file: its unwind table, its names, and the runtime that it
 * belongs to. Files of equal content share an image. Candidates are found by build id and
 * htlhash, which anybody can forge. The same file seen through several mounts, such as a
 * library in the layers of many containers, is recognised by its inode and times. Copies
 * are compared byte by byte, and share an image only if they have the same owner and file
 * system: an owner can change a file after it was compared. A file that a program serves
 * shares nothing. Copies under two base names are two modules, so they have two images.
 *
 * All parts are made when they are first needed, and can be freed again: the table when
 * the arena is full, names past their limit, both from the least recently used image on,
 * and the descriptor by the rules of process/image/file.h.
 */
#ifndef OP_PROCESS_IMAGE_IMAGE_H
#define OP_PROCESS_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/log.h"
#include "code/elf/file.h"
#include "code/symbol/symbols.h"
#include "code/unwind/arena.h"
#include "code/unwind/early/early.h"
#include "code/unwind/rules.h"
#include "code/unwind/source.h"
#include "code/unwind/table.h"
#include "process/image/names.h"
#include "runtime/runtime.h"

struct op_target;

enum {
	/* Files up to this size are compared by content, which takes some ms. A larger
	 * file has its own image. */
	OP_IMAGE_COMPARE_MAX = 16 << 20,
	/* Tables made at one time, each of which takes some MiB. */
	OP_IMAGES_JOBS_MAX = 8,
};

/* Identifies a file. The values come from the kernel, except for a served file. */
struct op_file_stamp {
	uint64_t dev;
	uint64_t inode;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns; /* set by the kernel's clock alone */
	uint32_t uid;	  /* its owner */
	bool served;	  /* a program serves the file, and can report any values */
	uint64_t mount;	  /* struct op_opened.mount */
};

/* An executable PT_LOAD. */
struct op_image_segment {
	uint64_t vaddr;
	uint64_t memsz;
	uint64_t offset;
	uint64_t filesz;
};

/* The table that is being made (table_jobs.c). */
struct op_image_job {
	struct op_unwind_table_job *running; /* NULL: the table is not being made */
	struct op_source_direct *direct;     /* finds single rules meanwhile */
	bool postponed;			     /* it is counted in tables_postponed */
	bool not_early;			     /* the file cannot have early pages */
	uint64_t asked_ns;		     /* when it was last asked for */
	uint64_t waited_ns;		     /* when a sample last asked for it */
	/* op_images.allowed_ns at asked_ns */
	uint64_t allowed_ns;
	uint64_t retry_ns; /* after a failure: the next attempt is not before */
	uint32_t failures;
};

/* The names that the file has. */
struct op_image_symbols {
	struct op_symbols *loaded;
	size_t bytes;
	bool failed;
	uint64_t after_ns; /* after memory was full: the next attempt is not before */
	uint64_t cost_ns;  /* CPU time that loading them took */
	uint64_t used_ns;  /* when a name was last looked up (CLOCK_MONOTONIC) */
};

struct op_image {
	TAILQ_ENTRY(op_image) lru; /* all images, least recently used first */
	/* images with a descriptor, the one opened first in front */
	TAILQ_ENTRY(op_image) open;
	uint32_t refs;
	uint64_t key;
	struct op_image *same_key; /* the next image with this key */
	struct op_build_ids ids;
	struct op_file_stamp stamp; /* of the file from which it was made */
	char *file;		    /* base name */
	struct op_image_segment segments[OP_UNWIND_TABLE_SEGMENTS_MAX];
	size_t segments_len;
	/* The first word of the build id, and the ELF address where it is mapped. 0:
	 * none. */
	uint64_t mark;
	uint64_t mark_vaddr;
	struct op_elf
		*elf; /* suspended while its file is closed (process/image/file.h) */
	const void *opener; /* the executable through which the file was opened */
	bool other;	    /* not an ELF file */
	bool made;	    /* a runtime made the ELF file from the mapped one */
	bool copy;	    /* the descriptor is a copy in memory of a served file */
	/* it was reported to the host program (op_event_handlers.executable) */
	bool reported;
	struct op_unwind_table *table;
	/* pages published before the table is complete; NULL: none */
	struct op_unwind_early *early;
	struct op_image_job job;
	struct op_image_symbols symbols;
	const struct op_runtime_ops *runtime; /* NULL: none */
	void *runtime_image;
	struct op_runtime_loop loop;
	uint64_t used_window; /* the last window that has a frame of this image */
	struct op_names names;
	uint32_t epoch; /* the window's epoch in which mapping[] is valid */
	/* the segments' mapping numbers in the window */
	uint32_t mapping[OP_UNWIND_TABLE_SEGMENTS_MAX];
};

TAILQ_HEAD(op_image_list, op_image);

struct op_images {
	struct op_log *log;
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	uint64_t runtimes_off;
	/* layouts that the user gave; NULL: none. Borrowed */
	const struct op_layouts *layouts;
	uint64_t symbol_budget_bytes;
	uint64_t seed;
	struct op_map64 by_key; /* -> the first struct op_image * of the key */
	struct op_image_list lru;
	struct op_image_list open;
	size_t open_len;
	size_t copies; /* open images whose file is a copy of a served one */
	/* when op_images_check_files() last checked all files */
	uint64_t files_checked_ns;
	bool deleted_open; /* an open file was deleted already when it was opened */
	uint64_t symbol_bytes;
	uint64_t window;
	size_t jobs;
	uint64_t jobs_checked_ns;
	/* time during which the allowance had CPU time for jobs, at the last check */
	uint64_t allowed_ns;
	size_t others_attached; /* runtime instances of files that are no ELF files */
	/* a log line says that a process has too many instances */
	bool instances_told;
	uint64_t tables_failed;
	/* images whose names were dropped to free memory */
	uint64_t names_evicted;
	struct op_allowance *allowance; /* borrowed; NULL: no limit */
	/* Without CPU time or memory: frames that got no name, and tables, each counted
	 * once. */
	uint64_t names_postponed;
	uint64_t tables_postponed;
};

/* Find the image of the same content and base name, or make one. Takes @elf on success. */
int op_image_new(struct op_images *x, struct op_elf *elf, const char *path,
		 const struct op_file_stamp *stamp, struct op_image **ret);
/*
 * Make the image of a file that a runtime knows, but that is no ELF file. @fd is
 * borrowed. The image has no segments and no table. Returns 1, 0 if no runtime knows the
 * file, or -errno.
 */
int op_image_new_other(struct op_images *x, int fd, const char *path,
		       const struct op_file_stamp *stamp, struct op_image **ret);
/* May the image's content be read from a file with this stamp, which an executable of the
 * image has? Not if another owner can change it. */
bool op_image_may_read(const struct op_image *image, const struct op_file_stamp *stamp);
void op_image_put(struct op_images *x, struct op_image *image, uint64_t now_ns);

/* A frame is in the image: make it the most recently used one. */
void op_image_touch(struct op_images *x, struct op_image *image);

/*
 * Make the table. @with_loop: mark the interpreter's loop in it. The file must be open.
 * Returns 0, -EAGAIN soon after a failure, -ENOSPC if the arena is full, -EINPROGRESS or
 * another -errno. -EINPROGRESS: the time of @allowance (may be NULL) is over, or it has
 * an end and x->allowance has no CPU time. A table that nobody continues is dropped after
 * a while.
 */
int op_image_make_table(struct op_images *x, struct op_image *image, bool with_loop,
			uint64_t now_ns, struct op_allowance *allowance);
/* Continue the table that is being made, with the same return values. Of a large file
 * op_image_make_table() publishes only the pages that were hit: this call makes its
 * table. */
int op_image_go_on(struct op_images *x, struct op_image *image, uint64_t now_ns,
		   struct op_allowance *allowance);
/* Is the table incomplete, with early pages published? */
bool op_image_is_early(const struct op_image *image);
/* If there is CPU time, publish the rows of ELF address @vaddr before the others. Returns
 * whether they are published. */
bool op_image_page(struct op_images *x, struct op_image *image, uint64_t vaddr,
		   uint64_t now_ns);
/* Is there CPU time to continue the table of @image? Always for a runtime, because no
 * rule of its file is known before. */
bool op_image_may_work(const struct op_images *x, const struct op_image *image);
/* Find the rule for ELF address @vaddr while the table is being made. Returns false if
 * only the complete table has it. A runtime's loop has no such rule. */
bool op_image_rule(struct op_image *image, uint64_t vaddr, struct op_unwind_rule *ret);
/* Drop unfinished tables that nobody continues although there was CPU time. */
void op_images_check_jobs(struct op_images *x, uint64_t now_ns);
/* Drop the table that is being made, if any. */
void op_image_end_job(struct op_images *x, struct op_image *image);
/* The reference in the arena to segment @i of the image. 0: there is no table. */
op_ref op_image_segment_ref(const struct op_image *image, size_t i);
/* The number of the executable segment that the file range [@offset, @offset + @len)
 * maps, or SIZE_MAX. */
size_t op_image_find_segment(const struct op_image *image, uint64_t offset, uint64_t len);

/*
 * Load the names, within the budget. The file must be open. A separate debug file is
 * searched on the host and below the root of process @pid, which maps the file at @path.
 * Returns false if it is postponed because x->allowance has no CPU time or memory for it.
 */
bool op_image_load_symbols(struct op_images *x, struct op_image *image,
			   struct op_target *t, uint32_t pid, const char *path);

/* Drop the names of images that were unused for so long that loading them again costs
 * little in comparison. Names that were found stay, with their addresses (names.h). */
void op_images_rest_symbols(struct op_images *x, uint64_t now_ns);

/* The least recently used image with a table that no frame needed in this window or the
 * last. NULL: none. Without @runtimes, images of a runtime are skipped. */
struct op_image *op_images_coldest(struct op_images *x, bool runtimes);

void op_images_init(struct op_images *x);
void op_images_deinit(struct op_images *x);

#endif
