/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that a process runs, from fork or exec to exec or exit: name, container,
 * runtimes. It is reference-counted, since it is kept for late records. What /proc tells
 * is read at the first sample, because most processes never have one.
 */
#ifndef OP_PROCESS_PROGRAM_H
#define OP_PROCESS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "code/unwind/made/made.h"
#include "op_user_types.h"
#include "process/mappings/runtimes.h"
#include "process/target/remote.h"

struct op_resource_attributes;
struct op_mapping;
struct op_membership;
struct op_perfmap;
struct op_processes;
struct op_schema;
struct op_window;

/* Its process context, and those of its threads. */
struct op_program_context {
	uint64_t addr;	       /* 0: none was found */
	uint64_t published_ns; /* of what attributes have of it */
	uint64_t after_ns;     /* it is not looked for before */
	uint64_t wait_ns;
	uint64_t asked_ns;	  /* its names were read then */
	bool asked;		  /* a thread has attributes that schema does not name */
	struct op_schema *schema; /* of its threads' contexts, or NULL */
	/* The search for their variable: where it goes on, and when it begins again. */
	size_t place_at;
	uint64_t place_after_ns;
	uint64_t place_wait_ns;
	struct op_context_place place; /* as published; form 0: none is */
};

/* The code that it makes. */
struct op_program_code {
	struct op_perfmap *perfmap;
	uint64_t perfmap_after_ns; /* it is not looked for again before then */
	uint64_t perfmap_number;   /* op_perfmap_number() */
	uint32_t moment;	   /* of the last look at it */
	bool named;		   /* some of it has a name */
	uint32_t nameless;	   /* addresses of a window in it without one */
	struct op_map64 places;	   /* epoch << 32 | location */
	uint32_t checked;	   /* addresses that were asked for a frame record */
	uint32_t checked_epoch;	   /* in this window */
	struct op_made *made;	   /* its rules; NULL: none */
	bool made_new;		   /* they have a segment that is not published */
};

/* What it is in a window; each with the epoch in which it is valid. */
struct op_program_window {
	uint32_t epoch; /* of resource */
	uint32_t resource;
	uint32_t moved_epoch;  /* in which its cgroup was last seen to change */
	uint32_t labels_epoch; /* of label_sets */
	uint32_t label_sets;   /* different ones, OP_PROGRAM_LABELS_MAX */
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
	char *first_file; /* path of the first mapping: the executable's, for want of better */
	char *exe_path;
	char *command_line; /* a NUL between arguments */
	size_t command_line_len;
	struct op_membership *membership;	   /* a reference, or NULL */
	struct op_resource_attributes *attributes; /* a reference, or NULL */
	uint64_t cgroup;			   /* the last one it was met in */
	char *cgroup_path; /* of it, in cgroup v2; NULL: not known */
	struct op_program_context context;
	struct op_program_code code;
	struct op_program_window window;
	uint64_t doubted_ns;	 /* /proc showed another program then; 0: never */
	uint64_t doubt_after_ns; /* it is not asked again before */
	uint32_t namespace_pid;	 /* 0: not known */
	uint32_t user;		 /* the real one, + 1; 0: not known */
	uint32_t parent;	 /* pid of who forked it, 0: not known */
	bool identified;
	bool unread;		  /* what it says of itself could not be read for now */
	uint64_t reported;	  /* digest of what the host has got; 0: nothing */
	bool went;		  /* the host knows that it went, or has no callback */
	char comm[OP_COMM_BYTES]; /* of a kernel thread: its name */
};

int op_program_new(struct op_processes *p, uint32_t pid, uint64_t since_ns,
		   struct op_program **ret);
struct op_program *op_program_ref(struct op_program *program);
void op_program_put(struct op_processes *p, struct op_program *program);
/* Of what it was forked or executed from: the cgroup, until it is looked at itself. */
void op_program_inherit(struct op_program *program, const struct op_program *from);
/* It runs no more: its memory cannot be read from now on. */
void op_program_end(struct op_program *program, uint64_t time_ns);

/* Its process ended or is no longer followed: call the host program back if it knows
 * it. */
void op_program_went(struct op_processes *p, struct op_program *program);

/* Its resource in @window; reads what is not known yet. @mappings: what it had mapped at
 * @record, or NULL. 0, -ENOMEM or -ENOSPC. */
int op_program_resource(struct op_processes *p, struct op_program *program,
			const struct op_mappings *mappings,
			const struct op_record *record, struct op_window *window,
			uint32_t *ret);

/* Open the regular file @path of the process, if its user or root owns it. Returns a descriptor, or
 * -errno. */
int op_program_open_own(const struct op_program *program, const char *path);

/*
 * What the process, or what it has mapped as @mappings, says of code at @addr outside ELF
 * files: a runtime whose file is no ELF file (struct op_runtime_ops.describe_code), or
 * its perf map. Returns 1 with *@ret, valid until the next call, or 0.
 */
int op_program_describe_code(struct op_processes *p, struct op_program *program,
			     const struct op_mappings *mappings, uint64_t addr,
			     struct op_runtime_frame *ret);

/* What the walk of a sample of @time_ns knew of the code at @addr, in @v, which no file has. */
enum op_made_word op_program_made_at(struct op_processes *p, struct op_program *program,
				     const struct op_mapping *v, uint64_t addr,
				     uint64_t time_ns);

/* Look whether the names of the program's own code have changed, once a @moment, and whether the code
 * has since @time_ns. Returns a number that differs where they may. */
uint32_t op_program_code_number(const struct op_processes *p, struct op_program *program,
				uint32_t moment, uint64_t time_ns);

#endif
