/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that a process runs, from fork or exec to exec or exit: name, container,
 * runtimes. It is reference-counted, because it is kept for late records. /proc is read
 * at the first sample, because most processes never have one.
 */
#ifndef OP_PROCESS_PROGRAM_H
#define OP_PROCESS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "code/unwind/made/made.h"
#include "op_user_types.h"
#include "process/context/place.h"
#include "process/mappings/runtimes.h"
#include "process/target/remote.h"

struct op_resource_attributes;
struct op_mapping;
struct op_mappings;
struct op_membership;
struct op_perfmap;
struct op_processes;
struct op_schema;
struct op_stat;
struct op_window;

/* The process context, and the contexts of threads. */
struct op_program_context {
	uint64_t addr;	       /* 0: none was found */
	uint64_t published_ns; /* of the context that attributes has */
	uint64_t after_ns;     /* the next search begins then */
	uint64_t wait_ns;
	uint64_t asked_ns; /* when its names were last read */
	/* a thread has an attribute that schema does not name */
	bool asked;
	struct op_schema *schema; /* of its threads' contexts, or NULL */
	/* The search for the threads' variable: where it continues, and when it begins
	 * again. */
	size_t place_at;
	uint64_t place_after_ns;
	uint64_t place_wait_ns;
	struct op_context_place place; /* as published; form 0: none */
};

/* The code that the program makes, and changes. */
struct op_program_code {
	struct op_perfmap *perfmap;
	uint64_t perfmap_after_ns; /* the next search begins then */
	uint64_t perfmap_number;   /* op_perfmap_number() */
	uint32_t moment;	   /* of the last check for changes */
	bool named;		   /* some of it has a name */
	uint32_t nameless;	   /* addresses without a name in a window */
	struct op_map64 places;	   /* epoch << 32 | location */
	uint32_t checked;	   /* addresses checked for a frame record */
	uint32_t checked_epoch;	   /* the window of checked */
	struct op_made *made;	   /* its unwind rules; NULL: none */
	bool made_new;		   /* the rules have a segment that is not published */
	bool replaces;		   /* a mapping was replaced by another or removed */
	uint32_t of;		   /* the number of the program, no other's */
};

/* The program in a window, with the epochs in which the members are valid. */
struct op_program_window {
	uint32_t epoch; /* of resource */
	uint32_t resource;
	uint32_t moved_epoch;  /* the epoch in which its cgroup last changed */
	uint32_t labels_epoch; /* of label_sets */
	uint32_t label_sets;   /* different sets so far, at most OP_PROGRAM_LABELS_MAX */
};

struct op_program {
	uint32_t refs;
	uint32_t pid;
	uint32_t
		proc_pid; /* its name below /proc: the pid, or a thread once the leader is gone */
	uint64_t since_ns;	/* CLOCK_MONOTONIC of its exec or fork, 0: unknown */
	uint64_t until_ns;	/* of the exec or exit that ended it, 0: not yet */
	uint64_t born_ns;	/* CLOCK_MONOTONIC of the process's fork, 0: unknown */
	uint64_t start_time_ns; /* of the process, Unix time; 0: unknown */
	struct op_remote memory;
	struct op_program_runtimes runtimes;
	/* path of the first mapping, used if the executable's path is unknown */
	char *first_file;
	char *exe_path;
	char *command_line; /* a NUL between arguments */
	size_t command_line_len;
	struct op_membership *membership;	   /* a reference, or NULL */
	struct op_resource_attributes *attributes; /* a reference, or NULL */
	uint64_t cgroup;			   /* of its last sample */
	char *cgroup_path; /* of this cgroup, in cgroup v2; NULL: not known */
	struct op_program_context context;
	struct op_program_code code;
	struct op_program_window window;
	uint64_t doubted_ns;	 /* when /proc first showed another program; 0: never */
	uint64_t doubt_after_ns; /* /proc is not read again before */
	uint32_t namespace_pid;	 /* 0: not known */
	uint32_t user;		 /* real user id + 1; 0: not known */
	uint32_t parent;	 /* pid of the process that forked it; 0: not known */
	bool identified;
	bool unread; /* its attributes could not be read for now */
	/* digest of what was reported to the host program; 0: nothing */
	uint64_t reported;
	bool went;		  /* its end was reported, or there is no callback */
	char comm[OP_COMM_BYTES]; /* name of a kernel thread */
};

int op_program_new(struct op_processes *p, uint32_t pid, uint64_t since_ns,
		   struct op_program **ret);
struct op_program *op_program_ref(struct op_program *program);
void op_program_put(struct op_processes *p, struct op_program *program);
/* Copy what a fork or exec keeps from @from, such as the cgroup, until @program is
 * identified. */
void op_program_inherit(struct op_program *program, const struct op_program *from);
/* The program ended: its memory is not read from now on. */
void op_program_end(struct op_program *program, uint64_t time_ns);

/* The process ended or is no longer followed: call the host program back if it was
 * reported. */
void op_program_went(struct op_processes *p, struct op_program *program);

/* Make the resource of @program in @window, and read what is not known yet. @mappings:
 * its mappings at @record, or NULL. Returns 0, -ENOMEM or -ENOSPC. */
int op_program_resource(struct op_processes *p, struct op_program *program,
			const struct op_mappings *mappings,
			const struct op_record *record, struct op_window *window,
			uint32_t *ret);

/* Open the regular file @path of the process, if its user or root owns it. Returns a descriptor, or
 * -errno. */
int op_program_open_own(const struct op_program *program, const char *path);

/*
 * Describe code at @addr outside ELF files, by a runtime whose file is no ELF file
 * (struct op_runtime_ops.describe_code), or by the process's perf map. Returns 1 with
 * *@ret, valid until the next call, or 0.
 */
int op_program_describe_code(struct op_processes *p, struct op_program *program,
			     const struct op_mappings *mappings, uint64_t addr,
			     struct op_runtime_frame *ret);

/* How reliable the rules were by which a sample of @time_ns was walked at @addr, in @v,
 * which has no file. */
enum op_made_word op_program_made_at(struct op_processes *p, struct op_program *program,
				     const struct op_mapping *v, uint64_t addr,
				     uint64_t time_ns);

/* A number that differs from that of other programs, and if the names of the program's own code
 * may have changed, which is checked once a @moment, or the code itself since @time_ns. */
uint32_t op_program_code_number(const struct op_processes *p, struct op_program *program,
				uint32_t moment, uint64_t time_ns);

/*
 * identify.c identifies a program from /proc at its first sample: executable, container,
 * what the program publishes about itself, and what the configuration asks for. It is
 * identified again when that may have changed: a process context may be published at any
 * time.
 */

/*
 * Learn what is not known yet about @program, from which @record was taken. @mappings:
 * its mappings then, or NULL. If the program has ended, /proc is not read.
 *
 * A program may execute another one between the sample and the reading, and /proc then
 * describes the new one. So the result counts only if the code address in /proc/PID/stat
 * is in @mappings. Otherwise program->identified stays false, and the next sample tries
 * again.
 */
void op_identify_identify(struct op_processes *p, struct op_program *program,
			  const struct op_record *record,
			  const struct op_mappings *mappings);

/* In a new window: read again what may have changed about an identified program. */
void op_identify_refresh(struct op_processes *p, struct op_program *program,
			 const struct op_record *record,
			 const struct op_mappings *mappings);

/*
 * Keep the threads' contexts up to date: look for the process context when that is due,
 * and read names of attributes that were not known. Cheap if nothing is due.
 */
void op_identify_context(struct op_processes *p, struct op_program *program,
			 const struct op_mappings *mappings);

/* context_search.c */

/*
 * Find the place of the threads' contexts if it is not known: by the process context's
 * schema, or else by the program's files. @mappings: its mappings, or NULL. A later call
 * continues where one call stops.
 */
void op_program_context_find(struct op_processes *p, struct op_program *program,
			     const struct op_mappings *mappings);
/* Publish to the kernel where the program's threads keep their contexts. Form 0:
 * nowhere. */
void op_program_context_publish(struct op_processes *p, struct op_program *program,
				struct op_context_place place);
/* The pause before the next look at a program. @wait_ns: the pause before this look, 0:
 * none. */
uint64_t op_program_context_next_wait_ns(uint64_t wait_ns);

/* same_process.c */

/* Does /proc still show the program's process under its pid? A later process of that pid
 * has a later start time. */
bool op_same_process(const struct op_program *program, const struct op_stat *stat);
/* Is the code that /proc shows inside @mappings? True if either is not known. */
bool op_same_program(const struct op_stat *stat, const struct op_mappings *mappings);
/* Find the mapping of the program's own code by the code's end in /proc. NULL: none. */
const struct op_mapping *op_same_code(const struct op_stat *stat,
				      const struct op_mappings *mappings);
/* Does the program still run in its process? If so, *@ret describes it. @ret may be
 * NULL. */
bool op_same_runs(struct op_processes *p, const struct op_program *program,
		  const struct op_mappings *mappings, struct op_stat *ret);
/* Has no other program been executed since @before was read? */
bool op_same_exec(struct op_processes *p, const struct op_program *program,
		  const struct op_stat *before);

#endif
