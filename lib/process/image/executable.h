/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable files of mappings. Mappings hold references. A file without a mapping is
 * kept for a while, because the next process is likely to run the same file.
 *
 * Device and inode do not identify a file. A file can get the number of a deleted one, or
 * be rewritten in place. A file system can get the device of an unmounted one, and btrfs
 * has one device for several spaces of inodes. So several executables may have one device
 * and inode, and a mapping has a claim (claim.h) until its file was compared.
 */
#ifndef OP_PROCESS_IMAGE_EXECUTABLE_H
#define OP_PROCESS_IMAGE_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "process/image/events.h"
#include "process/image/image.h"
#include "process/target/open.h"

struct op_claim;
struct op_elf;

enum {
	OP_EXECUTABLE_BUCKETS = 2048,
	/* files without a mapping; past that the longest idle are forgotten */
	OP_EXECUTABLES_IDLE_MAX = 256,
	/* past that, mappings are walked as memory without a file */
	OP_EXECUTABLES_MAX = 65536,
};

enum op_executable_state {
	OP_EXECUTABLE_NEW = 0,	 /* it was not opened yet, or opening failed */
	OP_EXECUTABLE_READY = 1, /* it has an image */
	/* Not an ELF file of this machine. It has an image if a runtime knows the
	 * format. */
	OP_EXECUTABLE_FOREIGN = 2,
};

/* How the kernel names the file of a mapping. */
struct op_file_key {
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	uint64_t generation; /* struct op_mmap_event.generation */
};

struct op_executable {
	TAILQ_ENTRY(op_executable) idle;
	struct op_executable
		*next; /* in the same bucket; for one inode the last used comes first */
	uint32_t refs;
	uint32_t state; /* enum op_executable_state */
	struct op_file_key key;
	char *path; /* by which its content was first mapped */
	struct op_image *image;
	struct op_file_stamp stamp; /* of the content; inode 0: not known yet */
	/* From the first time to the second (CLOCK_MONOTONIC) the file had this
	 * content. */
	uint64_t same_since_ns;
	uint64_t same_until_ns;
	uint64_t
		written_ns; /* the content was not written later, if nobody forges that */
	struct op_file_handle handle; /* known since handle_ns; bytes 0: not known */
	uint64_t handle_ns;
	bool vdso;
	bool memory; /* shared memory without a file, or code that a process made in a memfd */
	bool nameless; /* a log line says that the code its processes make has no names */
	uint32_t failures;
	uint64_t retry_ns;    /* opening failed: the next attempt is not before */
	uint32_t noted;	      /* its round of op_executables.new_files */
	uint32_t news_failed; /* times that it could not be opened since it was noted */
	uint32_t context_misses; /* processes in a row without a process context */
	bool context_looked;	 /* context is known */
	bool like_known;
	uint32_t like; /* bits of runtimes that its path resembles, if like_known */
	/* of its processes, when it is the executable; form 0: none */
	struct op_context_place context;
};

TAILQ_HEAD(op_executable_list, op_executable);

/* A mapping of the file, through which it can be opened. */
struct op_executable_place {
	uint32_t pid; /* the process or one of its threads */
	uint64_t start;
	uint64_t end;
	bool gone; /* the process has ended: a failure says nothing about the file */
	const struct op_claim *claim; /* NULL: the mapping has the executable's file */
};

struct op_new_file {
	struct op_executable *exe; /* a counted reference */
	struct op_executable_place place;
};

/* Files mapped for the first time, for a caller that reads each of them (new_files.h). */
struct op_new_files {
	uint32_t round;	 /* 0: nobody asks for them */
	uint32_t rounds; /* number of rounds so far */
	OP_VEC(struct op_new_file) queue;
	size_t taken;  /* number of entries of the queue that were taken */
	uint64_t lost; /* files that did not fit into the queue */
};

struct op_executables {
	struct op_new_files new_files;
	struct op_images images;
	struct op_event_handlers events;
	struct op_target *target; /* borrowed */
	/* Is there a waiting event that may have mapped file number @inode there? NULL:
	 * never. */
	bool (*map_waits)(void *ctx, uint64_t start, uint64_t end, uint64_t inode);
	void *events_ctx;
	struct op_arena *arena;
	struct op_executable *buckets[OP_EXECUTABLE_BUCKETS];
	struct op_executable_list idle; /* longest idle first */
	struct op_executable *vdso;
	size_t len;
	size_t idle_len;
	uint64_t memory_device; /* of the kernel's shared memory; 0: unknown */
	uint64_t now_ns;
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t refused;	    /* files refused because of OP_EXECUTABLES_MAX */
	size_t mappings_len;	    /* of all lists of mappings */
	uint64_t mappings_refused;  /* mappings past a limit, of all processes */
};

/* Find the file that @key and @path most likely are, or add it. *@ret is a counted
 * reference. Only the mapping's claim shows whether it has that file. Returns 0, -ENOMEM,
 * or -ENFILE at the limit. */
int op_executable_get(struct op_executables *x, const struct op_file_key *key,
		      const char *path, struct op_executable **ret);
/* Find the executable with the inode of @e whose content has @stamp, or add it. Returns
 * like op_executable_get(). */
int op_executable_get_other(struct op_executables *x, struct op_executable *e,
			    const struct op_file_stamp *stamp,
			    struct op_executable **ret);
/* op_executable_get() for the kernel's vDSO. */
int op_executable_get_vdso(struct op_executables *x, struct op_executable **ret);
struct op_executable *op_executable_ref(struct op_executable *e);
void op_executable_put(struct op_executables *x, struct op_executable *e);

/* Does the newly opened @elf have the content of @e? @served: it is a copy of a served
 * file. */
bool op_executable_is_read(const struct op_executable *e, const struct op_elf *elf,
			   bool served);

/*
 * Open the file if that was not done yet, and set e->image. @need_file: the image's file
 * is open, too. Returns 0, -ENOEXEC or -ENOTSUP if it is no ELF file of this machine,
 * -EAGAIN soon after a failure, -ESTALE if @place maps another file or the mapped file
 * cannot be determined, or -errno.
 */
int op_executable_open(struct op_executables *x, struct op_executable *e,
		       const struct op_executable_place *place, bool need_file);

/* May @e be opened through process @pid now? If not, its mappings are not lazy, so
 * samples carry no copy of the stack. */
bool op_executable_may_open(const struct op_executables *x, const struct op_executable *e,
			    uint32_t pid, uint64_t now_ns);

/* Is the file on the kernel's own tmpfs, as a memfd is? */
bool op_executable_is_in_memory(const struct op_executables *x,
				const struct op_executable *e);

/* Forget the content of @e. The next call opens its file again. */
void op_executable_forget_image(struct op_executables *x, struct op_executable *e);
/* Is @path the one by which the content of @e was first mapped? */
bool op_executable_has_path(const struct op_executable *e, const char *path);
bool op_file_stamp_same(const struct op_file_stamp *a, const struct op_file_stamp *b);
/* The stamp of an opened file. */
struct op_file_stamp op_file_stamp_of(const struct op_opened *o);
/* What @place maps, if it is @e. */
struct op_mapped_file op_executable_mapped(const struct op_executable *e,
					   const struct op_executable_place *place);
/* Open the file of @e through its mapping @place; see op_target_open_mapped() in
 * process/target/open.h. */
int op_executable_open_mapped(struct op_target *t, const struct op_executable *e,
			      const struct op_executable_place *place,
			      struct op_opened *ret);

void op_executables_init(struct op_executables *x);
/* Forget all files. Nobody may hold a reference. */
void op_executables_deinit(struct op_executables *x);

#endif
