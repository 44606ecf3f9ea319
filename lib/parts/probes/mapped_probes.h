/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes in every file that processes map, now or later. A probe is attached to a file,
 * and so to all processes that map it. The kernel's filter leaves out processes that
 * are not wanted. Each user has a list of the probes that it wants. Files are opened
 * once for all users, a few in each poll (mapped.c). Each user's attachments are in
 * mapped_probes.c.
 */
#ifndef OP_PARTS_PROBES_MAPPED_PROBES_H
#define OP_PARTS_PROBES_MAPPED_PROBES_H

#include "base/vec.h"
#include "parts/probes/spec.h"

struct op_elf;
struct op_executable;
struct op_executables;
struct op_log;
struct op_mapped;

enum {
	OP_MAPPED_USERS_MAX = 4,
	OP_MAPPED_PROBES_MAX = 4, /* of one user */
	OP_MAPPED_FILES_MAX = 64,
	/* programs, which differ in where their arguments are */
	OP_MAPPED_PROGRAMS_MAX = 32,
};

struct op_mapped_probe {
	enum op_probe_type type; /* OP_PROBE_USER or OP_PROBE_STATIC */
	const char *provider;	 /* of a static probe */
	const char *symbol;	 /* or its name */
	/* number of arguments that the program of a static probe reads */
	uint32_t arguments;
	/* if a file lacks it, the others are attached all the same */
	bool optional;
};

/* The probes that a user wants: */
struct op_mapped_probes_config {
	struct op_log *log;
	struct op_executables *executables; /* borrowed, as all here */
	const char *sysfs_root;
	const char *what; /* for the log, as "allocations" */
	/* They are attached in this order. At least one is not optional. */
	const struct op_mapped_probe *probe;
	size_t len;
	/* Load the program of probe @i for arguments at the places @argument. Returns a
	 * descriptor or -errno. */
	int (*load)(void *ctx, size_t i,
		    const struct op_argument argument[OP_ARGUMENTS_MAX]);
	void *ctx;
};

/* The loaded programs, one for each probe and set of argument places. */
struct op_mapped_program {
	size_t probe;
	struct op_argument argument[OP_ARGUMENTS_MAX];
	int fd;
};

/*
 * How the kernel identifies a file of probes. Mappings show an overlay's inode and
 * device, which differ in each container for one file. So for a file on an overlay, the
 * device and the inode's bits for the layer are left out.
 */
struct op_mapped_inode {
	uint64_t overlay; /* 1, or 0 */
	uint64_t dev;	  /* 0 if it is on an overlay */
	uint64_t inode;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

struct op_mapped_attached {
	struct op_mapped_inode file;
	bool stays; /* attached whether or not a process maps the file */
	OP_VEC(struct op_executable *) exes; /* references: how mappings name it */
	int fd[OP_MAPPED_PROBES_MAX * OP_PROBE_SITES_MAX]; /* attachments, or -1 */
};

struct op_mapped_probes {
	struct op_mapped_probes_config config;
	struct op_mapped_program program[OP_MAPPED_PROGRAMS_MAX];
	size_t programs_len;
	struct op_mapped_attached attached[OP_MAPPED_FILES_MAX + 1]; /* one to try */
	size_t len;
	bool reported; /* a failure to attach to a file was logged */
};

/* Load the program of probe @i for arguments at the places @argument, unless it is
 * loaded. Returns a borrowed descriptor, or -errno. */
int op_mapped_probes_load(struct op_mapped_probes *x, size_t i,
			  const struct op_argument argument[OP_ARGUMENTS_MAX]);
/*
 * Attach to the file @elf if it has the probes. @exe: NULL to stay attached whether or
 * not a process maps the file. Returns 1 if it attached, 0 if the file has none or is
 * attached already, or -errno after logging it.
 */
int op_mapped_probes_attach(struct op_mapped_probes *x, struct op_executable *exe,
			    struct op_elf *elf);
/* Detach from files that no process maps. @users: all that may hold them, including @x. */
void op_mapped_probes_trim(struct op_mapped_probes *x,
			   struct op_mapped_probes *const *users, size_t len);
/* Detach from all files and unload the programs. */
void op_mapped_probes_clear(struct op_mapped_probes *x);

/* Attach the probes of @user to all files that have them. Files that are mapped at
 * present are examined before it returns. @user is borrowed until
 * op_mapped_probes_off(). */
void op_mapped_on(struct op_mapped *m, struct op_mapped_probes *user);
/* Detach the probes of @user from all files. */
void op_mapped_off(struct op_mapped *m, struct op_mapped_probes *user);

#endif
